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
        let start = self.start(row);
        // Most rows end where another one of the same block begins.
        let end = match (row + 1) & ((1 << BLOCK) - 1) {
            0 => self.start(row + 1),
            _ => start + (self.starts.get(row + 1) - self.starts.get(row)) as usize,
        };
        start..end
    }

    /// Bytes held once there are `more`.
    fn memory_with(&self, more: usize) -> usize {
        self.starts.memory_with(more) + self.offsets.memory_with(more >> BLOCK)
    }
}

/// Targets below `1 << NEAR` take that many bits, as long as there are no others.
const NEAR: u32 = 24;

/// Edges as they are found: a configuration may be expanded more than once.
#[derive(Debug)]
pub(crate) struct Edges {
    /// A label above a target in each row: the edges before the first one with a target that needs more bits …
    near: Packed,
    /// … and those from there on.
    far: Packed,
    rows: Rows,
    /// Whose row it is; empty as long as row `i` belongs to configuration `i`.
    owners: Segments<u32>,
    /// Whether faults are taken apart at the end.
    faulty: bool,
}

/// Bytes of a fault that is taken apart.
const FAULT: usize = size_of::<(u32, u32, u32)>();

/// Bytes per configuration that it takes to sort rows, besides the edges.
const SORTING: usize = 12;

impl Edges {
    pub(crate) fn new(model: &Model) -> Self {
        let label = bits_for(narrow(model.moves.len()));
        let (near, far) = (Packed::new(label + NEAR), Packed::new(label + u32::BITS));
        let faulty = model.faults.is_some();
        Self { near, far, rows: Rows::new(model), owners: Segments::new(), faulty }
    }

    pub(crate) fn len(&self) -> usize {
        self.near.len() + self.far.len()
    }

    /// Label and target.
    #[inline]
    pub(crate) fn get(&self, edge: usize) -> (u32, u32) {
        let (entry, bits) = match edge.checked_sub(self.near.len()) {
            None => (self.near.get(edge), NEAR),
            Some(edge) => (self.far.get(edge), u32::BITS),
        };
        ((entry >> bits) as u32, (entry & ((1 << bits) - 1)) as u32)
    }

    #[inline]
    pub(crate) fn target(&self, edge: usize) -> u32 {
        self.get(edge).1
    }

    #[inline]
    pub(crate) fn label(&self, edge: usize) -> u32 {
        self.get(edge).0
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
        if target < 1 << NEAR && self.far.len() == 0 {
            self.near.push(u64::from(label) << NEAR | u64::from(target));
        } else {
            self.far.push(u64::from(label) << u32::BITS | u64::from(target));
        }
    }

    pub(crate) fn close_row(&mut self, state: u32) {
        let row = self.rows.len();
        if self.owners.len() == 0 && state as usize != row {
            (0..row as u32).for_each(|owner| self.owners.push(owner));
        }
        if self.owners.len() != 0 || state as usize != row {
            self.owners.push(state);
        }
        self.rows.begin(self.len());
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.near.memory() + self.far.memory() + self.rows.memory_with(0) + self.owners.memory()
    }

    /// Bytes needed at most until each of `states` configurations has a row and there are `more` edges, and to sort them then.
    pub(crate) fn memory_with(&self, states: usize, more: usize) -> usize {
        let (near, far) = if self.far.len() == 0 { (more, 0) } else { (0, more) };
        let edges = self.near.memory_with(near) + self.far.memory_with(far);
        let rows = states.saturating_sub(self.rows.len());
        let own = edges + self.rows.memory_with(rows);
        let apart = if self.faulty { own + (self.len() + more) * FAULT } else { 0 };
        match self.owners.len() {
            0 => own + apart,
            _ => own + apart + self.owners.memory_with(rows) + states * SORTING + edges,
        }
    }

    /// Bytes needed besides, once a row is written that is not in order.
    pub(crate) fn disorder(&self, states: usize) -> usize {
        match self.owners.len() {
            0 => states * (SORTING + size_of::<u32>()) + self.near.memory() + self.far.memory(),
            _ => 0,
        }
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
        // All in one of the two, for they are not written in order.
        let (sorted_edges, bits) =
            if self.far.len() == 0 { (&mut sorted.near, NEAR) } else { (&mut sorted.far, u32::BITS) };
        sorted_edges.extend(self.len());
        for row in 0..self.owners.len() {
            let at = &mut next[self.owners.get(row) as usize];
            for edge in self.row(row) {
                let (label, target) = self.get(edge);
                sorted_edges.set(*at, u64::from(label) << bits | u64::from(target));
                *at += 1;
            }
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use referee_testkit::systems::Alphabet;

    use super::*;
    use crate::model::Semantics;

    /// Edges keep labels and targets, whether these are small, large, or first the one and then the other; also if rows
    /// are written out of order.
    #[test]
    fn edges_stay_what_they_are() {
        let alphabet = Alphabet::new(2, 2);
        let machines = [0, 1].map(|role| alphabet.machines(role, 2).pop().unwrap());
        let model = Model::new(&alphabet.system(machines), Semantics::PeerToPeer);
        let far = 1_u32 << NEAR;
        for targets in [[1, 2, 3], [far, 2, 3], [1, 2, far + 5], [1, far - 1, u32::MAX]] {
            for order in [[0_u32, 1, 2], [2, 0, 1]] {
                let mut edges = Edges::new(&model);
                for row in order {
                    (0..2).for_each(|label| edges.push(label, targets[row as usize]));
                    edges.close_row(row);
                }
                let edges = edges.sorted(&model, 3);
                assert_eq!(edges.len(), 6);
                for row in 0..3 {
                    let found: Vec<(u32, u32)> = edges.row(row).map(|edge| edges.get(edge)).collect();
                    assert_eq!(found, [(0, targets[row]), (1, targets[row])], "{targets:?}");
                }
            }
        }
    }
}
