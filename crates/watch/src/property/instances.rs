//! The instances of one family in one shard, by key. A key is never forgotten: an instance that has said all it
//! can say must not start anew.

use hashbrown::HashTable;
use referee_monitor::property::PropertyBundle;
use smallvec::SmallVec;

/// The instances of one key.
pub(super) struct Entry {
    hash: u64,
    pub(super) key: SmallVec<[u8; 16]>,
    /// How many events it has seen.
    pub(super) events: u64,
    /// Whether one of its events could not be read.
    pub(super) lost: bool,
    /// Whether events that nobody asks for leave it as it is.
    pub(super) rests: bool,
    /// One of each property of the family; none when they can say nothing any more.
    pub(super) bundle: Option<PropertyBundle>,
    /// From which time on it begins anew, if it does; set with its verdict.
    pub(super) anew: Option<i64>,
    /// When it is to be told what time it is; never, if that is the end of time.
    pub(super) wakes: i64,
    /// The lines it has seen, if they are kept.
    pub(super) history: Option<Box<History>>,
}

/// Lines of events.
#[derive(Default)]
pub(super) struct History {
    pub(super) lines: Vec<Box<str>>,
    /// There were more than are kept.
    pub(super) is_cut: bool,
}

/// No entry.
pub(super) const NOBODY: u32 = u32::MAX;

/// So few entries are probably in the cache.
const NEAR: usize = 1024;

/// The instances of one family in one shard.
#[derive(Default)]
pub(super) struct Instances {
    table: HashTable<Slot>,
    entries: Vec<Entry>,
}

/// An entry's place, and a part of its hash, so that who looks for it need not fetch any entry.
#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    index: u32,
}

/// What the table itself does not compare.
fn tag(hash: u64) -> u32 {
    (hash >> 24) as u32
}

impl Instances {
    pub(super) fn entry(&mut self, index: u32) -> Option<&mut Entry> {
        self.entries.get_mut(index as usize)
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether there are so few that they are probably in the cache.
    pub(super) fn is_near(&self) -> bool {
        self.entries.len() < NEAR
    }

    /// The entry with `key`, or [`NOBODY`].
    #[inline]
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> u32 {
        let is = |slot: &Slot| slot.tag == tag(hash) && self.is(slot.index, hash, key);
        self.table.find(hash, is).map_or(NOBODY, |slot| slot.index)
    }

    /// Probably the entry with a key of this hash. No entry is fetched for it.
    #[inline]
    pub(super) fn candidate(&self, hash: u64) -> u32 {
        self.table.find(hash, |slot| slot.tag == tag(hash)).map_or(NOBODY, |slot| slot.index)
    }

    /// Whether `key` is that of the entry at `index`.
    #[inline]
    pub(super) fn is(&self, index: u32, hash: u64, key: &[u8]) -> bool {
        self.entries.get(index as usize).is_some_and(|entry| entry.hash == hash && *entry.key == *key)
    }

    /// Reads the entry at `index`, without waiting for it, as far as nothing depends on what is returned.
    #[inline]
    pub(super) fn touch(&self, index: u32) -> u64 {
        self.entries.get(index as usize).map_or(0, |entry| entry.hash ^ entry.events ^ entry.wakes as u64)
    }

    pub(super) fn insert(&mut self, hash: u64, key: &[u8], bundle: PropertyBundle) -> u32 {
        // INVARIANT: four thousand million entries do not fit into memory.
        let index = self.entries.len() as u32;
        let key = SmallVec::from_slice(key);
        let bundle = Some(bundle);
        self.entries.push(Entry {
            hash,
            key,
            events: 0,
            lost: false,
            rests: false,
            bundle,
            anew: None,
            wakes: i64::MAX,
            history: None,
        });
        let entries = &self.entries;
        let rehash = |slot: &Slot| entries.get(slot.index as usize).map_or(0, |entry| entry.hash);
        self.table.insert_unique(hash, Slot { tag: tag(hash), index }, rehash);
        index
    }
}
