//! Export to an OpenTelemetry collector: OTLP over HTTP in its JSON encoding, one span per session, an event per
//! violation. What cannot be delivered is dropped and counted in the log: a collector must never slow a guard down.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ahash::AHashMap;
use serde_json::{Value, json};

use crate::config::Otlp;
use crate::report::{Report, VerdictAction, VerdictRecord};

const WAITING: usize = 4096;
const BATCH: usize = 256;
const PERIOD: Duration = Duration::from_secs(1);
/// How long the collector may take for anything.
const PATIENCE: Duration = Duration::from_secs(5);
/// Sessions whose verdicts are kept until they end, and how many of each.
const OPEN: usize = 16_384;
const EVENTS: usize = 128;

/// Hands reports to the thread that exports them. Dropped, it waits until what was handed over is delivered, or was not.
pub(crate) struct Exporter {
    sender: Option<SyncSender<(SystemTime, Report)>>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    pub(crate) fn start(config: &Otlp) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(WAITING);
        let (host, path) = place(config.endpoint.get_ref());
        let service = config.service.clone();
        let seed = RandomState::new();
        let work = move || Batches { host, path, service, seed, open: AHashMap::new() }.work(&receiver);
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

/// The host with its port, and the path, of `http://HOST[:PORT][/PATH]`: by default those of a collector on this machine.
fn place(endpoint: &str) -> (String, String) {
    let address = endpoint.trim_start_matches("http://");
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let host = if has_port { host.to_owned() } else { format!("{host}:4318") };
    let path = path.trim_end_matches('/');
    (host, if path.is_empty() { "/v1/traces".to_owned() } else { format!("/{path}") })
}

struct Batches {
    host: String,
    path: String,
    service: String,
    /// What makes this guard's traces different from those of others.
    seed: RandomState,
    open: AHashMap<String, Vec<Value>>,
}

impl Batches {
    fn work(mut self, receiver: &Receiver<(SystemTime, Report)>) {
        let mut spans = Vec::new();
        loop {
            match receiver.recv_timeout(PERIOD) {
                Ok((time, report)) => spans.extend(self.span(time, report)),
                Err(RecvTimeoutError::Timeout) if spans.is_empty() => continue,
                Err(RecvTimeoutError::Timeout) => self.send(&mut spans),
                Err(RecvTimeoutError::Disconnected) if spans.is_empty() => return,
                Err(RecvTimeoutError::Disconnected) => return self.send(&mut spans),
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
                let key = session_key(&verdict.listener, verdict.session.as_deref());
                if self.open.len() < OPEN || self.open.contains_key(&key) {
                    let events = self.open.entry(key).or_default();
                    if events.len() < EVENTS {
                        events.push(event(&verdict, &nanoseconds(time).to_string()));
                    }
                }
                None
            }
            Report::SessionEnd(end) => {
                let began = time - Duration::from_millis(end.milliseconds);
                let key = session_key(&end.listener, end.session.as_deref());
                let events = self.open.remove(&key).unwrap_or_default();
                let id = |part: u8| self.seed.hash_one((part, &key)).max(1);
                // All monitors of a network session know its id, which is random: one trace, wherever its spans come from.
                let own = || format!("{:016x}{:016x}", id(0), id(1));
                let trace = end.network_session.clone().unwrap_or_else(own);
                let failed = end.violations > 0;
                Some(json!({
                    "traceId": trace,
                    "spanId": format!("{:016x}", id(2)),
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
        if let Err(error) = self.post(&body.to_string()) {
            tracing::warn!(%error, spans = count, collector = self.host, "spans could not be exported");
        }
    }

    fn post(&self, body: &str) -> io::Result<()> {
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        let mut connected = None;
        for address in self.host.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => {
                    connected = Some(stream);
                    break;
                }
                Err(error) => failure = error,
            }
        }
        let mut stream = connected.ok_or(failure)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_read_timeout(Some(PATIENCE))?;
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

    #[test]
    fn the_roles_of_a_network_session_share_a_trace() {
        let span = |listener: &str, network_session: Option<&str>| {
            let (host, path) = place("http://127.0.0.1");
            let seed = RandomState::new();
            let mut process = Batches { host, path, service: String::new(), seed, open: AHashMap::new() };
            let end = EndRecord {
                time: String::new(),
                listener: listener.to_owned(),
                session: Some("1".to_owned()),
                network_session: network_session.map(str::to_owned),
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

    #[test]
    fn endpoints_have_defaults() {
        let of = |endpoint| {
            let (host, path) = place(endpoint);
            format!("{host} {path}")
        };
        assert_eq!(of("http://127.0.0.1"), "127.0.0.1:4318 /v1/traces");
        assert_eq!(of("http://[::1]"), "[::1]:4318 /v1/traces");
        assert_eq!(of("http://collector:80/"), "collector:80 /v1/traces");
        assert_eq!(of("http://collector/custom/traces"), "collector:4318 /custom/traces");
    }
}
