//! Algorithm 1 of CAV'19 to the letter, with the order of the paper's own tool.
//!
//! The list of pending sets travels with each configuration; a configuration that was visited before is
//! dropped together with its pending sets, which is the defect that [`sound`](super::sound) repairs.
//! Definition 15 leaves ties open and the algorithm the order of its agenda; both decide how many
//! configurations there are. The tool's choices: first in, first out; receptions before sends, then the
//! smaller set, then the smaller channel (sender's name, then receiver's name, as strings).
//!
//! The tool's sets are runs of one subject in its list of what is enabled: sends, then receptions, by channel. A
//! role that can receive from two peers, or both send and receive, may thus have two sets, where Definition 15 has
//! one. Its counts are wanted, so ours are the same; whether a verdict may rest on such a graph is asked apart
//! ([`has_race`](crate::properties::has_race)).

use std::collections::VecDeque;
use std::rc::Rc;

use super::{Selection, SoFar, View};
use crate::edges::Edges;

/// `partition(s)`: one set of moves per subject, sorted.
type Partition = Rc<[Vec<u32>]>;

#[derive(Clone, Debug)]
struct Item {
    state: u32,
    partition: Partition,
    /// `partition[position..]` is still pending.
    position: usize,
}

/// Algorithm 1.
#[derive(Debug)]
pub(crate) struct Paper {
    agenda: VecDeque<Item>,
    visited: Vec<bool>,
    current: Item,
}

impl Default for Paper {
    fn default() -> Self {
        let start = Item { state: 0, partition: Rc::from([]), position: 0 };
        Self { agenda: VecDeque::from([start.clone()]), visited: Vec::new(), current: start }
    }
}

impl Selection for Paper {
    fn next(&mut self, so_far: &SoFar<'_>) -> Option<u32> {
        self.visited.resize(so_far.store.len(), false);
        while let Some(item) = self.agenda.pop_front() {
            let visited = &mut self.visited[item.state as usize];
            if !*visited {
                *visited = true;
                self.current = item;
                return Some(self.current.state);
            }
        }
        None
    }

    fn choose(&mut self, _: u32, view: &View<'_>, chosen: &mut Vec<u32>) {
        let from = chosen.len();
        if let Some(set) = self.current.partition.get(self.current.position) {
            for number in set.iter().flat_map(|&number| still_enabled(view, number)) {
                if !chosen[from..].contains(&number) {
                    chosen.push(number);
                }
            }
        }
        // Nothing is pending, or nothing of it is possible any more (the tool then gives up).
        if chosen.len() == from {
            self.current.partition = partition(view);
            self.current.position = 0;
            chosen.extend(self.current.partition.first().into_iter().flatten());
        }
    }

    fn expanded(&mut self, _: u32, edges: &Edges) {
        for edge in edges.last_row() {
            self.agenda.push_back(Item {
                state: edges.target(edge),
                partition: Rc::clone(&self.current.partition),
                position: self.current.position + 1,
            });
        }
    }

    fn memory(&self) -> usize {
        // An agenda that becomes longer is there twice for a while. Its items share the partitions of those expanded.
        self.agenda.capacity() * 3 * size_of::<Item>()
            + self.visited.capacity() * 3
            + self.agenda.len() * PARTITION
    }
}

/// Bytes that a partition takes, about.
const PARTITION: usize = 128;

/// What became of a pending move: itself, unless its role has moved since by another of its sets; then what has
/// the same label.
fn still_enabled(view: &View<'_>, number: u32) -> impl Iterator<Item = u32> {
    let moves = &view.model.moves;
    let pending = &moves[number as usize];
    let role = pending.role as usize;
    let moved = view.layout.local(view.words, role) != pending.source;
    let same = move |other: &u32| {
        let other = &moves[*other as usize];
        (other.sends, other.channel, other.symbol) == (pending.sends, pending.channel, pending.symbol)
    };
    let others = moved.then(|| view.enabled(role).flatten().copied().filter(same));
    others.into_iter().flatten().chain((!moved).then_some(number))
}

/// Definition 15, as the tool computes it.
fn partition(view: &View<'_>) -> Partition {
    let step = |number: u32| &view.model.moves[number as usize];
    let roles = 0..view.model.role_count();
    let mut enabled: Vec<u32> = Vec::new();
    roles.for_each(|role| view.choose(role, &mut enabled));
    enabled.sort_by_key(|&number| {
        let step = step(number);
        (!step.sends, view.model.channel_rank[step.channel as usize], number)
    });
    let mut sets: Vec<Vec<u32>> =
        enabled.chunk_by(|&a, &b| step(a).role == step(b).role).map(<[u32]>::to_vec).collect();
    sets.sort_by_key(|set| (step(set[0]).sends, set.len()));
    sets.into()
}
