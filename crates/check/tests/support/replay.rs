//! What the tests of the checker share: the comparison of one bound with the reference, and the replay of a
//! witness in it.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "a test; each binary uses a part of it")]

use referee_check::{BoundReport, Failure, Model, Property, Reduction, Semantics, Witness, examine_bound};
use referee_reference::kmc::{self, Act, TransitionSystem, properties};
use referee_theory::{Action, System};

/// One bound of one system by the reference.
pub(crate) fn by_reference(system: &System, ts: &TransitionSystem) -> [bool; 7] {
    [
        properties::obi(system, ts).is_empty(),
        properties::sibi(system, ts).is_empty(),
        properties::cibi_by_messages(system, ts).is_empty(),
        properties::exhaustive(system, ts).is_empty(),
        properties::eventual_reception(ts).is_empty(),
        properties::progress(system, ts).is_empty(),
        properties::stable(ts).is_empty(),
    ]
}

/// The same by the engine.
pub(crate) fn by_engine(report: &BoundReport, stable: bool) -> [bool; 7] {
    [
        report.obi.unwrap(),
        report.sibi.unwrap(),
        report.cibi.unwrap(),
        report.exhaustive.unwrap(),
        report.eventual_reception.unwrap(),
        report.progress.unwrap(),
        report.stable.unwrap_or(stable),
    ]
}

/// Compares TS_k and Algorithm 1's reduction, counts and properties, with the reference.
pub(crate) fn agree(system: &System, k: u32) {
    let model = Model::new(system, Semantics::PeerToPeer);
    let full = kmc::transition_system(system, k as usize);
    compare(system, &full, &examine_bound(&model, k, Reduction::None));
    let reduced = kmc::reduced_transition_system(system, k as usize);
    compare(system, &reduced, &examine_bound(&model, k, Reduction::Paper));
}

fn compare(system: &System, ts: &TransitionSystem, report: &BoundReport) {
    let counts = (report.states, report.transitions);
    assert_eq!(counts, (ts.states.len(), ts.transitions()), "{}", show(system));
    let expected = by_reference(system, ts);
    assert_eq!(by_engine(report, expected[6]), expected, "{report:?}\n{}", show(system));
}

/// The bound independence hypotheses under which the sound reduction is justified.
pub(crate) fn justified(system: &System, report: &BoundReport) -> bool {
    (properties::is_send_directed(system) || report.obi == Some(true))
        && (properties::is_receive_directed(system) || report.cibi == Some(true))
}

/// Executes `witness` in the unreduced semantics and checks that what it says fails really fails there.
pub(crate) fn replay(system: &System, witness: &Witness) {
    let steps: Vec<Act> = witness
        .steps
        .iter()
        .map(|s| Act { role: s.role, action: s.action, peer: s.peer, message: s.message })
        .collect();
    let ends = kmc::replay(system, witness.bound as usize, &steps)
        .unwrap_or_else(|step| panic!("step {step} is not possible: {witness:?}\n{}", show(system)));
    let ends: Vec<_> = ends.into_iter().filter(|end| describes(system, witness, end)).collect();
    assert!(!ends.is_empty(), "the end is described wrongly: {witness:?}\n{}", show(system));
    let ts = kmc::transition_system(system, witness.bound as usize);
    let bad = match witness.property {
        Property::OutputIndependence => properties::obi(system, &ts),
        Property::StrongInputIndependence => properties::sibi(system, &ts),
        Property::ChainedInputIndependence => properties::cibi_by_messages(system, &ts),
        Property::Exhaustivity => properties::exhaustive(system, &ts),
        Property::EventualReception => properties::eventual_reception(&ts),
        Property::Progress => properties::progress(system, &ts),
        Property::Stability => properties::stable(&ts),
    };
    let fails = ends.iter().any(|end| bad.iter().any(|&s| ts.states[s] == *end));
    assert!(fails, "nothing fails at the end: {witness:?}\n{}", show(system));
    assert!(!witness.explanation.is_empty());
    if let Failure::Unreceived { from, to, message } = witness.failure {
        let head = ends[0].channels[&(from, to)][0];
        assert!(system.vocabulary().same_signature(head, message));
    }
    if witness.shortest {
        let shortest = distance(&ts, &bad);
        assert!(shortest <= witness.steps.len());
    }
}

/// The length of a shortest execution into `goal`.
pub(crate) fn distance(ts: &TransitionSystem, goal: &[usize]) -> usize {
    let mut depth = vec![usize::MAX; ts.states.len()];
    depth[0] = 0;
    let mut order = vec![0];
    let mut next = 0;
    while let Some(&s) = order.get(next) {
        next += 1;
        if goal.contains(&s) {
            return depth[s];
        }
        for (_, t) in &ts.edges[s] {
            if depth[*t] == usize::MAX {
                depth[*t] = depth[s] + 1;
                order.push(*t);
            }
        }
    }
    usize::MAX
}

fn describes(system: &System, witness: &Witness, end: &kmc::Configuration) -> bool {
    let signature = |message| system.vocabulary().signature(message);
    witness.end.standings.iter().all(|standing| end.locals[standing.role.index()] == standing.state)
        && witness.end.queues.len() == end.channels.len()
        && witness.end.queues.iter().all(|queue| {
            let Some(from) = queue.from else { return false };
            let held = end.channels.get(&(from, queue.to));
            held.is_some_and(|held| {
                held.iter().copied().eq(queue.messages.iter().map(|&(_, m)| signature(m)))
            })
        })
}

/// A system as text, for failed assertions.
pub(crate) fn show(system: &System) -> String {
    let mut text = String::new();
    for machine in system.machines() {
        let vocabulary = system.vocabulary();
        text += &format!("{}:\n", vocabulary.role_name(machine.role()));
        for state in machine.states() {
            for t in machine.transitions(state) {
                let symbol = if t.action == Action::Send { '!' } else { '?' };
                text += &format!(
                    "  q{} {}{symbol}{} q{}\n",
                    state.0,
                    vocabulary.role_name(t.peer),
                    vocabulary.label_of(t.message),
                    t.target.0
                );
            }
        }
    }
    text
}
