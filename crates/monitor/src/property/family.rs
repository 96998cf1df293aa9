//! Several properties over the same instances: an event costs as much as the properties it can move.
//!
//! Of most properties an event says nothing: they are done, or it leaves them where they are, because only a
//! `[_]X` takes it. So each property says which events it must see. Events are told apart by a *head*: the value at the one
//! place where most patterns ask for a constant, usually the label. A property whose state leads back to itself
//! on every head that it does not name is asked for the heads that it names; every other one that is not done is
//! asked for every event, which moves it or ends it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use referee_theory::property::{EventView, Term, Value};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use super::automaton::{Automaton, Mask, StateId};
use super::matcher::{Access, Demand};
use super::program::Program;
use super::{
    Indifference, PropertyInstance, PropertyMemory, PropertyMonitor, PropertyVerdict, Reason, State,
};

/// Properties that are run together.
#[derive(Debug)]
pub struct PropertyFamily {
    monitors: Vec<Arc<PropertyMonitor>>,
    /// What events are told apart by, if there are enough properties for that.
    heads: Option<Heads>,
}

/// With fewer properties each is simply asked.
const MANY: usize = 8;

/// What one thread learns about the properties of a family.
#[derive(Clone, Debug)]
pub struct PropertyMemories {
    each: Vec<PropertyMemory>,
    /// What the states of each property ask for.
    interests: Vec<FxHashMap<StateId, Interest>>,
}

impl PropertyMemories {
    /// Why the last verdict of the property at `member` was given, if there is more to say than which event gave it.
    pub fn take_reason(&mut self, member: usize) -> Option<Reason> {
        self.each.get_mut(member)?.take_reason()
    }
}

/// One instance of each property of a family.
#[derive(Clone, Debug)]
pub struct PropertyBundle {
    instances: SmallVec<[PropertyInstance; 1]>,
    live: u32,
    subscriptions: Option<Box<Subscriptions>>,
}

#[derive(Debug)]
struct Heads {
    access: Access,
    /// By their hashes: constants of the properties, so few of them collide.
    known: FxHashMap<u64, Vec<(Value, u32)>>,
}

/// Which events a property in some state must see.
#[derive(Clone, Debug, PartialEq)]
enum Interest {
    All,
    Heads(Box<[u32]>),
}

/// Who must see what. Entries are dropped when they are met and their number is no longer that of the property.
#[derive(Clone, Debug, Default)]
struct Subscriptions {
    all: Vec<Entry>,
    by_head: FxHashMap<u32, Vec<Entry>>,
    numbers: Vec<u32>,
}

/// A property and the number under which it subscribed.
type Entry = (u32, u32);

impl Heads {
    fn of(monitors: &[Arc<PropertyMonitor>]) -> Option<Self> {
        let mut constants: FxHashMap<&Access, Vec<&Value>> = FxHashMap::default();
        for (access, demand) in
            monitors.iter().flat_map(|monitor| &monitor.program.matchers).flat_map(|m| &m.demands)
        {
            if let Demand::Constant(constant) = demand {
                constants.entry(access).or_default().push(constant);
            }
        }
        // Of two equally good places the one that comes first in the text of the patterns, so that runs are alike.
        let order = |access: &Access| format!("{access:?}");
        let (access, found) = constants
            .into_iter()
            .max_by_key(|(access, constants)| (constants.len(), std::cmp::Reverse(order(access))))?;
        let mut heads = Self { access: access.clone(), known: FxHashMap::default() };
        let mut next = 0;
        for constant in found {
            if heads.id(constant.view()).is_none() {
                heads.known.entry(hash(constant.view())).or_default().push((constant.clone(), next));
                next += 1;
            }
        }
        Some(heads)
    }

    fn id(&self, term: Term<'_>) -> Option<u32> {
        self.known.get(&hash(term))?.iter().find(|(constant, _)| *constant == term).map(|(_, id)| *id)
    }

    /// What `state` of a property asks for.
    fn interest(&self, program: &Program, automaton: &mut Automaton, state: StateId) -> Interest {
        let Some(patterns) = automaton.states.get(state as usize).map(|state| state.patterns.clone()) else {
            return Interest::All;
        };
        let mut heads = Vec::new();
        let mut always: Mask = 0;
        for (bit, pattern) in patterns.iter().enumerate() {
            let Some(matcher) = program.matchers.get(*pattern as usize) else { return Interest::All };
            let constant = matcher.demands.iter().find_map(|(access, demand)| match demand {
                Demand::Constant(constant) if *access == self.access => Some(constant),
                _ => None,
            });
            match constant.and_then(|constant| self.id(constant.view())) {
                Some(head) => heads.push(head),
                None if matcher.is_any() => always |= 1 << bit,
                None => return Interest::All,
            }
        }
        let outcome = automaton.outcome(program, state, always);
        match automaton.outcomes.get(outcome as usize) {
            Some(outcome) if outcome.stays == Some(state) => {
                heads.sort_unstable();
                heads.dedup();
                Interest::Heads(heads.into())
            }
            _ => Interest::All,
        }
    }
}

fn hash(term: Term<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    term.hash(&mut hasher);
    hasher.finish()
}

/// What one event did to a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertyStep {
    /// Verdicts by property, in their order.
    pub verdicts: SmallVec<[(usize, PropertyVerdict); 1]>,
    /// How many submonitors there are more than before, or fewer.
    pub grown: isize,
    /// Whether something about times had no value, so that the event could not be judged.
    pub fault: bool,
}

impl PropertyFamily {
    /// The family of `monitors`.
    #[must_use]
    pub fn new(monitors: Vec<Arc<PropertyMonitor>>) -> Self {
        let heads = if monitors.len() < MANY { None } else { Heads::of(&monitors) };
        Self { monitors, heads }
    }

    /// The monitors.
    #[must_use]
    pub fn monitors(&self) -> &[Arc<PropertyMonitor>] {
        &self.monitors
    }

    /// What is learned while stepping, before the first step.
    #[must_use]
    pub fn memories(&self) -> PropertyMemories {
        PropertyMemories {
            each: self.monitors.iter().map(|monitor| monitor.memory()).collect(),
            interests: vec![FxHashMap::default(); self.monitors.len()],
        }
    }

    /// New instances, if `event` starts any. They have not yet seen the event.
    #[must_use]
    pub fn begin(&self, memories: &mut PropertyMemories, event: &EventView<'_>) -> Option<PropertyBundle> {
        self.begin_anew(memories, event, 0)
    }

    /// As [`begin`](Self::begin), of instances that have had `events` before.
    #[must_use]
    pub fn begin_anew(
        &self,
        memories: &mut PropertyMemories,
        event: &EventView<'_>,
        events: u64,
    ) -> Option<PropertyBundle> {
        let begun: SmallVec<[Option<PropertyInstance>; 1]> =
            self.monitors.iter().map(|monitor| monitor.begin_anew(event, events)).collect();
        if begun.iter().all(Option::is_none) {
            return None;
        }
        let instances: SmallVec<[PropertyInstance; 1]> =
            begun.into_iter().map(|begun| begun.unwrap_or_else(PropertyInstance::done)).collect();
        let live = instances.iter().filter(|instance| !instance.is_done()).count() as u32;
        let mut bundle = PropertyBundle { instances, live, subscriptions: None };
        if self.heads.is_some() {
            let mut subscriptions = Box::new(Subscriptions::default());
            subscriptions.numbers = vec![0; self.monitors.len()];
            for member in 0..self.monitors.len() as u32 {
                self.subscribe(memories, &bundle.instances, member, &mut subscriptions);
            }
            bundle.subscriptions = Some(subscriptions);
        }
        Some(bundle)
    }

    /// Steps the instances that `event` can move. At most `room` submonitors more may be kept.
    #[inline]
    pub fn step(
        &self,
        memories: &mut PropertyMemories,
        bundle: &mut PropertyBundle,
        event: &EventView<'_>,
        room: usize,
    ) -> PropertyStep {
        let mut step = PropertyStep::default();
        if bundle.subscriptions.is_none() {
            for member in 0..bundle.instances.len() {
                self.step_one(memories, bundle, member, event, room, &mut step);
            }
        } else if let Some(mut subscriptions) = bundle.subscriptions.take() {
            self.dispatch(memories, bundle, &mut subscriptions, event, room, &mut step);
            bundle.subscriptions = Some(subscriptions);
        }
        step
    }

    /// Which events change nothing while a bundle [rests](Self::rests): only of one property that speaks of time.
    #[must_use]
    pub fn indifference(&self) -> Option<Indifference> {
        match self.monitors.as_slice() {
            [only] if only.property().is_timed() => only.program.indifference(),
            _ => None,
        }
    }

    /// Whether an event to which the only property is [indifferent](Self::indifference) leaves the bundle as it is.
    #[must_use]
    #[inline]
    pub fn rests(&self, bundle: &PropertyBundle) -> bool {
        match (self.monitors.as_slice(), bundle.instances.as_slice()) {
            ([only], [PropertyInstance(State::Timed(timed))]) => timed.rests(&only.program),
            _ => false,
        }
    }

    /// Steps the only property over an event of which the member that [decides](Indifference::decides) is known: `letter` is its place among the
    /// texts, from 1, or 0 if it is none of them. The same as [`step`](Self::step), and how many submonitors there are more; `None`, and nothing has
    /// changed, where the event itself is needed, as for a verdict.
    #[inline]
    pub fn step_letter(
        &self,
        bundle: &mut PropertyBundle,
        letter: u8,
        time: i64,
        room: usize,
    ) -> Option<isize> {
        match (self.monitors.as_slice(), bundle.instances.as_mut_slice()) {
            ([only], [PropertyInstance(State::Timed(timed))]) => {
                let before = timed.len();
                let is_stepped =
                    timed.step_letter(&only.program, letter, time, room.saturating_add(before).max(1));
                is_stepped.then(|| timed.len() as isize - before as isize)
            }
            _ => None,
        }
    }

    /// When the bundle next wants to be told what time it is.
    #[must_use]
    pub fn next_deadline(&self, bundle: &PropertyBundle) -> Option<i64> {
        let each = self.monitors.iter().zip(&bundle.instances);
        each.filter_map(|(monitor, instance)| monitor.next_deadline(instance)).min()
    }

    /// Whether any property speaks of time.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.monitors.iter().any(|monitor| monitor.property().is_timed())
    }

    /// Tells the instances that all events before `time` are known.
    pub fn advance(
        &self,
        memories: &mut PropertyMemories,
        bundle: &mut PropertyBundle,
        time: i64,
    ) -> PropertyStep {
        let mut step = PropertyStep::default();
        for member in 0..bundle.instances.len() {
            let (Some(monitor), Some(memory), Some(instance)) =
                (self.monitors.get(member), memories.each.get_mut(member), bundle.instances.get_mut(member))
            else {
                continue;
            };
            if instance.is_done() {
                continue;
            }
            let before = instance.submonitors();
            let verdict = monitor.advance(memory, instance, time);
            step.grown += instance.submonitors() as isize - before as isize;
            bundle.live -= u32::from(instance.is_done());
            step.verdicts.extend(verdict.map(|verdict| (member, verdict)));
        }
        step
    }

    #[inline]
    fn step_one(
        &self,
        memories: &mut PropertyMemories,
        bundle: &mut PropertyBundle,
        member: usize,
        event: &EventView<'_>,
        room: usize,
        step: &mut PropertyStep,
    ) {
        let (Some(monitor), Some(memory), Some(instance)) =
            (self.monitors.get(member), memories.each.get_mut(member), bundle.instances.get_mut(member))
        else {
            return;
        };
        if instance.is_done() {
            return;
        }
        let before = instance.submonitors();
        let limit = room.saturating_add_signed(-step.grown).saturating_add(before).max(1);
        let verdict = monitor.step(memory, instance, event, limit);
        step.fault |= memory.take_fault();
        step.grown += instance.submonitors() as isize - before as isize;
        bundle.live -= u32::from(instance.is_done());
        if let Some(verdict) = verdict {
            step.verdicts.push((member, verdict));
        }
    }

    #[inline(never)]
    fn dispatch(
        &self,
        memories: &mut PropertyMemories,
        bundle: &mut PropertyBundle,
        subscriptions: &mut Subscriptions,
        event: &EventView<'_>,
        room: usize,
        step: &mut PropertyStep,
    ) {
        let head = self.heads.as_ref().and_then(|heads| heads.id(heads.access.of(event)?));
        let by_head = head.and_then(|head| subscriptions.by_head.get_mut(&head)).map(std::mem::take);
        let mut changed: Vec<u32> = Vec::new();
        let mut visit = |mut entries: Vec<Entry>| {
            entries.retain(|(member, number)| {
                let at = *member as usize;
                if subscriptions.numbers.get(at) != Some(number) {
                    return false;
                }
                let before = bundle.instances.get(at).and_then(PropertyInstance::control);
                self.step_one(memories, bundle, at, event, room, step);
                let after = bundle.instances.get(at).and_then(PropertyInstance::control);
                let same = before == after && after.is_some();
                if !same {
                    changed.push(*member);
                }
                same
            });
            entries
        };
        let all = visit(std::mem::take(&mut subscriptions.all));
        let by_head = by_head.map(visit);
        subscriptions.all = all;
        if let (Some(head), Some(entries)) = (head, by_head) {
            subscriptions.by_head.insert(head, entries);
        }
        for member in changed {
            self.subscribe(memories, &bundle.instances, member, subscriptions);
        }
        step.verdicts.sort_unstable_by_key(|(member, _)| *member);
    }

    /// Subscribes a property to what it must see now, and to nothing else.
    fn subscribe(
        &self,
        memories: &mut PropertyMemories,
        instances: &[PropertyInstance],
        member: u32,
        subscriptions: &mut Subscriptions,
    ) {
        let at = member as usize;
        let Some(number) = subscriptions.numbers.get_mut(at) else { return };
        *number = number.wrapping_add(1);
        let entry = (member, *number);
        let (Some(instance), Some(monitor), Some(memory), Some(interests)) = (
            instances.get(at),
            self.monitors.get(at),
            memories.each.get_mut(at),
            memories.interests.get_mut(at),
        ) else {
            return;
        };
        if instance.is_done() {
            return;
        }
        let interest = match (instance.control(), &self.heads) {
            (Some(state), Some(heads)) => interests
                .entry(state)
                .or_insert_with(|| heads.interest(&monitor.program, &mut memory.automaton, state)),
            _ => &Interest::All,
        };
        match interest {
            Interest::All => subscriptions.all.push(entry),
            Interest::Heads(heads) => {
                let numbers = &subscriptions.numbers;
                for head in heads {
                    let entries = subscriptions.by_head.entry(*head).or_default();
                    if entries.len() > 2 * numbers.len() {
                        entries.retain(|(member, number)| numbers.get(*member as usize) == Some(number));
                    }
                    entries.push(entry);
                }
            }
        }
    }
}

impl PropertyBundle {
    /// Whether no verdict will be given any more.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.live == 0
    }

    /// There were `events` events before the next, of which some passed without a step.
    #[inline]
    pub fn note_events(&mut self, events: u64) {
        if let Some(PropertyInstance(State::Timed(timed))) = self.instances.first_mut() {
            timed.note_events(events);
        }
    }

    /// Reads what is kept elsewhere, so that it is near when the bundle is stepped. The number means nothing.
    #[must_use]
    #[inline]
    pub fn touch(&self) -> u64 {
        match self.instances.first() {
            Some(PropertyInstance(State::Timed(timed))) => timed.touch(),
            _ => 0,
        }
    }

    /// How many submonitors there are.
    #[must_use]
    pub fn submonitors(&self) -> usize {
        self.instances.iter().map(PropertyInstance::submonitors).sum()
    }
}

impl PropertyInstance {
    /// The control state, if there is one submonitor.
    fn control(&self) -> Option<StateId> {
        match &self.0 {
            State::Table(state) => Some(*state),
            State::Few(submonitors) => match submonitors.as_slice() {
                [only] => Some(only.state),
                _ => None,
            },
            _ => None,
        }
    }
}
