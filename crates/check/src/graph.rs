//! A bounded transition system once it has been explored: configurations by number, edges in compressed
//! rows. A label is the number of a [`Move`](crate::model::Move).

use crate::layout::Layout;
use crate::model::Model;
use crate::store::Store;

/// Edge labels: two bytes each unless the system has more transitions than that can number.
#[derive(Clone, Debug)]
enum Labels {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Labels {
    fn get(&self, edge: usize) -> u32 {
        match self {
            Self::Narrow(labels) => u32::from(labels[edge]),
            Self::Wide(labels) => labels[edge],
        }
    }

    /// Adds `other`'s, which are as wide.
    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Narrow(all), Self::Narrow(other)) => all.extend(other),
            (Self::Wide(all), Self::Wide(other)) => all.extend(other),
            _ => {}
        }
    }

    fn memory(&self) -> usize {
        match self {
            Self::Narrow(labels) => labels.len() * 2,
            Self::Wide(labels) => labels.len() * 4,
        }
    }
}

/// Edges as they are found: one row per expansion, a configuration may be expanded more than once.
#[derive(Debug)]
pub(crate) struct Edges {
    targets: Vec<u32>,
    labels: Labels,
    /// Row `i` is `targets[ends[i] .. ends[i + 1]]`.
    ends: Vec<u32>,
    /// Whose row it is; empty as long as row `i` belongs to configuration `i`.
    owners: Vec<u32>,
}

impl Edges {
    pub(crate) fn new(moves: usize) -> Self {
        let labels = if moves <= 1 << 16 { Labels::Narrow(Vec::new()) } else { Labels::Wide(Vec::new()) };
        Self { targets: Vec::new(), labels, ends: vec![0], owners: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }

    pub(crate) fn target(&self, edge: usize) -> u32 {
        self.targets[edge]
    }

    pub(crate) fn label(&self, edge: usize) -> u32 {
        self.labels.get(edge)
    }

    /// The edges of the row that was written as number `row`.
    pub(crate) fn row(&self, row: usize) -> std::ops::Range<usize> {
        self.ends[row] as usize..self.ends[row + 1] as usize
    }

    /// The edges of the row written last.
    pub(crate) fn last_row(&self) -> std::ops::Range<usize> {
        let rows = self.ends.len();
        if rows < 2 { 0..0 } else { self.ends[rows - 2] as usize..self.ends[rows - 1] as usize }
    }

    pub(crate) fn push(&mut self, label: u32, target: u32) {
        self.targets.push(target);
        match &mut self.labels {
            Labels::Narrow(labels) => labels.push(label as u16),
            Labels::Wide(labels) => labels.push(label),
        }
    }

    pub(crate) fn close_row(&mut self, state: u32) {
        let row = self.ends.len() - 1;
        if self.owners.is_empty() && state as usize != row {
            self.owners = (0..row as u32).collect();
        }
        if !self.owners.is_empty() || state as usize != row {
            self.owners.push(state);
        }
        self.ends.push(self.targets.len() as u32);
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.targets.len() * 4 + self.labels.memory() + (self.ends.len() + self.owners.len()) * 4
    }

    fn into_rows(mut self, states: usize) -> (Vec<u32>, Vec<u32>, Labels) {
        if self.owners.is_empty() {
            let last = self.targets.len() as u32;
            self.ends.resize(states + 1, last);
            return (self.ends, self.targets, self.labels);
        }
        let mut offsets = vec![0_u32; states + 1];
        for (row, &owner) in self.owners.iter().enumerate() {
            offsets[owner as usize + 1] += self.ends[row + 1] - self.ends[row];
        }
        for state in 0..states {
            offsets[state + 1] += offsets[state];
        }
        let mut next = offsets.clone();
        let mut targets = vec![0; self.targets.len()];
        let mut labels = match &self.labels {
            Labels::Narrow(labels) => Labels::Narrow(vec![0; labels.len()]),
            Labels::Wide(labels) => Labels::Wide(vec![0; labels.len()]),
        };
        for (row, &owner) in self.owners.iter().enumerate() {
            for edge in self.ends[row] as usize..self.ends[row + 1] as usize {
                let slot = &mut next[owner as usize];
                targets[*slot as usize] = self.targets[edge];
                match (&mut labels, &self.labels) {
                    (Labels::Narrow(to), Labels::Narrow(from)) => to[*slot as usize] = from[edge],
                    (Labels::Wide(to), Labels::Wide(from)) => to[*slot as usize] = from[edge],
                    _ => {}
                }
                *slot += 1;
            }
        }
        (offsets, targets, labels)
    }
}

/// An explored transition system: TS_k or a reduction of it.
#[derive(Debug)]
pub(crate) struct Graph<'m> {
    pub(crate) model: &'m Model,
    pub(crate) layout: Layout,
    store: Store,
    offsets: Vec<u32>,
    targets: Vec<u32>,
    labels: Labels,
}

impl<'m> Graph<'m> {
    pub(crate) fn new(model: &'m Model, layout: Layout, mut store: Store, edges: Edges) -> Self {
        store.seal();
        let (offsets, targets, labels) = edges.into_rows(store.len());
        Self { model, layout, store, offsets, targets, labels }
    }

    /// The graph of several owners' parts: edge targets are an owner's number times the number of owners plus
    /// the owner, and `first` is the owner of the first part.
    pub(crate) fn joined(model: &'m Model, layout: Layout, parts: Vec<(Store, Edges)>, first: usize) -> Self {
        let owners = parts.len();
        let mut bases = vec![0_u32; owners];
        let mut total = 0;
        for (at, (store, _)) in parts.iter().enumerate() {
            bases[(first + at) % owners] = total;
            total += store.len() as u32;
        }
        let rename = |target: u32| bases[target as usize % owners] + target / owners as u32;
        let mut all: Option<(Store, Vec<u32>, Vec<u32>, Labels)> = None;
        for (mut store, edges) in parts {
            store.seal();
            let (offsets, mut targets, labels) = edges.into_rows(store.len());
            targets.iter_mut().for_each(|target| *target = rename(*target));
            match &mut all {
                None => all = Some((store, offsets, targets, labels)),
                Some(all) => {
                    all.0.append(store);
                    let base = all.2.len() as u32;
                    all.1.extend(offsets.iter().skip(1).map(|offset| offset + base));
                    all.2.extend(targets);
                    all.3.append(labels);
                }
            }
        }
        let width = layout.width();
        let (store, offsets, targets, labels) =
            all.unwrap_or_else(|| (Store::new(width), vec![0], Vec::new(), Labels::Narrow(Vec::new())));
        Self { model, layout, store, offsets, targets, labels }
    }

    pub(crate) fn states(&self) -> u32 {
        self.store.len() as u32
    }

    pub(crate) fn transitions(&self) -> usize {
        self.targets.len()
    }

    pub(crate) fn words(&self, state: u32) -> &[u64] {
        self.store.get(state)
    }

    /// The edge numbers of `state`'s row.
    pub(crate) fn row(&self, state: u32) -> std::ops::Range<usize> {
        self.offsets[state as usize] as usize..self.offsets[state as usize + 1] as usize
    }

    pub(crate) fn target(&self, edge: usize) -> u32 {
        self.targets[edge]
    }

    pub(crate) fn label(&self, edge: usize) -> u32 {
        self.labels.get(edge)
    }

    /// (label, target) of each edge of `state`.
    pub(crate) fn edges(&self, state: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.row(state).map(|edge| (self.labels.get(edge), self.targets[edge]))
    }

    pub(crate) fn local(&self, state: u32, role: usize) -> u32 {
        self.layout.local(self.words(state), role)
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.store.memory() + self.offsets.len() * 4 + self.targets.len() * 4 + self.labels.memory()
    }

    /// A shortest path, as labels, from the initial configuration to the first configuration in
    /// breadth-first order that satisfies `wanted`; the configuration comes with it.
    pub(crate) fn shortest(&self, mut wanted: impl FnMut(u32) -> bool) -> Option<(Vec<u32>, u32)> {
        const UNSEEN: u32 = u32::MAX;
        const ROOT: u32 = u32::MAX - 1;
        let mut parent = vec![UNSEEN; self.states() as usize];
        let mut order = Vec::new();
        parent[0] = ROOT;
        order.push(0_u32);
        let mut next = 0;
        while let Some(&state) = order.get(next) {
            next += 1;
            if wanted(state) {
                return Some((self.path_to(state, &parent), state));
            }
            for edge in self.row(state) {
                let target = self.targets[edge];
                if parent[target as usize] == UNSEEN {
                    parent[target as usize] = state;
                    order.push(target);
                }
            }
        }
        None
    }

    fn path_to(&self, state: u32, parent: &[u32]) -> Vec<u32> {
        let mut labels = Vec::new();
        let mut at = state;
        while at != 0 {
            let from = parent[at as usize];
            let Some((label, _)) = self.edges(from).find(|&(_, target)| target == at) else { break };
            labels.push(label);
            at = from;
        }
        labels.reverse();
        labels
    }
}
