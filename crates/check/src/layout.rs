//! How a k-bounded configuration is packed into a fixed number of 64-bit words.
//!
//! Each role's local state gets just enough bits; each channel gets its length and its symbols, head
//! first, unused places zero, so that equal configurations are equal words. A channel with one possible
//! symbol is only its length. No field crosses a word: a queue that needs more than 64 bits gets words of
//! its own.

use crate::faults::Fault;
use crate::model::{Group, Model, Move, bits_for, narrow};

/// A few bits of one word.
#[derive(Clone, Copy, Debug)]
struct Field {
    word: u32,
    shift: u32,
    mask: u64,
}

impl Field {
    #[inline]
    fn get(self, words: &[u64]) -> u32 {
        // INVARIANT: a field is at most 32 bits wide.
        ((words[self.word as usize] >> self.shift) & self.mask) as u32
    }

    #[inline]
    fn set(self, words: &mut [u64], value: u32) {
        let word = &mut words[self.word as usize];
        *word = (*word & !(self.mask << self.shift)) | (u64::from(value) << self.shift);
    }
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    length: Field,
    /// Where the first symbol is; further symbols follow, `per_word` to a word.
    word: u32,
    shift: u32,
    bits: u32,
    per_word: u32,
    symbol: u64,
    /// All symbols, when they fit one word; zero when they do not (or there is nothing to store).
    region: u64,
    capacity: u32,
}

/// Where everything is in a packed configuration of one model under one bound.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// By word, how many bits of it are used.
    bits: Vec<u32>,
    bound: u32,
    roles: Vec<Field>,
    queues: Vec<Queue>,
    /// How many faults there were.
    faults: Option<Field>,
    /// By role: the channels to it, where there are faults.
    incoming: Vec<Vec<usize>>,
}

impl Layout {
    pub(crate) fn new(model: &Model, bound: u32) -> Self {
        let mut words = Words::default();
        let roles = (0..model.role_count())
            .map(|role| words.field(bits_for(model.offsets[role + 1] - model.offsets[role])))
            .collect();
        let queues = model
            .channels
            .iter()
            .map(|channel| {
                let capacity = if channel.usable && !channel.symbols.is_empty() { bound } else { 0 };
                words.queue(capacity, bits_for(narrow(channel.symbols.len())))
            })
            .collect();
        let faults =
            model.faults.as_ref().map(|faults| words.field(bits_for(faults.at_most.saturating_add(1))));
        let mut incoming = Vec::new();
        if model.faults.is_some() {
            incoming.resize(model.role_count(), Vec::new());
            for (number, channel) in model.channels.iter().enumerate() {
                incoming[channel.to.index()].push(number);
            }
        }
        words.used.resize(words.used.len().max(1), 0);
        Self { bits: words.used, bound, roles, queues, faults, incoming }
    }

    /// Words per configuration.
    pub(crate) fn width(&self) -> usize {
        self.bits.len()
    }

    /// By word, how many bits of it are used.
    pub(crate) fn bits(&self) -> &[u32] {
        &self.bits
    }

    pub(crate) fn bound(&self) -> u32 {
        self.bound
    }

    pub(crate) fn local(&self, words: &[u64], role: usize) -> u32 {
        self.roles[role].get(words)
    }

    pub(crate) fn length(&self, words: &[u64], channel: usize) -> u32 {
        self.queues[channel].length.get(words)
    }

    /// The symbol at `position` of `channel`, 0 being the head.
    pub(crate) fn symbol(&self, words: &[u64], channel: usize, position: u32) -> u32 {
        self.queues[channel].get(words, position)
    }

    /// How many faults there were.
    pub(crate) fn faults(&self, words: &[u64]) -> u32 {
        self.faults.map_or(0, |field| field.get(words))
    }

    pub(crate) fn is_stable(&self, words: &[u64]) -> bool {
        self.queues.iter().all(|queue| queue.length.get(words) == 0)
    }

    /// Whether something can be sent on `channel`.
    pub(crate) fn has_room(&self, words: &[u64], channel: u32) -> bool {
        let queue = &self.queues[channel as usize];
        queue.length.get(words) < queue.capacity
    }

    /// Which moves of `group` can fire, its role being in their source state.
    #[inline]
    pub(crate) fn enabled<'m>(&self, words: &[u64], model: &'m Model, group: &Group) -> &'m [u32] {
        let queue = &self.queues[group.channel as usize];
        let length = queue.length.get(words);
        match group.sends {
            true if length < queue.capacity => model.groups.moves(group),
            false if length > 0 => model.groups.receiving(group, queue.get(words, 0)),
            _ => &[],
        }
    }

    /// Puts `role` into `state`.
    pub(crate) fn set_local(&self, words: &mut [u64], role: usize, state: u32) {
        self.roles[role].set(words, state);
    }

    /// Adds `symbol` to `channel`, which must have room.
    pub(crate) fn append(&self, words: &mut [u64], channel: usize, symbol: u32) {
        self.queues[channel].push(words, symbol);
    }

    /// Empties `channel`.
    pub(crate) fn clear(&self, words: &mut [u64], channel: usize) {
        for _ in 0..self.length(words, channel) {
            self.queues[channel].pop(words);
        }
    }

    /// `words` in the layout `other` of a larger bound.
    pub(crate) fn moved(&self, words: &[u64], other: &Self, model: &Model) -> Vec<u64> {
        let mut moved = vec![0; other.width()];
        for role in 0..model.role_count() {
            other.set_local(&mut moved, role, self.local(words, role));
        }
        for channel in 0..model.channels.len() {
            for at in 0..self.length(words, channel) {
                other.append(&mut moved, channel, self.symbol(words, channel, at));
            }
        }
        moved
    }

    /// Turns `words` into the configuration after `step`, which must be enabled.
    #[inline]
    pub(crate) fn fire(&self, words: &mut [u64], step: &Move) {
        self.roles[step.role as usize].set(words, step.target);
        if let Some(fault) = step.fault {
            return self.fail(words, step, fault);
        }
        let queue = &self.queues[step.channel as usize];
        if step.sends {
            queue.push(words, step.symbol);
        } else {
            queue.pop(words);
        }
    }

    /// What becomes of the channels when `step` goes wrong.
    #[cold]
    fn fail(&self, words: &mut [u64], step: &Move, fault: Fault) {
        match fault {
            // What is lost is never in the channel; what is received twice stays in it once.
            Fault::Loss | Fault::Duplicate | Fault::Undeliverable => {}
            Fault::Reorder => self.queues[step.channel as usize].push_before_last(words, step.symbol),
            Fault::Crash => {
                for &channel in &self.incoming[step.role as usize] {
                    self.clear(words, channel);
                }
            }
        }
        if let Some(field) = self.faults
            && fault != Fault::Undeliverable
        {
            field.set(words, field.get(words) + 1);
        }
    }
}

impl Queue {
    #[inline]
    fn place(&self, position: u32) -> (usize, u32) {
        // `per_word` is never zero; a queue of one word takes the short way.
        if self.region != 0 {
            return (self.word as usize, self.shift + position * self.bits);
        }
        ((self.word + position / self.per_word) as usize, (position % self.per_word) * self.bits)
    }

    #[inline]
    fn get(&self, words: &[u64], position: u32) -> u32 {
        if self.bits == 0 {
            return 0;
        }
        let (word, shift) = self.place(position);
        ((words[word] >> shift) & self.symbol) as u32
    }

    #[inline]
    fn put(&self, words: &mut [u64], position: u32, symbol: u32) {
        let (word, shift) = self.place(position);
        words[word] = (words[word] & !(self.symbol << shift)) | (u64::from(symbol) << shift);
    }

    #[inline]
    fn push(&self, words: &mut [u64], symbol: u32) {
        let length = self.length.get(words);
        if self.bits != 0 {
            self.put(words, length, symbol);
        }
        self.length.set(words, length + 1);
    }

    /// Adds `symbol` before the last one; there must be one, and room.
    fn push_before_last(&self, words: &mut [u64], symbol: u32) {
        let last = self.length.get(words) - 1;
        let overtaken = self.get(words, last);
        if self.bits != 0 {
            self.put(words, last, symbol);
        }
        self.push(words, overtaken);
    }

    #[inline]
    fn pop(&self, words: &mut [u64]) {
        let length = self.length.get(words);
        self.length.set(words, length - 1);
        if self.bits == 0 {
            return;
        }
        if self.region != 0 {
            let word = &mut words[self.word as usize];
            let symbols = (*word >> self.shift) & self.region;
            *word = (*word & !(self.region << self.shift)) | ((symbols >> self.bits) << self.shift);
            return;
        }
        for position in 1..length {
            let symbol = self.get(words, position);
            self.put(words, position - 1, symbol);
        }
        self.put(words, length - 1, 0);
    }
}

/// Hands out bits, each field into the first word with room.
#[derive(Default)]
struct Words {
    used: Vec<u32>,
}

impl Words {
    fn claim(&mut self, bits: u32) -> (u32, u32) {
        if bits == 0 {
            return (0, 0);
        }
        let word = match self.used.iter().position(|&used| used + bits <= 64) {
            Some(word) => word,
            None => {
                self.used.push(0);
                self.used.len() - 1
            }
        };
        let shift = self.used[word];
        self.used[word] += bits;
        (narrow(word), shift)
    }

    fn field(&mut self, bits: u32) -> Field {
        let (word, shift) = self.claim(bits);
        Field { word, shift, mask: low_bits(bits) }
    }

    fn queue(&mut self, capacity: u32, bits: u32) -> Queue {
        let length = self.field(bits_for(capacity.saturating_add(1)));
        let bits = if capacity == 0 { 0 } else { bits };
        let total = u64::from(bits) * u64::from(capacity);
        let symbol = low_bits(bits);
        if total <= 64 {
            // INVARIANT: total fits 32 bits here.
            let total = total as u32;
            let (word, shift) = self.claim(total);
            return Queue {
                length,
                word,
                shift,
                bits,
                per_word: 64,
                symbol,
                region: low_bits(total),
                capacity,
            };
        }
        let per_word = 64 / bits;
        let word = narrow(self.used.len());
        for _ in 0..capacity.div_ceil(per_word) {
            self.used.push(64);
        }
        Queue { length, word, shift: 0, bits, per_word, symbol, region: 0, capacity }
    }
}

fn low_bits(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
