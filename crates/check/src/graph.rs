//! A bounded transition system once it has been explored: configurations by number, and their edges.

use std::ops::Range;

use rayon::prelude::*;

use crate::edges::Edges;
use crate::faults::Fault;
use crate::layout::Layout;
use crate::model::Model;
use crate::numbering::Numbering;
use crate::store::{Store, Words};

/// Where the owner is in the number of an edge, and the edge's number there. So many edges have no room in any address space.
const OWNER: u32 = if usize::BITS == 64 { 48 } else { 30 };
const OWN: usize = (1 << OWNER) - 1;

/// A graph has so many owners at most.
pub(crate) const MAX_OWNERS: usize = 1 << (usize::BITS - OWNER);

/// An explored transition system: TS_k or a reduction of it.
#[derive(Debug)]
pub(crate) struct Graph<'m> {
    pub(crate) model: &'m Model,
    pub(crate) layout: Layout,
    /// The configurations of each owner, and their edges, whose targets are names.
    parts: Vec<(Store, Edges)>,
    numbering: Numbering,
    states: u32,
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
        let numbering = Numbering::new(vec![states as u32]);
        let parts = vec![(store, edges)];
        Self { model, layout, parts, numbering, states: states as u32, transitions, faults }
    }

    /// A graph whose `transitions` edges were not kept: nothing can be asked about them.
    pub(crate) fn without_edges(self, transitions: usize) -> Self {
        Self { transitions, ..self }
    }

    /// The graph of several owners' parts, the first of which has the initial configuration.
    pub(crate) fn joined(model: &'m Model, layout: Layout, parts: Vec<(Store, Edges)>) -> Self {
        let ready = |(mut store, edges): (Store, Edges)| {
            store.seal();
            let edges = edges.sorted(model, store.len());
            (store, edges)
        };
        let parts: Vec<(Store, Edges)> = parts.into_par_iter().with_max_len(1).map(ready).collect();
        let numbering = Numbering::new(parts.iter().map(|(store, _)| store.len() as u32).collect());
        let states = parts.iter().map(|(store, _)| store.len() as u32).sum();
        let transitions = parts.iter().map(|(_, edges)| edges.len()).sum();
        Self { model, layout, parts, numbering, states, transitions, faults: Vec::new() }
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
        let (owner, own) = self.numbering.place(state);
        self.parts[owner].0.get(own)
    }

    /// The edge numbers of `state`'s row: those of its owner, and the owner in the highest bits.
    #[inline]
    pub(crate) fn row(&self, state: u32) -> Range<usize> {
        let (owner, own) = self.numbering.place(state);
        let Range { start, end } = self.parts[owner].1.row(own as usize);
        (owner << OWNER) + start..(owner << OWNER) + end
    }

    #[inline]
    pub(crate) fn target(&self, edge: usize) -> u32 {
        self.numbering.number(self.parts[edge >> OWNER].1.target(edge & OWN))
    }

    #[inline]
    pub(crate) fn label(&self, edge: usize) -> u32 {
        self.parts[edge >> OWNER].1.label(edge & OWN)
    }

    /// The labels of all edges.
    pub(crate) fn labels(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts.iter().flat_map(|(_, edges)| (0..edges.len()).map(|edge| edges.label(edge)))
    }

    /// (label, target) of each edge of `state`.
    pub(crate) fn edges(&self, state: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (owner, own) = self.numbering.place(state);
        let edges = &self.parts[owner].1;
        edges.row(own as usize).map(|edge| {
            let (label, target) = edges.get(edge);
            (label, self.numbering.number(target))
        })
    }

    pub(crate) fn local(&self, state: u32, role: usize) -> u32 {
        self.layout.local(&self.words(state), role)
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        let parts: usize = self.parts.iter().map(|(store, edges)| store.memory() + edges.memory()).sum();
        parts + self.faults.capacity() * size_of::<(u32, u32, u32)>()
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
    let is_plain =
        |label: u32| matches!(model.moves[label as usize].fault, None | Some(Fault::Undeliverable));
    let mut plain = Edges::new(model);
    // As much room as they need and no more: that is what was counted.
    let mut faults =
        Vec::with_capacity((0..edges.len()).filter(|&edge| !is_plain(edges.label(edge))).count());
    for state in 0..states {
        for edge in edges.row(state) {
            let (label, target) = edges.get(edge);
            if is_plain(label) {
                plain.push(label, target);
            } else {
                faults.push((state as u32, label, target));
            }
        }
        plain.close_row(state as u32);
    }
    (plain.sorted(model, states), faults)
}

/// Marks of a search: not found yet; found first.
const UNSEEN: u32 = u32::MAX;
const ROOT: u32 = u32::MAX - 1;
