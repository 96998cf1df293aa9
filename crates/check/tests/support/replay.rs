//! What the tests of the checker share: the comparison of one bound with the reference, and the replay of a
//! witness in it.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "a test; each binary uses a part of it")]

use std::collections::BTreeSet;

use referee_check::{
    BoundReport, Fact, Failure, Ground, Model, Property, Reduction, Semantics, Step, Verdict, Violation,
    Witness, examine_bound,
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

/// What the reference knows of one system within one bound.
pub(crate) struct Within {
    bound: u32,
    ts: TransitionSystem,
    /// What violates safety.
    safety: BTreeSet<usize>,
}

impl Within {
    pub(crate) fn new(system: &System, bound: u32) -> Self {
        let ts = kmc::transition_system(system, bound as usize);
        let safety = [properties::eventual_reception(&ts), properties::progress(system, &ts)].concat();
        Self { bound, ts, safety: safety.into_iter().collect() }
    }

    /// Whether one of `configurations` violates safety.
    pub(crate) fn violates_safety(&self, configurations: &[kmc::Configuration]) -> bool {
        self.is_among(&self.safety, configurations)
    }

    fn is_among(&self, states: &BTreeSet<usize>, configurations: &[kmc::Configuration]) -> bool {
        states.iter().any(|&state| configurations.contains(&self.ts.states[state]))
    }
}

/// Executes `witness` in the unreduced semantics and checks that what it says fails really fails there.
pub(crate) fn replay(system: &System, witness: &Witness) {
    replay_within(system, witness, &Within::new(system, witness.bound));
}

/// The same where the reference has explored `within` the witness's bound before.
pub(crate) fn replay_within(system: &System, witness: &Witness, within: &Within) {
    assert_eq!(witness.bound, within.bound);
    let ends = ends_of(system, witness, witness.bound, witness.steps.len());
    let ends: Vec<_> = ends.into_iter().filter(|end| describes(system, witness, end)).collect();
    assert!(!ends.is_empty(), "the end is described wrongly: {witness:?}\n{}", show(system));
    let ts = &within.ts;
    let bad: BTreeSet<usize> = match witness.property {
        Property::OutputIndependence => properties::obi(system, ts),
        Property::StrongInputIndependence => properties::sibi(system, ts),
        Property::ChainedInputIndependence => properties::cibi_by_messages(system, ts),
        Property::Exhaustivity => properties::exhaustive(system, ts),
        Property::EventualReception => properties::eventual_reception(ts),
        Property::Progress => properties::progress(system, ts),
        Property::Stability => properties::stable(ts),
    }
    .into_iter()
    .collect();
    assert!(within.is_among(&bad, &ends), "nothing fails at the end: {witness:?}\n{}", show(system));
    assert!(!witness.explanation.is_empty());
    if let Failure::Unreceived { from, to, message } = witness.failure {
        let head = ends[0].channels[&(from, to)][0];
        assert!(system.vocabulary().same_signature(head, message));
    }
    let earlier = ends_of(system, witness, witness.bound, witness.point_of_no_return);
    let is_safety = witness.violation.is_some();
    let bad = if is_safety { &within.safety } else { &bad };
    assert!(within.is_among(bad, &earlier), "not at the point of no return: {witness:?}");
    if witness.shortest {
        let shortest = distance(ts, bad);
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
            let starts = ends_of(system, witness, bound, *first);
            *first < witness.steps.len()
                && starts.iter().any(|start| repeats(system, witness, *first, start, end))
        }
    };
    assert!(holds, "within {bound}, not true: {fact:?}\n{witness:?}\n{}", show(system));
}

/// Whether the steps from `first` on, which lead from `start` to `end`, can be made again and again: nothing has changed but
/// that channels from which they take nothing hold more.
fn repeats(
    system: &System,
    witness: &Witness,
    first: usize,
    start: &kmc::Configuration,
    end: &kmc::Configuration,
) -> bool {
    let turn: Vec<Act> = witness.steps[first..].iter().map(act).collect();
    let is_read = |channel| turn.iter().any(|act| act.action == Action::Receive && act.channel() == channel);
    let grows = end.channels.iter().all(|(channel, held)| {
        let before = start.channels.get(channel);
        let before: Vec<_> = before.into_iter().flatten().collect();
        let same = before.iter().zip(held).all(|(before, now)| *before == now);
        same && (before.len() == held.len() || before.len() < held.len() && !is_read(*channel))
    });
    let kept = start.channels.keys().all(|channel| end.channels.contains_key(channel));
    let all: Vec<Act> =
        witness.steps.iter().map(act).chain(turn.iter().copied()).chain(turn.clone()).collect();
    let room = witness.bound as usize + 2 * turn.len();
    start.locals == end.locals && kept && grows && kmc::replay(system, room, &all).is_ok()
}

/// Whether the last configuration itself, or the loop at the end, shows what its kind says.
pub(crate) fn is_visible(witness: &Witness) -> bool {
    let has = |wanted: &dyn Fn(&Fact) -> bool| witness.facts.iter().any(wanted);
    let is_over = |role| {
        has(&|fact| match fact {
            Fact::Ended { role: other } | Fact::Crashed { role: other } => role == *other,
            Fact::Waits { role: other, .. } => {
                role == *other && has(&|fact| *fact == Fact::NeverMoves { role })
            }
            _ => false,
        })
    };
    match (witness.violation.unwrap(), witness.facts.first().unwrap()) {
        (Violation::UnexpectedMessage, Fact::Waits { role, offers }) => has(&|fact| match fact {
            Fact::Next { from, to, message, .. } => {
                let of_sender: Vec<&Step> = offers.iter().filter(|step| step.peer == *from).collect();
                to == role && !of_sender.is_empty() && of_sender.iter().all(|step| step.message != *message)
            }
            _ => false,
        }),
        (Violation::WaitCycle, first) => {
            let waits: Vec<&Fact> =
                witness.facts.iter().filter(|fact| matches!(fact, Fact::Waits { .. })).collect();
            let next = waits[1..].iter().copied().chain([first]);
            waits.len() > 1
                && waits.iter().zip(next).all(|(fact, next)| match (fact, next) {
                    (Fact::Waits { offers, .. }, Fact::Waits { role, .. }) => {
                        offers.iter().any(|step| step.peer == *role) && is_over(*role)
                    }
                    _ => false,
                })
        }
        (Violation::NeverSent, Fact::Waits { offers, .. }) => offers.iter().all(|step| is_over(step.peer)),
        (Violation::OrphanMessage, Fact::Next { to, .. }) => is_over(*to),
        (Violation::Starved, _) => has(&|fact| matches!(fact, Fact::Loop { .. })),
        _ => false,
    }
}

/// Fails unless the end of `witness` shows what its kind says, whatever the bound: up to two more are tried. Where nothing
/// within the bound would show it, the end is where the obstacle begins, and the over-approximation is the ground.
pub(crate) fn assert_shown(system: &System, witness: &Witness) {
    let ends = ends_of(system, witness, witness.bound, witness.steps.len());
    let end = ends.iter().find(|end| describes(system, witness, end)).unwrap();
    // Where there is more room already, the reference takes long.
    let more = if witness.bound > 2 { 0 } else { 2 };
    for bound in witness.bound..=witness.bound + more {
        witness.facts.iter().for_each(|fact| assert_fact(system, witness, fact, end, bound));
    }
    assert!(witness.ground.is_some(), "{witness:?}\n{}", show(system));
    if is_visible(witness) {
        return;
    }
    let stops = witness.ground == Some(Ground::NothingHelps)
        && witness.steps.len() == witness.point_of_no_return
        && is_shown_nowhere(system, witness, end);
    assert!(stops, "{witness:?}\n{}", show(system));
}

/// Whether no configuration within the bound that follows `end`, and no loop there, shows the violation.
fn is_shown_nowhere(system: &System, witness: &Witness, end: &kmc::Configuration) -> bool {
    let ts = kmc::transition_system_from(system, witness.bound as usize, end.clone());
    let over = |at: &kmc::Configuration, role: referee_theory::Role| {
        kmc::outgoing(system, role, at.locals[role.index()]).is_empty()
    };
    let helpers: Vec<referee_theory::Role> = match witness.facts.first().unwrap() {
        Fact::Waits { offers, .. } => offers.iter().map(|step| step.peer).collect(),
        Fact::Next { to, .. } => vec![*to],
        _ => return false,
    };
    let holds = |at: &kmc::Configuration| match witness.failure {
        Failure::Stuck { role } => helpers.iter().any(|&peer| at.length((peer, role)) > 0),
        _ => false,
    };
    let plain = ts.states.iter().any(|at| holds(at) || helpers.iter().all(|&role| over(at, role)));
    let component = components(&ts);
    let looped = ts.edges.iter().enumerate().any(|(source, row)| {
        let again = |target: usize| component[source] == component[target];
        row.iter().any(|(act, target)| helpers.contains(&act.role) && again(*target))
    });
    !plain && !looped
}

/// By configuration, a number that those have in common from which each other can be reached (Kosaraju).
fn components(ts: &TransitionSystem) -> Vec<usize> {
    let mut backwards = vec![Vec::new(); ts.states.len()];
    for (source, row) in ts.edges.iter().enumerate() {
        row.iter().for_each(|(_, target)| backwards[*target].push(source));
    }
    let (mut seen, mut finished) = (vec![false; ts.states.len()], Vec::new());
    for root in 0..ts.states.len() {
        let mut agenda = vec![(root, false)];
        while let Some((at, done)) = agenda.pop() {
            if done {
                finished.push(at);
            } else if !std::mem::replace(&mut seen[at], true) {
                agenda.push((at, true));
                agenda.extend(ts.edges[at].iter().map(|(_, target)| (*target, false)));
            }
        }
    }
    let mut component = vec![usize::MAX; ts.states.len()];
    for root in finished.into_iter().rev() {
        let mut agenda = vec![root];
        while let Some(at) = agenda.pop() {
            if component[at] == usize::MAX {
                component[at] = root;
                agenda.extend(&backwards[at]);
            }
        }
    }
    component
}

/// The length of a shortest execution into `goal`.
pub(crate) fn distance(ts: &TransitionSystem, goal: &BTreeSet<usize>) -> usize {
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
