//! ECOOP'21, Theorem 21: no monitor is both sound and complete for a session type other than end. The proof's
//! two constructions, on every small monitor: if it rejects the ill-typed P₁, it rejects the well-typed P₂.

use referee_reference::stmonitor::composite::Composite;
use referee_reference::stmonitor::monitor::Monitor;
use referee_reference::stmonitor::process::Process;
use referee_reference::stmonitor::session::Session;
use referee_reference::stmonitor::synthesis::synthesise;
use referee_reference::stmonitor::typing::is_typed;

use crate::random::Random;
use crate::terms::{Tally, implement, messages, monitors, sessions};

fn rejects(monitor: &Monitor, process: &Process) -> bool {
    let reached = Composite::new(process.clone(), monitor.clone()).reachable(&messages());
    reached.iter().any(|(_, composite)| composite.monitor == Monitor::NoP)
}

/// P₁ and P₂ of the proof for `session`, which is unfolded: P₁ is ill typed, P₂ well typed.
fn pair(session: &Session, seed: u64) -> Vec<(Process, Process)> {
    let mut random = Random::new(seed);
    match session {
        Session::Branch(_) => {
            let typed = loop {
                if let Process::Receive(branches) = implement(&mut random, session) {
                    break branches.into_iter().filter(|(label, ..)| *label != "extra").collect::<Vec<_>>();
                }
            };
            // Every strict subset of the branches that leaves out one.
            let pruned = (0..typed.len()).map(|out| {
                let kept = typed.iter().enumerate().filter(|(index, _)| *index != out);
                Process::Receive(kept.map(|(_, branch)| branch.clone()).collect())
            });
            pruned.map(|pruned| (pruned, Process::Receive(typed.clone()))).collect()
        }
        Session::Select(_) => vec![(Process::Nil, implement(&mut random, session))],
        Session::End | Session::Rec(..) | Session::Variable(_) => Vec::new(),
    }
}

#[test]
fn every_small_monitor_that_rejects_the_one_rejects_the_other() {
    let monitors = monitors(3);
    let mut tally = Tally::default();
    for (seed, session) in (0..).zip(sessions(2)) {
        for (ill, well) in pair(&session.unfold(), seed) {
            assert!(!is_typed(&ill, &session) && is_typed(&well, &session), "{ill:?} {well:?} : {session:?}");
            for monitor in &monitors {
                if rejects(monitor, &ill) {
                    assert!(rejects(monitor, &well), "{monitor:?} on {ill:?} and {well:?} : {session:?}");
                    tally.count("complete for the pair");
                }
            }
        }
    }
    tally.at_least("complete for the pair", 20_000);
}

/// Teeth: with other ill-typed processes than the proof's there are monitors that tell them apart: ⟦S⟧ is one.
#[test]
fn other_pairs_can_be_told_apart() {
    let mut tally = Tally::default();
    for (seed, session) in (0..).zip(sessions(2)) {
        let unfolded = session.unfold();
        if let (Session::Select(_), [(_, well)]) = (&unfolded, pair(&unfolded, seed).as_slice()) {
            let value = referee_reference::stmonitor::value::Value::Bool(true);
            let atom = referee_reference::stmonitor::value::Atom::Value(value);
            let ill = Process::Send("a", atom, Box::new(Process::Nil));
            let monitor = synthesise(&session);
            assert!(rejects(&monitor, &ill) && !rejects(&monitor, well));
            tally.count("told apart");
        }
    }
    tally.at_least("told apart", 20);
}
