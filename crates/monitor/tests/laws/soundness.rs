//! ECOOP'21, Theorem 15 (and the first remark of Section 5.1): if ∅·∅ ⊢ P : S, then ⟨P; ⟦S⟧⟩ never reaches
//! ⟨P′; noP⟩, whatever the environment sends.

use referee_reference::stmonitor::composite::Composite;
use referee_reference::stmonitor::monitor::Monitor;
use referee_reference::stmonitor::process::Process;
use referee_reference::stmonitor::session::{Branch, Session};
use referee_reference::stmonitor::synthesis::{synthesise, synthesise_with_assertions};
use referee_reference::stmonitor::typing::is_typed;
use referee_reference::stmonitor::value::{Atom, Base, Predicate, Value};

use crate::random::Random;
use crate::terms::{Tally, implement, messages, processes, random_session, sessions};

fn is_blamed(process: &Process, monitor: Monitor) -> bool {
    let reached = Composite::new(process.clone(), monitor).reachable(&messages());
    reached.iter().any(|(_, composite)| composite.monitor == Monitor::NoP)
}

#[test]
fn all_small_processes_and_types() {
    let (sessions, processes) = (sessions(3), processes(3));
    let mut tally = Tally::default();
    for session in &sessions {
        for process in processes.iter().filter(|process| is_typed(process, session)) {
            assert!(!is_blamed(process, synthesise(session)), "{process:?} : {session:?}");
            tally.count("well typed");
        }
    }
    tally.at_least("well typed", 2_000);
}

#[test]
fn random_larger_ones_with_and_without_assertions() {
    let mut tally = Tally::default();
    for seed in 0..1_000 {
        let mut random = Random::new(seed);
        let session = random_session(&mut random, 7, true);
        let process = implement(&mut random, &session);
        assert!(is_typed(&process, &session), "seed {seed}: {process:?} : {session:?}");
        assert!(!is_blamed(&process, synthesise(&session)), "seed {seed}: {process:?} : {session:?}");
        let asserted = synthesise_with_assertions(&session);
        assert!(!is_blamed(&process, asserted), "seed {seed}: {process:?} : {session:?}");
        if session != Session::End {
            tally.count("not end");
        }
    }
    tally.at_least("not end", 800);
}

/// Teeth: a process that is not well typed is blamed (Example 12), and a monitor of another type blames a
/// well-typed one (Example 8).
#[test]
fn without_its_premises_the_law_fails() {
    let sends = |label| Process::Send(label, Atom::Value(Value::Str("Bob")), Box::new(Process::Nil));
    let selects = |label| {
        let assertion = Predicate::Constant(true);
        Session::Select(vec![Branch { label, variable: "x", base: Base::Str, assertion, next: Session::End }])
    };
    assert!(!is_typed(&sends("Login"), &selects("Auth")));
    assert!(is_blamed(&sends("Login"), synthesise(&selects("Auth"))));
    assert!(is_typed(&sends("Auth"), &selects("Auth")));
    assert!(is_blamed(&sends("Auth"), synthesise(&selects("Login"))));
}
