//! Law C7 of `docs/concurrency.md`, section 3: systems over the same roles, with disjoint labels on each channel, each safe, in each of which the head of every
//! channel can be received after the receiver's own sends only, make a safe shuffle, in which each role runs all its parts over one channel for each pair.
//!
//! The shuffle is explored. Teeth: without the hypothesis on heads it can deadlock, and without disjoint labels as well.

use std::collections::BTreeSet;
use std::sync::Arc;

use referee_reference::kmc::{TransitionSystem, outgoing, transition_system};
use referee_testkit::systems::{Alphabet, Rng};
use referee_theory::{
    Action, Machine, MachineBuilder, Message, Origin, Role, State, System, Transition, Vocabulary,
};

/// Systems in which a channel comes to hold so many messages are left out: what is explored is all there is.
const ROOM: usize = 4;
/// Larger shuffles are left out.
const MOST: usize = 4000;

/// All that can be reached, if no channel needs more room.
fn explored(system: &System, room: usize) -> Option<TransitionSystem> {
    let all = transition_system(system, room);
    let fits = |queue: &std::collections::VecDeque<Message>| queue.len() < room;
    all.states.iter().all(|state| state.channels.values().all(fits)).then_some(all)
}

/// Where an edge that is `wanted` can be reached from.
fn leads_to(all: &TransitionSystem, wanted: impl Fn(&referee_reference::kmc::Act) -> bool) -> Vec<bool> {
    let mut found = vec![false; all.states.len()];
    let mut grew = true;
    while std::mem::take(&mut grew) {
        for (source, edges) in all.edges.iter().enumerate() {
            if !found[source] && edges.iter().any(|(act, target)| wanted(act) || found[*target]) {
                (found[source], grew) = (true, true);
            }
        }
    }
    found
}

/// Eventual reception and progress.
fn is_safe(system: &System, all: &TransitionSystem) -> bool {
    let channels: BTreeSet<(Role, Role)> =
        all.states.iter().flat_map(|state| state.channels.keys().copied()).collect();
    for channel in channels {
        let received = leads_to(all, |act| act.action == Action::Receive && act.channel() == channel);
        let holds = |(state, received): (&referee_reference::kmc::Configuration, &bool)| {
            *received || state.length(channel) == 0
        };
        if !all.states.iter().zip(&received).all(holds) {
            return false;
        }
    }
    system.roles().all(|role| {
        let moves = leads_to(all, |act| act.role == role && act.action == Action::Receive);
        all.states.iter().zip(&moves).all(|(state, moves)| {
            let steps = outgoing(system, role, state.locals[role.index()]);
            let waits = !steps.is_empty() && steps.iter().all(|(act, _)| act.action == Action::Receive);
            *moves || !waits
        })
    })
}

/// (H): the head of every channel can be received after the receiver's own sends only.
fn heads_can_be_received(system: &System, all: &TransitionSystem) -> bool {
    all.states.iter().all(|state| {
        state.channels.iter().all(|((sender, receiver), queue)| {
            let mut seen = BTreeSet::new();
            let mut pending = vec![state.locals[receiver.index()]];
            while let Some(at) = pending.pop() {
                if !seen.insert(at) {
                    continue;
                }
                for (act, target) in outgoing(system, *receiver, at) {
                    match act.action {
                        Action::Receive if act.peer == *sender && Some(&act.message) == queue.front() => {
                            return true;
                        }
                        Action::Receive => {}
                        Action::Send => pending.push(target),
                    }
                }
            }
            false
        })
    })
}

/// Each role runs its machines of both systems; the labels of the second are numbered from `offset` on.
fn shuffle(one: &System, other: &System, labels: usize, offset: u32) -> System {
    let roles = one.machines().len();
    let mut vocabulary = Vocabulary::new();
    for role in 0..roles {
        vocabulary.add_role(one.vocabulary().role_name(Role(u16::try_from(role).unwrap())));
    }
    let messages: Vec<Message> =
        (0..labels).map(|label| vocabulary.add_plain_message(&format!("m{label}"))).collect();
    let both = one.machines().iter().zip(other.machines());
    let machines: Vec<Machine> = both.map(|(left, right)| product(left, right, &messages, offset)).collect();
    System::new(Arc::new(vocabulary), machines)
}

fn product(left: &Machine, right: &Machine, messages: &[Message], offset: u32) -> Machine {
    let mut builder = MachineBuilder::new(left.role());
    let count = right.state_count();
    for _ in 0..left.state_count() * count {
        builder.add_state();
    }
    let state = |a: State, b: State| State(u32::try_from(a.index() * count + b.index()).unwrap());
    for a in left.states() {
        for b in right.states() {
            for t in left.transitions(a) {
                let (message, target) = (messages[t.message.0 as usize], state(t.target, b));
                builder
                    .add_transition(state(a, b), Transition { message, target, origin: Origin::NONE, ..*t });
            }
            for t in right.transitions(b) {
                let message = messages[(t.message.0 + offset) as usize];
                let target = state(a, t.target);
                builder
                    .add_transition(state(a, b), Transition { message, target, origin: Origin::NONE, ..*t });
            }
        }
    }
    builder.finish()
}

/// Systems that are safe, and whether (H) holds of them.
fn safe_systems(systems: impl IntoIterator<Item = System>) -> Vec<(System, bool)> {
    let mut found = Vec::new();
    for system in systems {
        let Some(all) = explored(&system, ROOM) else { continue };
        // What never says anything shows nothing.
        if all.states.len() > 1 && is_safe(&system, &all) {
            let holds = heads_can_be_received(&system, &all);
            found.push((system, holds));
        }
    }
    found
}

fn check(parts: &[(System, bool)], labels: u32, stride: usize) -> (usize, usize) {
    let (mut checked, mut without) = (0, 0);
    for number in (0..parts.len() * parts.len()).step_by(stride) {
        let ((one, first), (other, second)) = (&parts[number / parts.len()], &parts[number % parts.len()]);
        let both = shuffle(one, other, labels as usize * 2, labels);
        let Some(all) = explored(&both, 2 * ROOM).filter(|all| all.states.len() <= MOST) else { continue };
        let safe = is_safe(&both, &all);
        if *first && *second {
            assert!(safe, "{:?}\n{:?}", one.machines(), other.machines());
            checked += 1;
        } else {
            without += usize::from(!safe);
        }
    }
    (checked, without)
}

#[test]
fn safe_parts_make_a_safe_shuffle() {
    // Between two roles the hypothesis on heads holds by itself.
    let two = Alphabet::new(2, 2);
    let (left, right) = (two.machines(0, 2), two.machines(1, 2));
    let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left.clone(), right.clone())));
    let parts = safe_systems(pairs.map(|(left, right)| two.system([left, right])));
    assert!(parts.iter().all(|(_, holds)| *holds) && parts.len() > 20, "{}", parts.len());
    let (checked, _) = check(&parts, 2, 1);
    assert!(checked > 400, "{checked}");
    // Of three roles, sampled.
    let three = Alphabet::new(3, 1);
    let mut rng = Rng::new(11);
    let random = std::iter::repeat_with(|| {
        let machines: Vec<Machine> = (0..3).map(|role| three.random_machine(role, 3, 3, &mut rng)).collect();
        three.system(machines)
    });
    let parts = safe_systems(random.take(30_000));
    let stride = (parts.len() * parts.len() / 4000).max(1);
    let (checked, _) = check(&parts, 1, stride);
    assert!(checked > 300, "{checked} of {}", parts.len());
}

/// `P→Q` holds m, n and `R→Q` holds z, y: neither head can be taken.
#[test]
fn without_the_hypotheses_the_shuffle_deadlocks() {
    let machine = |role: u16, steps: &[(Action, u16, u32)]| {
        let mut builder = MachineBuilder::new(Role(role));
        let states: Vec<State> = (0..=steps.len()).map(|_| builder.add_state()).collect();
        for (at, (action, peer, message)) in steps.iter().enumerate() {
            let (message, target) = (Message(*message), states[at + 1]);
            let step =
                Transition { action: *action, peer: Role(*peer), message, target, origin: Origin::NONE };
            builder.add_transition(states[at], step);
        }
        builder.finish()
    };
    let alphabet = Alphabet::new(3, 2);
    let (p, q, r) = (0, 1, 2);
    use Action::{Receive, Send};
    // Q: R?y; P?m beside Q: P?n; R?z.
    let one = alphabet.system([
        machine(p, &[(Send, q, 0)]),
        machine(q, &[(Receive, r, 1), (Receive, p, 0)]),
        machine(r, &[(Send, q, 1)]),
    ]);
    let other = alphabet.system([
        machine(p, &[(Send, q, 0)]),
        machine(q, &[(Receive, p, 0), (Receive, r, 1)]),
        machine(r, &[(Send, q, 1)]),
    ]);
    let parts = safe_systems([one.clone(), other.clone()]);
    assert!(parts.len() == 2 && parts.iter().all(|(_, holds)| !holds));
    let both = shuffle(&one, &other, 4, 2);
    assert!(!is_safe(&both, &explored(&both, ROOM).unwrap()));
    // Two parts that begin with the same label: A: !m; !x beside A: !m; !y.
    let two = Alphabet::new(2, 3);
    let call = |then| {
        two.system([
            machine(0, &[(Send, 1, 0), (Send, 1, then)]),
            machine(1, &[(Receive, 0, 0), (Receive, 0, then)]),
        ])
    };
    let parts = safe_systems([call(1), call(2)]);
    assert!(parts.len() == 2 && parts.iter().all(|(_, holds)| *holds));
    // B may take `m` for the other part's, and then cannot take what follows it.
    let same = shuffle(&call(1), &call(2), 3, 0);
    let apart = shuffle(&call(1), &call(2), 6, 3);
    assert!(is_safe(&apart, &explored(&apart, ROOM).unwrap()));
    assert!(!is_safe(&same, &explored(&same, ROOM).unwrap()));
}
