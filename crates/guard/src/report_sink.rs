//! The report sink: one thread that writes reports to the journal, and to the log once they are safe there.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::config::{Config, Fsync};
use crate::journal::Writer;
use crate::otlp::Exporter;
use crate::report::{Report, VerdictAction, VerdictReport};

/// How many reports may wait; whoever has one more waits with it.
const MAX_QUEUED: usize = 4096;
/// How many are forced onto the disk at once.
const MAX_BATCH: usize = 1024;

/// Somebody in this process who hears of every report.
pub type Observer = Box<dyn Fn(&Report) + Send>;

/// Where reports go.
#[derive(Clone)]
pub(crate) struct ReportSink {
    sender: mpsc::Sender<Option<Report>>,
    /// Whether anybody wants to hear of the ends of sessions without violation.
    pub(crate) wants_ends: bool,
    pub(crate) errors: Arc<AtomicU64>,
}

impl ReportSink {
    /// Begins to write as `config` says.
    pub(crate) fn start(
        config: &Config,
        observer: Option<Observer>,
    ) -> io::Result<(Self, std::thread::JoinHandle<()>)> {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED);
        let journal = match &config.journal {
            Some(journal) => {
                let writer = Writer::open(&journal.folder, journal.rotate_at.0, journal.keep)?;
                if let Some(bytes) = writer.repaired() {
                    tracing::warn!(bytes, "the journal ended within a record, which was cut off");
                }
                for (path, damage) in writer.damages() {
                    let (file, offset, what) = (path.display(), damage.offset, &damage.what);
                    tracing::warn!(%file, offset, "the journal is damaged, and left as it is: {what}");
                }
                Some((writer, journal.fsync))
            }
            None => None,
        };
        let exporter = config.otlp.as_ref().map(Exporter::start).transpose()?;
        let wants_ends = journal.is_some() || config.log.sessions || exporter.is_some() || observer.is_some();
        let errors = Arc::new(AtomicU64::new(0));
        let sink = SinkThread {
            receiver,
            journal,
            exporter,
            observer,
            log_ends: config.log.sessions,
            errors: Arc::clone(&errors),
            forced: Instant::now(),
        };
        let thread = std::thread::Builder::new().name("report-sink".to_owned()).spawn(move || sink.work())?;
        Ok((Self { sender, wants_ends, errors }, thread))
    }

    pub(crate) async fn emit(&self, reports: Vec<Report>) {
        for report in reports {
            // The sink outlives every session.
            let _ = self.sender.send(Some(report)).await;
        }
    }

    /// For those who cannot wait: a session that is dropped.
    pub(crate) fn emit_now(&self, report: Report) {
        if self.sender.try_send(Some(report)).is_err() {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl ReportSink {
    /// Writes what was told so far, and ends.
    pub(crate) fn close(&self) {
        // Not a blocking send: this may be called within an event loop.
        while let Err(mpsc::error::TrySendError::Full(_)) = self.sender.try_send(None) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

struct SinkThread {
    /// `None` is the last.
    receiver: mpsc::Receiver<Option<Report>>,
    journal: Option<(Writer, Fsync)>,
    exporter: Option<Exporter>,
    observer: Option<Observer>,
    log_ends: bool,
    errors: Arc<AtomicU64>,
    forced: Instant,
}

impl SinkThread {
    fn work(mut self) {
        let mut batch = Vec::new();
        let mut open = true;
        while open && self.receiver.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
            open = batch.iter().all(Option::is_some);
            let reports: Vec<Report> = batch.drain(..).flatten().collect();
            self.write(&reports);
            for report in reports {
                log(&report, self.log_ends);
                if let Some(observer) = &self.observer {
                    observer(&report);
                }
                if let Some(exporter) = &self.exporter {
                    exporter.export(report);
                }
            }
        }
        if let Some((writer, _)) = &mut self.journal
            && let Err(error) = writer.commit(true)
        {
            tracing::error!(%error, "the journal could not be written");
        }
    }

    fn write(&mut self, reports: &[Report]) {
        let Some((writer, fsync)) = &mut self.journal else { return };
        let force = match fsync {
            Fsync::Always => true,
            Fsync::EverySecond => self.forced.elapsed() >= Duration::from_secs(1),
            Fsync::Never => false,
        };
        let mut result = Ok(());
        for report in reports {
            result = result.and(writer.append(report).map(drop));
        }
        if let Err(error) = result.and(writer.commit(force)) {
            self.errors.fetch_add(1, Ordering::Relaxed);
            tracing::error!(%error, "the journal could not be written");
        }
        if force {
            self.forced = Instant::now();
        }
    }
}

fn log(report: &Report, log_ends: bool) {
    match report {
        Report::Verdict(report) => log_verdict(report),
        Report::SessionEnd(end) if end.why.is_about_the_server() => tracing::warn!(
            listener = end.listener,
            session = end.session,
            network_session = end.network_session,
            source = end.source,
            why = end.why.name(),
            detail = end.detail,
            messages = end.messages,
            violations = end.violations,
            "the server cannot be reached"
        ),
        Report::SessionEnd(end) if log_ends || end.unchecked => tracing::info!(
            listener = end.listener,
            session = end.session,
            network_session = end.network_session,
            source = end.source,
            why = end.why.name(),
            detail = end.detail,
            unchecked = end.unchecked,
            messages = end.messages,
            violations = end.violations,
            bytes_from_client = end.bytes_from_client,
            bytes_from_server = end.bytes_from_server,
            milliseconds = end.milliseconds,
            "{}",
            if end.unchecked { "session ended, and was not checked to its end" } else { "session ended" }
        ),
        Report::SessionEnd(_) => {}
    }
}

fn log_verdict(VerdictReport { listener, record: verdict, policy, recent }: &VerdictReport) {
    let also = (!verdict.blame_also.is_empty()).then(|| verdict.blame_also.join(", "));
    tracing::warn!(
        listener,
        session = verdict.session,
        network_session = verdict.network_session,
        key = verdict.key,
        source = verdict.source,
        role = verdict.role,
        verdict = verdict.verdict.name(),
        kind = verdict.kind,
        blame = verdict.blame,
        blame_also = also,
        label = verdict.label,
        event = verdict.event,
        state = verdict.state,
        expected = ?verdict.expected,
        got = verdict.got,
        assertion = verdict.assertion,
        values = %serde_json::Value::Object(verdict.values.clone()),
        property = verdict.property,
        rule = verdict.rule,
        paper_rule = verdict.paper_rule,
        consequence = verdict.consequence,
        certain = verdict.certain,
        action = verdict.action.map(VerdictAction::name),
        policy,
        recent = ?recent,
        "{}",
        verdict.message
    );
}
