//! k-CIBI (CAV'19, Definitions 11 and 26): after `qp?a` no rival `sp!b` is ever sent that does not
//! depend on that reception.
//!
//! Dependence is followed along a path as it spreads: the receiver depends, whatever it sends from then on
//! depends, whoever takes such a message depends. Only messages carry dependence, never the room a reception
//! makes in a channel: room depends on the bound, messages do not (that is why the paper's relation, which
//! also relates a reception to a later send on the same channel, is read as "send, then its reception", as
//! the paper's Lemma 25 and its own tool read it). This is decided on pairs of a configuration and what
//! depends in it; k-CIBI is only asked for when k-SIBI fails, and the number of pairs is limited.

use rustc_hash::FxHashSet;

use super::independence::{fires_rival, races};
use crate::graph::Graph;
use crate::reach::StateSet;

/// The answer: where it fails, or that it took too much.
#[derive(Debug)]
pub(crate) enum Chained {
    /// The configurations at which it fails.
    Decided(StateSet),
    /// More pairs than allowed.
    TooMany,
}

/// What depends on the first reception in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    state: u32,
    /// Roles that depend, sorted.
    roles: Box<[u32]>,
    /// For each channel whose sender depends: how many messages at its head do not, sorted by channel.
    fresh: Box<[(u32, u32)]>,
}

/// Where a rival message can be sent independently of the reception that must exclude it.
pub(crate) fn chained_input(graph: &Graph<'_>, most: usize) -> Chained {
    let rivals = races(graph);
    let mut bad = StateSet::new(graph.states());
    let mut budget = most;
    for (label, rivals) in rivals.iter().enumerate().filter(|(_, rivals)| !rivals.is_empty()) {
        let mut starts = Vec::new();
        for state in 0..graph.states() {
            for (fired, target) in graph.edges(state) {
                if fired as usize == label {
                    starts.push((state, target));
                    if fires_rival(graph, state, rivals) {
                        bad.insert(state);
                    }
                }
            }
        }
        let search = Search { graph, receiver: graph.model.moves[label].role, rivals };
        match search.run(&starts, &mut budget) {
            Some(failing) => failing.into_iter().for_each(|state| {
                bad.insert(state);
            }),
            None => return Chained::TooMany,
        }
    }
    Chained::Decided(bad)
}

struct Search<'a> {
    graph: &'a Graph<'a>,
    receiver: u32,
    rivals: &'a [u32],
}

impl Search<'_> {
    /// The first start from which a rival can be sent independently, if there is one. All starts are
    /// searched together: which of them fails is found by following parents.
    fn run(&self, starts: &[(u32, u32)], budget: &mut usize) -> Option<Vec<u32>> {
        let mut seen: FxHashSet<Node> = FxHashSet::default();
        let mut agenda: Vec<(Node, u32)> = Vec::new();
        let mut failing = Vec::new();
        for &(state, target) in starts {
            let node = self.taint(target, vec![self.receiver], Vec::new(), self.receiver);
            if seen.insert(node.clone()) {
                agenda.push((node, state));
            }
        }
        while let Some((node, start)) = agenda.pop() {
            *budget = budget.checked_sub(1)?;
            for (label, target) in self.graph.edges(node.state) {
                if self.is_rival_send(label, &node) {
                    failing.push(start);
                    return Some(failing);
                }
                let next = self.step(&node, label, target);
                if self.can_fail(&next) && seen.insert(next.clone()) {
                    agenda.push((next, start));
                }
            }
        }
        Some(failing)
    }

    fn is_rival_send(&self, label: u32, node: &Node) -> bool {
        let moves = &self.graph.model.moves;
        let step = &moves[label as usize];
        step.sends
            && node.roles.binary_search(&step.role).is_err()
            && self.rivals.iter().any(|&rival| {
                let rival = &moves[rival as usize];
                rival.channel == step.channel && rival.symbol == step.symbol
            })
    }

    /// Once every rival's sender depends, nothing can go wrong any more.
    fn can_fail(&self, node: &Node) -> bool {
        self.rivals.iter().any(|&rival| {
            let sender = u32::from(self.graph.model.moves[rival as usize].peer.0);
            node.roles.binary_search(&sender).is_err()
        })
    }

    fn step(&self, node: &Node, label: u32, target: u32) -> Node {
        let step = &self.graph.model.moves[label as usize];
        let mut fresh = node.fresh.to_vec();
        if step.sends {
            return Node { state: target, roles: node.roles.clone(), fresh: fresh.into() };
        }
        let slot = fresh.iter_mut().find(|(channel, _)| *channel == step.channel);
        match slot {
            Some((_, 0)) if node.roles.binary_search(&step.role).is_err() => {
                let mut roles = node.roles.to_vec();
                roles.push(step.role);
                roles.sort_unstable();
                self.taint(target, roles, fresh, step.role)
            }
            slot => {
                if let Some((_, count)) = slot {
                    *count = count.saturating_sub(1);
                }
                Node { state: target, roles: node.roles.clone(), fresh: fresh.into() }
            }
        }
    }

    /// `role` depends from `state` on: what is in its channels was sent before.
    fn taint(&self, state: u32, roles: Vec<u32>, mut fresh: Vec<(u32, u32)>, role: u32) -> Node {
        let words = self.graph.words(state);
        for (channel, queue) in self.graph.model.channels.iter().enumerate() {
            if queue.from.is_some_and(|from| u32::from(from.0) == role) {
                fresh.push((channel as u32, self.graph.layout.length(words, channel)));
            }
        }
        fresh.sort_unstable();
        Node { state, roles: roles.into(), fresh: fresh.into() }
    }
}
