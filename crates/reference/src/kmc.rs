//! CAV'19: configurations, executions, TS_k, Algorithm 1 and 2.
//!
//! The properties are in [`properties`], weak bisimilarity in [`bisimulation`], mailboxes in [`mailbox`], faults in [`faults`].

pub mod bisimulation;
pub mod fairness;
pub mod faults;
pub mod mailbox;
pub mod properties;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use referee_theory::{Action, Message, Role, State, System};

/// An action ℓ, written from the side of its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Act {
    /// subj(ℓ).
    pub role: Role,
    /// `!` or `?`.
    pub action: Action,
    /// obj(ℓ).
    pub peer: Role,
    /// The message, as its signature.
    pub message: Message,
}

impl Act {
    /// chan(ℓ): sender and receiver.
    #[must_use]
    pub fn channel(&self) -> (Role, Role) {
        match self.action {
            Action::Send => (self.role, self.peer),
            Action::Receive => (self.peer, self.role),
        }
    }
}

/// s = (q; w), Definition 2. Empty channels are not in the map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Configuration {
    /// The control state, by role.
    pub locals: Vec<State>,
    /// The contents of the channels that are not empty, head first.
    pub channels: BTreeMap<(Role, Role), VecDeque<Message>>,
}

impl Configuration {
    /// s0.
    #[must_use]
    pub fn initial(system: &System) -> Self {
        Self {
            locals: system.machines().iter().map(|machine| machine.initial()).collect(),
            channels: BTreeMap::new(),
        }
    }

    /// |w_pq|.
    #[must_use]
    pub fn length(&self, channel: (Role, Role)) -> usize {
        self.channels.get(&channel).map_or(0, VecDeque::len)
    }

    /// All queues are empty.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        self.channels.is_empty()
    }
}

/// δ of the role, at its local state: the outgoing transitions as actions and targets.
#[must_use]
pub fn outgoing(system: &System, role: Role, state: State) -> Vec<(Act, State)> {
    system
        .machine(role)
        .transitions(state)
        .iter()
        .map(|t| {
            let message = system.vocabulary().wire_signature(t.message);
            (Act { role, action: t.action, peer: t.peer, message }, t.target)
        })
        .collect()
}

/// Definition 3 with a bound: the configuration after `act` leads `role` to `target`, if that is possible
/// and k-bounded.
fn fire(configuration: &Configuration, act: &Act, target: State, bound: usize) -> Option<Configuration> {
    let channel = act.channel();
    if channel.0 == channel.1 {
        return None;
    }
    let mut next = configuration.clone();
    next.locals[act.role.index()] = target;
    match act.action {
        Action::Send => {
            let queue = next.channels.entry(channel).or_default();
            queue.push_back(act.message);
            (queue.len() <= bound).then_some(next)
        }
        Action::Receive => {
            let queue = next.channels.get_mut(&channel)?;
            if queue.pop_front() != Some(act.message) {
                return None;
            }
            if queue.is_empty() {
                next.channels.remove(&channel);
            }
            Some(next)
        }
    }
}

/// Everything that can happen at `configuration` within `bound`.
#[must_use]
pub fn successors(system: &System, configuration: &Configuration, bound: usize) -> Vec<(Act, Configuration)> {
    let mut all = Vec::new();
    for role in system.roles() {
        for (act, target) in outgoing(system, role, configuration.locals[role.index()]) {
            if let Some(next) = fire(configuration, &act, target, bound)
                && !all.contains(&(act, next.clone()))
            {
                all.push((act, next));
            }
        }
    }
    all
}

/// A labelled transition system over configurations; the initial one is number 0.
#[derive(Clone, Debug)]
pub struct TransitionSystem {
    /// N.
    pub states: Vec<Configuration>,
    /// Δ, by source.
    pub edges: Vec<Vec<(Act, usize)>>,
    /// k.
    pub bound: usize,
}

impl TransitionSystem {
    /// |Δ|.
    #[must_use]
    pub fn transitions(&self) -> usize {
        self.edges.iter().map(Vec::len).sum()
    }
}

#[derive(Default)]
struct Numbering {
    states: Vec<Configuration>,
    number: BTreeMap<Configuration, usize>,
}

impl Numbering {
    fn of(&mut self, configuration: Configuration) -> usize {
        if let Some(&number) = self.number.get(&configuration) {
            return number;
        }
        self.states.push(configuration.clone());
        self.number.insert(configuration, self.states.len() - 1);
        self.states.len() - 1
    }
}

/// TS_k(S), Definition 13.
#[must_use]
pub fn transition_system(system: &System, bound: usize) -> TransitionSystem {
    transition_system_from(system, bound, Configuration::initial(system))
}

/// What is k-reachable from `start`, which becomes number 0.
#[must_use]
pub fn transition_system_from(system: &System, bound: usize, start: Configuration) -> TransitionSystem {
    let mut numbering = Numbering::default();
    numbering.of(start);
    let mut edges = Vec::new();
    while edges.len() < numbering.states.len() {
        let source = numbering.states[edges.len()].clone();
        let row = successors(system, &source, bound)
            .into_iter()
            .map(|(act, target)| (act, numbering.of(target)))
            .collect();
        edges.push(row);
    }
    TransitionSystem { states: numbering.states, edges, bound }
}

/// Whether an execution from `start` within `bound` fires an action that satisfies `wanted`. `None` when
/// more than `most` configurations would have to be looked at.
pub fn can_happen(
    system: &System,
    bound: usize,
    start: &Configuration,
    most: usize,
    wanted: impl Fn(&Act) -> bool,
) -> Option<bool> {
    let mut seen = BTreeSet::from([start.clone()]);
    let mut agenda = vec![start.clone()];
    while let Some(s) = agenda.pop() {
        for (act, target) in successors(system, &s, bound) {
            if wanted(&act) {
                return Some(true);
            }
            if seen.insert(target.clone()) {
                agenda.push(target);
            }
        }
        if seen.len() > most {
            return None;
        }
    }
    Some(false)
}

/// RTS_k(S): Algorithm 1, line by line, with the agenda and the order of sets of the paper's tool.
#[must_use]
pub fn reduced_transition_system(system: &System, bound: usize) -> TransitionSystem {
    let mut numbering = Numbering::default();
    let mut visited = BTreeSet::new();
    let mut accum: Vec<Vec<(Act, usize)>> = vec![Vec::new()];
    let start = numbering.of(Configuration::initial(system));
    let mut agenda = VecDeque::from([(start, Vec::<Vec<Act>>::new())]);
    while let Some((s, mut pending)) = agenda.pop_front() {
        if !visited.insert(s) {
            continue;
        }
        let enabled = successors(system, &numbering.states[s], bound);
        let is_enabled = |act: &Act| enabled.iter().any(|(other, _)| other == act);
        // Where nothing pending is possible the tool gives up; by Definition 15 that cannot be.
        if !pending.iter().take(1).flatten().any(is_enabled) {
            pending = partition(system, &numbering.states[s], bound);
        }
        if pending.is_empty() {
            continue;
        }
        let head = pending.remove(0);
        for act in head {
            for (_, target) in enabled.iter().filter(|(other, _)| *other == act) {
                let target = numbering.of(target.clone());
                accum.resize(accum.len().max(target + 1), Vec::new());
                accum[s].push((act, target));
                agenda.push_back((target, pending.clone()));
            }
        }
    }
    TransitionSystem { states: numbering.states, edges: accum, bound }
}

/// partition(s), Definition 15, as the paper's tool has it: runs of one subject among the sends and then the
/// receptions, by channel names; sets of receptions first, then by cardinality.
fn partition(system: &System, configuration: &Configuration, bound: usize) -> Vec<Vec<Act>> {
    let name = |role: Role| system.vocabulary().role_name(role);
    let mut acts: Vec<Act> = Vec::new();
    for (act, _) in successors(system, configuration, bound) {
        if !acts.contains(&act) {
            acts.push(act);
        }
    }
    acts.sort_by_key(|act| (act.action == Action::Receive, name(act.channel().0), name(act.channel().1)));
    let mut sets: Vec<Vec<Act>> =
        acts.chunk_by(|first, second| first.role == second.role).map(<[Act]>::to_vec).collect();
    sets.sort_by_key(|set| (set[0].action == Action::Send, set.len()));
    sets
}

/// Executes `steps` from s0 within `bound`; the number of the first step that is not possible, if there is
/// one. Messages are compared by signature; a nondeterministic machine may follow any of its transitions.
///
/// # Errors
/// The index of the first step that cannot be taken.
pub fn replay(system: &System, bound: usize, steps: &[Act]) -> Result<Vec<Configuration>, usize> {
    let mut current = vec![Configuration::initial(system)];
    for (index, step) in steps.iter().enumerate() {
        let wanted = Act { message: system.vocabulary().wire_signature(step.message), ..*step };
        let mut next = BTreeSet::new();
        for configuration in &current {
            for (act, target) in successors(system, configuration, bound) {
                if act == wanted {
                    next.insert(target);
                }
            }
        }
        if next.is_empty() {
            return Err(index);
        }
        current = next.into_iter().collect();
    }
    Ok(current)
}
