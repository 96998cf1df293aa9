//! Monitors from text, events from text, and everything that is told as lines of text.

use std::io::{self, Read};
use std::sync::Arc;

use referee_monitor::{Monitor, Registry};
use referee_syntax::{Analysis, Language, parse};
use referee_watch::{Input, Notice, Observer, Options, Progress, Summary, WatchError, watch};

pub(crate) const AUTH: &str = include_str!("../../examples/auth.scr");

/// Three roles: what `a` hears from `b` and from `c` may come in any order.
pub(crate) const TWO_PEERS: &str = "protocol P(role a, role b, role c) {
    rec X { One(n: int) from b to a; Two(n: int) from c to a; Tick() from b to c; continue X; }
}";

/// The monitor of `role`.
pub(crate) fn monitor(text: &str, role: &str) -> Arc<Monitor> {
    monitor_with(text, role, &Registry::new())
}

/// The monitor of `role`, whose predicates are in `registry`.
pub(crate) fn monitor_with(text: &str, role: &str, registry: &Registry) -> Arc<Monitor> {
    let analysis = Analysis::of(parse(text, Language::Scr));
    assert!(analysis.is_well_formed(), "{:?}", analysis.diagnostics);
    let global = &analysis.protocols[0].global;
    let role = global.vocabulary().find_role(role).unwrap();
    let machine = global.project(role).unwrap();
    Arc::new(Monitor::synthesise(&machine, global.vocabulary(), registry).unwrap())
}

#[derive(Default)]
pub(crate) struct Told(pub(crate) Vec<String>);

impl Observer for Told {
    fn notice(&mut self, notice: Notice) -> io::Result<()> {
        self.0.push(match notice {
            Notice::Violation(report) => format!(
                "{}:{} session {} event {} {} by {}{}: {}",
                report.place.file,
                report.place.line,
                report.session.as_deref().unwrap_or("-"),
                report.event,
                report.kind,
                report.blame.as_deref().unwrap_or("?"),
                if report.consequence { " (consequence)" } else { "" },
                report.sentence
            ),
            Notice::Unanswered(it) => {
                format!("{}:{} event {} unanswered: {}", it.place.file, it.place.line, it.event, it.sentence)
            }
            Notice::Property(report) => format!(
                "{} {} event {} {} {}{}",
                report.place.map_or_else(|| "-".to_owned(), |place| format!("{}:{}", place.file, place.line)),
                report.session.or(report.key).as_deref().unwrap_or("-"),
                report.event,
                report.property.name(),
                report.verdict.name(),
                if report.derivation.is_some() { " because" } else { "" }
            ),
            Notice::Malformed(place, why) => format!("{}:{} malformed: {why}", place.file, place.line),
        });
        Ok(())
    }

    fn progress(&mut self, _: &Progress) -> io::Result<()> {
        Ok(())
    }
}

/// Watches `inputs`; everything that is told, and the sums.
pub(crate) fn run(
    monitor: &Arc<Monitor>,
    inputs: Vec<Input>,
    options: Options,
) -> Result<(Vec<String>, Summary), WatchError> {
    let mut told = Told::default();
    let summary = watch(Arc::clone(monitor), &[], inputs, options, &mut told)?;
    Ok((told.0, summary))
}

/// Watches one text called `log`.
pub(crate) fn text(monitor: &Arc<Monitor>, text: &str, options: Options) -> (Vec<String>, Summary) {
    bytes(monitor, text.as_bytes(), options)
}

pub(crate) fn bytes(monitor: &Arc<Monitor>, bytes: &[u8], options: Options) -> (Vec<String>, Summary) {
    run(monitor, vec![Input::stream("log", io::Cursor::new(bytes.to_vec()))], options).unwrap()
}

/// A log of `sessions` sessions of [`AUTH`], interleaved, some of them wrong, some lines malformed.
pub(crate) fn log(sessions: u64, events: u64) -> String {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |bound: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % bound
    };
    let mut states = vec![0; usize::try_from(sessions).unwrap()];
    let mut text = String::new();
    for event in 0..events {
        let at = random(sessions) as usize;
        let mut line = |from: &str, to: &str, label: &str, payload: &str| {
            text += &format!(
                "{{\"session\":\"s{at}\",\"from\":\"{from}\",\"to\":\"{to}\",\"label\":\"{label}\",\
                 \"payload\":{payload},\"time\":{event}}}\n"
            );
        };
        let (client, server) = ("client", "server");
        match (states[at], random(40)) {
            (_, 0) => text += "{\"session\":\"broken\n",
            (_, 1) => line(server, client, "Nonsense", "{}"),
            (0, _) => line(client, server, "Auth", "{\"uname\":\"bob\",\"pwd\":\"\\u0041\\n\"}"),
            (1, _) => line(server, client, "Succ", &format!("{{\"tok\":\"t{at}\"}}")),
            (2, 2) => line(client, server, "Get", "{\"resource\":\"r\",\"reqTok\":\"stolen\"}"),
            (2, 3..6) => line(client, server, "Rvk", &format!("{{\"rvkTok\":\"t{at}\"}}")),
            (2, 6) => text += &format!("{{\"session\":\"s{at}\",\"end\":\"client\"}}\n"),
            (2, _) => line(client, server, "Get", &format!("{{\"resource\":\"r\",\"reqTok\":\"t{at}\"}}")),
            _ => line(server, client, "Res", "{\"content\":\"c\"}"),
        }
        states[at] = match states[at] {
            3 => 2,
            state => state + 1,
        };
    }
    text
}

/// A reader that gives at most `step` bytes at a time.
pub(crate) struct Slow<R> {
    pub(crate) inner: R,
    pub(crate) step: usize,
}

impl<R: Read> Read for Slow<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.step);
        self.inner.read(&mut buffer[..length])
    }
}
