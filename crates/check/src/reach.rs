//! Reachability over an explored graph, for all configurations at once.
//!
//! "From here, can such an edge still be fired?" is answered by strongly connected components and one sweep
//! over them, sixty-four questions at a time: linear in the edges, never a search per configuration.

mod back;

use crate::graph::Graph;
use crate::segments::Segments;
use back::leads_back;

/// The strongly connected components of a graph. Two shapes are common, seen at a glance and need no memory:
/// every edge leads to a later configuration (protocols that end, in breadth-first order), and everything
/// leads back to the start (protocols that go round).
#[derive(Debug)]
pub(crate) enum Components {
    /// Each configuration is a component; edges lead to larger numbers only.
    Forward(u32),
    /// There is one component.
    Single(u32),
    /// Found by Tarjan's algorithm; edges lead to equal or smaller component numbers.
    General {
        /// The component of each configuration.
        of: Vec<u32>,
        /// All configurations, component by component, smallest component first.
        order: Vec<u32>,
        /// How many components there are.
        count: u32,
    },
}

/// Bytes per configuration that Tarjan's algorithm needs at most, and those of a mask for each component.
const TARJAN: usize = 28;
const MASK: usize = 8;

/// Bytes per configuration that it takes to see that everything leads back to the start.
const BACK: usize = 4;

impl Components {
    /// With up to `threads` threads; `None` if that needs more than `room` bytes.
    pub(crate) fn new(graph: &Graph<'_>, threads: usize, room: usize) -> Option<Self> {
        let states = graph.states();
        if (0..states).all(|state| graph.row(state).all(|edge| graph.target(edge) > state)) {
            return (states as usize * MASK <= room).then_some(Self::Forward(states));
        }
        if states as usize * BACK <= room && leads_back(graph, threads) {
            return Some(Self::Single(states));
        }
        (states as usize * (TARJAN + MASK) <= room).then(|| tarjan(graph))
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Forward(_) | Self::Single(_) => 0,
            Self::General { of, order, .. } => (of.len() + order.len()) * size_of::<u32>(),
        }
    }

    /// Bytes that were needed to find them and what they lead to, and are no longer.
    pub(crate) fn needed(&self, graph: &Graph<'_>) -> usize {
        let each = if let Self::General { .. } = self { TARJAN + MASK } else { BACK.max(MASK) };
        (graph.states() as usize * each).saturating_sub(self.memory())
    }

    /// The component of `state`.
    pub(crate) fn of(&self, state: u32) -> usize {
        match self {
            Self::Forward(_) => state as usize,
            Self::Single(_) => 0,
            Self::General { of, .. } => of[state as usize] as usize,
        }
    }

    /// By component: whether no edge leaves it.
    pub(crate) fn bottoms(&self, graph: &Graph<'_>) -> Vec<bool> {
        let count = match self {
            Self::General { count, .. } => *count,
            Self::Forward(states) => *states,
            Self::Single(_) => 1,
        };
        let mut bottom = vec![true; count as usize];
        for state in 0..graph.states() {
            let own = self.of(state);
            bottom[own] = bottom[own] && graph.row(state).all(|edge| self.of(graph.target(edge)) == own);
        }
        bottom
    }

    /// All configurations, those that nothing follows first.
    pub(crate) fn endings(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match self {
            Self::Forward(states) | Self::Single(states) => Box::new((0..*states).rev()),
            Self::General { order, .. } => Box::new(order.iter().copied()),
        }
    }

    /// For each component, the union of `own` over all configurations reachable from it (itself included).
    pub(crate) fn eventually(&self, graph: &Graph<'_>, mut own: impl FnMut(u32) -> u64) -> Vec<u64> {
        if let Self::Single(states) = self {
            return vec![(0..*states).fold(0, |mask, state| mask | own(state))];
        }
        let count = match self {
            Self::General { count, .. } => *count,
            _ => graph.states(),
        };
        let mut masks = vec![0_u64; count as usize];
        for state in self.endings() {
            let mut mask = own(state);
            for edge in graph.row(state) {
                mask |= masks[self.of(graph.target(edge))];
            }
            masks[self.of(state)] |= mask;
        }
        masks
    }

    /// As [`eventually`](Self::eventually), `own` being the union of `by_label` over a configuration's edges.
    pub(crate) fn eventually_fired(&self, graph: &Graph<'_>, by_label: &[u64]) -> Vec<u64> {
        if let Self::Single(_) = self {
            let all = by_label.iter().fold(0, |all, mask| all | mask);
            let mut labels = graph.labels().map(|label| by_label[label as usize]);
            let found = labels.try_fold(0, |mask, own| if mask == all { Err(all) } else { Ok(mask | own) });
            return vec![found.unwrap_or(all)];
        }
        self.eventually(graph, |state| {
            graph.row(state).fold(0, |mask, edge| mask | by_label[graph.label(edge) as usize])
        })
    }
}

fn tarjan(graph: &Graph<'_>) -> Components {
    let (of, order, count) =
        strong_components(graph.states(), |state| graph.row(state), |edge| graph.target(edge));
    Components::General { of, order, count }
}

/// The strongly connected component of each of `nodes` nodes, given the edges of each and the target of an edge.
pub(crate) fn components_of(
    nodes: u32,
    row: impl Fn(u32) -> std::ops::Range<usize>,
    target: impl Fn(usize) -> u32,
) -> Vec<u32> {
    strong_components(nodes, row, target).0
}

/// Tarjan's algorithm without recursion: the component of each node, all nodes component by component, and how many
/// components there are.
fn strong_components(
    nodes: u32,
    row: impl Fn(u32) -> std::ops::Range<usize>,
    target_of: impl Fn(usize) -> u32,
) -> (Vec<u32>, Vec<u32>, u32) {
    const OPEN: u32 = u32::MAX;
    let states = nodes as usize;
    let mut of = vec![OPEN; states];
    let mut low = vec![0_u32; states];
    let mut order = Vec::with_capacity(states);
    // In segments, for what grows as a vector does is there twice for a while.
    let mut stack: Segments<u32> = Segments::new();
    // Configuration, next edge in its row, depth-first number.
    let mut frames: Segments<(u32, u32, u32)> = Segments::new();
    let mut counter = 0_u32;
    let mut count = 0_u32;
    for start in 0..nodes {
        if low[start as usize] != 0 {
            continue;
        }
        let mut entered = Some(start);
        loop {
            if let Some(state) = entered.take() {
                counter += 1;
                low[state as usize] = counter;
                stack.push(state);
                frames.push((state, 0, counter));
            }
            let Some(top) = frames.len().checked_sub(1) else { break };
            let frame = frames.at_mut(top);
            let (state, number) = (frame.0 as usize, frame.2);
            let edges = row(frame.0);
            let edge = edges.start + frame.1 as usize;
            if edge < edges.end {
                let target = target_of(edge);
                frame.1 += 1;
                if low[target as usize] == 0 {
                    entered = Some(target);
                } else if of[target as usize] == OPEN {
                    low[state] = low[state].min(low[target as usize]);
                }
                continue;
            }
            frames.pop();
            if low[state] == number {
                while let Some(member) = stack.pop() {
                    of[member as usize] = count;
                    order.push(member);
                    if member as usize == state {
                        break;
                    }
                }
                count += 1;
            } else if top > 0 {
                let below = frames.get(top - 1).0 as usize;
                low[below] = low[below].min(low[state]);
            }
        }
    }
    (of, order, count)
}

/// Edges backwards: who leads to each configuration.
#[derive(Debug)]
pub(crate) struct Reverse {
    offsets: Vec<usize>,
    sources: Vec<u32>,
}

impl Reverse {
    /// Bytes needed to turn the edges of `graph` round.
    pub(crate) fn needs(graph: &Graph<'_>) -> usize {
        graph.states() as usize * 16 + graph.transitions() * 4
    }

    pub(crate) fn new(graph: &Graph<'_>) -> Self {
        let states = graph.states() as usize;
        let mut offsets = vec![0_usize; states + 1];
        for edge in (0..graph.states()).flat_map(|state| graph.row(state)) {
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
                sources[*slot] = state;
                *slot += 1;
            }
        }
        Self { offsets, sources }
    }

    pub(crate) fn sources(&self, state: u32) -> &[u32] {
        &self.sources[self.offsets[state as usize]..self.offsets[state as usize + 1]]
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

    /// Keeps what `keep` says yes to.
    pub(crate) fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        for (number, word) in self.words.iter_mut().enumerate() {
            let mut left = *word;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                *word &= !(u64::from(!keep(number as u32 * 64 + bit)) << bit);
            }
        }
        self.recount();
    }

    /// Adds all of `other`, a set of configurations of the same graph.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, more)| *word |= more);
        self.recount();
    }

    /// The members, largest first.
    pub(crate) fn descending(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().rev().flat_map(|(number, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = left.checked_ilog2()?;
                left &= !(1 << bit);
                Some(number as u32 * 64 + bit)
            })
        })
    }

    fn recount(&mut self) {
        self.count = self.words.iter().map(|word| word.count_ones() as usize).sum();
    }

    pub(crate) fn contains(&self, state: u32) -> bool {
        self.words[state as usize / 64] >> (state % 64) & 1 == 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}
