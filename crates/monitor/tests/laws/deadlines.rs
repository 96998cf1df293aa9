//! `docs/time.md`, laws T1 and T4: limits are those of the tables, on all small protocols and a grid of times; without times
//! nothing is said.

use std::sync::Arc;

use referee_monitor::{
    Kind, LabelId, Moment, Monitor, Party, Passed, Payload, Registry, Side, TimeVerdict, Verdict,
};
use referee_reference::deadline::{Interval, Obligation, Of, Said, Seen, said};
use referee_syntax::convert::Subject;
use referee_syntax::{Analysis, Language, parse};

use crate::random::Random;

/// The monitor of the client in a protocol between client and server.
fn monitor(body: &str) -> Arc<Monitor> {
    let text = format!("protocol P(role client, role server) {{ {body} }}");
    let analysis = Analysis::of(parse(&text, Language::Scr));
    let Some(Subject::Global(_, global, _)) = Subject::of(&analysis.document, None) else {
        panic!("{text}: {:?}", analysis.diagnostics)
    };
    let role = global.vocabulary().find_role("client").unwrap();
    let machine = global.project(role).unwrap();
    Arc::new(Monitor::synthesise(&machine, global.vocabulary(), &Registry::default()).unwrap())
}

fn side(by_client: bool) -> Side {
    if by_client { Side::Process } else { Side::Environment }
}

/// A protocol whose last message, M, has times.
struct Case {
    monitor: Arc<Monitor>,
    /// Who sends each message: the client or not.
    senders: Vec<bool>,
    labels: Vec<LabelId>,
    within: Option<(i64, Of)>,
    after: Option<i64>,
}

const LABELS: [&str; 3] = ["A", "B", "M"];

impl Case {
    /// All protocols of up to three messages, each sent by either side, and all times of the last one.
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for length in 1..=3_usize {
            for senders in 0..1_u32 << length {
                let senders: Vec<bool> = (0..length).map(|index| senders >> index & 1 == 1).collect();
                let mut ofs = vec![Of::Before, Of::Any];
                ofs.extend((0..length - 1).map(Of::Message));
                let withins = ofs.into_iter().flat_map(|of| [1, 2].map(|d| Some((d, of)))).chain([None]);
                for within in withins {
                    for after in [None, Some(1), Some(2)] {
                        all.push(Self::new(senders.clone(), within, after));
                    }
                }
            }
        }
        all
    }

    fn new(senders: Vec<bool>, within: Option<(i64, Of)>, after: Option<i64>) -> Self {
        let labels = &LABELS[LABELS.len() - senders.len()..];
        let mut body = String::new();
        for (index, (label, by_client)) in labels.iter().zip(&senders).enumerate() {
            let (from, to) = if *by_client { ("client", "server") } else { ("server", "client") };
            body += &format!("{label}() from {from} to {to}");
            if index == senders.len() - 1 {
                if let Some((length, of)) = within {
                    body += &format!(" within {length}ns");
                    body += &match of {
                        Of::Before => String::new(),
                        Of::Any => " of any".to_owned(),
                        Of::Message(number) => format!(" of {}", labels[number]),
                    };
                }
                if let Some(length) = after {
                    body += &format!(" after {length}ns");
                }
            }
            body += ";";
        }
        let monitor = monitor(&body);
        let labels = labels.iter().map(|label| monitor.label(label)).collect();
        Self { monitor, senders, labels, within, after }
    }

    fn channel(&self, by_client: bool) -> referee_monitor::Channel {
        let (from, to) = (Party::Process, Party::Environment);
        if by_client { self.monitor.channel(from, to) } else { self.monitor.channel(to, from) }
    }

    /// What the monitor says about M, whose first byte arrived when `first` says; and what the tables say.
    fn check(
        &self,
        times: &[(Interval, Interval)],
        writable: Option<i64>,
        tolerance: i64,
        first: Interval,
    ) -> Said {
        let moment = |(earliest, latest): Interval| Moment { earliest, latest };
        let last = self.senders.len() - 1;
        let began = (0, 1);
        let mut session = self.monitor.session();
        let mut timer = self.monitor.timer(moment(began), tolerance);
        let r = self.senders[last];
        let mut seen = Vec::new();
        for (index, (arrived, handed)) in times.iter().enumerate() {
            let (channel, label) = (self.channel(self.senders[index]), self.labels[index]);
            let judged = self.monitor.in_time(&mut timer, &session, channel, label, moment(*arrived));
            assert!(matches!(judged, TimeVerdict::InTime), "{judged:?}");
            let verdict = self.monitor.step_interned(&mut session, channel, label, Payload::Positional(&[]));
            assert_eq!(verdict, Verdict::Forward);
            let (arrived, handed) = (*arrived, *handed);
            let passed = Passed { channel, label, arrived: moment(arrived), handed: moment(handed), end: 0 };
            self.monitor.passed(&mut timer, &passed);
            seen.push(Seen { by_r: self.senders[index] == r, arrived, handed });
        }
        if let Some(time) = writable {
            timer.writable(side(r), time);
        }
        let obligation = Obligation { seen: &seen, began, writable, tolerance };
        let expected = said(&obligation, self.within, self.after, first);
        // Silence.
        let limit = self.within.map(|(length, of)| obligation.at_most(of, length));
        assert_eq!(self.monitor.next_deadline(&timer, &session), limit);
        if let Some(limit) = limit {
            let mut timer = timer.clone();
            let now = |now, timer: &mut _| self.monitor.overdue(timer, &session, now);
            assert!(matches!(now(limit, &mut timer), TimeVerdict::InTime));
            match now(limit + 1, &mut timer) {
                TimeVerdict::Untimely(found) => {
                    let violation = found.violation;
                    assert_eq!(
                        (violation.kind, violation.side, found.certain),
                        (Kind::Deadline, side(r), true)
                    );
                }
                other => panic!("{other:?}"),
            }
            // Once.
            assert!(matches!(now(limit + 2, &mut timer), TimeVerdict::InTime));
            assert_eq!(self.monitor.next_deadline(&timer, &session), None);
        }
        let (channel, label) = (self.channel(r), self.labels[last]);
        let judged = self.monitor.in_time(&mut timer, &session, channel, label, moment(first));
        let found = match judged {
            TimeVerdict::InTime => Said::Nothing,
            TimeVerdict::Untimely(found) => match found.violation.kind {
                Kind::Deadline => Said::Late(found.certain),
                _ => Said::Early(found.certain),
            },
            TimeVerdict::NoTime => panic!("constants have values"),
        };
        assert_eq!(
            found, expected,
            "{:?} within {:?} after {:?}: {times:?}, first {first:?}, θ = {tolerance}, {writable:?}",
            self.senders, self.within, self.after
        );
        found
    }
}

const GRID: [Interval; 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (1, 3), (3, 4)];

#[test]
fn limits_are_those_of_the_tables() {
    let mut counts = [0_u64; 5];
    for (number, case) in Case::all().iter().enumerate() {
        let earlier = case.senders.len() - 1;
        let choices = GRID.len().pow(2 * u32::try_from(earlier).unwrap());
        // Of three messages some times are left out, others in each case: all would take minutes.
        let step = if earlier == 2 { 11 } else { 1 };
        for choice in (number % step..choices).step_by(step) {
            let mut rest = choice;
            let mut pick = || {
                let interval = GRID[rest % GRID.len()];
                rest /= GRID.len();
                interval
            };
            let times: Vec<(Interval, Interval)> = (0..earlier).map(|_| (pick(), pick())).collect();
            for tolerance in [0, 1] {
                for writable in [None, Some(3)] {
                    for first in [(0, 0), (2, 2), (4, 4), (6, 6), (9, 9), (0, 9), (1, 3), (4, 6), (6, 8)] {
                        let said = case.check(&times, writable, tolerance, first);
                        counts[match said {
                            Said::Nothing => 0,
                            Said::Late(blamed) => 1 + usize::from(blamed),
                            Said::Early(blamed) => 3 + usize::from(blamed),
                        }] += 1;
                    }
                }
            }
        }
    }
    assert!(counts.iter().all(|count| *count > 10_000), "{counts:?}");
}

/// Loops, choices and computed times, at random: deadlines of a choice are the latest, a reported one is not reported
/// again, a time of 0 is none and a negative one is said once.
#[test]
fn random_larger_sessions() {
    let text = "Hello(k: int) from client to server;
        rec X { choice at server within 5ns { A() from server to client within 2ns; } or { B() from server to client; }
        Ping() from client to server within k of any; continue X; }";
    let monitor = monitor(text);
    let [hello, a, b, ping] = ["Hello", "A", "B", "Ping"].map(|label| monitor.label(label));
    let to_server = monitor.channel(Party::Process, Party::Environment);
    let to_client = monitor.channel(Party::Environment, Party::Process);
    let (mut late, mut without) = (0, 0);
    for seed in 0..3_000 {
        let mut random = Random::new(seed);
        let mut session = monitor.session();
        let mut timer = monitor.timer(Moment::at(0), 0);
        let keepalive = random.below(4) as i64 - 1;
        let mut now = random.below(3) as i64;
        let field = [referee_monitor::FieldValue::Int(keepalive)];
        let pass = |session: &mut _, timer: &mut _, channel, label, now, payload| {
            assert_eq!(monitor.step_interned(session, channel, label, payload), Verdict::Forward);
            let moment = Moment::at(now);
            monitor.passed(timer, &Passed { channel, label, arrived: moment, handed: moment, end: 0 });
        };
        pass(&mut session, &mut timer, to_server, hello, now, Payload::Positional(&field));
        // What the client sent last, and what it was handed last.
        let (mut sent, mut said) = (now, false);
        for _ in 0..6 {
            let begun = now;
            assert_eq!(monitor.next_deadline(&timer, &session), Some(begun + 5));
            now += random.below(8) as i64;
            let label = if random.below(2) == 0 { a } else { b };
            let limit = begun + if label == a { 2 } else { 5 };
            let judged = monitor.in_time(&mut timer, &session, to_client, label, Moment::at(now));
            assert_eq!(matches!(judged, TimeVerdict::Untimely(_)), now > limit);
            late += u32::from(now > limit);
            pass(&mut session, &mut timer, to_client, label, now, Payload::Positional(&[]));
            let limit = (keepalive > 0).then(|| sent.max(now) + keepalive * 1_000_000_000);
            assert_eq!(monitor.next_deadline(&timer, &session), limit);
            match monitor.overdue(&mut timer, &session, now) {
                TimeVerdict::NoTime => {
                    assert!(keepalive < 0 && !std::mem::replace(&mut said, true));
                    without += 1;
                }
                TimeVerdict::InTime => assert!(keepalive >= 0 || said),
                TimeVerdict::Untimely(found) => panic!("{found:?}"),
            }
            now += random.below(3) as i64;
            sent = now;
            pass(&mut session, &mut timer, to_server, ping, now, Payload::Positional(&[]));
        }
    }
    assert!(late > 1_000 && without > 100, "{late} {without}");
}

/// T4: without times the verdicts are those of the untimed monitor, and nothing is said about times.
#[test]
fn without_times_nothing_is_said() {
    for case in Case::all().into_iter().filter(|case| case.within.is_none() && case.after.is_none()) {
        assert!(!case.monitor.is_timed());
        let mut timer = case.monitor.timer(Moment::at(0), 0);
        let session = case.monitor.session();
        assert_eq!(case.monitor.next_deadline(&timer, &session), None);
        assert!(matches!(case.monitor.overdue(&mut timer, &session, i64::MAX), TimeVerdict::InTime));
    }
    // With times, steps are what they were.
    for case in Case::all() {
        let untimed = Case::new(case.senders.clone(), None, None);
        let messages = case.senders.iter().flat_map(|_| [true, false]).zip([0, 1, 2, 0, 1, 2]);
        let (mut left, mut right) = (case.monitor.session(), untimed.monitor.session());
        for (by_client, label) in messages.filter(|(_, label)| *label < case.labels.len()) {
            let payload = Payload::Positional(&[]);
            let one =
                case.monitor.step_interned(&mut left, case.channel(by_client), case.labels[label], payload);
            let other = untimed.monitor.step_interned(
                &mut right,
                untimed.channel(by_client),
                untimed.labels[label],
                payload,
            );
            assert_eq!(one, other);
        }
    }
}

/// Teeth: the row of the later of B1 and B2 alone is not the limit (the example of the document).
#[test]
fn the_later_row_alone_would_blame_an_innocent() {
    // Server: Answer seen at 1; the request was handed at 0; θ = 2, within 2: answered at 4, seen at 6.
    let case = Case::new(vec![false, true, false], Some((2, Of::Before)), None);
    let times = [((1, 1), (1, 1)), ((0, 0), (0, 0))];
    assert_eq!(case.check(&times, None, 2, (6, 6)), Said::Nothing);
    assert_eq!(case.check(&times, None, 2, (7, 7)), Said::Late(true));
    // The answer's row alone gives 1 + 2 + 2 = 5.
}

#[test]
fn what_is_late_is_said_in_words() {
    let monitor = monitor(
        "Request() from client to server;
         choice at server within 5s { Reply() from server to client; } or { Sorry() from server to client; }
         Retry() from client to server after 1s;",
    );
    let [request, reply, retry] = ["Request", "Reply", "Retry"].map(|label| monitor.label(label));
    let to_server = monitor.channel(Party::Process, Party::Environment);
    let to_client = monitor.channel(Party::Environment, Party::Process);
    let second = |second: i64| Moment::at(second * 1_000_000_000);
    let (mut session, mut timer) = (monitor.session(), monitor.timer(second(0), 0));
    let pass = |session: &mut _, timer: &mut _, channel, label, at| {
        let _ = monitor.step_interned(session, channel, label, Payload::Positional(&[]));
        monitor.passed(timer, &Passed { channel, label, arrived: at, handed: at, end: 0 });
    };
    pass(&mut session, &mut timer, to_server, request, second(10));
    let TimeVerdict::Untimely(found) = monitor.overdue(&mut timer.clone(), &session, 16_000_000_000) else {
        panic!("late")
    };
    let explained = monitor.explain_time(&session, &found);
    assert_eq!(explained.to_string(), "no `Reply` or `Sorry` came within 5 s of `Request`");
    assert_eq!((explained.kind.name(), explained.blame.as_deref()), ("deadline", Some("server")));
    let TimeVerdict::Untimely(found) = monitor.in_time(&mut timer, &session, to_client, reply, second(19))
    else {
        panic!("late")
    };
    let explained = monitor.explain_time(&session, &found);
    assert_eq!(explained.to_string(), "`Reply` came 9 s after `Request`, and not within 5 s");
    pass(&mut session, &mut timer, to_client, reply, second(19));
    let early = Moment::at(19_500_000_000);
    let TimeVerdict::Untimely(found) = monitor.in_time(&mut timer, &session, to_server, retry, early) else {
        panic!("early")
    };
    let explained = monitor.explain_time(&session, &found);
    assert_eq!(explained.to_string(), "`Retry` came 500 ms after `Reply`, before 1 s had passed");
    assert_eq!((explained.kind.name(), explained.blame.as_deref()), ("early", Some("client")));
}
