//! The k-bounded semantics with faults: not in the paper; transcribed from `docs/checking.md`, "Faults".

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use referee_theory::{Action, Message, Role, State, System};

use super::properties::{Kind, kind};
use super::{Configuration, outgoing};

/// What may go wrong.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// n.
    pub at_most: usize,
    /// Roles that may crash.
    pub crash: Vec<Role>,
    /// Channels that may lose messages.
    pub lossy: Vec<(Role, Role)>,
    /// Channels that may deliver twice.
    pub duplicate: Vec<(Role, Role)>,
    /// Channels on which messages may overtake.
    pub reorder: Vec<(Role, Role)>,
}

/// A configuration, who has crashed, and how many faults there were.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Faulty {
    /// Control states and channels.
    pub configuration: Configuration,
    /// C.
    pub crashed: BTreeSet<Role>,
    /// f.
    pub faults: usize,
}

/// The control state of a role that has crashed: where it was does not matter any more.
pub const CRASHED: State = State(u32::MAX);

/// What a step is, as far as the properties ask: who receives from where, if anybody does.
type Received = Option<(Role, Role)>;

/// A step: whether it is a fault, what is received by it, and where it leads.
type Edge = (bool, Received, usize);

/// Everything reachable within k and n faults.
#[derive(Clone, Debug)]
pub struct FaultySystem {
    /// The configurations; the initial one is number 0.
    pub states: Vec<Faulty>,
    /// By source.
    pub edges: Vec<Vec<Edge>>,
    /// Whether some role could send on a channel that holds k messages.
    pub blocked: bool,
}

/// TS_k with faults.
#[must_use]
pub fn transition_system(system: &System, faults: &Faults, bound: usize) -> FaultySystem {
    let configuration = Configuration::initial(system);
    let start = Faulty { configuration, crashed: BTreeSet::new(), faults: 0 };
    let mut all = FaultySystem { states: vec![start.clone()], edges: Vec::new(), blocked: false };
    let mut numbers = BTreeMap::from([(start, 0)]);
    while all.edges.len() < all.states.len() {
        let source = all.states[all.edges.len()].clone();
        let mut row = Vec::new();
        for (is_fault, received, target) in successors(system, faults, &source, bound, &mut all.blocked) {
            let known = numbers.len();
            let number = *numbers.entry(target.clone()).or_insert(known);
            if number == all.states.len() {
                all.states.push(target);
            }
            row.push((is_fault, received, number));
        }
        all.edges.push(row);
    }
    all
}

fn successors(
    system: &System,
    faults: &Faults,
    source: &Faulty,
    bound: usize,
    blocked: &mut bool,
) -> Vec<(bool, Received, Faulty)> {
    let mut all = Vec::new();
    let more = source.faults < faults.at_most;
    for role in system.roles().filter(|role| !source.crashed.contains(role)) {
        for (act, target) in outgoing(system, role, source.configuration.locals[role.index()]) {
            let (from, to) = act.channel();
            if from == to {
                continue;
            }
            let mut moved = source.clone();
            moved.configuration.locals[role.index()] = target;
            let held: Vec<Message> =
                source.configuration.channels.get(&(from, to)).into_iter().flatten().copied().collect();
            match act.action {
                Action::Send if source.crashed.contains(&to) => all.push((false, None, moved)),
                Action::Send => {
                    if more && faults.lossy.contains(&(from, to)) {
                        all.push((true, None, failed(&moved)));
                    }
                    if held.len() < bound {
                        let next = holding(&moved, (from, to), [&held[..], &[act.message]].concat());
                        all.push((false, None, next));
                        if let Some((last, before)) = held.split_last()
                            && more
                            && *last != act.message
                            && faults.reorder.contains(&(from, to))
                        {
                            let swapped = [before, &[act.message, *last]].concat();
                            all.push((true, None, failed(&holding(&moved, (from, to), swapped))));
                        }
                    } else {
                        *blocked = true;
                    }
                }
                Action::Receive => {
                    let received = Some((from, to));
                    if held.first() == Some(&act.message) {
                        all.push((false, received, holding(&moved, (from, to), held[1..].to_vec())));
                        if more && faults.duplicate.contains(&(from, to)) {
                            all.push((true, received, failed(&moved)));
                        }
                    }
                }
            }
        }
        let ended = kind(system, role, source.configuration.locals[role.index()]) == Kind::Final;
        if more && faults.crash.contains(&role) && !ended {
            let mut next = failed(source);
            next.crashed.insert(role);
            next.configuration.locals[role.index()] = CRASHED;
            next.configuration.channels.retain(|(_, to), _| *to != role);
            all.push((true, None, next));
        }
    }
    all
}

fn failed(source: &Faulty) -> Faulty {
    Faulty { faults: source.faults + 1, ..source.clone() }
}

fn holding(source: &Faulty, channel: (Role, Role), messages: Vec<Message>) -> Faulty {
    let mut next = source.clone();
    match messages.is_empty() {
        true => next.configuration.channels.remove(&channel),
        false => next.configuration.channels.insert(channel, VecDeque::from(messages)),
    };
    next
}

impl FaultySystem {
    /// Definition 4 within k, after at most n faults, without further ones.
    #[must_use]
    pub fn is_safe(&self, system: &System) -> bool {
        (0..self.states.len()).all(|state| self.is_safe_at(system, state))
    }

    /// The same of one configuration.
    #[must_use]
    pub fn is_safe_at(&self, system: &System, start: usize) -> bool {
        let mut seen = BTreeSet::from([start]);
        let mut agenda = vec![start];
        let mut received = BTreeSet::new();
        while let Some(state) = agenda.pop() {
            for (is_fault, channel, target) in &self.edges[state] {
                if !is_fault {
                    received.extend(*channel);
                    if seen.insert(*target) {
                        agenda.push(*target);
                    }
                }
            }
        }
        let Faulty { configuration, crashed, .. } = &self.states[start];
        let moves = |role: Role| received.iter().any(|(_, to)| *to == role);
        configuration.channels.keys().all(|channel| received.contains(channel))
            && system.roles().filter(|role| !crashed.contains(role)).all(|role| {
                kind(system, role, configuration.locals[role.index()]) != Kind::Receiving || moves(role)
            })
    }
}
