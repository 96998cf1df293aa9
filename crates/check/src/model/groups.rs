//! The moves of a local state by channel, so that those enabled are found without a look at the others: room in a
//! channel allows all sends on it or none, and its head says which receptions from it are possible.

use super::{Local, Move};

/// The sends of one local state on one channel, or its receptions from one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) sends: bool,
    pub(crate) channel: u32,
    first: u32,
    end: u32,
}

/// All groups of a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    /// By local state, in the order of [`Model::locals`](super::Model): where its groups begin; then the end.
    offsets: Vec<u32>,
    /// The moves of each group, receptions by their symbols.
    moves: Vec<u32>,
    symbols: Vec<u32>,
}

/// Up to this many symbols are looked through one by one.
const FEW: usize = 8;

impl Groups {
    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.groups.capacity() * size_of::<Group>()
            + (self.offsets.capacity() + self.moves.capacity() + self.symbols.capacity()) * size_of::<u32>()
    }

    pub(crate) fn new(locals: &[Local], moves: &[Move]) -> Self {
        let mut all = Self::default();
        let mut numbers = Vec::new();
        for local in locals {
            all.offsets.push(super::narrow(all.groups.len()));
            let key = |number: u32| {
                let step = &moves[number as usize];
                (step.sends, step.channel)
            };
            // Groups in the order of their first moves, which is that of the text.
            numbers.clear();
            numbers.extend(local.first..local.end);
            numbers.sort_by_key(|&number| key(number));
            let mut groups: Vec<&mut [u32]> = numbers.chunk_by_mut(|&a, &b| key(a) == key(b)).collect();
            groups.sort_by_key(|group| group.first().copied());
            for group in groups {
                let Some(&number) = group.first() else { continue };
                let (sends, channel) = key(number);
                if !sends {
                    group.sort_by_key(|&number| moves[number as usize].symbol);
                }
                let first = super::narrow(all.moves.len());
                all.moves.extend_from_slice(group);
                all.symbols.extend(group.iter().map(|&number| moves[number as usize].symbol));
                all.groups.push(Group { sends, channel, first, end: super::narrow(all.moves.len()) });
            }
        }
        all.offsets.push(super::narrow(all.groups.len()));
        all
    }

    /// The groups of a local state, given its place among all local states.
    #[inline]
    pub(crate) fn of(&self, local: usize) -> &[Group] {
        &self.groups[self.offsets[local] as usize..self.offsets[local + 1] as usize]
    }

    /// The moves of a group.
    #[inline]
    pub(crate) fn moves(&self, group: &Group) -> &[u32] {
        &self.moves[group.first as usize..group.end as usize]
    }

    /// The receptions of `symbol` in a group of receptions.
    #[inline]
    pub(crate) fn receiving(&self, group: &Group, symbol: u32) -> &[u32] {
        let (first, end) = (group.first as usize, group.end as usize);
        let symbols = &self.symbols[first..end];
        let from = if symbols.len() <= FEW {
            symbols.iter().take_while(|&&known| known < symbol).count()
        } else {
            symbols.partition_point(|&known| known < symbol)
        };
        let count = symbols[from..].iter().take_while(|&&known| known == symbol).count();
        &self.moves[first + from..first + from + count]
    }
}
