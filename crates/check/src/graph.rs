//! A bounded transition system once it has been explored: configurations by number, and their edges.

use crate::edges::Edges;
use crate::faults::Fault;
use crate::layout::Layout;
use crate::model::Model;
use crate::store::{Store, Words};

/// An explored transition system: TS_k or a reduction of it.
#[derive(Debug)]
pub(crate) struct Graph<'m> {
    pub(crate) model: &'m Model,
    pub(crate) layout: Layout,
    /// The configurations of each owner, and the number of its first.
    stores: Vec<(u32, Store)>,
    states: u32,
    edges: Edges,
    transitions: usize,
    /// The edges that are faults: configuration, label, target, in this order. They are not among `edges`: what can still happen
    /// is asked without further faults.
    faults: Vec<(u32, u32, u32)>,
}

impl<'m> Graph<'m> {
    pub(crate) fn new(model: &'m Model, layout: Layout, mut store: Store, edges: Edges) -> Self {
        store.seal();
        let states = store.len();
        let (edges, faults) = match model.faults {
            Some(_) => apart(model, &edges.sorted(model, states), states),
            None => (edges.sorted(model, states), Vec::new()),
        };
        let transitions = edges.len() + faults.len();
        Self { model, layout, stores: vec![(0, store)], states: states as u32, edges, transitions, faults }
    }

    /// A graph whose `transitions` edges were not kept: nothing can be asked about them.
    pub(crate) fn without_edges(self, transitions: usize) -> Self {
        Self { transitions, ..self }
    }

    /// The graph of several owners' parts: edge targets are an owner's number times the number of owners plus
    /// the owner, and `first` is the owner of the first part.
    pub(crate) fn joined(model: &'m Model, layout: Layout, parts: Vec<(Store, Edges)>, first: usize) -> Self {
        let owners = parts.len();
        let mut bases = vec![0_u32; owners];
        let mut states = 0;
        for (at, (store, _)) in parts.iter().enumerate() {
            bases[(first + at) % owners] = states;
            states += store.len() as u32;
        }
        let rename = |target: u32| bases[target as usize % owners] + target / owners as u32;
        let mut stores = Vec::with_capacity(owners);
        let mut all = Edges::new(model);
        for (at, (mut store, edges)) in parts.into_iter().enumerate() {
            store.seal();
            all.append(edges.sorted(model, store.len()), rename);
            stores.push((bases[(first + at) % owners], store));
        }
        let transitions = all.len();
        Self { model, layout, stores, states, edges: all, transitions, faults: Vec::new() }
    }

    pub(crate) fn states(&self) -> u32 {
        self.states
    }

    pub(crate) fn transitions(&self) -> usize {
        self.transitions
    }

    /// (label, target) of each edge of `state`, faults included.
    pub(crate) fn all_edges(&self, state: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let first = self.faults.partition_point(|(source, ..)| *source < state);
        let faults = self.faults[first..].iter().take_while(move |(source, ..)| *source == state);
        self.edges(state).chain(faults.map(|&(_, label, target)| (label, target)))
    }

    #[inline]
    pub(crate) fn words(&self, state: u32) -> Words {
        // INVARIANT: the first owner's first number is 0.
        let owner = match self.stores.len() {
            1 => 0,
            _ => self.stores.partition_point(|(first, _)| *first <= state) - 1,
        };
        let (first, store) = &self.stores[owner];
        store.get(state - first)
    }

    /// The edge numbers of `state`'s row.
    #[inline]
    pub(crate) fn row(&self, state: u32) -> std::ops::Range<usize> {
        self.edges.row(state as usize)
    }

    #[inline]
    pub(crate) fn target(&self, edge: usize) -> u32 {
        self.edges.target(edge)
    }

    #[inline]
    pub(crate) fn label(&self, edge: usize) -> u32 {
        self.edges.label(edge)
    }

    /// (label, target) of each edge of `state`.
    pub(crate) fn edges(&self, state: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.row(state).map(|edge| (self.label(edge), self.target(edge)))
    }

    pub(crate) fn local(&self, state: u32, role: usize) -> u32 {
        self.layout.local(&self.words(state), role)
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        let stores: usize = self.stores.iter().map(|(_, store)| store.memory()).sum();
        stores + self.edges.memory() + self.faults.capacity() * size_of::<(u32, u32, u32)>()
    }

    /// A shortest path, as labels, from the initial configuration to the first configuration in
    /// breadth-first order that satisfies `wanted`; the configuration comes with it.
    pub(crate) fn shortest(&self, wanted: impl FnMut(u32) -> bool) -> Option<(Vec<u32>, u32)> {
        self.path(0, true, wanted)
    }

    /// As [`shortest`](Self::shortest), from `start` and without further faults.
    pub(crate) fn path_from(&self, start: u32, wanted: impl FnMut(u32) -> bool) -> Option<(Vec<u32>, u32)> {
        self.path(start, false, wanted)
    }

    fn path(&self, start: u32, faults: bool, mut wanted: impl FnMut(u32) -> bool) -> Option<(Vec<u32>, u32)> {
        let mut found = None;
        let parent = self.search_from(start, faults, |state| {
            if wanted(state) {
                found = Some(state);
            }
            found.is_none()
        });
        found.map(|state| (self.path_to(state, &parent), state))
    }

    /// Visits everything breadth first; what leads to each configuration, for [`path_to`](Self::path_to).
    pub(crate) fn tree(&self, mut visit: impl FnMut(u32)) -> Vec<u32> {
        self.search_from(0, true, |state| {
            visit(state);
            true
        })
    }

    /// Visits what is reachable from `start` breadth first, with `faults` or without, as long as `go_on` says so.
    fn search_from(&self, start: u32, faults: bool, mut go_on: impl FnMut(u32) -> bool) -> Vec<u32> {
        let mut parent = vec![UNSEEN; self.states() as usize];
        let mut order = std::collections::VecDeque::from([start]);
        parent[start as usize] = ROOT;
        while let Some(state) = order.pop_front() {
            if !go_on(state) {
                break;
            }
            let mut visit = |target: u32| {
                if parent[target as usize] == UNSEEN {
                    parent[target as usize] = state;
                    order.push_back(target);
                }
            };
            match faults && !self.faults.is_empty() {
                true => self.all_edges(state).for_each(|(_, target)| visit(target)),
                false => self.row(state).for_each(|edge| visit(self.target(edge))),
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
            let Some((label, _)) = self.all_edges(from).find(|&(_, target)| target == at) else { break };
            labels.push(label);
            at = from;
        }
        labels.reverse();
        labels
    }
}

/// The `edges` of `states` configurations that are no faults, and those that are.
fn apart(model: &Model, edges: &Edges, states: usize) -> (Edges, Vec<(u32, u32, u32)>) {
    let mut plain = Edges::new(model);
    let mut faults = Vec::new();
    for state in 0..states {
        for edge in edges.row(state) {
            let (label, target) = (edges.label(edge), edges.target(edge));
            match model.moves[label as usize].fault {
                None | Some(Fault::Undeliverable) => plain.push(label, target),
                Some(_) => faults.push((state as u32, label, target)),
            }
        }
        plain.close_row(state as u32);
    }
    (plain.sorted(model, states), faults)
}

/// Marks of a search: not found yet; found first.
const UNSEEN: u32 = u32::MAX;
const ROOT: u32 = u32::MAX - 1;
