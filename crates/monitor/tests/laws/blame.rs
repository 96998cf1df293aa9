//! ECOOP'21, Corollary 16: a monitored process that is well typed gets stuck before its end only because the
//! environment broke the type: M′ = noE.

use referee_reference::stmonitor::composite::Composite;
use referee_reference::stmonitor::monitor::Monitor;
use referee_reference::stmonitor::process::Process;
use referee_reference::stmonitor::session::Session;
use referee_reference::stmonitor::synthesis::synthesise;
use referee_reference::stmonitor::typing::is_typed;

use crate::random::Random;
use crate::terms::{Tally, implement, messages, processes, random_session, sessions};

/// Where ⟨P; ⟦S⟧⟩ gets stuck.
fn stuck(process: &Process, session: &Session) -> Vec<Composite> {
    let messages = messages();
    let reached = Composite::new(process.clone(), synthesise(session)).reachable(&messages);
    reached.into_iter().map(|(_, c)| c).filter(|c| c.steps(&messages).is_empty()).collect()
}

fn check(process: &Process, session: &Session, tally: &mut Tally) {
    for end in stuck(process, session) {
        if end.process == Process::Nil {
            assert_eq!(end.monitor, Monitor::Nil, "{process:?} : {session:?}");
            tally.count("ended");
        } else {
            assert_eq!(end.monitor, Monitor::NoE, "{process:?} : {session:?}");
            tally.count("stuck");
        }
    }
}

#[test]
fn all_small_processes_and_types() {
    let (sessions, processes) = (sessions(3), processes(3));
    let mut tally = Tally::default();
    for session in &sessions {
        for process in processes.iter().filter(|process| is_typed(process, session)) {
            check(process, session, &mut tally);
        }
    }
    tally.at_least("stuck", 1_000);
    tally.at_least("ended", 1_000);
}

#[test]
fn random_larger_ones() {
    let mut tally = Tally::default();
    for seed in 0..2_000 {
        let mut random = Random::new(seed);
        let session = random_session(&mut random, 7, false);
        check(&implement(&mut random, &session), &session, &mut tally);
    }
    tally.at_least("stuck", 1_000);
}

/// Teeth: an ill-typed process gets stuck without anybody being blamed (case 2b of Theorem 19: it has ended).
#[test]
fn an_ill_typed_process_gets_stuck_otherwise() {
    let session = sessions(1).into_iter().find(|session| matches!(session, Session::Select(_))).unwrap();
    assert!(!is_typed(&Process::Nil, &session));
    let ends = stuck(&Process::Nil, &session);
    assert!(matches!(ends.as_slice(), [Composite { monitor: Monitor::Receive(_), .. }]));
}
