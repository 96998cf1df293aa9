//! Algorithm 1 of CAV'19 to the letter, with the order of the paper's own tool.
//!
//! The list of pending sets travels with each configuration; a configuration that was visited before is
//! dropped together with its pending sets, which is the defect that [`sound`](super::sound) repairs.
//! Definition 15 leaves ties open and the algorithm the order of its agenda; both decide how many
//! configurations there are. The tool's choices: first in, first out; receptions before sends, then the
//! smaller set, then the smaller channel (sender's name, then receiver's name, as strings).

use std::collections::VecDeque;
use std::rc::Rc;

use super::{Selection, SoFar, View};
use crate::graph::Edges;

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
        if self.current.position == self.current.partition.len() {
            self.current.partition = partition(view);
            self.current.position = 0;
        }
        if let Some(set) = self.current.partition.get(self.current.position) {
            chosen.extend_from_slice(set);
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
}

/// Definition 15.
fn partition(view: &View<'_>) -> Partition {
    let mut sets = Vec::new();
    for role in 0..view.model.role_count() {
        let mut set: Vec<u32> = view.enabled(role).map(|(number, _)| number).collect();
        if !set.is_empty() {
            let rank = |number: u32| {
                let step = &view.model.moves[number as usize];
                (!step.sends, view.model.channel_rank[step.channel as usize])
            };
            set.sort_by_key(|&number| rank(number));
            let (receives, channel) = rank(set[0]);
            sets.push(((!receives, set.len(), channel), set));
        }
    }
    sets.sort_by_key(|&(key, _)| key);
    sets.into_iter().map(|(_, set)| set).collect()
}
