//! Facts about what can come after a state: sets of small numbers, least solutions of backward equations.

use referee_theory::{Machine, State, Transition};

/// One set of numbers below `width` for each state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    /// Whether `state`'s set has `member`.
    pub(crate) fn contains(&self, state: u32, member: usize) -> bool {
        let row = self.row(state as usize);
        row.get(member / 64).is_some_and(|word| word >> (member % 64) & 1 == 1)
    }

    /// The members of `state`'s set, ascending.
    pub(crate) fn members(&self, state: usize) -> impl Iterator<Item = usize> {
        self.row(state).iter().enumerate().flat_map(|(index, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index * 64 + bit)
        })
    }

    fn row(&self, state: usize) -> &[u64] {
        self.bits.get(state * self.words..(state + 1) * self.words).unwrap_or_default()
    }
}

/// A set of numbers as words.
pub(crate) fn set(width: usize, members: impl IntoIterator<Item = usize>) -> Vec<u64> {
    let mut words = vec![0; width.div_ceil(64)];
    for member in members {
        if let Some(word) = words.get_mut(member / 64) {
            *word |= 1 << (member % 64);
        }
    }
    words
}

/// How the sets of a transition's source and target are related.
pub(crate) enum Combine {
    /// The source has what some transition gives.
    Any,
    /// The source has what every transition gives; a final state has nothing.
    All,
}

/// The least solution: `through(transition, row)` turns the target's set into what the transition gives.
pub(crate) fn backward(
    machine: &Machine,
    width: usize,
    combine: Combine,
    mut through: impl FnMut(&Transition, &mut [u64]),
) -> Sets {
    let words = width.div_ceil(64);
    let mut sets = Sets { words, bits: vec![0; machine.state_count() * words] };
    if words == 0 {
        return sets;
    }
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); machine.state_count()];
    for state in machine.states() {
        for transition in machine.transitions(state) {
            before[transition.target.index()].push(state.0);
        }
    }
    let mut pending: Vec<u32> = machine.states().map(|state| state.0).collect();
    let mut waiting = vec![true; machine.state_count()];
    let (mut row, mut result) = (vec![0; words], vec![0; words]);
    while let Some(state) = pending.pop() {
        waiting[state as usize] = false;
        let transitions = machine.transitions(State(state));
        result.fill(if matches!(combine, Combine::All) && !transitions.is_empty() { u64::MAX } else { 0 });
        for transition in transitions {
            row.copy_from_slice(sets.row(transition.target.index()));
            through(transition, &mut row);
            for (into, from) in result.iter_mut().zip(&row) {
                match combine {
                    Combine::Any => *into |= from,
                    Combine::All => *into &= from,
                }
            }
        }
        if sets.row(state as usize) == result {
            continue;
        }
        let at = state as usize * words;
        sets.bits[at..at + words].copy_from_slice(&result);
        for &earlier in &before[state as usize] {
            if !waiting[earlier as usize] {
                waiting[earlier as usize] = true;
                pending.push(earlier);
            }
        }
    }
    sets
}
