//! `cargo bench -p referee-wire`: what it costs to find messages, and to judge them.
//!
//! Each case is a stretch of a conversation that leaves the session where it was, so that it can be repeated.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use referee_monitor::{Ahead, LabelId, Lead, Monitor, Payload, Registry, Session, Side, Verdict};
use referee_syntax::{Content, Language};
use referee_wire::{Codec, Connection, Fields, Label, Limits, Readings, Scratch, Sender, Step, preset};

struct Guarded {
    monitor: Monitor,
    codec: Codec,
    ahead: Ahead,
    readings: Readings,
    labels: Vec<LabelId>,
}

struct State {
    connection: Connection,
    session: Session,
    lead: Lead,
    scratch: Scratch,
}

impl Guarded {
    fn new(name: &str) -> Option<Self> {
        let preset = preset::find(name)?;
        let Content::Global(protocols) = referee_syntax::parse(preset.protocol, Language::Scr).content else {
            return None;
        };
        let global = protocols.first()?.global.as_ref()?;
        let client = global.vocabulary().find_role("client")?;
        let machine = global.project(client).ok()?;
        let monitor = Monitor::synthesise(&machine, global.vocabulary(), &Registry::new()).ok()?;
        let codec = Codec::compile(&preset.table().ok()?, &monitor, client).ok()?;
        let ahead = Ahead::new(&monitor);
        let readings = Readings::new(&codec, &monitor, &ahead).ok()?;
        let labels = codec.messages().iter().map(|known| monitor.label(&known.name)).collect();
        Some(Self { monitor, codec, ahead, readings, labels })
    }

    fn state(&self) -> State {
        State {
            connection: self.codec.connection(Limits::default()),
            session: self.monitor.session(),
            lead: Lead::default(),
            scratch: Scratch::new(),
        }
    }

    /// Reads and judges all of `bytes`, and returns how many messages there were.
    fn run(&self, state: &mut State, sender: Sender, mut bytes: &[u8]) -> usize {
        let side = if self.codec.is_process(sender) { Side::Process } else { Side::Environment };
        let mut count = 0;
        while !bytes.is_empty() {
            let position = self.ahead.position(&state.session, &state.lead, side);
            let Some(reading) = position.and_then(|position| self.readings.at(sender, position)) else {
                break;
            };
            let mut fields = Fields::new();
            let step =
                self.codec.decode(&mut state.connection, sender, bytes, reading, &state.scratch, &mut fields);
            match step {
                Step::Message(message) => {
                    let label = match message.label {
                        Label::Known(id) => self.labels.get(id.index()).copied().unwrap_or(LabelId::UNKNOWN),
                        Label::Unknown(_) => LabelId::UNKNOWN,
                    };
                    let payload = Payload::Positional(&fields);
                    let (session, lead) = (&mut state.session, &mut state.lead);
                    let verdict = self.ahead.judge(&self.monitor, session, lead, side, label, payload);
                    assert_eq!(verdict, Verdict::Forward);
                    self.codec.take(&mut state.connection, sender, message.after, true);
                    bytes = bytes.get(message.bytes..).unwrap_or_default();
                    count += 1;
                }
                Step::Body { bytes: length, .. } => {
                    bytes = bytes.get(usize::try_from(length).unwrap_or(usize::MAX)..).unwrap_or_default();
                }
                _ => break,
            }
        }
        assert!(bytes.is_empty());
        count
    }
}

const REQUEST: &[u8] =
    b"GET /index.html?x=1 HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\
    Accept-Encoding: gzip, deflate\r\nCookie: session=0123456789abcdef\r\nConnection: keep-alive\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.24.0\r\nDate: Sun, 15 Nov 2026 12:00:00 GMT\r\n\
    Content-Type: text/html\r\nContent-Length: 13\r\nConnection: keep-alive\r\nETag: \"65a1\"\r\n\r\nHello, world!";

fn conversation(
    criterion: &mut Criterion,
    name: &str,
    case: &str,
    start: &[(Sender, &[u8])],
    talk: &[(Sender, &[u8])],
) {
    let Some(guarded) = Guarded::new(name) else { return };
    let mut state = guarded.state();
    for (sender, bytes) in start {
        guarded.run(&mut state, *sender, bytes);
    }
    let count: usize = talk.iter().map(|(sender, bytes)| guarded.run(&mut state, *sender, bytes)).sum();
    let bytes: usize = talk.iter().map(|(_, bytes)| bytes.len()).sum();
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::ElementsAndBytes { elements: count as u64, bytes: bytes as u64 });
    group.bench_function(case, |bencher| {
        bencher.iter(|| {
            for (sender, bytes) in talk {
                black_box(guarded.run(&mut state, *sender, black_box(bytes)));
            }
        });
    });
    group.finish();
}

fn main() {
    use Sender::{Client, Server};
    let mut criterion = Criterion::default().configure_from_args();
    conversation(
        &mut criterion,
        "http",
        "request and response",
        &[],
        &[(Client, REQUEST), (Server, RESPONSE)],
    );
    let sets = b"*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000042\r\n$3\r\nxxx\r\n".repeat(16);
    let answers = b"+OK\r\n".repeat(16);
    conversation(&mut criterion, "redis", "16 pipelined SET", &[], &[(Client, &sets), (Server, &answers)]);
    let start: [(Sender, &[u8]); 3] =
        [(Server, b"220 mx\r\n"), (Client, b"EHLO me\r\n"), (Server, b"250-mx\r\n250 PIPELINING\r\n")];
    let mail: [(Sender, &[u8]); 8] = [
        (Client, b"MAIL FROM:<alice@example.org> SIZE=500\r\n"),
        (Server, b"250 2.1.0 Ok\r\n"),
        (Client, b"RCPT TO:<bob@example.org>\r\n"),
        (Server, b"250 2.1.5 Ok\r\n"),
        (Client, b"DATA\r\n"),
        (Server, b"354 End data with <CR><LF>.<CR><LF>\r\n"),
        (Client, b"Subject: hello\r\n\r\nA line of text, and another.\r\n.\r\n"),
        (Server, b"250 2.0.0 Ok: queued as 1234\r\n"),
    ];
    conversation(&mut criterion, "smtp", "a mail", &start, &mail);
    criterion.final_summary();
}
