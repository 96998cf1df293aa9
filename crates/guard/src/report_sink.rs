//! The report sink: one thread that writes reports to the journal, and to the log once they are safe there.
//!
//! It is bounded. Whoever has a report waits while the queue is full; while the journal cannot be written, the thread keeps the
//! batch that it has and tries again, and takes nothing more. So no report is logged that is not in the journal, none is
//! lost, and nothing grows: sessions with something to report wait with it (backpressure).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::config::{Config, Fsync};
use crate::events::EventHub;
use crate::journal::Writer;
use crate::otlp::Exporter;
use crate::report::{Report, VerdictAction, VerdictReport};

/// How many reports may wait; whoever has one more waits with it.
const MAX_QUEUED: usize = 4096;
/// How many are forced onto the disk at once.
const MAX_BATCH: usize = 1024;
/// How soon the journal is tried again after an error.
const RETRY_AFTER: Duration = Duration::from_millis(100);
/// How long somebody who cannot wait asynchronously waits for a place in the queue.
const EMIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Somebody in this process who hears of every report.
pub type Observer = Box<dyn Fn(&Report) + Send>;

/// Where reports go.
#[derive(Clone)]
pub(crate) struct ReportSink {
    sender: mpsc::Sender<Option<Report>>,
    /// Whether anybody always wants to hear of the ends of sessions without violation.
    keeps_ends: bool,
    pub(crate) health: Arc<JournalHealth>,
    /// Those who look at the guard at the moment.
    pub(crate) hub: Arc<EventHub>,
}

/// How the journal is.
#[derive(Debug, Default)]
pub(crate) struct JournalHealth {
    /// The last attempt to write failed.
    is_failing: AtomicBool,
    /// The guard stops: what cannot be written now never will be.
    is_closing: AtomicBool,
    /// Attempts to write that failed.
    pub(crate) failed_writes: AtomicU64,
    /// Reports that were neither written nor logged.
    pub(crate) dropped_reports: AtomicU64,
}

impl JournalHealth {
    /// Whether the journal cannot be written at the moment.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    fn drop_reports(&self, count: usize) {
        self.dropped_reports.fetch_add(count as u64, Ordering::Relaxed);
    }
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
        let keeps_ends = journal.is_some() || config.log.sessions || exporter.is_some() || observer.is_some();
        let health = Arc::<JournalHealth>::default();
        let hub = Arc::<EventHub>::default();
        let thread = SinkThread {
            receiver,
            journal,
            exporter,
            observer,
            log_ends: config.log.sessions,
            health: Arc::clone(&health),
            hub: Arc::clone(&hub),
            synced: Instant::now(),
        };
        let thread = std::thread::Builder::new().name("report-sink".to_owned()).spawn(|| thread.work())?;
        Ok((Self { sender, keeps_ends, health, hub }, thread))
    }

    /// Whether anybody wants to hear of the ends of sessions without violation.
    pub(crate) fn wants_ends(&self) -> bool {
        self.keeps_ends || self.hub.is_watched()
    }

    /// Hands `reports` over, and waits while there is no room for them.
    pub(crate) async fn emit(&self, reports: Vec<Report>) {
        for report in reports {
            // The sink outlives every session.
            let _ = self.sender.send(Some(report)).await;
        }
    }

    /// For those who cannot wait: the report is dropped, and counted, if there is no room for it.
    pub(crate) fn emit_now(&self, report: Report) {
        if self.sender.try_send(Some(report)).is_err() {
            self.health.drop_reports(1);
        }
    }

    /// For a thread that ends: waits for a while, unless the journal cannot be written.
    pub(crate) fn emit_blocking(&self, mut report: Report) {
        let deadline = Instant::now() + EMIT_TIMEOUT;
        while let Err(error) = self.sender.try_send(Some(report)) {
            match error {
                mpsc::error::TrySendError::Full(Some(full))
                    if !self.health.is_failing() && Instant::now() < deadline =>
                {
                    report = full;
                    std::thread::sleep(Duration::from_millis(1));
                }
                _ => return self.health.drop_reports(1),
            }
        }
    }

    /// Writes what was reported so far, and ends.
    pub(crate) fn close(&self) {
        self.health.is_closing.store(true, Ordering::Relaxed);
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
    health: Arc<JournalHealth>,
    hub: Arc<EventHub>,
    synced: Instant,
}

impl SinkThread {
    fn work(mut self) {
        let mut batch = Vec::new();
        let mut open = true;
        while open && self.receiver.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
            open = batch.iter().all(Option::is_some);
            let mut reports: Vec<Report> = batch.drain(..).flatten().collect();
            if !self.write(&mut reports) {
                self.health.drop_reports(reports.len());
                continue;
            }
            for report in reports {
                log(&report, self.log_ends);
                self.hub.publish(&report);
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

    /// Writes `reports` to the journal, however often that has to be tried. Those that no journal can hold are taken out. Whether
    /// they are written; they are not if the guard stops while the journal cannot be written.
    fn write(&mut self, reports: &mut Vec<Report>) -> bool {
        let Some((writer, fsync)) = &mut self.journal else { return true };
        let force = match fsync {
            Fsync::Always => true,
            Fsync::EverySecond => self.synced.elapsed() >= Duration::from_secs(1),
            Fsync::Never => false,
        };
        reports.retain(|report| {
            let appended = writer.append(report);
            if let Err(error) = &appended {
                self.health.drop_reports(1);
                tracing::error!(%error, "a report does not fit into the journal");
            }
            appended.is_ok()
        });
        while let Err(error) = writer.commit(force) {
            self.health.failed_writes.fetch_add(1, Ordering::Relaxed);
            if !self.health.is_failing.swap(true, Ordering::Relaxed) {
                tracing::error!(
                    %error,
                    "the journal cannot be written; sessions with something to report wait until it can"
                );
            }
            if self.health.is_closing.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::sleep(RETRY_AFTER);
        }
        if self.health.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!("the journal is written again");
        }
        if force {
            self.synced = Instant::now();
        }
        true
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
            bytes_discarded = end.bytes_discarded,
            milliseconds = end.milliseconds,
            "{}",
            if end.unchecked { "session ended, and was not checked to its end" } else { "session ended" }
        ),
        Report::SessionEnd(_) | Report::Message(_) => {}
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
