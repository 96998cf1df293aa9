//! A growing array in segments of equal length. Growing never moves what is there: each byte is written once,
//! memory is asked for in small steps, and the largest graph costs per entry what a small one does.

/// Bytes per segment, at most. An allocator rounds up what it gives, and what it gives is resident in pages of the
/// system as a whole: of large segments less is lost by both.
pub(crate) const SEGMENT: usize = 1 << 22;

/// Entries numbered from 0.
#[derive(Clone, Debug)]
pub(crate) struct Segments<T> {
    length: usize,
    /// The most entries there were before some were taken away: their memory is kept.
    most: usize,
    /// All but the last are full. The first grows as a vector does, so that a short array is small.
    segments: Vec<Vec<T>>,
}

impl<T: Copy> Segments<T> {
    /// Entries per segment, as a power of two.
    const SHIFT: u32 = (SEGMENT / size_of::<T>()).ilog2();
    const LENGTH: usize = 1 << Self::SHIFT;

    pub(crate) fn new() -> Self {
        Self { length: 0, most: 0, segments: vec![Vec::new()] }
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

    /// The entry where it is.
    #[inline]
    pub(crate) fn at(&self, at: usize) -> &T {
        &self.segments[at >> Self::SHIFT][at & (Self::LENGTH - 1)]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, at: usize) -> &mut T {
        &mut self.segments[at >> Self::SHIFT][at & (Self::LENGTH - 1)]
    }

    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        let segment = self.last();
        make_room(segment, 1, Self::LENGTH);
        segment.push(value);
        self.length += 1;
    }

    /// Takes the last entry away.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let last = self.length.checked_sub(1)?;
        self.most = self.most.max(self.length);
        self.length = last;
        self.segments[last >> Self::SHIFT].pop()
    }

    /// Adds `more` entries, all of them `value`.
    pub(crate) fn extend(&mut self, more: usize, value: T) {
        let length = self.length + more;
        while self.length < length {
            let now = (length - self.length).min(Self::LENGTH - (self.length & (Self::LENGTH - 1)));
            let segment = self.last();
            make_room(segment, now, Self::LENGTH);
            segment.resize(segment.len() + now, value);
            self.length += now;
        }
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        resident(self.length.max(self.most) * size_of::<T>())
    }

    /// Bytes held once there are `more`.
    pub(crate) fn memory_with(&self, more: usize) -> usize {
        resident((self.length + more).max(self.most) * size_of::<T>())
    }

    /// The segment the next entry belongs to.
    #[inline]
    fn last(&mut self) -> &mut Vec<T> {
        let segment = self.length >> Self::SHIFT;
        if segment == self.segments.len() {
            self.segments.push(Vec::with_capacity(Self::LENGTH));
        }
        &mut self.segments[segment]
    }
}

/// Up to so many bytes the first segment of an array grows as a vector does.
const SHORT: usize = 1 << 16;

/// What a system with huge pages makes resident as a whole.
const PAGE: usize = 1 << 21;

/// Bytes resident of an array of which so many were written: what the last segment has room for is not, but for its last page.
pub(crate) fn resident(written: usize) -> usize {
    if written <= SHORT { written } else { written.next_multiple_of(PAGE) }
}

/// Makes room for `more` entries in a segment that gets `most` at most. What is not short gets all its room at once: what is
/// not written is not resident, and nothing large is left behind where it was before.
#[inline]
pub(crate) fn make_room<T>(segment: &mut Vec<T>, more: usize, most: usize) {
    if segment.capacity() - segment.len() < more {
        let room = if (segment.len() + more) * size_of::<T>() > SHORT { most - segment.len() } else { more };
        segment.reserve(room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_where_they_are_put() {
        const LENGTH: usize = Segments::<usize>::LENGTH;
        let mut single = Segments::filled(LENGTH + 1, 5);
        *single.at_mut(LENGTH) = 6;
        single.push(8);
        single.extend(LENGTH, 9);
        assert_eq!(single.len(), 2 * LENGTH + 2);
        assert_eq!([LENGTH - 1, LENGTH, LENGTH + 1, LENGTH + 2].map(|at| single.get(at)), [5, 6, 8, 9]);
        assert_eq!(single.get(2 * LENGTH + 1), 9);
        assert_eq!(Segments::filled(0, 0_u8).len(), 0);
        let held = single.memory();
        let taken: Vec<usize> = std::iter::from_fn(|| single.pop()).collect();
        assert_eq!((taken.len(), taken[0], taken[2 * LENGTH + 1]), (2 * LENGTH + 2, 9, 5));
        single.push(3);
        assert_eq!((single.len(), single.get(0), single.memory()), (1, 3, held));
    }
}
