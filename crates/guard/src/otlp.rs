//! Export to an OpenTelemetry collector: OTLP over HTTP in its JSON encoding, one span per session, an event per
//! violation. What cannot be delivered is dropped and counted in the log: a collector must never slow a guard down.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ahash::AHashMap;
use serde_json::{Value, json};

use crate::config::Otlp;
use crate::endpoint::Endpoint;
use crate::report::{Report, VerdictAction, VerdictRecord};

/// The port of a collector where none is said.
const COLLECTOR_PORT: u16 = 4318;
/// How many reports may wait.
const MAX_QUEUED: usize = 4096;
/// How many spans are sent at once, and how long they wait for others.
const MAX_BATCH: usize = 256;
const BATCH_INTERVAL: Duration = Duration::from_secs(1);
/// How long the collector may take for a batch.
const COLLECTOR_TIMEOUT: Duration = Duration::from_secs(5);
/// Sessions whose verdicts are kept until they end, and how many of each.
const MAX_OPEN_SESSIONS: usize = 16_384;
const MAX_EVENTS: usize = 128;

/// Hands reports to the thread that exports them. Dropped, it waits until what was handed over is delivered, or was not.
pub(crate) struct Exporter {
    sender: Option<SyncSender<(SystemTime, Report)>>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    pub(crate) fn start(config: &Otlp) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(MAX_QUEUED);
        let collector = collector(config).map_err(io::Error::other)?;
        let service = config.service.clone();
        let seed = RandomState::new();
        let work = move || Batches { collector, service, seed, open: AHashMap::new() }.work(&receiver);
        let thread = std::thread::Builder::new().name("otlp".to_owned()).spawn(work)?;
        Ok(Self { sender: Some(sender), thread: Some(thread) })
    }

    pub(crate) fn export(&self, report: Report) {
        let Some(sender) = &self.sender else { return };
        if sender.try_send((SystemTime::now(), report)).is_err() {
            tracing::debug!("a span was dropped: the collector is too slow");
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Batches {
    collector: Endpoint,
    service: String,
    /// What makes this guard's traces different from those of others.
    seed: RandomState,
    open: AHashMap<String, Vec<Value>>,
}

impl Batches {
    fn work(mut self, receiver: &Receiver<(SystemTime, Report)>) {
        let mut spans = Vec::new();
        loop {
            match receiver.recv_timeout(BATCH_INTERVAL) {
                Ok((time, report)) => spans.extend(self.span(time, report)),
                Err(RecvTimeoutError::Timeout) if spans.is_empty() => continue,
                Err(RecvTimeoutError::Timeout) => self.send(&mut spans),
                Err(RecvTimeoutError::Disconnected) if spans.is_empty() => return,
                Err(RecvTimeoutError::Disconnected) => return self.send(&mut spans),
            }
            if spans.len() >= MAX_BATCH {
                self.send(&mut spans);
            }
        }
    }

    /// The span of a session that has ended; a verdict is kept until its session ends.
    fn span(&mut self, time: SystemTime, report: Report) -> Option<Value> {
        let nanoseconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        match report {
            Report::Verdict(verdict) => {
                let key = session_key(&verdict.listener, verdict.session.as_deref());
                if self.open.len() < MAX_OPEN_SESSIONS || self.open.contains_key(&key) {
                    let events = self.open.entry(key).or_default();
                    if events.len() < MAX_EVENTS {
                        events.push(event(&verdict, &nanoseconds(time).to_string()));
                    }
                }
                None
            }
            Report::Message(_) => None,
            Report::SessionEnd(end) => {
                let began = time - Duration::from_millis(end.milliseconds);
                let key = session_key(&end.listener, end.session.as_deref());
                let events = self.open.remove(&key).unwrap_or_default();
                let id = |part: u8| self.seed.hash_one((part, &key)).max(1);
                let own = || (format!("{:016x}{:016x}", id(0), id(1)), format!("{:016x}", id(2)));
                // The monitors of a network session agree on its trace and on each other's spans.
                let mut context = end.traceparent.as_deref().unwrap_or_default().split('-').skip(1);
                let agreed = context.next().zip(context.next());
                let (trace, span) = agreed.map_or_else(own, |(trace, span)| (trace.into(), span.into()));
                let failed = end.violations > 0;
                Some(json!({
                    "traceId": trace,
                    "spanId": span,
                    "parentSpanId": end.parent_span.unwrap_or_default(),
                    "name": format!("session {}", end.listener),
                    "kind": 2,
                    "startTimeUnixNano": nanoseconds(began).to_string(),
                    "endTimeUnixNano": nanoseconds(time).to_string(),
                    "attributes": [
                        text("referee.listener", &end.listener),
                        text("client.address", &end.source),
                        text("referee.why", end.why.name()),
                        text("referee.session", end.session.as_deref().unwrap_or("")),
                        text("referee.network_session", end.network_session.as_deref().unwrap_or("")),
                        number("referee.messages", end.messages),
                        number("referee.violations", end.violations),
                        number("referee.bytes_from_client", end.bytes_from_client),
                        number("referee.bytes_from_server", end.bytes_from_server),
                    ],
                    "events": events,
                    "status": {"code": if failed { 2 } else { 1 }},
                }))
            }
        }
    }

    fn send(&self, spans: &mut Vec<Value>) {
        let count = spans.len();
        let body = json!({"resourceSpans": [{
            "resource": {"attributes": [text("service.name", &self.service)]},
            "scopeSpans": [{
                "scope": {"name": "referee", "version": env!("CARGO_PKG_VERSION")},
                "spans": std::mem::take(spans),
            }],
        }]});
        if let Err(error) = self.collector.post(body.to_string(), &[], COLLECTOR_TIMEOUT) {
            tracing::warn!(%error, spans = count, collector = self.collector.host(), "spans could not be exported");
        }
    }
}

/// Where spans go: by default to the collector of this machine.
fn collector(config: &Otlp) -> Result<Endpoint, String> {
    Endpoint::new(config.endpoint.get_ref(), COLLECTOR_PORT, "/v1/traces", config.tls.as_ref())
}

/// What is wrong with `config`, if anything is.
pub(crate) fn problem(config: &Otlp) -> Option<String> {
    collector(config).err()
}

/// Sessions of different roles of a network may have the same number.
fn session_key(listener: &str, session: Option<&str>) -> String {
    format!("{listener} {}", session.unwrap_or(""))
}

/// A verdict as an event of its session's span.
fn event(verdict: &VerdictRecord, time: &str) -> Value {
    let or_empty = |value: &Option<String>| value.clone().unwrap_or_default();
    json!({
        "timeUnixNano": time,
        "name": verdict.verdict.name(),
        "attributes": [
            text("referee.kind", &verdict.kind),
            text("referee.role", &or_empty(&verdict.role)),
            text("referee.blame", &verdict.blamed().collect::<Vec<_>>().join(", ")),
            text("referee.label", &or_empty(&verdict.got)),
            text("referee.event", &verdict.event.to_string()),
            text("referee.state", &or_empty(&verdict.state)),
            text("referee.expected", &verdict.expected.join(", ")),
            text("referee.rule", &or_empty(&verdict.rule)),
            text("referee.paper_rule", &or_empty(&verdict.paper_rule)),
            text("referee.action", verdict.action.map_or("", VerdictAction::name)),
            text("exception.message", &verdict.message),
        ],
    })
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Integers of 64 bits are texts in OTLP's JSON.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{EndReason, EndRecord};

    fn config(endpoint: &str) -> Otlp {
        Otlp { endpoint: toml::Spanned::new(0..0, endpoint.to_owned()), service: String::new(), tls: None }
    }

    #[test]
    fn the_roles_of_a_network_session_share_a_trace() {
        let span = |listener: &str, network_session: Option<&str>| {
            let collector = collector(&config("http://127.0.0.1")).unwrap();
            let seed = RandomState::new();
            let mut process = Batches { collector, service: String::new(), seed, open: AHashMap::new() };
            let end = EndRecord {
                time: String::new(),
                listener: listener.to_owned(),
                session: Some("1".to_owned()),
                network_session: network_session.map(str::to_owned),
                traceparent: network_session
                    .map(|id| format!("00-{id}-{:016x}-01", listener.bytes().map(u64::from).sum::<u64>())),
                parent_span: None,
                source: String::new(),
                why: EndReason::Over,
                detail: None,
                unchecked: false,
                bytes_discarded: 0,
                messages: 0,
                violations: 0,
                bytes_from_client: 0,
                bytes_from_server: 0,
                milliseconds: 0,
            };
            let span = process.span(UNIX_EPOCH, Report::SessionEnd(Box::new(end))).unwrap();
            [span["traceId"].as_str().unwrap().to_owned(), span["spanId"].as_str().unwrap().to_owned()]
        };
        let id = "0123456789abcdef0123456789abcdef";
        let [[one, s], [other, c]] = ["Auth/s", "Auth/c"].map(|listener| span(listener, Some(id)));
        assert!(one == id && other == id && s != c);
        assert!(span("a", None)[0] != span("a", None)[0] && span("a", None)[0].len() == 32);
    }
}
