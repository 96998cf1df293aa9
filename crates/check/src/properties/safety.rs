//! k-safety (CAV'19, Definitions 4 and 19) and the stable property (Definition 5).
//!
//! The head of a channel changes only when its receiver takes it, so "this head can be received" is "some
//! reception from this channel can be reached". A role in a receiving state leaves it only by a reception,
//! so "it can make progress" is "some reception by this role can be reached".

use crate::graph::Graph;
use crate::model::{Move, StateKind};
use crate::reach::{Components, StateSet};

/// Where k-safety fails: where some channel's head can never be received, and where some role waits for a
/// message and can never receive one.
pub(crate) fn safety(graph: &Graph<'_>, components: &Components) -> (StateSet, StateSet) {
    let mut reception = StateSet::new(graph.states());
    let mut progress = StateSet::new(graph.states());
    // One bit per channel, then one per role, sixty-four at a time.
    let channels = graph.model.channels.len();
    let all = channels + graph.model.role_count();
    for first in (0..all).step_by(64) {
        let numbers = first..all.min(first + 64);
        let masks = components.eventually_fired(graph, &receptions(graph, &numbers));
        let all_bits = u64::MAX >> (64 - numbers.len());
        for state in 0..graph.states() {
            let mut missing = !masks[components.of(state)] & all_bits;
            while missing != 0 {
                let number = first + missing.trailing_zeros() as usize;
                missing &= missing - 1;
                let words = graph.words(state);
                if number < channels {
                    if graph.layout.length(words, number) > 0 {
                        reception.insert(state);
                    }
                } else {
                    let role = number - channels;
                    let kind = graph.model.local(role, graph.layout.local(words, role)).kind;
                    if kind == StateKind::Receiving {
                        progress.insert(state);
                    }
                }
            }
        }
    }
    (reception, progress)
}

/// Where the channels can never all be emptied.
pub(crate) fn stability(graph: &Graph<'_>, components: &Components) -> StateSet {
    let masks = components.eventually(graph, |state| u64::from(graph.layout.is_stable(graph.words(state))));
    let mut bad = StateSet::new(graph.states());
    for state in 0..graph.states() {
        if masks[components.of(state)] == 0 {
            bad.insert(state);
        }
    }
    bad
}

/// For each move, the bits of the channel it receives from and of the role that receives.
fn receptions(graph: &Graph<'_>, numbers: &std::ops::Range<usize>) -> Vec<u64> {
    let bit = |number: usize| if numbers.contains(&number) { 1_u64 << (number - numbers.start) } else { 0 };
    let channels = graph.model.channels.len();
    let mask = |step: &Move| bit(step.channel as usize) | bit(channels + step.role as usize);
    graph.model.moves.iter().map(|step| if step.sends { 0 } else { mask(step) }).collect()
}
