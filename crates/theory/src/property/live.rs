//! Which slots still matter at which node.
//!
//! Two residuals that differ only in variables nobody reads again are the same residual. An engine that keeps just
//! the live slots merges them, and forgets what it no longer needs.

use super::{Formula, FormulaId, Property, Slot};

/// For each node of a property, the slots that are read below it before they are bound again.
#[derive(Clone, Debug)]
pub struct LiveSlots {
    // INVARIANT: one row of `words` words per node.
    bits: Vec<u64>,
    words: usize,
}

impl LiveSlots {
    /// The live slots of `property`: the least solution, found by passing them upwards until nothing changes.
    #[must_use]
    pub fn of(property: &Property) -> Self {
        let words = property.slots().len().div_ceil(64);
        let count = property.node_count();
        let mut live = Self { bits: vec![0; words * count], words };
        let mut users: Vec<Vec<FormulaId>> = vec![Vec::new(); count];
        let nodes = || (0u32..).map(FormulaId).take(count);
        for user in nodes() {
            let formula = property.node(user);
            formula.children().iter().for_each(|child| users[child.index()].push(user));
            if let Formula::Call { target } = formula {
                users[target.index()].push(user);
            }
        }
        let mut pending = Vec::new();
        for node in nodes() {
            if let Formula::Modal { pattern, .. } | Formula::Timed { pattern, .. } = property.node(node) {
                for slot in property.pattern(*pattern).reads() {
                    live.add(node, slot);
                }
            }
            if let Formula::Timed { duration, .. } = property.node(node) {
                duration.variables(&mut |slot| {
                    live.add(node, *slot);
                });
            }
            pending.push(node);
        }
        // Binders are few per pattern: a short list to look through.
        let binds: Vec<Vec<Slot>> = property.patterns().iter().map(super::EventPattern::binds).collect();
        while let Some(node) = pending.pop() {
            for &user in &users[node.index()] {
                let bound: &[Slot] = match property.node(user) {
                    Formula::Modal { pattern, .. } => &binds[pattern.index()],
                    _ => &[],
                };
                let mut changed = false;
                for slot in live.at(node).filter(|slot| !bound.contains(slot)).collect::<Vec<_>>() {
                    changed |= live.add(user, slot);
                }
                if changed {
                    pending.push(user);
                }
            }
        }
        live
    }

    /// The live slots at `node`, in ascending order.
    pub fn at(&self, node: FormulaId) -> impl Iterator<Item = Slot> + '_ {
        let row = &self.bits[node.index() * self.words..][..self.words];
        row.iter().zip(0u32..).flat_map(|(word, index)| {
            (0u32..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| Slot(index * 64 + bit))
        })
    }

    /// Whether `slot` was not yet live at `node`.
    fn add(&mut self, node: FormulaId, slot: Slot) -> bool {
        let word = &mut self.bits[node.index() * self.words + slot.index() / 64];
        let before = *word;
        *word |= 1 << (slot.0 % 64);
        *word != before
    }
}
