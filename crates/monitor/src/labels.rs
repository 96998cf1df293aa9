//! Labels as small numbers: a hash table without collisions, made for the labels of one machine.
//!
//! Looking up costs one hash and one comparison for almost every set of labels, and never more than the
//! longest run of colliding labels *of the protocol*. Nothing a peer sends is ever inserted, so hostile
//! labels cannot lengthen a run; that is why the hash need not be secret.

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
    /// Collisions go to the next entry.
    // INVARIANT: a power of two long, and at least one entry is empty.
    entries: Box<[Entry]>,
    multiplier: u64,
    shift: u32,
}

/// What identifies a label of at most 16 bytes, and tells most longer ones apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    length: usize,
    first: u64,
    last: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    /// An index into `texts`, or [`EMPTY`].
    label: u32,
}

const EMPTY: u32 = u32::MAX;
/// A length that no text has.
const NO_KEY: Key = Key { length: usize::MAX, first: 0, last: 0 };
/// How many multipliers to try for a table without collisions.
const ATTEMPTS: u64 = 64;

impl Labels {
    /// The table of `texts`, which are distinct.
    pub(crate) fn new(texts: Vec<Box<str>>) -> Self {
        // With n² entries half of all multipliers give no collision; with more than 64 labels short runs
        // are accepted.
        let size = (texts.len() * texts.len().min(64)).max(2 * texts.len()).max(2).next_power_of_two();
        let mut best = Self {
            texts: texts.into(),
            entries: vec![Entry { key: NO_KEY, label: EMPTY }; size].into(),
            multiplier: 0,
            shift: 64 - size.trailing_zeros(),
        };
        let mut fewest = usize::MAX;
        for attempt in 0..ATTEMPTS {
            let mut labels = best.clone();
            labels.entries.fill(Entry { key: NO_KEY, label: EMPTY });
            labels.multiplier = (2 * attempt + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut collisions = 0;
            for (label, text) in (0..).zip(&best.texts) {
                let key = Key::of(text);
                let mut at = labels.start(key);
                while labels.entries[at].label != EMPTY {
                    collisions += 1;
                    at = (at + 1) & (size - 1);
                }
                labels.entries[at] = Entry { key, label };
            }
            if collisions < fewest {
                (best, fewest) = (labels, collisions);
            }
            if fewest == 0 {
                break;
            }
        }
        best
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The text of `label`.
    pub(crate) fn text(&self, label: LabelId) -> Option<&str> {
        self.texts.get(label.0 as usize).map(|text| &**text)
    }

    /// `label`, if it is one of these.
    #[inline]
    pub(crate) fn known(&self, label: LabelId) -> LabelId {
        if (label.0 as usize) < self.len() { label } else { LabelId::UNKNOWN }
    }

    /// The label called `text`.
    #[inline]
    pub(crate) fn find(&self, text: &str) -> LabelId {
        let key = Key::of(text);
        let at = self.start(key);
        match self.entries.get(at) {
            Some(entry) if entry.key == key && key.length <= 16 => LabelId(entry.label),
            _ => self.find_further(text),
        }
    }

    /// Not the first entry, or a label that its key does not identify. Works the key out again, so that most
    /// lookups never put it into memory.
    #[inline(never)]
    fn find_further(&self, text: &str) -> LabelId {
        let key = Key::of(text);
        let mut at = self.start(key);
        while let Some(entry) = self.entries.get(at & self.entries.len().wrapping_sub(1)) {
            if entry.key == key && (key.length <= 16 || self.is(entry.label, text)) {
                return LabelId(entry.label);
            }
            if entry.label == EMPTY {
                break;
            }
            at = at.wrapping_add(1);
        }
        LabelId::UNKNOWN
    }

    fn is(&self, label: u32, text: &str) -> bool {
        self.text(LabelId(label)) == Some(text)
    }

    #[inline]
    fn start(&self, key: Key) -> usize {
        let mixed = (key.first ^ key.last.rotate_left(23) ^ key.length as u64).wrapping_mul(self.multiplier);
        // INVARIANT: at least two entries, so the shift is below 64.
        mixed.wrapping_shr(self.shift) as usize
    }
}

impl Key {
    /// The length and the bytes at both ends: up to 16 bytes that is the whole text.
    #[inline]
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (first, last) = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
        } else {
            match *bytes {
                [a, b, c] => (u64::from(a) | u64::from(b) << 8, c.into()),
                [a, b] => (u64::from(a) | u64::from(b) << 8, 0),
                [a] => (a.into(), 0),
                _ => (0, 0),
            }
        };
        Self { length: bytes.len(), first, last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_every_length_are_told_apart() {
        // All that differ in one byte from a text of each length, those longer than a key included.
        for length in 0..40 {
            let base = "x".repeat(length);
            let mut texts: Vec<Box<str>> = vec![base.as_str().into()];
            for at in 0..length {
                let mut other = base.clone();
                other.replace_range(at..=at, "y");
                texts.push(other.into());
            }
            let labels = Labels::new(texts.clone());
            for (index, text) in (0..).zip(&texts) {
                assert_eq!(labels.find(text), LabelId(index));
            }
            assert_eq!(labels.find(&"z".repeat(length.max(1))), LabelId::UNKNOWN);
        }
    }

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
