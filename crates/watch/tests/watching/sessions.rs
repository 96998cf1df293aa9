//! Sessions: ends, tombstones, eviction, messages before their turn, roles that are not concerned.

use referee_monitor::{Argument, Registry};
use referee_theory::Type;
use referee_theory::expr::{Signature, Value};
use referee_watch::Options;

use crate::support::{AUTH, TWO_PEERS, monitor, monitor_with, text};

const QUICK: &str = "protocol P(role a, role b) { Hi() from a to b; Bye() from b to a; }";

fn line(session: &str, from: &str, to: &str, label: &str, payload: &str) -> String {
    format!(
        "{{\"session\":\"{session}\",\"from\":\"{from}\",\"to\":\"{to}\",\"label\":\"{label}\",\"payload\":{payload}}}\n"
    )
}

fn hi(session: &str) -> String {
    line(session, "a", "b", "Hi", "null")
}

fn bye(session: &str) -> String {
    line(session, "b", "a", "Bye", "[]")
}

#[test]
fn an_ended_session_is_remembered_for_a_while() {
    let monitor = monitor(QUICK, "a");
    let log = [hi("1"), bye("1"), hi("2"), bye("2"), hi("1"), hi("2")].concat();
    let (told, sums) = text(&monitor, &log, Options::default());
    assert_eq!(
        told,
        [
            "log:5 session 1 event 2 after-end by a: a sent `Hi` after the end of the session",
            "log:6 session 2 event 2 after-end by a: a sent `Hi` after the end of the session",
        ]
    );
    assert_eq!((sums.counts.sessions, sums.counts.ended, sums.open), (2, 2, 0));
    // With one tombstone only the second is remembered; the first key starts a new session.
    let (told, sums) =
        text(&monitor, &log, Options { ended_sessions: 1, idle_sessions: Some(9), ..Options::default() });
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("log:6 session 2"), "{told:?}");
    assert_eq!((sums.counts.sessions, sums.open), (3, 1));
}

#[test]
fn the_longest_idle_session_is_evicted_and_not_blamed() {
    let monitor = monitor(QUICK, "a");
    let options = || Options { idle_sessions: Some(2), ..Options::default() };
    let log =
        [hi("1"), hi("2"), line("1", "a", "b", "Hi", "{}"), hi("3"), bye("2"), bye("1"), bye("3")].concat();
    let (told, sums) = text(&monitor, &log, options());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("log:3 session 1 event 1 order by a"), "{told:?}");
    assert_eq!((sums.counts.evicted, sums.counts.unjudged, sums.counts.ended), (1, 1, 2));
    // Sessions that are over do not count.
    let log: String = (0..100).map(|n| hi(&n.to_string()) + &bye(&n.to_string())).collect();
    let (told, sums) = text(&monitor, &log, options());
    assert_eq!((told.len(), sums.counts.evicted, sums.counts.ended), (0, 0, 100));
}

#[test]
fn an_end_is_premature_unless_the_session_is_over() {
    let monitor = monitor(QUICK, "a");
    let end = |session: &str, who: &str| format!("{{\"session\":\"{session}\",\"end\":\"{who}\"}}\n");
    let log = [
        hi("1"),
        bye("1"),
        end("1", "a"),
        end("1", "b"),
        hi("2"),
        end("2", "b"),
        end("2", "a"),
        end("3", "x"),
    ]
    .concat();
    let (told, sums) = text(&monitor, &log, Options { all: true, ..Options::default() });
    assert_eq!(
        told,
        [
            "log:6 session 2 event 1 premature-end by b: b ended before the session was over; expected `Bye()` from b",
            "log:7 session 2 event 2 premature-end by a (consequence): a ended before the session was over; expected `Bye()` from b",
            "log:8 malformed: `x` is not a role of the protocol (a, b)",
        ]
    );
    assert_eq!(sums.counts.events, 7);
}

#[test]
fn only_the_first_violation_of_a_session_is_told_unless_all_are_wanted() {
    let monitor = monitor(QUICK, "a");
    let log = [bye("1"), bye("1"), hi("1"), bye("1"), hi("1")].concat();
    let (told, sums) = text(&monitor, &log, Options::default());
    assert_eq!(told.len(), 1);
    assert_eq!((sums.counts.violated, sums.counts.consequences), (1, 2));
    let (told, _) = text(&monitor, &log, Options { all: true, ..Options::default() });
    assert_eq!(told.len(), 3);
    assert!(told[1].contains("event 1 order by b (consequence)"), "{told:?}");
    assert!(told[2].contains("event 4 after-end by a (consequence)"), "{told:?}");
}

#[test]
fn messages_of_different_peers_may_overtake_each_other() {
    let monitor = monitor(TWO_PEERS, "a");
    let one = |n: u32| line("s", "b", "a", "One", &format!("{{\"n\":{n}}}"));
    let two = |n: u32| line("s", "c", "a", "Two", &format!("{{\"n\":{n}}}"));
    let tick = || line("s", "b", "c", "Tick", "{}");
    for log in [
        [one(1), two(1), tick(), one(2), two(2)].concat(),
        [two(1), one(1), tick(), two(2), one(2)].concat(),
        [two(1), two(2), tick(), one(1), one(2)].concat(),
    ] {
        for threads in 1..=2 {
            let options = Options { threads, chunk: 100, ..Options::default() };
            let (told, sums) = text(&monitor, &log, options);
            assert_eq!((told, sums.counts.ignored, sums.counts.events), (vec![], 1, 5), "{log}");
        }
    }
    // A message that waited is wrong when its turn comes, and keeps its own number and line.
    let log = [line("s", "c", "a", "Two", "{\"n\":\"x\"}"), tick(), one(1)].concat();
    let (told, _) = text(&monitor, &log, Options::default());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("log:1 session s event 0 type by c"), "{told:?}");
    // Too many that wait: the session is given up, nobody is blamed.
    let log: String = (0..2000).map(two).chain([one(1)]).collect();
    let (told, sums) = text(&monitor, &log, Options::default());
    assert_eq!((told.len(), sums.counts.evicted), (0, 1));
    assert!(sums.counts.unjudged > 900, "{sums:?}");
    // Few, but long: a mebibyte of lines may wait.
    let long = |n: usize| line("s", "c", "a", "Two", &format!("{{\"n\":{}1}}", " ".repeat(n)));
    for (length, evicted) in [(90_000, 0), (110_000, 1)] {
        let log: String = (0..10).map(|_| long(length)).chain((0..10).map(one)).collect();
        let (told, sums) = text(&monitor, &log, Options::default());
        assert_eq!((told.len(), sums.counts.evicted), (0, evicted), "{length}");
        assert_eq!(sums.counts.unjudged > 0, evicted > 0, "{sums:?}");
    }
}

/// What a session goes on with after a message that could not be judged is not held against anybody.
#[test]
fn a_session_without_an_answer_is_set_aside() {
    let protocol = "external fn known(string) -> bool;
        protocol P(role a, role b) { rec X { Hi(name: string) from a to b where known(name); Bye() from b to a; continue X; } }";
    let mut registry = Registry::new();
    let signature = Signature { parameters: [Type::String].into(), result: Type::Bool };
    registry.register("known", signature, |args| match args {
        [Argument::Text("trap")] => Err("it gave up".to_owned()),
        [Argument::Text(name)] => Ok(Value::Bool(*name != "stranger")),
        _ => Err("not called as declared".to_owned()),
    });
    let monitor = monitor_with(protocol, "a", &registry);
    let hi = |session: &str, name: &str| line(session, "a", "b", "Hi", &format!("{{\"name\":\"{name}\"}}"));
    let log = [hi("1", "bob"), hi("2", "trap"), bye("2"), bye("2"), bye("1"), hi("1", "stranger")].concat();
    for threads in 1..=2 {
        let (told, sums) = text(&monitor, &log, Options { threads, chunk: 64, ..Options::default() });
        let expected = [
            "log:2 event 0 unanswered: `known(name)` has no value: `known` failed: it gave up; `name` is \"trap\"",
            "log:6 session 1 event 2 assertion by a: a sent `Hi`, for which `known(name)` does not hold: `name` is \"stranger\"",
        ];
        assert_eq!(told, expected);
        let counts = sums.counts;
        assert_eq!((counts.unanswered, counts.unjudged, counts.violated, sums.open), (1, 2, 1, 1));
    }
}

#[test]
fn strangers_are_blamed_when_they_meddle_and_malformed_when_they_do_not() {
    let monitor = monitor(AUTH, "client");
    let log = [
        line("1", "mallory", "client", "Succ", "{\"tok\":\"t\"}"),
        line("2", "mallory", "server", "Auth", "{}"),
        line("3", "client", "mallory", "Auth", "{\"uname\":\"bob\",\"pwd\":\"x\"}"),
    ]
    .concat();
    let (told, sums) = text(&monitor, &log, Options::default());
    assert_eq!(sums.counts.malformed, 1, "{told:?}");
    assert!(told[0].starts_with("log:1 session 1 event 0 order by mallory: mallory sent `Succ`"), "{told:?}");
    assert!(told[1].starts_with("log:2 malformed: `mallory` is not a role"), "{told:?}");
    assert!(told[2].starts_with("log:3 session 3 event 0 order by client"), "{told:?}");
}

#[test]
fn the_history_shows_the_last_events() {
    let monitor = monitor(QUICK, "a");
    let log = [hi("1"), hi("2"), bye("2"), hi("1")].concat();
    struct History(Vec<String>);
    impl referee_watch::Observer for History {
        fn notice(&mut self, notice: referee_watch::Notice) -> std::io::Result<()> {
            if let referee_watch::Notice::Violation(report) = notice {
                self.0.extend(report.history.iter().map(|s| format!("{}>{} {}", s.from, s.to, s.message)));
                self.0.push(report.before.to_string());
            }
            Ok(())
        }
        fn progress(&mut self, _: &referee_watch::Progress) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut history = History(Vec::new());
    let input = referee_watch::Input::stream("log", std::io::Cursor::new(log.into_bytes()));
    let options = Options { history: 1, ..Options::default() };
    referee_watch::watch(monitor, &[], vec![input], options, &mut history).unwrap();
    assert_eq!(history.0, ["a>b Hi", "1"]);
}
