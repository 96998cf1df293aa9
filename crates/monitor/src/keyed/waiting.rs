//! Messages that wait for their turn, each behind what it must not overtake (`docs/concurrency.md`, *Waiting*).
//!
//! Behind a message wait, in its direction, messages of its key and of the parent; behind one of the parent, openings as well. All else goes on.
//! What waits is looked at again when its key, its turn or a free place comes: with each change these are the first of the key that changed, the first of
//! the parent's messages, and the first opening of each sub-protocol.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::{Key, Lane};
use crate::verdict::Side;

const BOTH: [Side; 2] = [Side::Process, Side::Environment];

/// A call: its sub-protocol and its key.
type Call = (usize, Key);

/// What waits, in both directions.
#[derive(Clone, Debug)]
pub struct Waiting<T> {
    queues: [Queue<T>; 2],
    next_number: u64,
}

/// What waits in one direction, by number, in the order in which it came.
#[derive(Clone, Debug)]
struct Queue<T> {
    all: BTreeMap<u64, (Lane, T)>,
    parents: VecDeque<u64>,
    /// What waits of each key. Keys are a peer's to choose: their hasher is keyed.
    by_call: HashMap<Call, VecDeque<u64>, RandomState>,
    /// Of each sub-protocol the openings that are the first of their key.
    openings: Vec<BTreeSet<u64>>,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        let queue = || Queue {
            all: BTreeMap::new(),
            parents: VecDeque::new(),
            by_call: HashMap::default(),
            openings: Vec::new(),
        };
        Self { queues: [queue(), queue()], next_number: 0 }
    }
}

impl<T> Waiting<T> {
    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much waits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queues.iter().map(|queue| queue.all.len()).sum()
    }

    /// Whether a message of `side` in `lane` waits behind others.
    #[must_use]
    pub fn is_behind(&self, side: Side, lane: &Lane) -> bool {
        let queue = &self.queues[index(side)];
        match lane {
            _ if queue.all.is_empty() => false,
            Lane::Parent => true,
            Lane::Opening(sub, key) => {
                !queue.parents.is_empty() || queue.by_call.contains_key(&(*sub, key.clone()))
            }
            Lane::Call(sub, key) => queue.by_call.contains_key(&(*sub, key.clone())),
        }
    }

    /// A message of `side` waits.
    pub fn push(&mut self, side: Side, lane: Lane, message: T) {
        let number = self.next_number;
        self.next_number += 1;
        let queue = &mut self.queues[index(side)];
        match &lane {
            Lane::Parent => queue.parents.push_back(number),
            Lane::Opening(sub, key) | Lane::Call(sub, key) => {
                let same = queue.by_call.entry((*sub, key.clone())).or_default();
                same.push_back(number);
                if same.len() == 1 && matches!(lane, Lane::Opening(..)) {
                    queue.note_opening(*sub, number);
                }
            }
        }
        queue.all.insert(number, (lane, message));
    }

    /// All that waits, in the order in which it came, each direction by itself. Nothing waits any more.
    pub fn drain(&mut self) -> impl Iterator<Item = (Side, Lane, T)> + use<T> {
        let queues = std::mem::take(self).queues;
        BOTH.into_iter().zip(queues).flat_map(|(side, queue)| {
            queue.all.into_values().map(move |(lane, message)| (side, lane, message))
        })
    }

    /// Something went on; if it was of a call, of this one. Offers what may go on now, until nothing more is taken. `offer` says whether it took
    /// the message.
    pub fn settle(&mut self, call: Option<Call>, mut offer: impl FnMut(Side, &Lane, &T) -> bool) {
        let mut changed: Vec<Call> = call.into_iter().collect();
        while !self.is_empty() {
            let taken = match changed.last() {
                Some(call) => self.first_of_call(call, &mut offer),
                None => match self.first_of_any(&mut offer) {
                    Some(taken) => Some(taken),
                    None => return,
                },
            };
            match taken.and_then(|(side, number)| self.queues[index(side)].remove(number)) {
                Some((Lane::Opening(sub, key) | Lane::Call(sub, key), _)) => {
                    let call = (sub, key);
                    if changed.last() != Some(&call) {
                        changed.push(call);
                    }
                }
                Some((Lane::Parent, _)) => {}
                None => drop(changed.pop()),
            }
        }
    }

    /// The first message of `call` that is taken, on either side.
    fn first_of_call(
        &self,
        call: &Call,
        offer: &mut impl FnMut(Side, &Lane, &T) -> bool,
    ) -> Option<(Side, u64)> {
        BOTH.into_iter().find_map(|side| {
            let queue = &self.queues[index(side)];
            let number = *queue.by_call.get(call)?.front()?;
            let (lane, message) = queue.all.get(&number)?;
            let is_free =
                matches!(lane, Lane::Call(..)) || queue.parents.front().is_none_or(|parent| number < *parent);
            (is_free && offer(side, lane, message)).then_some((side, number))
        })
    }

    /// The first opening of a sub-protocol, or the first message of the parent, that is taken.
    fn first_of_any(&self, offer: &mut impl FnMut(Side, &Lane, &T) -> bool) -> Option<(Side, u64)> {
        BOTH.into_iter().find_map(|side| {
            let queue = &self.queues[index(side)];
            let parent = queue.parents.front().copied();
            let openings = queue.openings.iter().filter_map(BTreeSet::first).copied();
            let openings = openings.filter(|number| parent.is_none_or(|parent| *number < parent));
            let first = queue.all.first_key_value().map(|(number, _)| *number);
            let mut candidates = openings.chain(parent.filter(|_| parent == first));
            let number = candidates.find(|number| {
                queue.all.get(number).is_some_and(|(lane, message)| offer(side, lane, message))
            })?;
            Some((side, number))
        })
    }
}

impl<T> Queue<T> {
    fn note_opening(&mut self, sub: usize, number: u64) {
        if self.openings.len() <= sub {
            self.openings.resize_with(sub + 1, BTreeSet::new);
        }
        self.openings[sub].insert(number);
    }

    fn remove(&mut self, number: u64) -> Option<(Lane, T)> {
        let (lane, message) = self.all.remove(&number)?;
        match &lane {
            Lane::Parent => {
                self.parents.pop_front();
            }
            Lane::Opening(sub, key) | Lane::Call(sub, key) => {
                if let Some(openings) = self.openings.get_mut(*sub) {
                    openings.remove(&number);
                }
                let call = (*sub, key.clone());
                let same = self.by_call.get_mut(&call)?;
                same.pop_front();
                match same.front().copied() {
                    None => drop(self.by_call.remove(&call)),
                    Some(next) if matches!(self.all.get(&next), Some((Lane::Opening(..), _))) => {
                        self.note_opening(*sub, next);
                    }
                    Some(_) => {}
                }
            }
        }
        Some((lane, message))
    }
}

fn index(side: Side) -> usize {
    match side {
        Side::Process => 0,
        Side::Environment => 1,
    }
}
