//! Every configuration once: an open-addressing table of numbers into one array of words.
//!
//! The table is made of buckets, one to a cache line. A slot holds a configuration's number and, in the bits the
//! number does not need, part of its hash: a probe that meets another configuration seldom has to look at its
//! words, and a table that grows moves its entries from front to back without a look at them. Keys are
//! computed from a trusted model, not sent by a peer: an unkeyed multiplicative hash is enough.

use crate::segments::Segments;

/// The most configurations a store can hold.
pub(crate) const MOST: usize = 1 << 31;

const EMPTY: u32 = 0;
const FIRST_BITS: u32 = 10;
/// Slots per bucket, as a power of two.
const BUCKET: u32 = 4;
/// How many bits of a hash, from the highest on, its bucket and its slot's content tell together.
const KNOWN: u32 = u32::BITS - BUCKET;

/// Interned configurations, numbered from 0 in order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    words: Segments<u64>,
    /// Each slot is [`EMPTY`] or a number plus one, in the lowest `bits` bits, below those of the hash that come
    /// after the bits that chose the bucket. An entry is in its own bucket if this has room, else in one of the
    /// next.
    table: Vec<u32>,
    /// The table has `1 << bits` slots.
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

    /// Bytes held while `more` keys are interned, at the most: a table that grows is there twice.
    pub(crate) fn memory_with(&self, more: usize) -> usize {
        let grows = (self.words.len() + more) * 3 > self.table.len() * 2;
        self.memory() + if grows { self.table.len() * 8 } else { 0 }
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
            met ^= u64::from(self.table[self.slot(hash)]);
        }
        for &hash in hashes {
            let entry = self.table[self.slot(hash)];
            if entry != EMPTY {
                met ^= self.get(self.number(entry))[0];
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
        let slot = match self.search(key, hash) {
            Ok(number) => return (number, false),
            Err(slot) => slot,
        };
        let number = self.words.len() as u32;
        self.words.push_row(key);
        self.table[slot] = self.tag(hash) | (number + 1);
        // At most two thirds full.
        if self.words.len() * 3 > self.table.len() * 2 {
            self.grow();
        }
        (number, true)
    }

    /// The number of `key`, or the slot it would take.
    #[inline]
    fn search(&self, key: &[u64], hash: u64) -> Result<u32, usize> {
        let tag = self.tag(hash);
        let mut slot = self.slot(hash);
        let mut tries = 0;
        loop {
            let entry = self.table[slot];
            if entry == EMPTY {
                return Err(slot);
            }
            if entry & !self.number_mask() == tag {
                let number = self.number(entry);
                if self.get(number) == key {
                    return Ok(number);
                }
            }
            slot = self.after(slot, &mut tries);
        }
    }

    /// Where the search for a hash begins.
    #[inline]
    fn slot(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - self.bits)) as usize
    }

    /// The slot to look at next: round the bucket, then on to the next bucket.
    #[inline]
    fn after(&self, slot: usize, tries: &mut u32) -> usize {
        const INSIDE: usize = (1 << BUCKET) - 1;
        *tries += 1;
        let inside = (slot & !INSIDE) | ((slot + 1) & INSIDE);
        if *tries & INSIDE as u32 != 0 { inside } else { (inside + INSIDE + 1) & (self.table.len() - 1) }
    }

    #[inline]
    fn number_mask(&self) -> u32 {
        (self.table.len() - 1) as u32
    }

    #[inline]
    fn number(&self, entry: u32) -> u32 {
        // INVARIANT: no entry is asked for its number when it is empty.
        (entry & self.number_mask()) - 1
    }

    /// The bits of `hash` that share a slot with the number.
    #[inline]
    fn tag(&self, hash: u64) -> u32 {
        (((hash << (self.bits - BUCKET)) >> u32::BITS) as u32) & !self.number_mask()
    }

    /// Doubles the table. What a bucket holds goes to one of two that take its place, so reads and writes run from
    /// front to back; only what may have come from the bucket before has to be hashed again.
    fn grow(&mut self) {
        let (bits, mask) = (self.bits, self.number_mask());
        let old = std::mem::take(&mut self.table);
        self.bits += 1;
        self.table = vec![EMPTY; 1 << self.bits];
        let mut spilled = old.iter().rev().take(1 << BUCKET).all(|&entry| entry != EMPTY);
        for (bucket, entries) in old.chunks(1 << BUCKET).enumerate() {
            let mut full = true;
            for &entry in entries {
                if entry == EMPTY {
                    full = false;
                    continue;
                }
                let number = (entry & mask) - 1;
                let hash = if spilled || self.bits > KNOWN {
                    Self::hash(self.get(number))
                } else {
                    let known = ((bucket as u64) << (u32::BITS - bits)) | u64::from(entry >> bits);
                    known << (u64::BITS - KNOWN)
                };
                let mut slot = self.slot(hash);
                let mut tries = 0;
                while self.table[slot] != EMPTY {
                    slot = self.after(slot, &mut tries);
                }
                self.table[slot] = self.tag(hash) | (number + 1);
            }
            spilled = full;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Growth moves entries by what they remember of their hashes: each must be found where its hash says.
    #[test]
    fn what_was_interned_is_found_after_every_growth() {
        let mut store = Store::new(2);
        let mut check_at = 1;
        for number in 0..400_000_u32 {
            assert_eq!(store.intern(&[u64::from(number), 7]), (number, true));
            if number == check_at {
                (0..=number).for_each(|known| {
                    assert_eq!(store.intern(&[u64::from(known), 7]), (known, false));
                });
                check_at += check_at / 3 + 1;
            }
        }
    }
}
