//! Every configuration once, as a tree: a configuration of several words is two numbers, those of its halves, each
//! half being kept once for all configurations that share it (Laarman, van de Pol, Weber: *Parallel Recursive State
//! Compression for Free*, SPIN'11). Halves are few, so a configuration of any width costs eight bytes and its slot in
//! the table; one of a single word costs the bytes its fields need.
//!
//! A step changes one role and one channel: of a successor only the halves that differ from its source's are looked
//! up.

use smallvec::SmallVec;

use crate::keys::Keys;
pub(crate) use crate::keys::MOST;

/// The words of one configuration.
pub(crate) type Words = SmallVec<[u64; 4]>;

/// `width` words, all zero: the initial configuration.
#[inline]
pub(crate) fn zeros(width: usize) -> Words {
    if width <= 4 { Words::from_buf_and_len([0; 4], width) } else { Words::from_elem(0, width) }
}

/// Interned configurations, numbered from 0 in order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    width: usize,
    /// What the configuration is folded to.
    keys: Keys,
    /// Where the halves of configurations of more than one word are kept.
    halves: Option<Box<[Store; 2]>>,
}

impl Store {
    /// For configurations of as many words as `bits` has entries, each of so many bits.
    pub(crate) fn new(bits: &[u32]) -> Self {
        let width = bits.len();
        if width <= 1 {
            return Self { width, keys: Keys::new(bits.first().copied().unwrap_or(0)), halves: None };
        }
        let (left, right) = bits.split_at(width.div_ceil(2));
        let halves = Some(Box::new([Self::new(left), Self::new(right)]));
        Self { width, keys: Keys::new(u64::BITS), halves }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The words of configuration `number`.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Words {
        let mut words = zeros(self.width);
        self.unfold(self.folded(number), &mut words);
        words
    }

    /// What configuration `number` is folded to.
    #[inline]
    pub(crate) fn folded(&self, number: u32) -> u64 {
        self.keys.get(number)
    }

    /// The words of what is folded to `key`.
    #[inline]
    pub(crate) fn unfold(&self, key: u64, words: &mut [u64]) {
        match &self.halves {
            None => words[0] = key,
            Some(halves) => {
                let (left, right) = words.split_at_mut(halves[0].width);
                halves[0].unfold(halves[0].folded(key as u32), left);
                halves[1].unfold(halves[1].folded((key >> u32::BITS) as u32), right);
            }
        }
    }

    /// What `words` are folded to.
    pub(crate) fn fold(&mut self, words: &[u64]) -> u64 {
        match &mut self.halves {
            None => words[0],
            Some(halves) => {
                let (left, right) = words.split_at(halves[0].width);
                join(halves[0].intern(left), halves[1].intern(right))
            }
        }
    }

    /// What `words` are folded to, most of which are equal to `source`, which is folded to `key`.
    #[inline]
    pub(crate) fn fold_near(&mut self, words: &[u64], source: &[u64], key: u64) -> u64 {
        match &mut self.halves {
            None => words[0],
            Some(halves) => {
                let [first, second] = &mut **halves;
                let (left, right) = words.split_at(first.width);
                let (old_left, old_right) = source.split_at(first.width);
                let (left_key, right_key) = (key as u32, (key >> u32::BITS) as u32);
                join(
                    if left == old_left { left_key } else { first.intern_near(left, old_left, left_key) },
                    if right == old_right {
                        right_key
                    } else {
                        second.intern_near(right, old_right, right_key)
                    },
                )
            }
        }
    }

    /// The number of `words`.
    pub(crate) fn intern(&mut self, words: &[u64]) -> u32 {
        let key = self.fold(words);
        self.keys.intern(key)
    }

    /// The number of `words`, most of which are equal to `source`, whose number is `number`.
    fn intern_near(&mut self, words: &[u64], source: &[u64], number: u32) -> u32 {
        let key = self.fold_near(words, source, self.folded(number));
        self.keys.intern(key)
    }

    /// Adds the number of what is folded to each of `keys` to `numbers`.
    pub(crate) fn intern_all(&mut self, keys: &[u64], numbers: &mut Vec<u32>) {
        self.keys.intern_all(keys, numbers);
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.memory_with(0)
    }

    /// Bytes held once `more` configurations are interned. Halves are few: they are taken to become twice as many at most.
    pub(crate) fn memory_with(&self, more: usize) -> usize {
        let halves = self.halves.iter().flat_map(|halves| halves.iter());
        let halves = halves.map(|half| half.memory_with(more.min(half.len())));
        self.keys.memory_with(more) + halves.sum::<usize>()
    }

    /// Frees the tables: nothing can be interned or found afterwards.
    pub(crate) fn seal(&mut self) {
        self.keys.seal();
        self.halves.iter_mut().flat_map(|halves| halves.iter_mut()).for_each(Self::seal);
    }
}

fn join(left: u32, right: u32) -> u64 {
    u64::from(left) | (u64::from(right) << u32::BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Configurations of every width up to nine words come back as they went in, folded afresh or from a neighbour.
    #[test]
    fn what_is_folded_unfolds() {
        for width in 1..=9_usize {
            let bits = vec![20; width];
            let mut store = Store::new(&bits);
            let mut known: Vec<Words> = vec![zeros(width)];
            assert_eq!(store.intern(&known[0]), 0);
            for step in 1..2_000_usize {
                let source = step * 7 % known.len();
                let mut words = known[source].clone();
                words[step % width] = (step * step % 1_000) as u64;
                let near = store.fold_near(&words, &known[source], store.folded(source as u32));
                assert_eq!(near, store.fold(&words), "width {width}");
                let mut numbers = Vec::new();
                store.intern_all(&[near], &mut numbers);
                let number = numbers[0] as usize;
                if number == known.len() {
                    known.push(words);
                } else {
                    assert_eq!(known[number], words);
                }
            }
            assert_eq!(store.len(), known.len());
            store.seal();
            assert!((0..).zip(&known).all(|(number, words)| store.get(number) == *words));
        }
    }
}
