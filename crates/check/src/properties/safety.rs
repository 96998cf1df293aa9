//! k-safety (paper `003`, Definitions 4 and 19) and the stable property (Definition 5).
//!
//! The head of a channel changes only when its receiver takes it, so "this head can be received" is "some
//! reception from this channel can be reached". A role in a receiving state leaves it only by a reception,
//! so "it can make progress" is "some reception by this role can be reached".

use crate::graph::Graph;
use crate::model::StateKind;
use crate::reach::{Components, StateSet};

/// Where some channel's head can never be received.
pub(crate) fn eventual_reception(graph: &Graph<'_>, components: &Components) -> StateSet {
    let mut bad = StateSet::new(graph.states());
    for first in (0..graph.model.channels.len()).step_by(64) {
        let end = graph.model.channels.len().min(first + 64);
        let masks =
            components.eventually_fired(graph, &receptions(graph, |step| (step.0 as usize, first, end)));
        for state in 0..graph.states() {
            let words = graph.words(state);
            let received = masks[components.of[state as usize] as usize];
            let waiting = |channel: &usize| graph.layout.length(words, *channel) > 0;
            if (first..end).filter(waiting).any(|channel| received >> (channel - first) & 1 == 0) {
                bad.insert(state);
            }
        }
    }
    bad
}

/// Where some role waits for a message and can never receive one.
pub(crate) fn progress(graph: &Graph<'_>, components: &Components) -> StateSet {
    let mut bad = StateSet::new(graph.states());
    let roles = graph.model.role_count();
    for first in (0..roles).step_by(64) {
        let end = roles.min(first + 64);
        let masks =
            components.eventually_fired(graph, &receptions(graph, |step| (step.1 as usize, first, end)));
        for state in 0..graph.states() {
            let words = graph.words(state);
            let received = masks[components.of[state as usize] as usize];
            let stuck = |role: usize| {
                received >> (role - first) & 1 == 0
                    && graph.model.local(role, graph.layout.local(words, role)).kind == StateKind::Receiving
            };
            if (first..end).any(stuck) {
                bad.insert(state);
            }
        }
    }
    bad
}

/// Where the channels can never all be emptied.
pub(crate) fn stability(graph: &Graph<'_>, components: &Components) -> StateSet {
    let masks = components.eventually(graph, |state| u64::from(graph.layout.is_stable(graph.words(state))));
    let mut bad = StateSet::new(graph.states());
    for state in 0..graph.states() {
        if masks[components.of[state as usize] as usize] == 0 {
            bad.insert(state);
        }
    }
    bad
}

/// For each move, the bit of what it receives: `key` gives a number out of (channel, role) and the range of
/// numbers this pass looks at.
fn receptions(graph: &Graph<'_>, key: impl Fn((u32, u32)) -> (usize, usize, usize)) -> Vec<u64> {
    graph
        .model
        .moves
        .iter()
        .map(|step| {
            let (number, first, end) = key((step.channel, step.role));
            if !step.sends && (first..end).contains(&number) { 1 << (number - first) } else { 0 }
        })
        .collect()
}
