//! Numbers of at most eight bytes each, in as few bytes as they need, in segments that never move.

use crate::segments::{SEGMENT, make_room, resident};

/// Each row is read and written as a whole word: so much is left after the last one of a segment.
const WORD: usize = size_of::<u64>();

/// Rows of one number each, numbered from 0.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    /// Bytes per row.
    bytes: usize,
    /// Rows per segment, as a power of two.
    shift: u32,
    mask: u64,
    rows: usize,
    /// All but the last are full. The first grows as a vector does, so that a short array is small.
    segments: Vec<Vec<u8>>,
}

impl Packed {
    /// Rows for numbers of at most `bits` bits.
    pub(crate) fn new(bits: u32) -> Self {
        let bytes = (bits.clamp(1, u64::BITS) as usize).div_ceil(8);
        let mask = u64::MAX >> (u64::BITS as usize - 8 * bytes);
        Self { bytes, shift: (SEGMENT / bytes).ilog2(), mask, rows: 0, segments: vec![Vec::new()] }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// The segment of a row, and where it begins there.
    #[inline]
    fn place(&self, row: usize) -> (usize, usize) {
        (row >> self.shift, (row & ((1 << self.shift) - 1)) * self.bytes)
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> u64 {
        let (segment, at) = self.place(row);
        let word = self.segments[segment][at..].first_chunk::<WORD>();
        // INVARIANT: a word was written there.
        word.map_or(0, |word| u64::from_le_bytes(*word) & self.mask)
    }

    #[inline]
    pub(crate) fn push(&mut self, number: u64) {
        debug_assert_eq!(number & !self.mask, 0);
        let (segment, at) = self.place(self.rows);
        if segment == self.segments.len() {
            self.segments.push(Vec::with_capacity((self.bytes << self.shift) + WORD));
        }
        let segment = &mut self.segments[segment];
        segment.truncate(at);
        make_room(segment, WORD, (self.bytes << self.shift) + WORD);
        segment.extend_from_slice(&number.to_le_bytes());
        self.rows += 1;
    }

    #[inline]
    pub(crate) fn set(&mut self, row: usize, number: u64) {
        debug_assert_eq!(number & !self.mask, 0);
        let (segment, at) = self.place(row);
        if let Some(word) = self.segments[segment][at..].first_chunk_mut::<WORD>() {
            *word = (u64::from_le_bytes(*word) & !self.mask | number).to_le_bytes();
        }
    }

    /// Adds `more` rows of zero.
    pub(crate) fn extend(&mut self, more: usize) {
        (0..more).for_each(|_| self.push(0));
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.memory_with(0)
    }

    /// Bytes held once there are `more` rows.
    pub(crate) fn memory_with(&self, more: usize) -> usize {
        resident((self.rows + more) * self.bytes + self.segments.len() * WORD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_width_stay_where_they_are_put() {
        for bits in [0, 1, 8, 9, 30, 33, 40, 57, 64] {
            let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
            let number = |row: usize| (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) & mask;
            let mut packed = Packed::new(bits);
            let rows = (2 << packed.shift) + 5;
            (0..rows).for_each(|row| packed.push(number(row)));
            packed.set(7, number(8));
            assert_eq!([6, 7, 8].map(|row| packed.get(row)), [6, 8, 8].map(number));
            packed.set(7, number(7));
            assert_eq!(packed.len(), rows);
            assert!((0..rows).all(|row| packed.get(row) == number(row)));
            assert!(packed.memory() <= rows * bits.div_ceil(8).max(1) as usize + (1 << 21));
        }
    }
}
