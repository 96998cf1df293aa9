//! One role of a protocol with several peers: channels are independent, and nobody is blamed for that.

use referee_monitor::{FaultKind, Handling, Kind, Party, Policy, Ruling, Side, Verdict};

use crate::support::{event, kind, monitor};

const THREE: &str = "
protocol Three(role a, role b, role c) {
  choice at a {
    Left() from a to b;
    One() from b to a;
    Two() from c to a;
    Done() from a to c;
  } or {
    Right() from a to b;
    Other() from b to a;
    Stop() from a to c;
  }
}";

fn two() -> &'static str {
    "protocol Two(role a, role b, role c) {
       One() from b to a;
       Two() from c to a;
       Same() from a to b;
       Same() from a to c;
       Last() from b to a;
     }"
}

#[test]
fn a_message_that_overtakes_another_peers_is_early_not_wrong() {
    let monitor = monitor(two(), "a");
    let mut session = monitor.session();
    let two = event(&monitor, ("c", "a"), "Two", &[]);
    let one = event(&monitor, ("b", "a"), "One", &[]);
    assert_eq!(monitor.step(&mut session, &two), Verdict::Early);
    assert_eq!(session.events(), 0);
    assert_eq!(monitor.step(&mut session, &one), Verdict::Forward);
    assert_eq!(monitor.step(&mut session, &two), Verdict::Forward);
    // After its only message, c has nothing to say.
    assert_eq!(kind(monitor.step(&mut session, &two)), Kind::Order);
    // b's next message is `Last`; `One` cannot come again.
    assert_eq!(kind(monitor.step(&mut session, &one)), Kind::Order);
    assert_eq!(monitor.step(&mut session, &event(&monitor, ("b", "a"), "Last", &[])), Verdict::Early);
}

#[test]
fn a_peer_is_never_overtaken_by_itself() {
    let monitor = monitor(two(), "a");
    let mut session = monitor.session();
    // `Last` comes from b, but only after b's `One`.
    assert_eq!(kind(monitor.step(&mut session, &event(&monitor, ("b", "a"), "Last", &[]))), Kind::Order);
    // The process itself is sequential.
    let same = event(&monitor, ("a", "b"), "Same", &[]);
    let Verdict::Violation(violation) = monitor.step(&mut session, &same) else { panic!() };
    assert_eq!((violation.kind, violation.side), (Kind::Order, Side::Process));
}

#[test]
fn others_messages_are_not_looked_at_and_strangers_are_blamed() {
    let monitor = monitor(two(), "a");
    let mut session = monitor.session();
    assert_eq!(monitor.step(&mut session, &event(&monitor, ("b", "c"), "Nonsense", &[])), Verdict::Forward);
    assert_eq!(session.events(), 0);
    let stranger = event(&monitor, ("mallory", "a"), "One", &[]);
    let Verdict::Violation(violation) = monitor.step(&mut session, &stranger) else { panic!() };
    assert_eq!((violation.kind, violation.side), (Kind::Order, Side::Environment));
    assert_eq!(monitor.explain(&session, &violation, &stranger).blame, None);
}

#[test]
fn the_environment_stands_for_whichever_peer_fits() {
    let monitor = monitor(two(), "a");
    let mut session = monitor.session();
    let from = |label| referee_monitor::Event {
        from: Party::Environment,
        to: Party::Process,
        ..event(&monitor, ("b", "a"), label, &[])
    };
    assert_eq!(monitor.step(&mut session, &from("Two")), Verdict::Early);
    assert_eq!(monitor.step(&mut session, &from("One")), Verdict::Forward);
    assert_eq!(monitor.step(&mut session, &from("Two")), Verdict::Forward);
}

#[test]
fn a_message_for_either_peer_must_say_for_which() {
    let text = "protocol Either(role a, role b, role c) {
        choice at a { M() from a to b; X() from a to c; } or { M() from a to c; Y() from a to b; }
    }";
    let document = referee_syntax::parse(text, referee_syntax::Language::Scr);
    let referee_syntax::Content::Global(protocols) = document.content else { panic!() };
    let Some(global) = &protocols[0].global else { return };
    let Ok(machine) = global.project(global.vocabulary().find_role("a").unwrap()) else { return };
    let monitor =
        referee_monitor::Monitor::synthesise(&machine, global.vocabulary(), &Default::default()).unwrap();
    let mut session = monitor.session();
    let mut unnamed = event(&monitor, ("a", "b"), "M", &[]);
    unnamed.to = Party::Environment;
    let Verdict::Fault(fault) = monitor.step(&mut session, &unnamed) else { panic!() };
    assert_eq!(fault.kind, FaultKind::UnnamedPeer);
    assert_eq!(monitor.step(&mut session, &event(&monitor, ("a", "c"), "M", &[])), Verdict::Forward);
}

#[test]
fn only_a_peer_that_is_surely_needed_ends_prematurely() {
    let monitor = monitor(THREE, "a");
    let mut session = monitor.session();
    // Both ways need both.
    assert_eq!(kind(monitor.end(&mut session.clone(), monitor.party("b"))), Kind::PrematureEnd);
    assert_eq!(kind(monitor.end(&mut session.clone(), monitor.party("c"))), Kind::PrematureEnd);
    assert_eq!(monitor.step(&mut session, &event(&monitor, ("a", "b"), "Left", &[])), Verdict::Forward);
    assert_eq!(monitor.step(&mut session, &event(&monitor, ("b", "a"), "One", &[])), Verdict::Forward);
    // b is done and may go; c may not, nor may a.
    assert_eq!(monitor.end(&mut session, monitor.party("b")), Verdict::Forward);
    assert_eq!(kind(monitor.end(&mut session.clone(), monitor.party("c"))), Kind::PrematureEnd);
    assert_eq!(kind(monitor.end(&mut session.clone(), monitor.party("a"))), Kind::PrematureEnd);
    assert_eq!(monitor.step(&mut session, &event(&monitor, ("c", "a"), "Two", &[])), Verdict::Forward);
}

/// Every interleaving of what three peers send, each in its own order, is forwarded in the protocol's order.
#[test]
fn every_interleaving_of_the_channels_is_put_in_order() {
    let text = "protocol Many(role a, role b, role c, role d) {
        B1() from b to a; C1() from c to a; D1() from d to a; B2() from b to a; C2() from c to a; Go() from a to d;
        D2() from d to a; }";
    let monitor = monitor(text, "a");
    let channels = [("b", ["B1", "B2"]), ("c", ["C1", "C2"]), ("d", ["D1", "D2"])];
    let lend = |message: &(&'static str, &'static str), look: &mut dyn FnMut(&referee_monitor::Event<'_>)| {
        look(&event(&monitor, if message.0 == "a" { ("a", "d") } else { (message.0, "a") }, message.1, &[]));
    };
    let mut interleavings = 0;
    // Six messages as base-3 digits: which channel sends next.
    for number in 0..729_usize {
        let order: Vec<usize> = (0..6).map(|digit| number / 3_usize.pow(digit) % 3).collect();
        if (0..3).any(|channel| order.iter().filter(|&&c| c == channel).count() != 2) {
            continue;
        }
        interleavings += 1;
        let mut session = monitor.session();
        let mut early = referee_monitor::Early::new(8);
        let mut next = [0; 3];
        let mut forwarded = Vec::new();
        let mut messages: Vec<(&str, &str)> = Vec::new();
        for channel in order {
            messages.push((channels[channel].0, channels[channel].1[next[channel]]));
            next[channel] += 1;
        }
        // The process acts when it has heard what comes before: here, at the end.
        messages.push(("a", "Go"));
        for message in messages {
            let policy = Policy::Halt;
            let mut ruled = |_: &_, message: (&'static str, &'static str), ruling: Ruling| {
                assert_eq!(ruling.report, None, "{message:?}");
                forwarded.push(message.1);
            };
            monitor.supervise_in_order(policy, &mut session, &mut early, message, &lend, &mut ruled);
        }
        assert_eq!(forwarded, ["B1", "C1", "D1", "B2", "C2", "Go", "D2"]);
        assert!(monitor.is_over(&session) && early.is_empty());
    }
    assert_eq!(interleavings, 90);
}

#[test]
fn no_more_than_the_limit_is_kept() {
    let text = "protocol Flood(role a, role b, role c) { rec X { One() from b to a; Two() from c to a; continue X; } }";
    let monitor = monitor(text, "a");
    let lend = |_: &usize, look: &mut dyn FnMut(&referee_monitor::Event<'_>)| {
        look(&event(&monitor, ("c", "a"), "Two", &[]));
    };
    let by_number = || referee_monitor::Early::new(3);
    let by_weight = || referee_monitor::Early::new(100).within(6, |weight: &usize| *weight);
    for (policy, handling) in [(Policy::Drop, Handling::Close), (Policy::Observe, Handling::Forward)] {
        // 1 + 2 + 3 weigh 6: the fourth is too much for either.
        for mut early in [by_number(), by_weight()] {
            let mut session = monitor.session();
            let mut seen = Vec::new();
            for message in 1..=5 {
                let before = early.len();
                let mut ruled = |_: &_, message: usize, ruling: Ruling| {
                    assert_eq!(ruling.handling, handling);
                    seen.push((message, ruling.report.is_some()));
                };
                monitor.supervise_in_order(policy, &mut session, &mut early, message, &lend, &mut ruled);
                assert_eq!(early.len(), if message <= 3 { before + 1 } else { 0 });
            }
            // Those that waited go first, and what comes later is not judged.
            assert_eq!(seen, [(1, false), (2, false), (3, false), (4, true), (5, false)], "{policy:?}");
            assert_eq!(session.violations(), 0);
        }
    }
}

/// Whoever may wait for ever has nothing to go on with, and nobody owes it a message.
#[test]
fn nobody_is_blamed_for_ending_where_waiting_is_fine() {
    let optional = "protocol Serve(role client, role server, role log) {
      choice at client { Ask() from client to server; @\"may wait\" Tell() from client to log; }
      or { Left() from client to log; }
    }";
    let connected = "explicit global protocol P(role client, role log, role server) {
      connect client to log;
      choice at client { Ask() connect client to server; Answer() from server to client; Ok() from client to log; }
      or { Quit() from client to log; }
    }";
    for (text, role) in [(optional, "server"), (connected, "server")] {
        let monitor = monitor(text, role);
        for who in ["client", "server"] {
            assert_eq!(
                monitor.end(&mut monitor.session(), monitor.party(who)),
                Verdict::Forward,
                "{text}: {who}"
            );
        }
    }
    let monitor = monitor(connected, "server");
    let mut session = monitor.session();
    assert_eq!(
        monitor.step(&mut session, &event(&monitor, ("client", "server"), "Ask", &[])),
        Verdict::Forward
    );
    assert_eq!(kind(monitor.end(&mut session, monitor.party("server"))), Kind::PrematureEnd);
}
