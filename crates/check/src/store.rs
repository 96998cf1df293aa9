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

/// So many words of configurations are kept as they are besides: small graphs are read much more often than they grow, and
/// putting a wide configuration together again takes a look at each of its words.
const PLAIN: usize = 1 << 19;

/// Interned configurations, numbered from 0 in order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    tree: Tree,
    /// The first configurations, if they have more than one word.
    plain: Vec<u64>,
}

impl Store {
    /// For configurations of as many words as `bits` has entries, each of so many bits.
    pub(crate) fn new(bits: &[u32]) -> Self {
        Self { tree: Tree::new(bits), plain: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.tree.keys.len()
    }

    /// The words of configuration `number`.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Words {
        let mut words = zeros(self.tree.width);
        self.read(number, &mut words);
        words
    }

    /// Writes the words of configuration `number` to `words`.
    #[inline]
    pub(crate) fn read(&self, number: u32, words: &mut [u64]) {
        let width = self.tree.width;
        match self.plain.get(number as usize * width..(number as usize + 1) * width) {
            Some(plain) => words.copy_from_slice(plain),
            None => self.tree.unfold(self.folded(number), words),
        }
    }

    /// What configuration `number` is folded to.
    #[inline]
    pub(crate) fn folded(&self, number: u32) -> u64 {
        self.tree.folded(number)
    }

    /// What `words` are folded to.
    pub(crate) fn fold(&mut self, words: &[u64]) -> u64 {
        self.tree.fold(words)
    }

    /// What `words` are folded to, most of which are equal to `source`, which is folded to `key`.
    #[inline]
    pub(crate) fn fold_near(&mut self, words: &[u64], source: &[u64], key: u64) -> u64 {
        self.tree.fold_near(words, source, key)
    }

    /// The number of `words`.
    pub(crate) fn intern(&mut self, words: &[u64]) -> u32 {
        let number = self.tree.intern(words);
        self.keep_plain();
        number
    }

    /// Adds the number of what is folded to each of `keys` to `numbers`.
    pub(crate) fn intern_all(&mut self, keys: &[u64], numbers: &mut Vec<u32>) {
        self.tree.keys.intern_all(keys, numbers);
        self.keep_plain();
    }

    /// Keeps what is new as it is, as far as there is room.
    #[inline]
    fn keep_plain(&mut self) {
        let width = self.tree.width;
        while width > 1 && self.plain.len() < self.len() * width && self.plain.len() + width <= PLAIN {
            let (from, number) = (self.plain.len(), self.plain.len() / width);
            self.plain.resize(from + width, 0);
            self.tree.unfold(self.tree.folded(number as u32), &mut self.plain[from..]);
        }
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.memory_with(0)
    }

    /// Bytes held once `more` configurations are interned.
    pub(crate) fn memory_with(&self, more: usize) -> usize {
        let plain = match self.tree.width {
            0 | 1 => 0,
            width => (self.plain.len() + more * width).min(PLAIN),
        };
        let held = self.plain.capacity();
        // A vector that grows is there twice for a while, the second time up to twice as long.
        let plain = if plain > held { held + 2 * plain } else { held };
        self.tree.memory_with(more) + plain * size_of::<u64>()
    }

    /// Frees the tables: nothing can be interned or found afterwards.
    pub(crate) fn seal(&mut self) {
        self.tree.seal();
    }
}

/// Configurations of a width, or halves of wider ones, each kept once.
#[derive(Clone, Debug)]
struct Tree {
    width: usize,
    /// What each is folded to.
    keys: Keys,
    /// Where the halves of those of more than one word are kept.
    halves: Option<Box<[Tree; 2]>>,
}

impl Tree {
    fn new(bits: &[u32]) -> Self {
        let width = bits.len();
        if width <= 1 {
            return Self { width, keys: Keys::new(bits.first().copied().unwrap_or(0)), halves: None };
        }
        let (left, right) = bits.split_at(width.div_ceil(2));
        let halves = Some(Box::new([Self::new(left), Self::new(right)]));
        Self { width, keys: Keys::new(u64::BITS), halves }
    }

    #[inline]
    fn folded(&self, number: u32) -> u64 {
        self.keys.get(number)
    }

    /// The words of what is folded to `key`.
    #[inline]
    fn unfold(&self, key: u64, words: &mut [u64]) {
        match &self.halves {
            None => words[0] = key,
            Some(halves) => {
                let (left, right) = words.split_at_mut(halves[0].width);
                halves[0].unfold(halves[0].folded(key as u32), left);
                halves[1].unfold(halves[1].folded((key >> u32::BITS) as u32), right);
            }
        }
    }

    fn fold(&mut self, words: &[u64]) -> u64 {
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
    fn fold_near(&mut self, words: &[u64], source: &[u64], key: u64) -> u64 {
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

    fn intern(&mut self, words: &[u64]) -> u32 {
        let key = self.fold(words);
        self.keys.intern(key)
    }

    /// The number of `words`, most of which are equal to `source`, whose number is `number`.
    fn intern_near(&mut self, words: &[u64], source: &[u64], number: u32) -> u32 {
        let key = self.fold_near(words, source, self.folded(number));
        self.keys.intern(key)
    }

    /// Bytes held once `more` configurations are interned. Halves are few: they are taken to become twice as many at most.
    fn memory_with(&self, more: usize) -> usize {
        let halves = self.halves.iter().flat_map(|halves| halves.iter());
        let halves = halves.map(|half| half.memory_with(more.min(half.keys.len())));
        self.keys.memory_with(more) + halves.sum::<usize>()
    }

    fn seal(&mut self) {
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
