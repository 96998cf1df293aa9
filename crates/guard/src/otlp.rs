//! Export to an OpenTelemetry collector: OTLP over HTTP in its JSON encoding, one span per session, an event per
//! violation. What cannot be delivered is dropped and counted in the log: a collector must never slow a guard down.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ahash::AHashMap;
use serde_json::{Value, json};

use crate::config::Otlp;
use crate::report::{Report, VerdictReport};

const WAITING: usize = 4096;
const BATCH: usize = 256;
const PERIOD: Duration = Duration::from_secs(1);
/// Sessions whose verdicts are kept until they end.
const OPEN: usize = 16_384;

/// Hands reports to the thread that exports them.
pub(crate) struct Exporter {
    sender: SyncSender<(SystemTime, Report)>,
}

impl Exporter {
    pub(crate) fn start(config: &Otlp) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(WAITING);
        let address = config.endpoint.get_ref().trim_start_matches("http://");
        let (host, path) = address.split_once('/').unwrap_or((address, ""));
        let path = format!("/{}", path.trim_end_matches('/'));
        let path = if path == "/" { "/v1/traces".to_owned() } else { path };
        let host = if host.contains(':') { host.to_owned() } else { format!("{host}:4318") };
        let service = config.service.clone();
        let work = move || Batches { host, path, service, open: AHashMap::new() }.work(&receiver);
        std::thread::Builder::new().name("otlp".to_owned()).spawn(work)?;
        Ok(Self { sender })
    }

    pub(crate) fn export(&self, report: Report) {
        if self.sender.try_send((SystemTime::now(), report)).is_err() {
            tracing::debug!("a span was dropped: the collector is too slow");
        }
    }
}

struct Batches {
    host: String,
    path: String,
    service: String,
    open: AHashMap<u64, Vec<Value>>,
}

impl Batches {
    fn work(mut self, receiver: &Receiver<(SystemTime, Report)>) {
        let mut spans = Vec::new();
        loop {
            match receiver.recv_timeout(PERIOD) {
                Ok((time, report)) => spans.extend(self.span(time, report)),
                Err(RecvTimeoutError::Timeout) if spans.is_empty() => continue,
                Err(RecvTimeoutError::Timeout) => self.send(&mut spans),
                Err(RecvTimeoutError::Disconnected) => {
                    self.send(&mut spans);
                    return;
                }
            }
            if spans.len() >= BATCH {
                self.send(&mut spans);
            }
        }
    }

    /// The span of a session that has ended; a verdict is kept until its session ends.
    fn span(&mut self, time: SystemTime, report: Report) -> Option<Value> {
        let nanoseconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        match report {
            Report::Verdict(verdict) => {
                if self.open.len() < OPEN {
                    let event = violation(&verdict, &nanoseconds(time).to_string());
                    self.open.entry(verdict.session).or_default().push(event);
                }
                None
            }
            Report::SessionEnd(end) => {
                let began = time - Duration::from_millis(end.milliseconds);
                let events = self.open.remove(&end.session).unwrap_or_default();
                let start = nanoseconds(began);
                let failed = end.violations > 0;
                Some(json!({
                    "traceId": format!("{:016x}{:016x}", start as u64, end.session),
                    "spanId": format!("{:016x}", end.session.max(1)),
                    "name": format!("session {}", end.listener),
                    "kind": 2,
                    "startTimeUnixNano": start.to_string(),
                    "endTimeUnixNano": nanoseconds(time).to_string(),
                    "attributes": attributes(&[
                        ("referee.listener", end.listener.into()),
                        ("client.address", end.source.into()),
                        ("referee.why", end.why.into()),
                        ("referee.messages", end.messages.to_string().into()),
                        ("referee.violations", end.violations.to_string().into()),
                    ]),
                    "events": events,
                    "status": {"code": if failed { 2 } else { 1 }},
                }))
            }
        }
    }

    fn send(&self, spans: &mut Vec<Value>) {
        let count = spans.len();
        let body = json!({"resourceSpans": [{
            "resource": {"attributes": attributes(&[("service.name", self.service.as_str().into())])},
            "scopeSpans": [{"scope": {"name": "referee"}, "spans": std::mem::take(spans)}],
        }]});
        if let Err(error) = self.post(&body.to_string()) {
            tracing::warn!(%error, spans = count, "spans could not be exported");
        }
    }

    fn post(&self, body: &str) -> io::Result<()> {
        let mut stream = TcpStream::connect(&self.host)?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.path,
            self.host,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer)?;
        match answer.get(9..12) {
            Some([b'2', ..]) => Ok(()),
            _ => Err(io::Error::other(format!("the collector said {}", String::from_utf8_lossy(&answer)))),
        }
    }
}

fn violation(verdict: &VerdictReport, time: &str) -> Value {
    json!({
        "timeUnixNano": time,
        "name": verdict.verdict,
        "attributes": attributes(&[
            ("referee.kind", verdict.kind.as_str().into()),
            ("referee.blame", verdict.blame.as_deref().unwrap_or("").into()),
            ("referee.label", verdict.got.as_deref().unwrap_or("").into()),
            ("referee.state", verdict.state.as_str().into()),
            ("exception.message", verdict.message.as_str().into()),
        ]),
    })
}

fn attributes(pairs: &[(&str, Value)]) -> Value {
    pairs.iter().map(|(key, value)| json!({"key": key, "value": {"stringValue": value}})).collect()
}
