//! Reachability over an explored graph, for all configurations at once.
//!
//! "From here, can such an edge still be fired?" is answered by strongly connected components and one sweep
//! over them, sixty-four questions at a time: linear in the edges, never a search per configuration.

use crate::graph::Graph;

/// The strongly connected components of a graph, numbered so that edges lead to equal or smaller numbers.
#[derive(Debug)]
pub(crate) struct Components {
    /// The component of each configuration.
    pub(crate) of: Vec<u32>,
    /// All configurations, component by component, smallest component first.
    pub(crate) order: Vec<u32>,
    pub(crate) count: u32,
}

const UNSEEN: u32 = u32::MAX;

impl Components {
    /// Tarjan's algorithm without recursion.
    pub(crate) fn new(graph: &Graph<'_>) -> Self {
        let states = graph.states() as usize;
        let mut of = vec![UNSEEN; states];
        let mut order = Vec::with_capacity(states);
        let mut stack: Vec<u32> = Vec::new();
        let mut frames: Vec<(u32, usize, u32)> = Vec::new();
        let mut low = vec![0_u32; states];
        let mut counter = 0_u32;
        let mut count = 0_u32;
        let mut open = vec![false; states];
        for start in 0..graph.states() {
            if low[start as usize] != 0 {
                continue;
            }
            counter += 1;
            low[start as usize] = counter;
            open[start as usize] = true;
            stack.push(start);
            frames.push((start, graph.row(start).start, counter));
            while let Some(frame) = frames.last_mut() {
                let (state, number) = (frame.0, frame.2);
                if frame.1 < graph.row(state).end {
                    let target = graph.target(frame.1);
                    frame.1 += 1;
                    if low[target as usize] == 0 {
                        counter += 1;
                        low[target as usize] = counter;
                        open[target as usize] = true;
                        stack.push(target);
                        frames.push((target, graph.row(target).start, counter));
                    } else if open[target as usize] {
                        low[state as usize] = low[state as usize].min(low[target as usize]);
                    }
                    continue;
                }
                frames.pop();
                if low[state as usize] == number {
                    while let Some(member) = stack.pop() {
                        open[member as usize] = false;
                        of[member as usize] = count;
                        order.push(member);
                        if member == state {
                            break;
                        }
                    }
                    count += 1;
                }
                if let Some(below) = frames.last() {
                    let below = below.0 as usize;
                    if open[state as usize] {
                        low[below] = low[below].min(low[state as usize]);
                    }
                }
            }
        }
        Self { of, order, count }
    }

    /// For each component, the union of `own` over all configurations reachable from it (itself included).
    pub(crate) fn eventually(&self, graph: &Graph<'_>, mut own: impl FnMut(u32) -> u64) -> Vec<u64> {
        let mut masks = vec![0_u64; self.count as usize];
        for &state in &self.order {
            let mut mask = own(state);
            for edge in graph.row(state) {
                mask |= masks[self.of[graph.target(edge) as usize] as usize];
            }
            masks[self.of[state as usize] as usize] |= mask;
        }
        masks
    }

    /// As [`eventually`](Self::eventually), `own` being the union of `by_label` over a configuration's edges.
    pub(crate) fn eventually_fired(&self, graph: &Graph<'_>, by_label: &[u64]) -> Vec<u64> {
        self.eventually(graph, |state| {
            graph.row(state).fold(0, |mask, edge| mask | by_label[graph.label(edge) as usize])
        })
    }
}

/// Edges backwards: who leads to each configuration.
#[derive(Debug)]
pub(crate) struct Reverse {
    offsets: Vec<u32>,
    sources: Vec<u32>,
}

impl Reverse {
    pub(crate) fn new(graph: &Graph<'_>) -> Self {
        let states = graph.states() as usize;
        let mut offsets = vec![0_u32; states + 1];
        for edge in 0..graph.transitions() {
            offsets[graph.target(edge) as usize + 1] += 1;
        }
        for state in 0..states {
            offsets[state + 1] += offsets[state];
        }
        let mut next = offsets.clone();
        let mut sources = vec![0; graph.transitions()];
        for state in 0..graph.states() {
            for edge in graph.row(state) {
                let slot = &mut next[graph.target(edge) as usize];
                sources[*slot as usize] = state;
                *slot += 1;
            }
        }
        Self { offsets, sources }
    }

    pub(crate) fn sources(&self, state: u32) -> &[u32] {
        &self.sources[self.offsets[state as usize] as usize..self.offsets[state as usize + 1] as usize]
    }
}

/// A set of configurations.
#[derive(Clone, Debug, Default)]
pub(crate) struct StateSet {
    words: Vec<u64>,
    count: usize,
}

impl StateSet {
    pub(crate) fn new(states: u32) -> Self {
        Self { words: vec![0; (states as usize).div_ceil(64)], count: 0 }
    }

    pub(crate) fn insert(&mut self, state: u32) -> bool {
        let word = &mut self.words[state as usize / 64];
        let bit = 1 << (state % 64);
        let new = *word & bit == 0;
        *word |= bit;
        self.count += usize::from(new);
        new
    }

    pub(crate) fn remove(&mut self, state: u32) {
        let word = &mut self.words[state as usize / 64];
        let bit = 1 << (state % 64);
        self.count -= usize::from(*word & bit != 0);
        *word &= !bit;
    }

    pub(crate) fn contains(&self, state: u32) -> bool {
        self.words[state as usize / 64] >> (state % 64) & 1 == 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}
