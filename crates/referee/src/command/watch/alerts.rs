//! `--alert-webhook URL` and `--otlp URL`: verdicts, each posted once, however often the receiver is down or this process is killed.
//!
//! A verdict is appended to a spool on disk before it is sent, and taken note of when the receiver has taken it. One that was taken
//! without an answer is sent again, with the same `Idempotency-Key`.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use referee::guard::Endpoint;
use referee::watch::{Notice, Observer, Progress};
use serde_json::{Value, json};

use crate::output::{self, WARN, styled};

/// How long a receiver may take.
const RECEIVER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait after the first failure, and at most: each time twice as long as before.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const MAX_RETRY: Duration = Duration::from_secs(60);
/// How long the end of watching waits for a receiver.
const LAST_CHANCE: Duration = Duration::from_secs(5);
/// A spool whose verdicts were all sent is emptied when it is longer.
const KEEP_BYTES: u64 = 1 << 20;
/// So many records a collector gets at once.
const OTLP_BATCH: usize = 256;
/// The port and path of a collector.
const OTLP: (u16, &str) = (4318, "/v1/logs");

/// Where verdicts go besides standard output.
#[derive(Args)]
pub(crate) struct AlertArguments {
    /// Post each verdict to URL, as the JSON that --format json prints. Tried again, less and less often, until the receiver takes it.
    #[arg(long, value_name = "URL")]
    alert_webhook: Option<String>,
    /// Post up to N verdicts at once, as a JSON array.
    #[arg(long, value_name = "N", requires = "alert_webhook", value_parser = clap::value_parser!(u16).range(1..))]
    alert_batch: Option<u16>,
    /// Send each verdict as a log record to the OpenTelemetry collector at URL (OTLP over HTTP, JSON).
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// Where verdicts wait until they are taken. Without it: beside the checkpoint.
    #[arg(long, value_name = "FOLDER")]
    alert_spool: Option<PathBuf>,
}

/// What verdicts are sent to.
#[derive(Debug)]
pub(super) struct Alerts {
    deliveries: Vec<Delivery>,
    /// How many notices there were before this process.
    before: u64,
    /// Whether the numbers of notices go on where those of the process before ended.
    continues: bool,
}

impl AlertArguments {
    /// Starts what sends verdicts, if anything is to. `told` is how many notices a checkpoint says were told.
    pub(super) fn start(&self, checkpoint: Option<&Path>, told: Option<u64>) -> Result<Option<Alerts>> {
        let mut kinds = Vec::new();
        if let Some(url) = &self.alert_webhook {
            kinds.push(("webhook", url, (80, "/"), Form::Json { batch: self.alert_batch.map(usize::from) }));
        }
        if let Some(url) = &self.otlp {
            kinds.push(("otlp", url, OTLP, Form::Otlp));
        }
        if kinds.is_empty() {
            return Ok(None);
        }
        let folder = match (&self.alert_spool, checkpoint) {
            (Some(folder), _) => folder.clone(),
            (None, Some(checkpoint)) => {
                let mut name = checkpoint.as_os_str().to_owned();
                name.push(".alerts");
                PathBuf::from(name)
            }
            (None, None) => bail!("say with --alert-spool FOLDER where verdicts wait until they are taken"),
        };
        fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        let mut deliveries = Vec::new();
        for (name, url, (port, path), form) in kinds {
            let endpoint = Endpoint::new(url, port, path, None).map_err(|why| anyhow!("`{url}`: {why}"))?;
            let spool = Spool::open(&folder.join(name))
                .with_context(|| format!("cannot use the spool `{}`", folder.join(name).display()))?;
            deliveries.push(Delivery::start(spool, endpoint, form)?);
        }
        Ok(Some(Alerts { deliveries, before: told.unwrap_or_default(), continues: told.is_some() }))
    }
}

impl Alerts {
    /// `observer`, with every verdict sent on the way to it. `render` makes JSON of a verdict.
    pub(super) fn observe<'a>(
        &'a self,
        observer: &'a mut dyn Observer,
        render: &'a (dyn Fn(&Notice) -> Option<Value> + Sync),
    ) -> Sending<'a> {
        Sending { alerts: self, observer, render, heard: self.before }
    }

    /// Waits a while for what is not sent yet; says what was not.
    pub(super) fn finish(self) {
        let until = Instant::now() + LAST_CHANCE;
        for delivery in self.deliveries {
            delivery.finish(until);
        }
    }
}

/// Sends what an observer is told.
pub(super) struct Sending<'a> {
    alerts: &'a Alerts,
    observer: &'a mut dyn Observer,
    render: &'a (dyn Fn(&Notice) -> Option<Value> + Sync),
    heard: u64,
}

impl Observer for Sending<'_> {
    fn notice(&mut self, notice: Notice) -> io::Result<()> {
        self.heard += 1;
        if let Some(verdict) = (self.render)(&notice) {
            for delivery in &self.alerts.deliveries {
                delivery.add(self.heard, self.alerts.continues, &verdict)?;
            }
        }
        self.observer.notice(notice)
    }

    fn told_before(&mut self, notice: &Notice) {
        self.observer.told_before(notice);
    }

    fn progress(&mut self, progress: &Progress) -> io::Result<()> {
        self.observer.progress(progress)
    }

    fn written(&mut self) -> io::Result<u64> {
        self.observer.written()
    }
}

/// How verdicts are written.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// One alone, or an array of up to so many.
    Json {
        batch: Option<usize>,
    },
    Otlp,
}

impl Form {
    fn most(self) -> usize {
        match self {
            Self::Json { batch } => batch.unwrap_or(1),
            Self::Otlp => OTLP_BATCH,
        }
    }

    fn body(self, verdicts: Vec<Value>) -> String {
        match self {
            Self::Json { batch: None } => verdicts.into_iter().next().unwrap_or_default().to_string(),
            Self::Json { batch: Some(_) } => Value::Array(verdicts).to_string(),
            Self::Otlp => log_records(&verdicts).to_string(),
        }
    }
}

/// Verdicts as records of OpenTelemetry's logs.
fn log_records(verdicts: &[Value]) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let record = |verdict: &Value| {
        let members = verdict.as_object().into_iter().flatten();
        let attributes: Vec<Value> = members
            .filter(|(name, value)| !value.is_null() && *name != "message")
            .map(|(name, value)| {
                let value = match value {
                    Value::Bool(value) => json!({"boolValue": value}),
                    Value::Number(number) if number.is_i64() => json!({"intValue": number.to_string()}),
                    Value::String(text) => json!({"stringValue": text}),
                    other => json!({"stringValue": other.to_string()}),
                };
                json!({"key": format!("referee.{name}"), "value": value})
            })
            .collect();
        let time = verdict["time"].as_str().and_then(referee::theory::time::read);
        let is_certain = verdict["certain"] != json!(false);
        let (number, severity) = if is_certain { (17, "ERROR") } else { (13, "WARN") };
        json!({
            "timeUnixNano": time.map_or_else(|| now.to_string(), |time| time.to_string()),
            "observedTimeUnixNano": now.to_string(),
            "severityNumber": number,
            "severityText": severity,
            "body": {"stringValue": verdict["message"].as_str().unwrap_or_default()},
            "attributes": attributes,
        })
    };
    json!({"resourceLogs": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "referee"}}]},
        "scopeLogs": [{
            "scope": {"name": "referee", "version": env!("CARGO_PKG_VERSION")},
            "logRecords": verdicts.iter().map(record).collect::<Vec<_>>(),
        }],
    }]})
}

/// A spool, and the thread that sends what is in it.
#[derive(Debug)]
struct Delivery {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    spool: Mutex<Spool>,
    changed: Condvar,
}

impl Shared {
    fn spool(&self) -> MutexGuard<'_, Spool> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Delivery {
    fn start(spool: Spool, endpoint: Endpoint, form: Form) -> Result<Self> {
        let shared = Arc::new(Shared { spool: Mutex::new(spool), changed: Condvar::new() });
        let own = Arc::clone(&shared);
        let work = move || deliver(&own, &endpoint, form);
        let thread = std::thread::Builder::new().name("alerts".to_owned()).spawn(work)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Adds notice `number`, unless it was added by a process that was killed before it could take note of that.
    fn add(&self, number: u64, continues: bool, verdict: &Value) -> io::Result<()> {
        let mut spool = self.shared.spool();
        if !continues || number > spool.last_notice {
            spool.append(number, verdict)?;
            self.shared.changed.notify_all();
        }
        Ok(())
    }

    fn finish(mut self, until: Instant) {
        let mut spool = self.shared.spool();
        spool.deadline = Some(until);
        self.shared.changed.notify_all();
        drop(spool);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let spool = self.shared.spool();
        if spool.waiting() > 0 {
            output::remark(&format!(
                "{}: {} verdicts were not taken{}; they wait in `{}` for the next run",
                styled(WARN, "warning"),
                spool.waiting(),
                spool.failure.as_ref().map(|why| format!(" ({why})")).unwrap_or_default(),
                spool.path.display()
            ));
        }
    }
}

/// Sends what is in the spool until it is told to end.
fn deliver(shared: &Shared, endpoint: &Endpoint, form: Form) {
    let mut retry = FIRST_RETRY;
    loop {
        let mut spool = shared.spool();
        let batch = loop {
            match spool.next(form.most()) {
                Ok(batch) if batch.is_empty() && spool.deadline.is_some() => return,
                Ok(batch) if batch.is_empty() => {
                    spool = shared.changed.wait(spool).unwrap_or_else(PoisonError::into_inner);
                }
                Ok(batch) => break batch,
                Err(error) => {
                    spool.fail(&error);
                    return;
                }
            }
        };
        drop(spool);
        let key = batch.first().map(|alert| alert.key.clone()).unwrap_or_default();
        let verdicts = batch.iter().map(|alert| alert.verdict.clone()).collect();
        let sent = endpoint.post(form.body(verdicts), &[("Idempotency-Key", &key)], RECEIVER_TIMEOUT);
        let mut spool = shared.spool();
        match sent.and_then(|()| spool.taken(batch.len())) {
            Ok(()) => retry = FIRST_RETRY,
            Err(error) => {
                spool.fail(&error);
                if spool.deadline.is_some_and(|deadline| Instant::now() + retry >= deadline) {
                    return;
                }
                let until = Instant::now() + retry;
                // New verdicts do not make the receiver come back sooner; the end does.
                while let Some(left) = until.checked_duration_since(Instant::now()) {
                    let was_ending = spool.deadline.is_some();
                    (spool, _) =
                        shared.changed.wait_timeout(spool, left).unwrap_or_else(PoisonError::into_inner);
                    if spool.deadline.is_some() && !was_ending {
                        break;
                    }
                }
                retry = (retry * 2).min(MAX_RETRY);
            }
        }
    }
}

/// A verdict that waits.
#[derive(Clone, Debug)]
struct Alert {
    key: String,
    verdict: Value,
    /// Where it ends in the spool.
    end: u64,
}

/// Verdicts that wait, one on a line behind its number and that of its notice; and beside them, how many of these bytes were sent.
#[derive(Debug)]
struct Spool {
    path: PathBuf,
    file: File,
    reader: BufReader<File>,
    /// What makes its keys different from those of other spools.
    id: u64,
    length: u64,
    sent: u64,
    last_number: u64,
    sent_number: u64,
    last_notice: u64,
    /// The next to be sent.
    ahead: VecDeque<Alert>,
    failure: Option<String>,
    /// When to give up, if watching has ended.
    deadline: Option<Instant>,
}

impl Spool {
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        file.try_lock().map_err(|_| io::Error::new(io::ErrorKind::ResourceBusy, "another process has it"))?;
        let mut spool = Self {
            path: path.to_owned(),
            reader: BufReader::new(File::open(path)?),
            file,
            id: 0,
            length: 0,
            sent: 0,
            last_number: 0,
            sent_number: 0,
            last_notice: 0,
            ahead: VecDeque::new(),
            failure: None,
            deadline: None,
        };
        match fs::read_to_string(spool.state_path()) {
            Ok(text) => {
                let mut numbers = text.split_whitespace().map(str::parse);
                let mut next = || numbers.next().and_then(Result::ok).ok_or(io::ErrorKind::InvalidData);
                (spool.id, spool.sent, spool.sent_number, spool.last_notice) =
                    (next()?, next()?, next()?, next()?);
                spool.last_number = spool.sent_number;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                spool.id = now.as_nanos() as u64 ^ u64::from(std::process::id());
            }
            Err(error) => return Err(error),
        }
        spool.recover()?;
        spool.write_state()?;
        Ok(spool)
    }

    /// Finds the end of what is whole.
    fn recover(&mut self) -> io::Result<()> {
        self.reader.seek(SeekFrom::Start(0))?;
        let mut line = Vec::new();
        loop {
            line.clear();
            self.reader.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                break;
            }
            self.length += line.len() as u64;
            let text = String::from_utf8_lossy(&line);
            let mut parts = text.splitn(3, ' ');
            let mut number = || parts.next().and_then(|number| number.parse().ok());
            if let (Some(number), Some(notice)) = (number(), number()) {
                (self.last_number, self.last_notice) = (number, notice);
            }
        }
        self.file.set_len(self.length)?;
        // It was emptied, and the process killed before it could take note of that.
        self.sent = if self.sent > self.length { 0 } else { self.sent };
        self.reader.seek(SeekFrom::Start(self.sent))?;
        Ok(())
    }

    fn state_path(&self) -> PathBuf {
        self.path.with_extension("sent")
    }

    fn write_state(&self) -> io::Result<()> {
        let new = self.path.with_extension("new");
        fs::write(&new, format!("{} {} {} {}\n", self.id, self.sent, self.sent_number, self.last_notice))?;
        fs::rename(new, self.state_path())
    }

    fn waiting(&self) -> u64 {
        self.last_number - self.sent_number
    }

    fn append(&mut self, notice: u64, verdict: &Value) -> io::Result<()> {
        let number = self.last_number + 1;
        let line = format!("{number} {notice} {verdict}\n");
        self.file.write_all(line.as_bytes())?;
        (self.last_number, self.last_notice) = (number, notice);
        self.length += line.len() as u64;
        Ok(())
    }

    /// Up to `most` verdicts that are to be sent next, the same until they are taken.
    fn next(&mut self, most: usize) -> io::Result<Vec<Alert>> {
        // What is sent again is the same as before: the receiver may have taken it.
        if self.ahead.is_empty() {
            let mut at = self.sent;
            while self.ahead.len() < most && at < self.length {
                let mut line = Vec::new();
                (&mut self.reader).take(self.length - at).read_until(b'\n', &mut line)?;
                at += line.len() as u64;
                let text = String::from_utf8_lossy(&line);
                let mut parts = text.trim_end().splitn(3, ' ');
                let key = format!("{:x}-{}", self.id, parts.next().unwrap_or_default());
                let verdict = parts.nth(1).and_then(|json| serde_json::from_str(json).ok());
                let mut verdict: Value = verdict.ok_or(io::ErrorKind::InvalidData)?;
                verdict["alert"] = json!(key);
                self.ahead.push_back(Alert { key, verdict, end: at });
            }
        }
        Ok(self.ahead.iter().cloned().collect())
    }

    /// The first `count` of them were taken.
    fn taken(&mut self, count: usize) -> io::Result<()> {
        for alert in self.ahead.drain(..count.min(self.ahead.len())) {
            self.sent = alert.end;
            self.sent_number += 1;
        }
        if self.failure.take().is_some() {
            output::remark(&format!("verdicts are taken again; {} wait", self.waiting()));
        }
        if self.sent == self.length && self.sent > KEEP_BYTES {
            self.file.set_len(0)?;
            (self.sent, self.length) = (0, 0);
            self.reader.seek(SeekFrom::Start(0))?;
        }
        self.write_state()
    }

    fn fail(&mut self, error: &io::Error) {
        if self.failure.is_none() {
            output::remark(&format!(
                "{}: verdicts are not taken, and wait in `{}`: {error}",
                styled(WARN, "warning"),
                self.path.display()
            ));
        }
        self.failure = Some(error.to_string());
    }
}
