//! The calls of one sub-protocol, by key.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};

use super::Key;
use crate::ahead::Lead;
use crate::session::Session;

/// A call in flight.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) session: Session,
    /// What was sent ahead of its turn, if anything.
    pub(super) lead: Option<Box<Lead>>,
    pub(super) interrupted: bool,
    /// Something wrong of it was let through.
    pub(super) tainted: bool,
    /// Tells it from other calls of its key, once it is interrupted or tainted.
    number: u64,
}

impl Call {
    pub(super) fn new(session: Session) -> Self {
        Self { session, lead: None, interrupted: false, tainted: false, number: 0 }
    }

    /// Whether it counts as in flight.
    pub(super) fn runs(&self) -> bool {
        !self.interrupted && !self.tainted
    }
}

/// Calls by key. Keys are a peer's to choose: their hasher is keyed.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    calls: HashMap<Key, Call, RandomState>,
    /// How many run.
    pub(super) running: usize,
    /// In how many of these the opener has to say something.
    pub(super) openers_turns: usize,
    /// Those that do not run, the oldest first; some are finished since.
    ended: VecDeque<(Key, u64)>,
    next_number: u64,
    pub(super) forgot_interrupted: bool,
    pub(super) forgot_tainted: bool,
}

impl Table {
    pub(super) fn get(&self, key: &Key) -> Option<&Call> {
        self.calls.get(key)
    }

    /// All of them, in no order.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.values()
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Changes a call in place; `turn` says whether the opener has to say something in it, `finished` whether it is.
    pub(super) fn change<T>(
        &mut self,
        key: &Key,
        turn: impl Fn(&Call) -> bool,
        finished: impl Fn(&Call) -> bool,
        change: impl FnOnce(&mut Call) -> T,
    ) -> Option<T> {
        let call = self.calls.get_mut(key)?;
        self.running -= usize::from(call.runs());
        self.openers_turns -= usize::from(turn(call));
        let changed = change(call);
        if finished(call) {
            self.calls.remove(key);
        } else {
            self.running += usize::from(call.runs());
            self.openers_turns += usize::from(turn(call));
        }
        Some(changed)
    }

    /// Takes a call out; `turn` says whether the opener has to say something in it.
    pub(super) fn take(&mut self, key: &Key, turn: impl Fn(&Call) -> bool) -> Option<Call> {
        let call = self.calls.remove(key)?;
        self.running -= usize::from(call.runs());
        self.openers_turns -= usize::from(turn(&call));
        Some(call)
    }

    /// Puts a call in, or back.
    pub(super) fn put(&mut self, key: &Key, mut call: Call, turn: bool) {
        self.running += usize::from(call.runs());
        self.openers_turns += usize::from(turn);
        if !call.runs() && call.number == 0 {
            self.next_number += 1;
            call.number = self.next_number;
            self.ended.push_back((key.clone(), call.number));
        }
        self.calls.insert(key.clone(), call);
    }

    /// Keeps at most `limit` calls that do not run.
    pub(super) fn forget_oldest(&mut self, limit: usize) {
        while self.calls.len() - self.running > limit {
            let Some((key, number)) = self.ended.pop_front() else { return };
            if self.calls.get(&key).is_none_or(|call| call.number != number) {
                continue;
            }
            if let Some(call) = self.calls.remove(&key) {
                self.forgot_tainted |= call.tainted;
                self.forgot_interrupted |= call.interrupted;
            }
        }
        // Those that are finished are not looked for one by one.
        if self.ended.len() > limit.max(8).saturating_mul(2) {
            let calls = &self.calls;
            self.ended.retain(|(key, number)| calls.get(key).is_some_and(|call| call.number == *number));
        }
    }
}
