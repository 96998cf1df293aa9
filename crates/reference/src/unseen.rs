//! Traces of which something was not seen, by their definition: every completion, one by one (docs/uncertainty.md).

use std::collections::BTreeSet;

use crate::automaton::{Automaton, Step};

/// What was seen at one place of a trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// An event.
    Event(Step),
    /// That there was an event, perhaps, but not which one.
    Lost,
}

/// The completions of `trace`: in place of each lost event any step of `alphabet`, or nothing.
#[must_use]
pub fn completions(trace: &[Seen], alphabet: &[Step]) -> Vec<Vec<Step>> {
    let mut all: Vec<Vec<Step>> = vec![Vec::new()];
    for seen in trace {
        let choices: Vec<Option<&Step>> = match seen {
            Seen::Event(step) => vec![Some(step)],
            Seen::Lost => std::iter::once(None).chain(alphabet.iter().map(Some)).collect(),
        };
        all = all
            .iter()
            .flat_map(|before| choices.iter().map(|choice| before.iter().chain(*choice).cloned().collect()))
            .collect();
    }
    all
}

/// The state that `trace` leads to from `state`, if the automaton allows it.
#[must_use]
pub fn run(automaton: &Automaton, state: usize, trace: &[Step]) -> Option<usize> {
    trace.iter().try_fold(state, |at, step| {
        automaton.edges[at].iter().find(|(known, _)| known == step).map(|(_, target)| *target)
    })
}

/// The states in which `trace` can have ended, if it began in one of `starts` and nobody broke the protocol.
#[must_use]
pub fn explained(
    automaton: &Automaton,
    starts: &BTreeSet<usize>,
    trace: &[Seen],
    alphabet: &[Step],
) -> BTreeSet<usize> {
    let completions = completions(trace, alphabet);
    let runs = completions
        .iter()
        .flat_map(|completion| starts.iter().filter_map(|start| run(automaton, *start, completion)));
    runs.collect()
}
