//! Automata with named steps, and bisimilarity by its definition: the greatest fixpoint, computed naively.

use std::collections::BTreeMap;

use referee_theory::{Action, Machine, State, Vocabulary};

use crate::global::payload_name;

/// One step: what is sent or received, with whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    /// Whether it sends.
    pub sends: bool,
    /// To or from whom.
    pub peer: String,
    /// The label.
    pub label: String,
    /// The payload type's name; empty for none.
    pub payload: String,
}

/// A finite automaton that starts in state 0. It need not be deterministic, nor all of it reachable.
#[derive(Clone, Debug, Default)]
pub struct Automaton {
    /// The steps that leave each state, and where they lead.
    pub edges: Vec<Vec<(Step, usize)>>,
}

impl Automaton {
    /// The product's machine, state by state.
    #[must_use]
    pub fn from_theory(machine: &Machine, vocabulary: &Vocabulary) -> Self {
        let edges = |state: State| {
            let edge = |t: &referee_theory::Transition| {
                let step = Step {
                    sends: t.action == Action::Send,
                    peer: vocabulary.role_name(t.peer).to_owned(),
                    label: vocabulary.label_of(t.message).to_owned(),
                    payload: payload_name(vocabulary.spec(t.message)),
                };
                (step, t.target.index())
            };
            machine.transitions(state).iter().map(edge).collect()
        };
        Self { edges: machine.states().map(edges).collect() }
    }

    /// The automaton reached from `initial` by `steps`, its states numbered as they are found.
    pub fn explore<S: Ord + Clone>(initial: S, mut steps: impl FnMut(&S) -> Vec<(Step, S)>) -> Self {
        let mut numbers = BTreeMap::from([(initial.clone(), 0)]);
        let mut states = vec![initial];
        let mut edges = Vec::new();
        while edges.len() < states.len() {
            let mut leaving = Vec::new();
            for (step, target) in steps(&states[edges.len()]) {
                let fresh = states.len();
                let number = *numbers.entry(target.clone()).or_insert(fresh);
                if number == fresh {
                    states.push(target);
                }
                leaving.push((step, number));
            }
            edges.push(leaving);
        }
        Self { edges }
    }

    /// Whether the initial states are bisimilar: the largest relation in which every step of one side is
    /// matched by the other. Start with all pairs and remove those that fail until none does.
    #[must_use]
    pub fn bisimilar(&self, other: &Self) -> bool {
        self.bisimilarity(other)[0][0]
    }

    /// Which states of `self` are bisimilar to which of `other`.
    #[must_use]
    pub fn bisimilarity(&self, other: &Self) -> Vec<Vec<bool>> {
        let mut related = vec![vec![true; other.edges.len()]; self.edges.len()];
        loop {
            let mut changed = false;
            for (i, left) in self.edges.iter().enumerate() {
                for (j, right) in other.edges.iter().enumerate() {
                    if !related[i][j] {
                        continue;
                    }
                    let matched = |a: &(Step, usize)| right.iter().any(|b| a.0 == b.0 && related[a.1][b.1]);
                    let matches = |b: &(Step, usize)| left.iter().any(|a| a.0 == b.0 && related[a.1][b.1]);
                    if !(left.iter().all(matched) && right.iter().all(matches)) {
                        related[i][j] = false;
                        changed = true;
                    }
                }
            }
            if !changed {
                return related;
            }
        }
    }
}
