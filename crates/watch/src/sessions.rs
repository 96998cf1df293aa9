//! The sessions of one shard: by key, with the order in which they were last seen.
//!
//! A session is live until the protocol is over or it is evicted. Then only its key is kept for a while, in a
//! queue of bounded length, so that what still comes is not taken for the start of a new session.

use std::collections::VecDeque;

use hashbrown::HashTable;
use referee_monitor::Session;
use smallvec::SmallVec;

use crate::held::Extra;

/// How a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Live,
    /// The protocol is over.
    Ended,
    /// It was dropped to make room; nothing can be said about it any more.
    Evicted,
    /// Nothing is known about it any more; its place is free.
    Forgotten,
}

/// A session and what belongs to it: three lines of the cache. What only some runs need is kept beside it.
pub(crate) struct Entry {
    hash: u32,
    pub(crate) key: SmallVec<[u8; 24]>,
    pub(crate) session: Session,
    /// How many events it has had, of any kind.
    pub(crate) events: u64,
    pub(crate) status: Status,
    /// How many events of unknown sessions were lost before its last event; [`UNSEEN`] before its first, if it may have
    /// begun earlier.
    pub(crate) lost: u32,
    pub(crate) extra: Option<Box<Extra>>,
}

/// The neighbours of a session in the order of last use: see [`Sessions::touch`].
#[derive(Clone, Copy)]
struct Neighbours {
    older: u32,
    newer: u32,
}

/// Of the hash of a key half is kept; where it is in the table follows from that.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline]
fn half(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// Nobody saw how the session began.
pub(crate) const UNSEEN: u32 = u32::MAX;

/// No session.
pub(crate) const NOBODY: u32 = u32::MAX;

/// So few sessions of a shard are probably in the cache: with all shards, some thousand.
const NEAR: usize = 64;

/// The sessions of one shard, apart in the cache from what other threads write.
#[repr(align(128))]
pub(crate) struct Sessions {
    table: HashTable<u32>,
    entries: Vec<Entry>,
    /// By entry, where there is a limit.
    neighbours: Vec<Neighbours>,
    /// The time of the last event of each entry, where somebody asks.
    seen: Vec<Option<i64>>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    live: usize,
    /// How many may be live; without a limit no order is kept.
    idle_limit: Option<usize>,
    /// Sessions that are no longer live, the first to be forgotten in front.
    remembered: VecDeque<u32>,
    ended_limit: usize,
    pub(crate) created: u64,
    pub(crate) evicted: u64,
    /// How many events of unknown sessions were lost so far.
    pub(crate) lost: u32,
    /// What new sessions have as [`Entry::lost`].
    unseen: u32,
    /// A session before its first event.
    blank: Session,
}

impl Sessions {
    pub(crate) fn new(blank: Session, join: bool, idle_limit: Option<usize>, ended_limit: usize) -> Self {
        Self {
            table: HashTable::new(),
            entries: Vec::new(),
            neighbours: Vec::new(),
            seen: Vec::new(),
            free: Vec::new(),
            oldest: NOBODY,
            newest: NOBODY,
            live: 0,
            idle_limit,
            remembered: VecDeque::new(),
            ended_limit,
            created: 0,
            evicted: 0,
            lost: 0,
            unseen: if join { UNSEEN } else { 0 },
            blank,
        }
    }

    /// How many sessions are not over.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    pub(crate) fn entry(&mut self, index: u32) -> Option<&mut Entry> {
        self.entries.get_mut(index as usize)
    }

    /// The sessions that are not over.
    pub(crate) fn live_entries(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut().filter(|entry| entry.status == Status::Live)
    }

    /// The session with `key`, or [`NOBODY`].
    #[inline]
    pub(crate) fn find(&self, hash: u64, key: &[u8]) -> u32 {
        self.table.find(spread(half(hash)), |index| self.is(*index, hash, key)).copied().unwrap_or(NOBODY)
    }

    /// Whether the session at `index` is the one with `key`.
    #[inline]
    pub(crate) fn is(&self, index: u32, hash: u64, key: &[u8]) -> bool {
        let same = |entry: &Entry| {
            entry.hash == half(hash) && *entry.key == *key && entry.status != Status::Forgotten
        };
        self.entries.get(index as usize).is_some_and(same)
    }

    /// Whether there are so few that they are probably in the cache.
    #[inline]
    pub(crate) fn is_near(&self) -> bool {
        self.entries.len() < NEAR
    }

    /// Reads what stepping will read.
    #[inline]
    pub(crate) fn touch_memory(&self, index: u32) -> usize {
        self.entries.get(index as usize).map_or(0, |entry| entry.session.allocated())
    }

    /// The session with `key`, made if there is none. It is probably the one called `hint`.
    #[inline]
    pub(crate) fn locate(&mut self, hash: u64, key: &[u8], hint: u32) -> u32 {
        let mut index = hint;
        if !self.is(hint, hash, key) {
            index = self.find(hash, key);
            if index == NOBODY {
                index = self.create(hash, key);
            }
        }
        if self.idle_limit.is_some() {
            self.touch(index);
        }
        index
    }

    fn create(&mut self, hash: u64, key: &[u8]) -> u32 {
        if self.idle_limit.is_some_and(|limit| self.live >= limit) {
            self.evict();
        }
        let hash = half(hash);
        let entry = Entry {
            hash,
            key: SmallVec::from_slice(key),
            session: self.blank.clone(),
            events: 0,
            status: Status::Live,
            lost: self.unseen,
            extra: None,
        };
        let index = match self.free.pop() {
            Some(index) => {
                if let Some(place) = self.entries.get_mut(index as usize) {
                    *place = entry;
                }
                index
            }
            None => {
                // INVARIANT: four thousand million sessions do not fit into memory.
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        let entries = &self.entries;
        let rehash = |index: &u32| entries.get(*index as usize).map_or(0, |entry| spread(entry.hash));
        self.table.insert_unique(spread(hash), index, rehash);
        self.live += 1;
        self.created += 1;
        if let Some(seen) = self.seen.get_mut(index as usize) {
            *seen = None;
        }
        if self.idle_limit.is_some() {
            let nobody = Neighbours { older: NOBODY, newer: NOBODY };
            self.neighbours.resize(self.entries.len(), nobody);
            self.append(index);
        }
        index
    }

    /// Makes it the one that was used last, if it is live.
    fn touch(&mut self, index: u32) {
        if self.newest == index || self.entry(index).is_none_or(|entry| entry.status != Status::Live) {
            return;
        }
        self.unlink(index);
        self.append(index);
    }

    fn neighbours(&mut self, index: u32) -> Option<&mut Neighbours> {
        self.neighbours.get_mut(index as usize)
    }

    fn append(&mut self, index: u32) {
        let newest = self.newest;
        if let Some(own) = self.neighbours(index) {
            *own = Neighbours { older: newest, newer: NOBODY };
        }
        match self.neighbours(newest) {
            Some(last) => last.newer = index,
            None => self.oldest = index,
        }
        self.newest = index;
    }

    fn unlink(&mut self, index: u32) {
        let Some(Neighbours { older, newer }) = self.neighbours(index).copied() else { return };
        match self.neighbours(older) {
            Some(before) => before.newer = newer,
            None => self.oldest = newer,
        }
        match self.neighbours(newer) {
            Some(after) => after.older = older,
            None => self.newest = older,
        }
    }

    /// When the last event of the session was, if somebody took note of it.
    pub(crate) fn seen(&self, index: u32) -> Option<i64> {
        self.seen.get(index as usize).copied().flatten()
    }

    /// Takes note of when the last event of the session was.
    pub(crate) fn note(&mut self, index: u32, time: i64) {
        if self.entries.get(index as usize).is_none() {
            return;
        }
        if self.seen.len() < self.entries.len() {
            self.seen.resize(self.entries.len(), None);
        }
        if let Some(seen) = self.seen.get_mut(index as usize) {
            *seen = Some(time);
        }
    }

    fn evict(&mut self) {
        let index = self.oldest;
        if index != NOBODY {
            self.evicted += 1;
            self.retire(index, Status::Evicted);
        }
    }

    /// It is not live any more: remembers its key for a while.
    #[cold]
    pub(crate) fn retire(&mut self, index: u32, status: Status) {
        if self.entry(index).is_none_or(|entry| entry.status != Status::Live) {
            return;
        }
        if self.idle_limit.is_some() {
            self.unlink(index);
        }
        self.live -= 1;
        let blank = self.blank.clone();
        if let Some(entry) = self.entry(index) {
            entry.status = status;
            // A history may still be wanted when something comes after the end.
            if status == Status::Evicted {
                entry.extra = None;
                entry.session = blank;
            }
        }
        self.remembered.push_back(index);
        while self.remembered.len() > self.ended_limit {
            let Some(forgotten) = self.remembered.pop_front() else { break };
            self.forget(forgotten);
        }
    }

    /// The session has ended, and its key may be used again: its next event begins another.
    pub(crate) fn release(&mut self, index: u32) {
        let Some(entry) = self.entries.get_mut(index as usize) else { return };
        let before = std::mem::replace(&mut entry.status, Status::Forgotten);
        (entry.extra, entry.key) = (None, SmallVec::new());
        if let Ok(found) = self.table.find_entry(spread(entry.hash), |candidate| *candidate == index) {
            found.remove();
        }
        // One that is remembered gives its place back when the queue has come to it.
        if before == Status::Live {
            if self.idle_limit.is_some() {
                self.unlink(index);
            }
            self.live -= 1;
            self.free.push(index);
        }
    }

    fn forget(&mut self, index: u32) {
        let Some(entry) = self.entries.get_mut(index as usize) else { return };
        entry.extra = None;
        entry.key = SmallVec::new();
        entry.status = Status::Forgotten;
        if let Ok(found) = self.table.find_entry(spread(entry.hash), |candidate| *candidate == index) {
            found.remove();
        }
        self.free.push(index);
    }
}

#[cfg(test)]
mod tests;
