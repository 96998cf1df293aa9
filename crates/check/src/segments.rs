//! A growing array in segments of equal length. Growing never moves what is there: each byte is written once,
//! memory is asked for in small steps, and the largest graph costs per entry what a small one does.

/// Entries per segment, as a power of two.
const SHIFT: u32 = 17;
const LENGTH: usize = 1 << SHIFT;

/// Entries numbered from 0.
#[derive(Clone, Debug)]
pub(crate) struct Segments<T> {
    length: usize,
    /// All but the last are full. The first grows as a vector does, so that a short array is small.
    segments: Vec<Vec<T>>,
}

impl<T: Copy> Segments<T> {
    pub(crate) fn new() -> Self {
        Self { length: 0, segments: vec![Vec::new()] }
    }

    /// `length` entries, all of them `value`.
    pub(crate) fn filled(length: usize, value: T) -> Self {
        let mut all = Self::new();
        all.extend(length, value);
        all
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> T {
        *self.at(at)
    }

    #[inline]
    pub(crate) fn set(&mut self, at: usize, value: T) {
        *self.at_mut(at) = value;
    }

    /// The entry where it is.
    #[inline]
    pub(crate) fn at(&self, at: usize) -> &T {
        &self.segments[at >> SHIFT][at & (LENGTH - 1)]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, at: usize) -> &mut T {
        &mut self.segments[at >> SHIFT][at & (LENGTH - 1)]
    }

    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        self.last().push(value);
        self.length += 1;
    }

    /// Adds `more` entries, all of them `value`.
    pub(crate) fn extend(&mut self, more: usize, value: T) {
        let length = self.length + more;
        while self.length < length {
            let now = (length - self.length).min(LENGTH - (self.length & (LENGTH - 1)));
            let segment = self.last();
            segment.reserve_exact(now);
            segment.resize(segment.len() + now, value);
            self.length += now;
        }
    }

    /// Adds what `change` makes of the entries of `other`, from which each segment is freed once it is read.
    pub(crate) fn append(&mut self, other: Self, change: impl Fn(T) -> T) {
        for segment in other.segments {
            let mut rest = segment.as_slice();
            while !rest.is_empty() {
                let room = LENGTH - (self.length & (LENGTH - 1));
                let (now, later) = rest.split_at(room.min(rest.len()));
                self.last().extend(now.iter().map(|&entry| change(entry)));
                self.length += now.len();
                rest = later;
            }
        }
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.segments.iter().map(Vec::capacity).sum::<usize>() * size_of::<T>()
    }

    /// The segment the next entry belongs to.
    #[inline]
    fn last(&mut self) -> &mut Vec<T> {
        let segment = self.length >> SHIFT;
        if segment == self.segments.len() {
            self.segments.push(Vec::with_capacity(LENGTH));
        }
        &mut self.segments[segment]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_where_they_are_put() {
        let length = 2 * LENGTH + 3;
        let mut single = Segments::filled(LENGTH + 1, 5);
        single.set(LENGTH, 6);
        single.push(8);
        let mut more = Segments::new();
        (0..length).for_each(|entry| more.push(entry));
        single.append(more, |entry| entry + 1);
        single.extend(LENGTH, 9);
        assert_eq!(single.len(), 2 * LENGTH + 2 + length);
        assert_eq!([LENGTH - 1, LENGTH, LENGTH + 1, LENGTH + 2].map(|at| single.get(at)), [5, 6, 8, 1]);
        assert_eq!([LENGTH + 1 + length, LENGTH + 2 + length].map(|at| single.get(at)), [length, 9]);
        assert_eq!(Segments::filled(0, 0_u8).len(), 0);
    }
}
