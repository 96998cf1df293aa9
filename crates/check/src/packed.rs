//! Numbers of at most eight bytes each, in as few bytes as they need, in segments that never move.

/// Rows per segment, as a power of two.
const SHIFT: u32 = 17;
const LENGTH: usize = 1 << SHIFT;
/// Each row is read and written as a whole word: so much is left after the last one of a segment.
const WORD: usize = size_of::<u64>();

/// Rows of one number each, numbered from 0.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    /// Bytes per row.
    bytes: usize,
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
        Self { bytes, mask, rows: 0, segments: vec![Vec::new()] }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> u64 {
        let at = (row & (LENGTH - 1)) * self.bytes;
        let word = self.segments[row >> SHIFT][at..].first_chunk::<WORD>();
        // INVARIANT: a word was written there.
        word.map_or(0, |word| u64::from_le_bytes(*word) & self.mask)
    }

    #[inline]
    pub(crate) fn push(&mut self, number: u64) {
        debug_assert_eq!(number & !self.mask, 0);
        let at = (self.rows & (LENGTH - 1)) * self.bytes;
        let number_of_segment = self.rows >> SHIFT;
        if number_of_segment == self.segments.len() {
            self.segments.push(Vec::with_capacity(LENGTH * self.bytes + WORD));
        }
        let segment = &mut self.segments[number_of_segment];
        segment.truncate(at);
        segment.extend_from_slice(&number.to_le_bytes());
        self.rows += 1;
    }

    #[inline]
    pub(crate) fn set(&mut self, row: usize, number: u64) {
        debug_assert_eq!(number & !self.mask, 0);
        let at = (row & (LENGTH - 1)) * self.bytes;
        if let Some(word) = self.segments[row >> SHIFT][at..].first_chunk_mut::<WORD>() {
            *word = (u64::from_le_bytes(*word) & !self.mask | number).to_le_bytes();
        }
    }

    /// Adds `more` rows of zero.
    pub(crate) fn extend(&mut self, more: usize) {
        (0..more).for_each(|_| self.push(0));
    }

    /// Adds the rows of `other`, which are as wide; each segment is freed once it is read.
    pub(crate) fn append(&mut self, other: Self) {
        debug_assert_eq!(self.bytes, other.bytes);
        let mut left = other.rows;
        for segment in other.segments {
            for at in 0..left.min(LENGTH) {
                let word = segment[at * self.bytes..].first_chunk::<WORD>();
                self.push(word.map_or(0, |word| u64::from_le_bytes(*word) & self.mask));
            }
            left = left.saturating_sub(LENGTH);
        }
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.segments.iter().map(Vec::capacity).sum()
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
            (0..LENGTH + 5).for_each(|row| packed.push(number(row)));
            packed.set(7, number(8));
            assert_eq!([6, 7, 8].map(|row| packed.get(row)), [6, 8, 8].map(number));
            packed.set(7, number(7));
            let mut more = Packed::new(bits);
            (0..LENGTH + 7).for_each(|row| more.push(number(row + 1)));
            packed.append(more);
            assert_eq!(packed.len(), 2 * LENGTH + 12);
            assert!((0..LENGTH + 5).all(|row| packed.get(row) == number(row)));
            assert!((0..LENGTH + 7).all(|row| packed.get(LENGTH + 5 + row) == number(row + 1)));
            assert!(packed.memory() < packed.len() * bits.div_ceil(8).max(1) as usize + LENGTH * 9);
        }
    }
}
