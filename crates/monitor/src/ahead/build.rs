//! Working out what is certain: a deterministic automaton over sets of states.

use referee_theory::{Action, Machine, State, Transition};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Ahead, NOWHERE, bit};
use crate::event::Party;
use crate::monitor::{Monitor, NO_CODE};

/// How many sets of states there may be, and how many steps it may take to find them.
const MAX_POSITIONS: usize = 1 << 13;
const MAX_STEPS: usize = 1 << 22;
/// Beyond this many states nothing is worked out.
const MAX_STATES: usize = 1 << 14;

/// Who moves, with which message, whether that is plain, and to which block of states.
type Move = (u8, u32, bool, u32);

/// For each state, the first that behaves alike: the same messages, with the same needs, lead to states that are
/// alike. A protocol that is called from many places has many copies of its states, and sets of them would be many.
pub(super) fn alike(monitor: &Monitor) -> Vec<State> {
    let machine = monitor.machine();
    let mut blocks = vec![0_u32; machine.state_count()];
    let mut count = 1;
    while machine.state_count() <= MAX_STATES {
        let mut numbers: FxHashMap<(u32, Vec<Move>), u32> = FxHashMap::default();
        let refined: Vec<u32> = machine
            .states()
            .map(|state| {
                let mut moves: Vec<_> = machine
                    .transitions(state)
                    .iter()
                    .map(|transition| {
                        let message = monitor.vocabulary().signature(transition.message);
                        let target = blocks.get(transition.target.index()).copied().unwrap_or(0);
                        let plain = plain(monitor, state, transition).is_some();
                        (bit(transition.action), message.0, plain, target)
                    })
                    .collect();
                moves.sort_unstable();
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                let own = blocks.get(state.index()).copied().unwrap_or(0);
                *numbers.entry((own, moves)).or_insert(next)
            })
            .collect();
        blocks = refined;
        if numbers.len() == count {
            break;
        }
        count = numbers.len();
    }
    let mut first: FxHashMap<u32, State> = FxHashMap::default();
    machine.states().zip(blocks).map(|(state, block)| *first.entry(block).or_insert(state)).collect()
}

/// For each state, whose `turns` can follow, its own included.
pub(super) fn prospects(machine: &Machine, turns: &[u8]) -> Box<[u8]> {
    let mut sources: Vec<Vec<State>> = vec![Vec::new(); machine.state_count()];
    for state in machine.states() {
        for transition in machine.transitions(state) {
            if let Some(list) = sources.get_mut(transition.target.index()) {
                list.push(state);
            }
        }
    }
    let mut prospects: Box<[u8]> = turns.into();
    // A state is looked at again only when it has gained a side: twice at most.
    let mut open: Vec<State> = machine.states().collect();
    while let Some(state) = open.pop() {
        let sides = prospects.get(state.index()).copied().unwrap_or(0);
        for source in sources.get(state.index()).into_iter().flatten() {
            if let Some(known) = prospects.get_mut(source.index())
                && *known | sides != *known
            {
                *known |= sides;
                open.push(*source);
            }
        }
    }
    prospects
}

/// The label and the number of a transition that looks at no values and binds none.
fn plain(monitor: &Monitor, state: State, transition: &Transition) -> Option<(u32, u32)> {
    let label = monitor.label(monitor.vocabulary().label_of(transition.message));
    let channel = match transition.action {
        Action::Send => monitor.channel(Party::Process, Party::Environment),
        Action::Receive => monitor.channel(Party::Environment, Party::Process),
    };
    let index = monitor.table.find(state.0, channel, label);
    let edge = monitor.edges.get(index as usize)?;
    // What has to wait for its time (`after`) is too early before its turn.
    let waits = monitor.times.as_ref().and_then(|times| times.edges.get(index as usize));
    let waits = waits.is_some_and(|times| times.after.is_some());
    (edge.assertion == NO_CODE && edge.binds.1 == 0 && !waits).then_some((label.0, index))
}

/// Works out one side's lane: the side that does `action`.
pub(super) struct Builder<'m> {
    monitor: &'m Monitor,
    alike: &'m [State],
    action: Action,
    numbers: FxHashMap<Box<[State]>, u32>,
    steps: usize,
}

impl<'m> Builder<'m> {
    pub(super) fn new(monitor: &'m Monitor, alike: &'m [State], action: Action) -> Self {
        Self { monitor, alike, action, numbers: FxHashMap::default(), steps: MAX_STEPS }
    }

    /// Fills in the lane, or leaves it as it is, with nothing certain, if that is too much.
    pub(super) fn build(mut self, ahead: &mut Ahead) {
        let first = ahead.members.len();
        if self.alike.len() > MAX_STATES || self.try_build(ahead, first).is_none() {
            ahead.members.truncate(first);
        }
    }

    fn try_build(&mut self, ahead: &mut Ahead, first: usize) -> Option<()> {
        let mut starts = vec![NOWHERE; ahead.turns.len()];
        for state in self.monitor.machine().states() {
            let turns = ahead.turns.get(state.index()).copied().unwrap_or(0);
            if turns == 0 || turns & bit(self.action) != 0 {
                continue;
            }
            let like = self.alike.get(state.index()).copied().unwrap_or(state);
            let start = if like < state {
                starts.get(like.index()).copied().unwrap_or(NOWHERE)
            } else {
                let set = self.next_turns(ahead, [state])?;
                self.number(ahead, set)?
            };
            if let Some(slot) = starts.get_mut(state.index()) {
                *slot = start;
            }
        }
        let mut certain = FxHashMap::default();
        let mut at = first;
        while let Some(set) = ahead.members.get(at).cloned() {
            for (label, edge, targets) in self.certain(&set) {
                let next = self.next_turns(ahead, targets)?;
                let next = self.number(ahead, next)?;
                certain.insert((u32::try_from(at).ok()?, label), (edge, next));
            }
            at += 1;
        }
        let lane = match self.action {
            Action::Send => &mut ahead.process,
            Action::Receive => &mut ahead.environment,
        };
        lane.starts = starts.into();
        lane.certain = certain;
        Some(())
    }

    /// The states of this side's turn that the other side can lead to from `states`, sorted. Where the session is
    /// over there is none.
    fn next_turns(&mut self, ahead: &Ahead, states: impl IntoIterator<Item = State>) -> Option<Box<[State]>> {
        let mut seen: FxHashSet<State> = FxHashSet::default();
        let mut found: Vec<State> = Vec::new();
        let mut open: Vec<State> = states.into_iter().collect();
        while let Some(state) = open.pop() {
            self.steps = self.steps.checked_sub(1)?;
            let state = self.alike.get(state.index()).copied().unwrap_or(state);
            if !seen.insert(state) {
                continue;
            }
            if ahead.turns.get(state.index()).is_some_and(|turns| turns & bit(self.action) != 0) {
                found.push(state);
            } else {
                open.extend(
                    self.monitor.machine().transitions(state).iter().map(|transition| transition.target),
                );
            }
        }
        found.sort_unstable();
        Some(found.into())
    }

    /// The number of the position `set`; [`NOWHERE`] of the empty one. `None` if there are too many.
    fn number(&mut self, ahead: &mut Ahead, set: Box<[State]>) -> Option<u32> {
        if set.is_empty() {
            return Some(NOWHERE);
        }
        if let Some(&number) = self.numbers.get(&set) {
            return Some(number);
        }
        if self.numbers.len() == MAX_POSITIONS {
            return None;
        }
        let number = u32::try_from(ahead.members.len()).ok()?;
        self.numbers.insert(set.clone(), number);
        ahead.members.push(set);
        Some(number)
    }

    /// The labels that every state of `set` takes in the same form without looking at values, each with one of
    /// the transitions and where they lead.
    fn certain(&self, set: &[State]) -> Vec<(u32, u32, Vec<State>)> {
        let (machine, vocabulary) = (self.monitor.machine(), self.monitor.vocabulary());
        let own = |state: State| machine.transitions(state).iter().filter(|t| t.action == self.action);
        let Some((&first, others)) = set.split_first() else { return Vec::new() };
        own(first)
            .filter_map(|transition| {
                let (label, index) = plain(self.monitor, first, transition)?;
                let mut targets = vec![transition.target];
                for &other in others {
                    let same =
                        own(other).find(|t| vocabulary.same_signature(t.message, transition.message))?;
                    plain(self.monitor, other, same)?;
                    targets.push(same.target);
                }
                Some((label, index, targets))
            })
            .collect()
    }
}
