//! Labels as small numbers: a hash table without collisions, made for the labels of one machine.
//!
//! Looking up costs one hash and at most one comparison for almost every set of labels, and never more than
//! the longest run of colliding labels *of the protocol*. Nothing a peer sends is ever inserted, so hostile
//! labels cannot lengthen a run; that is why the hash need not be secret.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// A label of one monitor. Only meaningful to the monitor that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LabelId(pub(crate) u32);

impl LabelId {
    /// A label that does not occur in the machine.
    pub const UNKNOWN: Self = Self(u32::MAX);
}

/// The labels of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    texts: Box<[Box<str>]>,
    /// Indices into `texts`, or [`EMPTY`]. Collisions go to the next slot.
    // INVARIANT: a power of two long, at least twice as long as `texts`.
    slots: Box<[u32]>,
    seed: usize,
    longest: usize,
}

const EMPTY: u32 = u32::MAX;
/// How many seeds to try for a table without collisions.
const ATTEMPTS: usize = 64;

impl Labels {
    /// The table of `texts`, which are distinct.
    pub(crate) fn new(texts: Vec<Box<str>>) -> Self {
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        // With n² slots half of all seeds give no collision; beyond 64 labels short runs are accepted.
        let size = (texts.len() * texts.len().min(64)).max(2 * texts.len()).max(2).next_power_of_two();
        let mut best: Option<(usize, Self)> = None;
        for seed in 0..ATTEMPTS {
            let mut labels = Self { texts: Box::default(), slots: vec![EMPTY; size].into(), seed, longest };
            let mut collisions = 0;
            for (index, text) in (0..).zip(&texts) {
                let mut at = labels.start(text);
                while labels.slots[at] != EMPTY {
                    collisions += 1;
                    at = (at + 1) & (size - 1);
                }
                labels.slots[at] = index;
            }
            if best.as_ref().is_none_or(|(fewest, _)| collisions < *fewest) {
                best = Some((collisions, labels));
            }
            if best.as_ref().is_some_and(|(fewest, _)| *fewest == 0) {
                break;
            }
        }
        let mut labels = best.map_or_else(
            || Self { texts: Box::default(), slots: Box::new([EMPTY; 2]), seed: 0, longest },
            |(_, labels)| labels,
        );
        labels.texts = texts.into();
        labels
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The text of `label`.
    pub(crate) fn text(&self, label: LabelId) -> Option<&str> {
        self.texts.get(label.0 as usize).map(|text| &**text)
    }

    /// The label called `text`.
    #[inline]
    pub(crate) fn find(&self, text: &str) -> LabelId {
        if text.len() > self.longest {
            return LabelId::UNKNOWN;
        }
        let mut at = self.start(text);
        loop {
            let index = self.slots[at & (self.slots.len() - 1)];
            match self.texts.get(index as usize) {
                Some(found) if **found == *text => return LabelId(index),
                Some(_) => at = at.wrapping_add(1),
                None => return LabelId::UNKNOWN,
            }
        }
    }

    #[inline]
    fn start(&self, text: &str) -> usize {
        let mut hasher = FxHasher::with_seed(self.seed);
        hasher.write(text.as_bytes());
        hasher.finish() as usize & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_there_and_nothing_else() {
        for count in [0_usize, 1, 2, 3, 10, 100, 1000] {
            let texts: Vec<Box<str>> = (0..count).map(|i| format!("label{i}").into()).collect();
            let labels = Labels::new(texts.clone());
            for (index, text) in (0..).zip(&texts) {
                assert_eq!(labels.find(text), LabelId(index));
                assert_eq!(labels.text(LabelId(index)), Some(&**text));
            }
            for other in ["", "label", "Label1", "label01", "\0", "label1000", &"x".repeat(100_000)] {
                assert_eq!(labels.find(other), LabelId::UNKNOWN, "{other}");
            }
        }
    }
}
