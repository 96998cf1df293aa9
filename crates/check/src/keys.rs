//! Every number once: an open-addressing table of positions in one array of packed numbers.
//!
//! The table is made of buckets, one to a cache line. A slot holds a position and, in the bits the position does not
//! need, part of the number's hash: a probe that meets another number seldom has to look at it, and a table that
//! grows moves its entries without a look at them. It grows where it is, from back to front, and never is there
//! twice. Numbers are computed from a trusted model, not sent by a peer: an unkeyed multiplicative hash is enough.

use crate::packed::Packed;
use crate::segments::Segments;

/// The most numbers it can hold.
pub(crate) const MOST: usize = 1 << 31;

const EMPTY: u32 = 0;
const FIRST_BITS: u32 = 8;
/// Slots per bucket, as a power of two.
const BUCKET: u32 = 4;
const SLOTS: usize = 1 << BUCKET;
/// How many bits of a hash, from the highest on, its bucket and its slot's content tell together.
const KNOWN: u32 = u32::BITS - BUCKET;
/// How many reads are overlapped at a time.
const WARM: usize = 128;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket([u32; SLOTS]);

/// Interned numbers, themselves numbered from 0 in order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    keys: Packed,
    /// Each slot is [`EMPTY`] or a position plus one, in the lowest `bits` bits, below those of the hash that come
    /// after the bits that chose the bucket. An entry is in its own bucket if this has room, else in one of the
    /// next.
    table: Segments<Bucket>,
    /// The table has `1 << bits` slots.
    bits: u32,
}

/// The hash of a number: every bit of it changes the highest bits, by which slots are chosen.
#[inline]
pub(crate) fn hash(key: u64) -> u64 {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let hash = key.wrapping_mul(MULTIPLIER);
    (hash ^ (hash >> 29)).wrapping_mul(MULTIPLIER)
}

/// Whether a table of `1 << bits` slots would be more than seven eighths full with so many keys.
#[inline]
fn is_full(keys: usize, bits: u32) -> bool {
    keys * 8 > (7 << bits)
}

impl Keys {
    /// For numbers of at most `width` bits.
    pub(crate) fn new(width: u32) -> Self {
        let table = Segments::filled(1 << (FIRST_BITS - BUCKET), Bucket([EMPTY; SLOTS]));
        Self { keys: Packed::new(width), table, bits: FIRST_BITS }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> u64 {
        self.keys.get(number as usize)
    }

    /// Bytes held once `more` keys are interned.
    pub(crate) fn memory_with(&self, more: usize) -> usize {
        let mut bits = self.bits;
        while is_full(self.keys.len() + more, bits) {
            bits += 1;
        }
        let buckets = (1_usize << (bits - BUCKET)) - (1 << (self.bits - BUCKET));
        self.keys.memory_with(more) + self.table.memory_with(buckets)
    }

    /// Frees the table: nothing can be interned or found afterwards.
    pub(crate) fn seal(&mut self) {
        self.table = Segments::new();
    }

    /// The number of `key`.
    pub(crate) fn intern(&mut self, key: u64) -> u32 {
        self.reserve(1);
        let hash = hash(key);
        self.intern_from(key, hash, self.slot(hash), 0)
    }

    /// Adds the number of each of `keys` to `numbers`. Reads that do not depend on each other are made together, so
    /// that their latencies overlap.
    pub(crate) fn intern_all(&mut self, keys: &[u64], numbers: &mut Vec<u32>) {
        let mut met = [(0_usize, 0_u32); WARM];
        for keys in keys.chunks(WARM) {
            self.reserve(keys.len());
            let mut read = 0;
            for &key in keys {
                read ^= self.entry(self.slot(hash(key)));
            }
            let mut seen = 0;
            for (&key, met) in keys.iter().zip(&mut met) {
                let hash = hash(key);
                let (slot, tries) = self.like(hash, self.slot(hash), 0);
                *met = (slot, tries);
                let entry = self.entry(slot);
                if entry != EMPTY {
                    seen ^= self.get(self.number(entry));
                }
            }
            std::hint::black_box((read, seen));
            for (&key, &(slot, tries)) in keys.iter().zip(&met) {
                numbers.push(self.intern_from(key, hash(key), slot, tries));
            }
        }
    }

    /// The number of `key`, which is at `slot` or later.
    #[inline]
    fn intern_from(&mut self, key: u64, hash: u64, mut slot: usize, mut tries: u32) -> u32 {
        loop {
            (slot, tries) = self.like(hash, slot, tries);
            let entry = self.entry(slot);
            if entry == EMPTY {
                break;
            }
            let number = self.number(entry);
            if self.get(number) == key {
                return number;
            }
            slot = self.after(slot, &mut tries);
        }
        let number = self.keys.len() as u32;
        self.keys.push(key);
        self.put(slot, self.tag(hash) | (number + 1));
        number
    }

    /// The first slot from `slot` on whose content looks like `hash`, or is empty.
    #[inline]
    fn like(&self, hash: u64, mut slot: usize, mut tries: u32) -> (usize, u32) {
        let (tag, mask) = (self.tag(hash), !self.number_mask());
        loop {
            let entry = self.entry(slot);
            if entry == EMPTY || entry & mask == tag {
                return (slot, tries);
            }
            slot = self.after(slot, &mut tries);
        }
    }

    #[inline]
    fn entry(&self, slot: usize) -> u32 {
        self.table.at(slot >> BUCKET).0[slot & (SLOTS - 1)]
    }

    #[inline]
    fn put(&mut self, slot: usize, entry: u32) {
        self.table.at_mut(slot >> BUCKET).0[slot & (SLOTS - 1)] = entry;
    }

    /// Where the search for a hash begins.
    #[inline]
    fn slot(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - self.bits)) as usize
    }

    /// The slot to look at next: round the bucket, then on to the next bucket.
    #[inline]
    fn after(&self, slot: usize, tries: &mut u32) -> usize {
        const INSIDE: usize = SLOTS - 1;
        *tries += 1;
        let inside = (slot & !INSIDE) | ((slot + 1) & INSIDE);
        if *tries & INSIDE as u32 != 0 { inside } else { (inside + SLOTS) & ((1 << self.bits) - 1) }
    }

    #[inline]
    fn number_mask(&self) -> u32 {
        u32::MAX >> (u32::BITS - self.bits)
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

    #[inline]
    fn reserve(&mut self, more: usize) {
        while is_full(self.keys.len() + more, self.bits) {
            self.grow();
        }
    }

    /// Doubles the table where it is. What a bucket holds goes to one of two that take its place; from the last bucket
    /// on, so that these have been emptied. Only what may have come from the bucket before has to be hashed again.
    #[cold]
    fn grow(&mut self) {
        let (bits, mask) = (self.bits, self.number_mask());
        let buckets = self.table.len();
        let is_full = |bucket: Bucket| bucket.0.iter().all(|&entry| entry != EMPTY);
        let last_is_full = is_full(*self.table.at(buckets - 1));
        self.bits += 1;
        self.table.extend(buckets, Bucket([EMPTY; SLOTS]));
        let mut left_over = Vec::new();
        for number in (0..buckets).rev() {
            let spilled = if number == 0 { last_is_full } else { is_full(*self.table.at(number - 1)) };
            let bucket = std::mem::replace(self.table.at_mut(number), Bucket([EMPTY; SLOTS]));
            for entry in bucket.0.into_iter().filter(|&entry| entry != EMPTY) {
                let hash = if spilled || self.bits > KNOWN {
                    hash(self.get((entry & mask) - 1))
                } else {
                    let known = ((number as u64) << (u32::BITS - bits)) | u64::from(entry >> bits);
                    known << (u64::BITS - KNOWN)
                };
                let moved = self.tag(hash) | (entry & mask);
                if !self.settle(hash, moved, number) {
                    left_over.push((hash, moved));
                }
            }
        }
        for (hash, entry) in left_over {
            // Everything is where it belongs now, so no bucket is too early.
            let (mut slot, mut tries) = (self.slot(hash), 0);
            while self.entry(slot) != EMPTY {
                slot = self.after(slot, &mut tries);
            }
            self.put(slot, entry);
        }
    }

    /// Puts an entry where its hash says, unless that is before `first`, what has been emptied.
    fn settle(&mut self, hash: u64, entry: u32, first: usize) -> bool {
        let (mut slot, mut tries) = (self.slot(hash), 0);
        while slot >> BUCKET >= first {
            if self.entry(slot) == EMPTY {
                self.put(slot, entry);
                return true;
            }
            slot = self.after(slot, &mut tries);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Growth moves entries by what they remember of their hashes: each must be found where its hash says.
    #[test]
    fn what_was_interned_is_found_after_every_growth() {
        let key = |number: u32| (u64::from(number) << 3) | 5;
        let mut keys = Keys::new(40);
        let mut check_at = 1;
        for number in 0..400_000_u32 {
            assert_eq!(keys.intern(key(number)), number);
            if number == check_at {
                let all: Vec<u64> = (0..=number).map(key).collect();
                let mut numbers = Vec::new();
                keys.intern_all(&all, &mut numbers);
                assert!(numbers.into_iter().eq(0..=number), "after {number}");
                check_at += check_at / 3 + 1;
            }
        }
        assert_eq!(keys.len(), 400_000);
        assert!(keys.memory_with(0) < 400_000 * (5 + 10) + (1 << 23), "{}", keys.memory_with(0));
    }

    /// All hashes in the last buckets: what does not fit there goes round to the first ones.
    #[test]
    fn the_table_goes_round() {
        let far: Vec<u64> = (0..2_000_000).filter(|&key| hash(key) >> 52 == 0xFFF).collect();
        assert!(far.len() > 300);
        let mut keys = Keys::new(32);
        for (number, &key) in far.iter().enumerate() {
            assert_eq!(keys.intern(key), number as u32);
        }
        let mut numbers = Vec::new();
        keys.intern_all(&far, &mut numbers);
        assert!(numbers.into_iter().eq(0..far.len() as u32));
        // As many near the start, so that both meet.
        let near: Vec<u64> = (0..2_000_000).filter(|&key| hash(key) >> 52 == 0).collect();
        for (number, &key) in near.iter().enumerate() {
            assert_eq!(keys.intern(key), (far.len() + number) as u32);
        }
        assert!(far.iter().enumerate().all(|(number, &key)| keys.intern(key) == number as u32));
    }
}
