//! Halt, drop and observe, to the letter of the module's table.

use referee_monitor::{Handling, Party, Policy, Report, Ruling, Session};

use crate::support::{AUTH, event, monitor, s};

fn play(policy: Policy) -> (Vec<(Handling, Option<bool>)>, Session) {
    let monitor = monitor(AUTH, "client");
    let mut session = monitor.session();
    let run: [(&str, &str, &[_]); 5] = [
        ("client", "Auth", &[s("bob"), s("x")]),
        ("server", "Nonsense", &[]),
        ("server", "Res", &[s("")]),
        ("server", "Succ", &[s("t")]),
        ("client", "Rvk", &[s("t")]),
    ];
    let mut seen = Vec::new();
    for (from, label, values) in run {
        let to = if from == "client" { "server" } else { "client" };
        let Ruling { handling, report } =
            monitor.supervise(policy, &mut session, &event(&monitor, (from, to), label, values));
        let consequence = report.map(|report| match report {
            Report::Violation { consequence, .. } => consequence,
            Report::Fault(_) => panic!("no faults here"),
        });
        seen.push((handling, consequence));
    }
    (seen, session)
}

#[test]
fn halt_stops_at_the_first() {
    let (seen, session) = play(Policy::Halt);
    let (forward, close) = ((Handling::Forward, None), (Handling::Close, None));
    assert_eq!(seen, [forward, (Handling::Close, Some(false)), close, close, close]);
    assert!(session.is_halted() && !session.is_tainted());
    assert_eq!((session.violations(), session.events()), (1, 2));
    let monitor = monitor(AUTH, "client");
    let ruling = monitor.supervise_end(Policy::Halt, &mut session.clone(), Party::Process);
    assert_eq!(ruling, Ruling { handling: Handling::Close, report: None });
}

#[test]
fn drop_suppresses_and_goes_on() {
    let (seen, session) = play(Policy::Drop);
    let (forward, suppress) = ((Handling::Forward, None), (Handling::Suppress, Some(false)));
    assert_eq!(seen, [forward, suppress, suppress, forward, forward]);
    assert!(!session.is_halted() && !session.is_tainted());
    assert_eq!((session.violations(), session.events()), (2, 5));
}

#[test]
fn observe_forwards_everything_and_flags_what_follows() {
    let (seen, session) = play(Policy::Observe);
    let forward = (Handling::Forward, None);
    let (first, later) = ((Handling::Forward, Some(false)), (Handling::Forward, Some(true)));
    assert_eq!(seen, [forward, first, later, forward, forward]);
    assert!(!session.is_halted() && session.is_tainted());
    assert_eq!((session.violations(), session.events()), (2, 5));
}
