//! ECOOP'21, Section 5.1: what assertions change. With trivial ones nothing; with others monitors are only more
//! restrictive. Soundness is kept (law `soundness`); blaming is weakened, and weak completeness is lost.

use referee_reference::stmonitor::Label;
use referee_reference::stmonitor::composite::Composite;
use referee_reference::stmonitor::monitor::Monitor;
use referee_reference::stmonitor::process::Process;
use referee_reference::stmonitor::session::{Branch, Session};
use referee_reference::stmonitor::synthesis::{synthesise, synthesise_with_assertions};
use referee_reference::stmonitor::typing::is_typed;
use referee_reference::stmonitor::value::{Atom, Base, Predicate, Value};

use crate::random::Random;
use crate::terms::{Tally, implement, messages, random_session, sessions};

/// What a monitor says to a message of its turn: the monitor after forwarding it, or a verdict.
fn pass(monitor: &Monitor, label: Label, value: Value) -> Option<Monitor> {
    let settle = |mut monitor: Monitor| {
        while let Some(next) = monitor.silent() {
            monitor = next;
        }
        monitor
    };
    let monitor = settle(monitor.clone());
    let taken = settle(monitor.receive(label, value).or_else(|| monitor.input(label, value))?);
    let forwarded = taken.out().or_else(|| taken.send()).map(|(.., next)| next);
    Some(forwarded.unwrap_or(taken))
}

/// Compares both monitors on every trace up to `length` that the first one forwards. Where they part, the
/// first must be at an assertion verdict.
fn compare(asserted: &Monitor, plain: &Monitor, length: usize, parted: &mut usize) {
    if length == 0 {
        return;
    }
    for (label, value) in messages() {
        match (pass(asserted, label, value), pass(plain, label, value)) {
            (None, None) => {}
            (Some(Monitor::NoPA | Monitor::NoEA), Some(plain)) => {
                assert!(!plain.is_verdict(), "an assertion is looked at only where the type is right");
                *parted += 1;
            }
            (Some(asserted), Some(plain)) if asserted.is_verdict() || plain.is_verdict() => {
                assert_eq!(asserted, plain);
            }
            (Some(asserted), Some(plain)) => compare(&asserted, &plain, length - 1, parted),
            (one, other) => panic!("{one:?} and {other:?} wait for different sides"),
        }
    }
}

#[test]
fn trivial_assertions_change_nothing() {
    let mut tally = Tally::default();
    for session in sessions(3) {
        let mut parted = 0;
        compare(&synthesise_with_assertions(&session), &synthesise(&session), 3, &mut parted);
        assert_eq!(parted, 0);
        tally.count("types");
    }
    tally.at_least("types", 800);
}

#[test]
fn others_only_restrict() {
    let mut tally = Tally::default();
    for seed in 0..1_500 {
        let session = random_session(&mut Random::new(seed), 6, true);
        let mut parted = 0;
        compare(&synthesise_with_assertions(&session), &synthesise(&session), 4, &mut parted);
        tally.count(if parted > 0 { "restricted" } else { "not restricted" });
    }
    tally.at_least("restricted", 500);
}

/// Blaming (Corollary 16) is weakened: well-typed processes are stuck at noE, noP^A or noE^A, and at noP^A in
/// particular.
#[test]
fn a_well_typed_process_may_break_an_assertion() {
    let messages = messages();
    let mut tally = Tally::default();
    for seed in 0..1_000 {
        let mut random = Random::new(seed);
        let session = random_session(&mut random, 6, true);
        let process = implement(&mut random, &session);
        let monitored = Composite::new(process, synthesise_with_assertions(&session));
        for (_, end) in monitored.reachable(&messages) {
            if end.steps(&messages).is_empty() && end.process != Process::Nil {
                assert!(matches!(end.monitor, Monitor::NoE | Monitor::NoPA | Monitor::NoEA), "{end:?}");
                tally.count(if end.monitor == Monitor::NoPA { "noP^A" } else { "noE or noE^A" });
            }
        }
    }
    tally.at_least("noP^A", 100);
    tally.at_least("noE or noE^A", 100);
}

/// Weak completeness (Theorem 19) is not preserved: an assertion that cannot be satisfied hides an ill-typed
/// process, because every trace ends in noE^A.
#[test]
fn an_unsatisfiable_assertion_hides_an_ill_typed_process() {
    let branch =
        |assertion| Branch { label: "a", variable: "x", base: Base::Int, assertion, next: Session::End };
    let process =
        Process::Receive(vec![("a", "x", Process::Send("b", Atom::Variable("x"), Box::new(Process::Nil)))]);
    let ends = |assertion: bool| {
        let session = Session::Branch(vec![branch(Predicate::Constant(assertion))]);
        assert!(!is_typed(&process, &session) && process.has_no_dead_code(&messages()));
        let monitored = Composite::new(process.clone(), synthesise_with_assertions(&session));
        let reached = monitored.reachable(&messages()).into_iter().map(|(_, end)| end);
        reached.filter(|end| end.steps(&messages()).is_empty()).map(|end| end.monitor).collect::<Vec<_>>()
    };
    assert!(ends(false).iter().all(|end| matches!(end, Monitor::NoE | Monitor::NoEA)));
    assert!(ends(true).contains(&Monitor::Nil), "with a trivial one it is stuck at the end, case 4");
}
