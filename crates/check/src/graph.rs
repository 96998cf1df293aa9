//! A bounded transition system once it has been explored: configurations by number, edges in compressed
//! rows. A label is the number of a [`Move`](crate::model::Move).

use crate::layout::Layout;
use crate::model::Model;
use crate::segments::Segments;
use crate::store::Store;

/// Edge labels: two bytes each unless the system has more transitions than that can number.
#[derive(Clone, Debug)]
enum Labels {
    Narrow(Segments<u16>),
    Wide(Segments<u32>),
}

impl Labels {
    fn new(moves: usize) -> Self {
        if moves <= 1 << 16 { Self::Narrow(Segments::new(1)) } else { Self::Wide(Segments::new(1)) }
    }

    #[inline]
    fn get(&self, edge: usize) -> u32 {
        match self {
            Self::Narrow(labels) => u32::from(labels.get(edge)),
            Self::Wide(labels) => labels.get(edge),
        }
    }

    #[inline]
    fn push(&mut self, label: u32) {
        match self {
            Self::Narrow(labels) => labels.push(label as u16),
            Self::Wide(labels) => labels.push(label),
        }
    }

    /// Adds `other`'s, which are as wide.
    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Narrow(all), Self::Narrow(other)) => all.append(other, |label| label),
            (Self::Wide(all), Self::Wide(other)) => all.append(other, |label| label),
            _ => {}
        }
    }

    fn memory(&self) -> usize {
        match self {
            Self::Narrow(labels) => labels.memory(),
            Self::Wide(labels) => labels.memory(),
        }
    }
}

/// Edges as they are found: one row per expansion, a configuration may be expanded more than once.
#[derive(Debug)]
pub(crate) struct Edges {
    targets: Segments<u32>,
    labels: Labels,
    /// Row `i` is `targets[ends[i] .. ends[i + 1]]`.
    ends: Segments<u32>,
    /// Whose row it is; empty as long as row `i` belongs to configuration `i`.
    owners: Segments<u32>,
}

impl Edges {
    pub(crate) fn new(moves: usize) -> Self {
        let ends = Segments::filled(1, 0);
        Self { targets: Segments::new(1), labels: Labels::new(moves), ends, owners: Segments::new(1) }
    }

    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }

    pub(crate) fn target(&self, edge: usize) -> u32 {
        self.targets.get(edge)
    }

    pub(crate) fn label(&self, edge: usize) -> u32 {
        self.labels.get(edge)
    }

    /// The edges of the row that was written as number `row`.
    pub(crate) fn row(&self, row: usize) -> std::ops::Range<usize> {
        self.ends.get(row) as usize..self.ends.get(row + 1) as usize
    }

    /// The edges of the row written last.
    pub(crate) fn last_row(&self) -> std::ops::Range<usize> {
        let rows = self.ends.len();
        if rows < 2 { 0..0 } else { self.row(rows - 2) }
    }

    #[inline]
    pub(crate) fn push(&mut self, label: u32, target: u32) {
        self.targets.push(target);
        self.labels.push(label);
    }

    pub(crate) fn close_row(&mut self, state: u32) {
        let row = self.ends.len() - 1;
        if self.owners.len() == 0 && state as usize != row {
            (0..row as u32).for_each(|owner| self.owners.push(owner));
        }
        if self.owners.len() != 0 || state as usize != row {
            self.owners.push(state);
        }
        self.ends.push(self.targets.len() as u32);
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.targets.memory() + self.labels.memory() + self.ends.memory() + self.owners.memory()
    }

    /// Bytes besides these that [`into_rows`](Self::into_rows) needs.
    pub(crate) fn sorting(&self, states: usize) -> usize {
        if self.owners.len() == 0 { 0 } else { states * 8 + self.targets.memory() + self.labels.memory() }
    }

    /// One row per configuration: where each begins, targets, labels.
    fn into_rows(mut self, states: usize) -> (Segments<u32>, Segments<u32>, Labels) {
        if self.owners.len() == 0 {
            let last = self.targets.len() as u32;
            while self.ends.len() <= states {
                self.ends.push(last);
            }
            return (self.ends, self.targets, self.labels);
        }
        let mut next = vec![0_u32; states + 1];
        for row in 0..self.owners.len() {
            next[self.owners.get(row) as usize + 1] += self.row(row).len() as u32;
        }
        let mut offsets = Segments::new(1);
        let mut before = 0;
        for at in &mut next {
            before += *at;
            *at = before;
            offsets.push(before);
        }
        let mut targets = Segments::filled(self.targets.len(), 0);
        let mut labels = match &self.labels {
            Labels::Narrow(labels) => Labels::Narrow(Segments::filled(labels.len(), 0)),
            Labels::Wide(labels) => Labels::Wide(Segments::filled(labels.len(), 0)),
        };
        for row in 0..self.owners.len() {
            let at = &mut next[self.owners.get(row) as usize];
            for edge in self.row(row) {
                targets.set(*at as usize, self.targets.get(edge));
                match (&mut labels, &self.labels) {
                    (Labels::Narrow(to), Labels::Narrow(from)) => to.set(*at as usize, from.get(edge)),
                    (Labels::Wide(to), Labels::Wide(from)) => to.set(*at as usize, from.get(edge)),
                    _ => {}
                }
                *at += 1;
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
    offsets: Segments<u32>,
    targets: Segments<u32>,
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
        let mut all = Store::new(layout.width());
        all.seal();
        let mut graph = Self {
            model,
            layout,
            store: all,
            offsets: Segments::new(1),
            targets: Segments::new(1),
            labels: Labels::new(model.moves.len()),
        };
        for (mut store, edges) in parts {
            store.seal();
            let states = store.len();
            let (offsets, targets, labels) = edges.into_rows(states);
            let base = graph.targets.len() as u32;
            (0..states).for_each(|state| graph.offsets.push(offsets.get(state) + base));
            graph.store.append(store);
            graph.targets.append(targets, rename);
            graph.labels.append(labels);
        }
        graph.offsets.push(graph.targets.len() as u32);
        graph
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
        self.offsets.get(state as usize) as usize..self.offsets.get(state as usize + 1) as usize
    }

    pub(crate) fn target(&self, edge: usize) -> u32 {
        self.targets.get(edge)
    }

    pub(crate) fn label(&self, edge: usize) -> u32 {
        self.labels.get(edge)
    }

    /// (label, target) of each edge of `state`.
    pub(crate) fn edges(&self, state: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.row(state).map(|edge| (self.label(edge), self.target(edge)))
    }

    pub(crate) fn local(&self, state: u32, role: usize) -> u32 {
        self.layout.local(self.words(state), role)
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.store.memory() + self.offsets.memory() + self.targets.memory() + self.labels.memory()
    }

    /// A shortest path, as labels, from the initial configuration to the first configuration in
    /// breadth-first order that satisfies `wanted`; the configuration comes with it.
    pub(crate) fn shortest(&self, wanted: impl FnMut(u32) -> bool) -> Option<(Vec<u32>, u32)> {
        self.path_from(0, wanted)
    }

    /// As [`shortest`](Self::shortest), from `start`.
    pub(crate) fn path_from(
        &self,
        start: u32,
        mut wanted: impl FnMut(u32) -> bool,
    ) -> Option<(Vec<u32>, u32)> {
        let mut found = None;
        let parent = self.search_from(start, |state| {
            if wanted(state) {
                found = Some(state);
            }
            found.is_none()
        });
        found.map(|state| (self.path_to(state, &parent), state))
    }

    /// Visits everything breadth first; what leads to each configuration, for [`path_to`](Self::path_to).
    pub(crate) fn tree(&self, mut visit: impl FnMut(u32)) -> Vec<u32> {
        self.search_from(0, |state| {
            visit(state);
            true
        })
    }

    /// Visits what is reachable from `start` breadth first as long as `go_on` says so.
    fn search_from(&self, start: u32, mut go_on: impl FnMut(u32) -> bool) -> Vec<u32> {
        let mut parent = vec![UNSEEN; self.states() as usize];
        let mut order = std::collections::VecDeque::from([start]);
        parent[start as usize] = ROOT;
        while let Some(state) = order.pop_front() {
            if !go_on(state) {
                break;
            }
            for edge in self.row(state) {
                let target = self.target(edge);
                if parent[target as usize] == UNSEEN {
                    parent[target as usize] = state;
                    order.push_back(target);
                }
            }
        }
        parent
    }

    /// The labels on the way to `state` in a tree of such a search.
    pub(crate) fn path_to(&self, state: u32, parent: &[u32]) -> Vec<u32> {
        let mut labels = Vec::new();
        let mut at = state;
        while parent[at as usize] != ROOT {
            let from = parent[at as usize];
            let Some((label, _)) = self.edges(from).find(|&(_, target)| target == at) else { break };
            labels.push(label);
            at = from;
        }
        labels.reverse();
        labels
    }
}

/// Marks of a search: not found yet; found first.
const UNSEEN: u32 = u32::MAX;
const ROOT: u32 = u32::MAX - 1;
