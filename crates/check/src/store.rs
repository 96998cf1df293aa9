//! Every configuration once: an open-addressing table of numbers into one array of words.
//!
//! A table slot holds a configuration's number and, in the bits the number does not need, part of its
//! hash, so that a probe that meets another configuration seldom has to look at its words. Keys are
//! computed from a trusted model, not sent by a peer: an unkeyed multiplicative hash is enough.

use crate::segments::Segments;

/// The most configurations a store can hold.
pub(crate) const MOST: usize = 1 << 31;

const EMPTY: u32 = u32::MAX;
const FIRST_BITS: u32 = 10;

/// Interned configurations, numbered from 0 in order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    words: Segments<u64>,
    table: Vec<u32>,
    /// The table has `1 << bits` slots; a number needs at most `bits` bits.
    bits: u32,
}

impl Store {
    pub(crate) fn new(width: usize) -> Self {
        Self { words: Segments::new(width), table: vec![EMPTY; 1 << FIRST_BITS], bits: FIRST_BITS }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn get(&self, number: u32) -> &[u64] {
        self.words.row(number as usize)
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.words.memory() + self.table.len() * 4
    }

    /// Frees the table: nothing can be interned or found afterwards.
    pub(crate) fn seal(&mut self) {
        self.table = Vec::new();
    }

    /// Adds the configurations of `other` after its own, unseen; both are sealed.
    pub(crate) fn append(&mut self, other: Self) {
        self.words.append(other.words, |word| word);
    }

    /// The hash [`intern_hashed`](Self::intern_hashed) wants.
    pub(crate) fn hash(key: &[u64]) -> u64 {
        const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut hash = 0_u64;
        for &word in key {
            hash = (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER);
        }
        // High bits choose the slot, so they must depend on every bit of the last word too.
        (hash ^ (hash >> 29)).wrapping_mul(MULTIPLIER)
    }

    /// Reads what interning keys with these hashes will read. The reads do not depend on each other, so their
    /// latencies overlap; afterwards they are in the cache.
    pub(crate) fn warm(&self, hashes: &[u64]) {
        if hashes.len() < 2 {
            return;
        }
        let mut met = 0_u64;
        for &hash in hashes {
            met ^= u64::from(self.table[(hash >> (64 - self.bits)) as usize]);
        }
        for &hash in hashes {
            let entry = self.table[(hash >> (64 - self.bits)) as usize];
            if entry != EMPTY {
                met ^= self.get(entry & (self.table.len() - 1) as u32)[0];
            }
        }
        std::hint::black_box(met);
    }

    /// The number of `key`, and whether it is new.
    pub(crate) fn intern(&mut self, key: &[u64]) -> (u32, bool) {
        self.intern_hashed(key, Self::hash(key))
    }

    /// The number of `key`, whose hash is `hash`, and whether it is new.
    pub(crate) fn intern_hashed(&mut self, key: &[u64], hash: u64) -> (u32, bool) {
        let slots = self.table.len() - 1;
        let number_mask = slots as u32;
        let tag = self.tag(hash);
        let mut slot = (hash >> (64 - self.bits)) as usize;
        loop {
            let entry = self.table[slot];
            if entry == EMPTY {
                break;
            }
            if entry & !number_mask == tag {
                let number = entry & number_mask;
                if self.get(number) == key {
                    return (number, false);
                }
            }
            slot = (slot + 1) & slots;
        }
        let number = self.words.len() as u32;
        self.words.push_row(key);
        self.table[slot] = tag | number;
        // At most two thirds full.
        if self.words.len() * 3 > self.table.len() * 2 {
            self.grow();
        }
        (number, true)
    }

    /// The bits of `hash` that share a slot with the number. The all-ones tag is avoided, so that no
    /// entry equals `EMPTY`: numbers stay below two thirds of the table.
    fn tag(&self, hash: u64) -> u32 {
        (hash as u32) & !((self.table.len() - 1) as u32)
    }

    fn grow(&mut self) {
        self.bits += 1;
        self.table = vec![EMPTY; 1 << self.bits];
        let slots = self.table.len() - 1;
        for number in 0..self.words.len() as u32 {
            let hash = Self::hash(self.get(number));
            let mut slot = (hash >> (64 - self.bits)) as usize;
            while self.table[slot] != EMPTY {
                slot = (slot + 1) & slots;
            }
            self.table[slot] = self.tag(hash) | number;
        }
    }
}
