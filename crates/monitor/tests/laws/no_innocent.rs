//! `docs/time.md`, law T2, as far as the monitor goes: a server that answers in time, channels that delay each byte by at most the
//! tolerance, whoever observes stalled at any point, requests sent ahead: the server is not blamed, whatever of this happened.
//! The teeth of the document make the law fail.

use std::sync::Arc;

use referee_monitor::{Moment, Monitor, Party, Passed, Payload, Registry, TimeVerdict, Verdict};
use referee_syntax::convert::Subject;
use referee_syntax::{Analysis, Language, parse};

use crate::random::Random;

/// The monitor of rounds of requests and answers, and how long an answer takes: at least and at most.
struct Rounds {
    monitor: Arc<Monitor>,
    after: i64,
    within: i64,
}

impl Rounds {
    fn new(after: i64, within: i64) -> Self {
        let waits = if after > 0 { format!("after {after}ns") } else { String::new() };
        let text = format!(
            "protocol P(role client, role server) {{ rec X {{ Request() from client to server;
             Reply() from server to client within {within}ns {waits}; continue X; }} }}"
        );
        let analysis = Analysis::of(parse(&text, Language::Scr));
        let Some(Subject::Global(_, global, _)) = Subject::of(&analysis.document, None) else {
            panic!("{text}")
        };
        let machine = global.project(global.vocabulary().find_role("client").unwrap()).unwrap();
        let monitor = Monitor::synthesise(&machine, global.vocabulary(), &Registry::default()).unwrap();
        Self { monitor: Arc::new(monitor), after, within }
    }
}

/// What the observer does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// The operator vouches for less than is true.
    SmallTolerance,
    /// Handing is stamped after the write only.
    HandingAfterTheWrite,
    /// That nothing was there is stamped after the look.
    EmptyAfterTheLook,
    /// Own messages count from their first byte.
    FirstByte,
}

/// One session of `rounds` rounds in which nobody does anything wrong; whether the server is blamed.
fn blames(
    rounds: &Rounds,
    tolerance: i64,
    mistake: Mistake,
    count: usize,
    choose: &mut dyn FnMut(i64) -> i64,
) -> bool {
    let monitor = &rounds.monitor;
    let to_server = monitor.channel(Party::Process, Party::Environment);
    let to_client = monitor.channel(Party::Environment, Party::Process);
    let [request, reply] = ["Request", "Reply"].map(|label| monitor.label(label));
    let vouched = if mistake == Mistake::SmallTolerance { tolerance - 1 } else { tolerance };
    let mut session = monitor.session();
    let mut timer = monitor.timer(Moment::at(0), vouched);
    // The true times: of the observer's last write, at the server, of the server's last byte, and of its arrival here.
    let (mut written, mut at_server, mut finished, mut arrived) = (0, 0, 0, 0);
    for _ in 0..count {
        // A request may be sent long before the answer to the one before has come.
        let before = written + choose(3);
        written = before + choose(2);
        let after = written + choose(3);
        let handed = match mistake {
            Mistake::HandingAfterTheWrite => Moment::at(after),
            _ => Moment { earliest: before, latest: after },
        };
        at_server = at_server.max(written + choose(tolerance + 1));
        assert_eq!(
            monitor.step_interned(&mut session, to_server, request, Payload::Positional(&[])),
            Verdict::Forward
        );
        let own = Moment::at(before);
        monitor
            .passed(&mut timer, &Passed { channel: to_server, label: request, arrived: own, handed, end: 0 });
        // The server answers in time, and takes a while to send it.
        let began = at_server.max(finished);
        let sent = began + rounds.after + choose(rounds.within - rounds.after + 1);
        finished = sent + choose(3);
        let first = arrived.max(sent + choose(tolerance + 1));
        arrived = first.max(finished + choose(tolerance + 1));
        // The last look that saw nothing was before it came, but the clock may have been read before the look, and later
        // after the read.
        let look = first - choose(3);
        let earliest = match mistake {
            Mistake::EmptyAfterTheLook => look + choose(4),
            _ => look - choose(2),
        };
        let seen = Moment { earliest, latest: earliest.max(first) + choose(3) };
        let judged = monitor.in_time(&mut timer, &session, to_client, reply, seen);
        if matches!(judged, TimeVerdict::Untimely(untimely) if untimely.certain) {
            return true;
        }
        assert_eq!(
            monitor.step_interned(&mut session, to_client, reply, Payload::Positional(&[])),
            Verdict::Forward
        );
        let last = match mistake {
            Mistake::FirstByte => seen,
            _ => Moment { earliest: earliest.min(arrived), latest: arrived + choose(2) },
        };
        monitor.passed(
            &mut timer,
            &Passed { channel: to_client, label: reply, arrived: last, handed: last, end: 0 },
        );
    }
    false
}

/// Runs `run` with every sequence of choices.
fn every(mut run: impl FnMut(&mut dyn FnMut(i64) -> i64)) -> u64 {
    // The choice made at each point, and how many there were.
    let mut path: Vec<(i64, i64)> = Vec::new();
    let mut runs = 0;
    loop {
        let mut at = 0;
        run(&mut |options| {
            if at == path.len() {
                path.push((0, options.max(1)));
            }
            at += 1;
            path[at - 1].0
        });
        runs += 1;
        while let Some((choice, options)) = path.pop() {
            if choice + 1 < options {
                path.push((choice + 1, options));
                break;
            }
        }
        if path.is_empty() {
            return runs;
        }
    }
}

#[test]
fn nobody_is_blamed_for_delays_and_stalls() {
    let mut runs = 0;
    for (after, within) in [(0, 1), (0, 2), (1, 2), (2, 2)] {
        let rounds = Rounds::new(after, within);
        for tolerance in [0, 1] {
            runs += every(|choose| assert!(!blames(&rounds, tolerance, Mistake::None, 1, choose)));
        }
        for seed in 0..25_000 {
            let mut random = Random::new(seed);
            let tolerance = random.below(4) as i64;
            let mut choose = |options: i64| random.below(options.max(1) as usize) as i64;
            assert!(!blames(&rounds, tolerance, Mistake::None, 5, &mut choose), "seed {seed}");
        }
    }
    assert!(runs > 50_000, "{runs}");
}

#[test]
fn each_mistake_blames_an_innocent() {
    for mistake in [
        Mistake::SmallTolerance,
        Mistake::HandingAfterTheWrite,
        Mistake::EmptyAfterTheLook,
        Mistake::FirstByte,
    ] {
        let rounds = Rounds::new(2, 2);
        let blamed = (0..5_000).any(|seed| {
            let mut random = Random::new(seed);
            let tolerance = if mistake == Mistake::SmallTolerance { 2 } else { 0 };
            let mut choose = |options: i64| random.below(options.max(1) as usize) as i64;
            blames(&rounds, tolerance, mistake, 4, &mut choose)
        });
        assert!(blamed, "{mistake:?}");
    }
}
