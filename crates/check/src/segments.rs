//! A growing array in segments of equal length. Growing never moves what is there: each byte is written once,
//! memory is asked for in small steps, and the largest graph costs per entry what a small one does.

/// Rows per segment, as a power of two.
const SHIFT: u32 = 17;
const LENGTH: usize = 1 << SHIFT;

/// Rows of `width` entries each, numbered from 0.
#[derive(Clone, Debug)]
pub(crate) struct Segments<T> {
    width: usize,
    rows: usize,
    /// All but the last are full. The first grows as a vector does, so that a short array is small.
    segments: Vec<Vec<T>>,
}

impl<T: Copy> Segments<T> {
    pub(crate) fn new(width: usize) -> Self {
        Self { width, rows: 0, segments: vec![Vec::new()] }
    }

    /// `rows` rows of one entry each, all of them `value`.
    pub(crate) fn filled(rows: usize, value: T) -> Self {
        let lengths = (0..rows.div_ceil(LENGTH).max(1)).map(|segment| (rows - segment * LENGTH).min(LENGTH));
        Self { width: 1, rows, segments: lengths.map(|length| vec![value; length]).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[T] {
        let at = (row & (LENGTH - 1)) * self.width;
        &self.segments[row >> SHIFT][at..at + self.width]
    }

    /// The entry of a row of one.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> T {
        self.segments[row >> SHIFT][row & (LENGTH - 1)]
    }

    #[inline]
    pub(crate) fn set(&mut self, row: usize, value: T) {
        self.segments[row >> SHIFT][row & (LENGTH - 1)] = value;
    }

    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        self.last().push(value);
        self.rows += 1;
    }

    #[inline]
    pub(crate) fn push_row(&mut self, row: &[T]) {
        self.last().extend_from_slice(row);
        self.rows += 1;
    }

    /// Adds what `change` makes of the entries of `other`, from which each segment is freed once it is read.
    pub(crate) fn append(&mut self, other: Self, change: impl Fn(T) -> T) {
        for segment in other.segments {
            let mut rest = segment.as_slice();
            while !rest.is_empty() {
                let room = (LENGTH - (self.rows & (LENGTH - 1))) * self.width;
                let (now, later) = rest.split_at(room.min(rest.len()));
                self.last().extend(now.iter().map(|&entry| change(entry)));
                self.rows += now.len() / self.width;
                rest = later;
            }
        }
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.segments.iter().map(Vec::capacity).sum::<usize>() * size_of::<T>()
    }

    /// The segment the next row belongs to.
    #[inline]
    fn last(&mut self) -> &mut Vec<T> {
        let segment = self.rows >> SHIFT;
        if segment == self.segments.len() {
            self.segments.push(Vec::with_capacity(LENGTH * self.width));
        }
        &mut self.segments[segment]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stay_where_they_are_put() {
        let rows = 2 * LENGTH + 3;
        let mut pairs = Segments::new(2);
        (0..rows).for_each(|row| pairs.push_row(&[row, 7]));
        assert_eq!(pairs.len(), rows);
        assert!((0..rows).all(|row| pairs.row(row) == [row, 7]));

        let mut single = Segments::filled(LENGTH + 1, 5);
        single.set(LENGTH, 6);
        single.push(8);
        let mut more = Segments::new(1);
        (0..rows).for_each(|row| more.push(row));
        single.append(more, |entry| entry + 1);
        assert_eq!(single.len(), LENGTH + 2 + rows);
        assert_eq!([LENGTH - 1, LENGTH, LENGTH + 1, LENGTH + 2].map(|at| single.get(at)), [5, 6, 8, 1]);
        assert_eq!(single.get(LENGTH + 1 + rows), rows);
        assert_eq!(Segments::filled(0, 0_u8).len(), 0);
    }
}
