//! Source text and places in it.

use referee_theory::Origin;

/// Text longer than this is refused: places are 32-bit.
pub const MAX_SOURCE: usize = 1 << 30;

/// A range of bytes in a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// From `start` up to, not including, `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: narrow(start), end: narrow(end) }
    }

    /// The empty range at `offset`.
    #[must_use]
    pub fn at(offset: usize) -> Self {
        Self::new(offset, offset)
    }

    /// From the start of `self` to the end of `last`.
    #[must_use]
    pub fn to(self, last: Self) -> Self {
        Self { start: self.start.min(last.start), end: self.end.max(last.end) }
    }

    /// As a range of `usize`.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Offsets have 32 bits: texts are at most [`MAX_SOURCE`] long.
pub(crate) fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// A line and a column, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

/// The starts of the lines of a text, to turn offsets into positions.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// The lines of `text`.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// Where byte `offset` is. Offsets past the end count as the end.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        let mut offset = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = self.starts[line - 1];
        Position { line, column: self.text[start..offset].chars().count() + 1 }
    }
}

/// Hands out [`Origin`]s for places and turns them back: the only link from theory to text.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    spans: Vec<Span>,
}

impl Origins {
    /// An origin for `span`.
    pub fn add(&mut self, span: Span) -> Origin {
        self.spans.push(span);
        Origin(narrow(self.spans.len() - 1))
    }

    /// Moves every place to where `to` says.
    pub(crate) fn map(&mut self, to: impl Fn(Span) -> Span) {
        self.spans.iter_mut().for_each(|span| *span = to(*span));
    }

    /// The place behind `origin`; the start of the text for an origin that has none.
    #[must_use]
    pub fn span(&self, origin: Origin) -> Span {
        self.spans.get(origin.0 as usize).copied().unwrap_or_default()
    }
}
