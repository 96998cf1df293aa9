//! What the tests of the checker share: the comparison of one bound with the reference, and the replay of a
//! witness in it.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "a test; each binary uses a part of it")]

use referee_check::{
    BoundReport, Fact, Failure, Model, Property, Reduction, Semantics, Step, Verdict, Violation, Witness,
    examine_bound,
};
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
    let ends = ends_of(system, witness, witness.bound, witness.steps.len());
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
    let earlier = ends_of(system, witness, witness.bound, witness.point_of_no_return);
    let violated = |bad: &[usize]| earlier.iter().any(|end| bad.iter().any(|&s| ts.states[s] == *end));
    let safety = [properties::eventual_reception(&ts), properties::progress(system, &ts)].concat();
    let is_safety = witness.violation.is_some();
    assert!(violated(if is_safety { &safety } else { &bad }), "not at the point of no return: {witness:?}");
    if witness.shortest {
        let shortest = distance(&ts, if is_safety { &safety } else { &bad });
        // A race is shown where both messages are there, which may be later.
        let holds =
            shortest == witness.point_of_no_return || !is_safety && shortest < witness.point_of_no_return;
        assert!(holds, "{shortest}: {witness:?}\n{}", show(system));
    }
    let end = &ends[0];
    witness.facts.iter().for_each(|fact| assert_fact(system, witness, fact, end, witness.bound));
}

/// The step as the reference writes it.
pub(crate) fn act(step: &Step) -> Act {
    Act { role: step.role, action: step.action, peer: step.peer, message: step.message }
}

/// Where the first `count` steps of `witness` may lead within `bound`.
pub(crate) fn ends_of(
    system: &System,
    witness: &Witness,
    bound: u32,
    count: usize,
) -> Vec<kmc::Configuration> {
    let steps: Vec<Act> = witness.steps[..count].iter().map(act).collect();
    kmc::replay(system, bound as usize, &steps)
        .unwrap_or_else(|step| panic!("step {step} is not possible: {witness:?}\n{}", show(system)))
}

/// All witnesses of a verdict that the system is unsafe.
pub(crate) fn witnesses(verdict: &Verdict) -> Vec<&Witness> {
    match verdict {
        Verdict::Unsafe { witness, others, .. } => std::iter::once(&**witness).chain(others).collect(),
        _ => Vec::new(),
    }
}

/// Fails unless `fact` is true at `end`, in everything that can follow within `bound` where it says so. What takes
/// more than a few thousand configurations to see is taken for true.
pub(crate) fn assert_fact(
    system: &System,
    witness: &Witness,
    fact: &Fact,
    end: &kmc::Configuration,
    bound: u32,
) {
    let signature = |message| system.vocabulary().wire_signature(message);
    let offered = |role: referee_theory::Role| -> Vec<Act> {
        let outgoing = kmc::outgoing(system, role, end.locals[role.index()]);
        outgoing.into_iter().map(|(act, _)| act).collect()
    };
    let never = |wanted: &dyn Fn(&Act) -> bool| {
        kmc::can_happen(system, bound as usize, end, 3_000, wanted) != Some(true)
    };
    let holds = match fact {
        Fact::Waits { role, offers } => {
            let mut said: Vec<Act> =
                offers.iter().map(|step| Act { message: signature(step.message), ..act(step) }).collect();
            let mut are = offered(*role);
            said.sort();
            said.dedup();
            are.sort();
            are.dedup();
            said == are && are.iter().all(|act| act.action == Action::Receive)
        }
        Fact::Next { from, to, message, .. } => {
            end.channels.get(&(*from, *to)).is_some_and(|queue| queue[0] == signature(*message))
        }
        Fact::Ended { role } => offered(*role).is_empty(),
        Fact::AboutToSend { send } => {
            offered(send.role).contains(&Act { message: signature(send.message), ..act(send) })
        }
        Fact::NeverMoves { role } => never(&|act| act.role == *role),
        Fact::NeverSends { from, to, message } => never(&|act| {
            act.action == Action::Send && act.channel() == (*from, *to) && act.message == signature(*message)
        }),
        Fact::NeverReceives { from, to } => never(&|act| {
            act.action == Action::Receive && from.is_some_and(|from| act.channel() == (from, *to))
        }),
        // Only where there are faults.
        Fact::Crashed { .. } => false,
        Fact::Loop { first } => {
            *first < witness.steps.len() && ends_of(system, witness, bound, *first).contains(end)
        }
    };
    assert!(holds, "within {bound}, not true: {fact:?}\n{witness:?}\n{}", show(system));
}

/// Fails unless the end of `witness` shows what its kind says, whatever the bound: up to two more are tried.
pub(crate) fn assert_shown(system: &System, witness: &Witness) {
    let ends = ends_of(system, witness, witness.bound, witness.steps.len());
    let end = ends.iter().find(|end| describes(system, witness, end)).unwrap();
    for bound in witness.bound..=witness.bound + 2 {
        witness.facts.iter().for_each(|fact| assert_fact(system, witness, fact, end, bound));
    }
    let has = |wanted: &dyn Fn(&Fact) -> bool| witness.facts.iter().any(wanted);
    let waits = witness.facts.iter().filter(|fact| matches!(fact, Fact::Waits { .. })).count();
    let next = has(&|fact| matches!(fact, Fact::Next { .. }));
    let shown = match witness.violation.unwrap() {
        Violation::UnexpectedMessage => waits == 1 && next,
        Violation::WaitCycle => waits >= 2,
        Violation::NeverSent => waits >= 1,
        Violation::OrphanMessage => next,
        Violation::Starved => has(&|fact| matches!(fact, Fact::Loop { .. })),
        Violation::BlockedSend => false,
    };
    assert!(shown, "{witness:?}\n{}", show(system));
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

pub(crate) fn describes(system: &System, witness: &Witness, end: &kmc::Configuration) -> bool {
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
