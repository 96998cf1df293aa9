//! Prints how many events a second one core steps over: `cargo run --release -p referee-monitor --example rate`.
//!
//! `rate count N` steps N events of one session and prints nothing: for counting instructions under
//! `valgrind --tool=callgrind`, as the difference of two runs.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it measures and prints"
)]

#[path = "../benches/protocols.rs"]
mod protocols;

use std::hint::black_box;
use std::time::Instant;

use protocols::{Asserts, calculator};
use referee_monitor::{Channel, Event, FieldValue, LabelId, Monitor, Party, Payload, Session, Verdict};
use referee_theory::Type;

/// A decoded event of one of many sessions.
struct Decoded {
    session: u32,
    channel: Channel,
    label: LabelId,
    value: FieldValue<'static>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, kind, count] = arguments.as_slice()
        && mode == "count"
    {
        return count_only(kind, count.parse().unwrap_or(1000));
    }
    for (name, asserts) in [
        ("label and int", Asserts::Nothing),
        ("own int comparison", Asserts::Own),
        ("kept int", Asserts::Kept),
    ] {
        let monitor = calculator(&Type::Int, asserts);
        let started = Moment::now();
        let events = 20_000_000;
        one_session(&monitor, events);
        report(&format!("one session, {name}"), events, &started);
    }
    let monitor = calculator(&Type::Int, Asserts::Kept);
    for sessions in [10, 1_000, 100_000, 1_000_000] {
        let stream = stream(&monitor, sessions, 8_000_000);
        let mut all: Vec<Session> = (0..sessions).map(|_| monitor.session()).collect();
        let mut wrong = 0;
        let started = Moment::now();
        for events in stream.chunks(64) {
            Session::fetch(events.iter().map(|event| &all[event.session as usize]));
            for event in events {
                let payload = Payload::Positional(std::slice::from_ref(&event.value));
                let session = &mut all[event.session as usize];
                let verdict = monitor.step_interned(session, event.channel, event.label, payload);
                wrong += u32::from(verdict != Verdict::Forward);
            }
        }
        report(&format!("{sessions} sessions, random access, kept int"), stream.len(), &started);
        assert_eq!(wrong, 0, "every event follows the protocol");
    }
}

/// A moment, by the time this thread has had on a processor where the system tells it: others may be busy too.
struct Moment(Option<u64>, Instant);

impl Moment {
    fn now() -> Self {
        let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        Self(told.and_then(|text| text.split(' ').next()?.parse().ok()), Instant::now())
    }

    fn seconds_since(&self, earlier: &Self) -> f64 {
        match (self.0, earlier.0) {
            (Some(now), Some(then)) => (now - then) as f64 / 1e9,
            _ => (self.1 - earlier.1).as_secs_f64(),
        }
    }
}

fn report(name: &str, events: usize, started: &Moment) {
    let seconds = Moment::now().seconds_since(started);
    println!(
        "{name:<48} {:7.1} M events/s {:7.1} ns",
        events as f64 / seconds / 1e6,
        seconds * 1e9 / events as f64
    );
}

fn one_session(monitor: &Monitor, events: usize) {
    let mut session = monitor.session();
    let (p, e) = (monitor.party("client"), monitor.party("server"));
    let values = [FieldValue::Int(7)];
    for _ in 0..events / 2 {
        let add = Event::new(black_box(p), e, black_box("Add"), Payload::Positional(&values));
        let sum = Event::new(black_box(e), p, black_box("Sum"), Payload::Positional(&values));
        let _ = black_box((monitor.step(&mut session, &add), monitor.step(&mut session, &sum)));
    }
}

fn count_only(kind: &str, events: usize) {
    let asserts = match kind {
        "own" => Asserts::Own,
        "kept" => Asserts::Kept,
        _ => Asserts::Nothing,
    };
    let monitor = calculator(&Type::Int, asserts);
    if kind == "interned" { one_session_interned(&monitor, events) } else { one_session(&monitor, events) }
}

fn one_session_interned(monitor: &Monitor, events: usize) {
    let mut session = monitor.session();
    let out = (monitor.channel(Party::Process, Party::Environment), monitor.label("Add"));
    let back = (monitor.channel(Party::Environment, Party::Process), monitor.label("Sum"));
    let values = [FieldValue::Int(7)];
    for _ in 0..events / 2 {
        let payload = Payload::Positional(black_box(&values));
        let (out, back) = (black_box(out), black_box(back));
        let _ = black_box(monitor.step_interned(&mut session, out.0, out.1, payload));
        let _ = black_box(monitor.step_interned(&mut session, back.0, back.1, payload));
    }
}

/// Requests and replies of `sessions` sessions, interleaved at random.
fn stream(monitor: &Monitor, sessions: u32, events: usize) -> Vec<Decoded> {
    let out = (monitor.channel(Party::Process, Party::Environment), monitor.label("Add"));
    let back = (monitor.channel(Party::Environment, Party::Process), monitor.label("Sum"));
    let mut asked = vec![false; sessions as usize];
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    (0..events)
        .map(|_| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let session = (seed >> 32) as u32 % sessions;
            let asked = &mut asked[session as usize];
            let (channel, label) = if *asked { back } else { out };
            *asked = !*asked;
            Decoded { session, channel, label, value: FieldValue::Int(i64::from(session)) }
        })
        .collect()
}
