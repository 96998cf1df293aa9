//! Edges in rows, one row per expansion, in as few bytes as they need. A label is the number of a
//! [`Move`](crate::model::Move).

use std::ops::Range;

use crate::model::{Model, bits_for, narrow};
use crate::packed::Packed;
use crate::segments::Segments;

/// How many rows share an offset, as a power of two.
const BLOCK: u32 = 3;

/// Where each row begins: an offset for every eighth row, and for each how far it is from there.
#[derive(Debug)]
pub(crate) struct Rows {
    offsets: Segments<u64>,
    /// One more than there are rows: where the next one begins.
    starts: Packed,
}

impl Rows {
    /// For rows of the length that a configuration of `model` can have.
    fn new(model: &Model) -> Self {
        let most = |role: usize| {
            let own = model.offsets[role] as usize..model.offsets[role + 1] as usize;
            model.locals[own].iter().map(|local| u64::from(local.end - local.first)).max().unwrap_or(0)
        };
        let longest: u64 = (0..model.role_count()).map(most).sum();
        // With faults a send may also be lost, a reception be of one that comes again or has overtaken; and each role may crash.
        let longest = if model.faults.is_some() { 3 * longest + model.role_count() as u64 } else { longest };
        let bits = u64::BITS - (longest << BLOCK).leading_zeros();
        let mut rows = Self { offsets: Segments::new(), starts: Packed::new(bits) };
        rows.begin(0);
        rows
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where the row after the last begins.
    fn end(&self) -> usize {
        self.start(self.len())
    }

    fn push(&mut self, length: usize) {
        self.begin(self.end() + length);
    }

    fn begin(&mut self, edge: usize) {
        let row = self.starts.len();
        if row & ((1 << BLOCK) - 1) == 0 {
            self.offsets.push(edge as u64);
        }
        self.starts.push(edge as u64 - self.offsets.get(row >> BLOCK));
    }

    #[inline]
    fn start(&self, row: usize) -> usize {
        (self.offsets.get(row >> BLOCK) + self.starts.get(row)) as usize
    }

    /// The edges of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Range<usize> {
        self.start(row)..self.start(row + 1)
    }

    fn memory(&self) -> usize {
        self.starts.memory() + self.offsets.memory()
    }
}

/// Edges as they are found: a configuration may be expanded more than once.
#[derive(Debug)]
pub(crate) struct Edges {
    targets: Segments<u32>,
    labels: Packed,
    rows: Rows,
    /// Whose row it is; empty as long as row `i` belongs to configuration `i`.
    owners: Segments<u32>,
}

impl Edges {
    pub(crate) fn new(model: &Model) -> Self {
        let labels = Packed::new(bits_for(narrow(model.moves.len())));
        Self { targets: Segments::new(), labels, rows: Rows::new(model), owners: Segments::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }

    #[inline]
    pub(crate) fn target(&self, edge: usize) -> u32 {
        self.targets.get(edge)
    }

    #[inline]
    pub(crate) fn label(&self, edge: usize) -> u32 {
        self.labels.get(edge) as u32
    }

    /// The edges of the row that was written as number `row`.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> Range<usize> {
        self.rows.get(row)
    }

    /// The edges of the row written last.
    pub(crate) fn last_row(&self) -> Range<usize> {
        self.rows.len().checked_sub(1).map_or(0..0, |last| self.rows.get(last))
    }

    #[inline]
    pub(crate) fn push(&mut self, label: u32, target: u32) {
        self.targets.push(target);
        self.labels.push(u64::from(label));
    }

    pub(crate) fn close_row(&mut self, state: u32) {
        let row = self.rows.len();
        if self.owners.len() == 0 && state as usize != row {
            (0..row as u32).for_each(|owner| self.owners.push(owner));
        }
        if self.owners.len() != 0 || state as usize != row {
            self.owners.push(state);
        }
        self.rows.begin(self.targets.len());
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.targets.memory() + self.labels.memory() + self.rows.memory() + self.owners.memory()
    }

    /// Bytes besides these that [`sorted`](Self::sorted) needs.
    pub(crate) fn sorting(&self, states: usize) -> usize {
        if self.owners.len() == 0 { 0 } else { states * 10 + self.targets.memory() + self.labels.memory() }
    }

    /// One row per configuration.
    pub(crate) fn sorted(mut self, model: &Model, states: usize) -> Self {
        if self.owners.len() == 0 {
            while self.rows.len() < states {
                self.rows.push(0);
            }
            return self;
        }
        let mut next = vec![0_usize; states + 1];
        for row in 0..self.owners.len() {
            next[self.owners.get(row) as usize + 1] += self.row(row).len();
        }
        let mut sorted = Self::new(model);
        let mut before = 0;
        for at in &mut next[1..] {
            sorted.rows.push(*at);
            before += *at;
            *at = before;
        }
        sorted.targets = Segments::filled(self.len(), 0);
        sorted.labels.extend(self.len());
        for row in 0..self.owners.len() {
            let at = &mut next[self.owners.get(row) as usize];
            for edge in self.row(row) {
                sorted.targets.set(*at, self.targets.get(edge));
                sorted.labels.set(*at, self.labels.get(edge));
                *at += 1;
            }
        }
        sorted
    }

    /// Adds `other`'s, whose targets have other names here; both are sorted.
    pub(crate) fn append(&mut self, other: Self, rename: impl Fn(u32) -> u32) {
        self.targets.append(other.targets, rename);
        self.labels.append(other.labels);
        (0..other.rows.len()).for_each(|row| self.rows.push(other.rows.get(row).len()));
    }
}
