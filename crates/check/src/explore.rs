//! The one search loop. What is expanded, in which order and how far, is a [`Selection`]:
//! [`full`] is TS_k, [`paper`] is Algorithm 1 to the letter, [`sound`] is the repaired reduction;
//! [`symmetric`] is the first on representatives; [`parallel`] is the first and [`sound`] by several threads.

pub(crate) mod faulty;
pub(crate) mod full;
pub(crate) mod paper;
pub(crate) mod parallel;
pub(crate) mod proviso;
pub(crate) mod sound;
pub(crate) mod symmetric;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::edges::Edges;
use crate::graph::Graph;
use crate::layout::Layout;
use crate::model::Model;
use crate::store::{MOST, Store, Words, zeros};

/// Why an exploration ended before everything was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// More configurations than allowed.
    States,
    /// More memory than allowed.
    Memory,
    /// The caller asked.
    Cancelled,
}

/// How far an exploration has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The channel bound.
    pub bound: u32,
    /// Configurations found so far.
    pub states: usize,
    /// Transitions found so far.
    pub transitions: usize,
    /// Bytes held.
    pub memory: usize,
}

/// Is told now and then how far an exploration has come.
pub trait Observer {
    /// Called every few thousand configurations.
    fn progress(&mut self, progress: Progress);
}

/// Ignores all progress.
impl Observer for () {
    fn progress(&mut self, _: Progress) {}
}

/// What bounds an exploration and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits<'a> {
    pub(crate) states: usize,
    pub(crate) memory: usize,
    pub(crate) cancel: Option<&'a AtomicBool>,
    pub(crate) threads: usize,
    /// Whether the stable property is asked for, where it can be.
    pub(crate) stability: bool,
    /// Whether the transitions of TS_k are kept; without them nothing but counts is known. Reductions need them.
    pub(crate) keep_edges: bool,
}

impl Limits<'_> {
    pub(crate) fn at_most(self, states: usize) -> Self {
        Self { states: self.states.min(states), ..self }
    }

    /// The limits for an exploration during which `bytes` are held elsewhere.
    pub(crate) fn beside(self, bytes: usize) -> Self {
        Self { memory: self.memory.saturating_sub(bytes), ..self }
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// A configuration about to be expanded.
pub(crate) struct View<'a> {
    pub(crate) model: &'a Model,
    pub(crate) layout: &'a Layout,
    pub(crate) words: &'a [u64],
}

impl View<'_> {
    /// The enabled moves of `role`, by number, channel by channel.
    pub(crate) fn enabled(&self, role: usize) -> impl Iterator<Item = &[u32]> + '_ {
        self.model
            .groups_of(role, self.layout.local(self.words, role))
            .iter()
            .map(|group| self.layout.enabled(self.words, self.model, group))
            .filter(|moves| !moves.is_empty())
    }

    /// Adds the enabled moves of `role` to `chosen`.
    #[inline]
    pub(crate) fn choose(&self, role: usize, chosen: &mut Vec<u32>) {
        for group in self.model.groups_of(role, self.layout.local(self.words, role)) {
            match self.layout.enabled(self.words, self.model, group) {
                // Most are one: pushing it is cheaper than copying a slice.
                [one] => chosen.push(*one),
                moves => chosen.extend_from_slice(moves),
            }
        }
    }
}

/// The role whose moves a reduction fires, if one is enabled that is not in the set `but`: the fewest moves; a
/// reception, which empties a channel and brings branches together, before a send; the shorter channel, which
/// keeps the configurations few.
pub(crate) fn best_role(view: &View<'_>, but: &[u64]) -> Option<usize> {
    let mut best = None;
    for role in 0..view.model.role_count() {
        if but.get(role / 64).is_some_and(|set| set >> (role % 64) & 1 == 1) {
            continue;
        }
        let mut enabled = view.enabled(role);
        let Some(moves) = enabled.next() else { continue };
        let step = &view.model.moves[moves[0] as usize];
        let length = view.layout.length(view.words, step.channel as usize);
        let count = enabled.fold(moves.len(), |count, moves| count + moves.len());
        let cost = (count, step.sends, length);
        if best.is_none_or(|(known, _)| cost < known) {
            best = Some((cost, role));
        }
    }
    best.map(|(_, role)| role)
}

/// What the search loop has found.
pub(crate) struct SoFar<'a> {
    pub(crate) model: &'a Model,
    pub(crate) layout: &'a Layout,
    pub(crate) store: &'a Store,
    pub(crate) edges: &'a Edges,
    /// The most bytes that all may take.
    pub(crate) memory: usize,
}

impl SoFar<'_> {
    /// Bytes held by what was found once `states` and `edges` more are.
    fn memory_with(&self, states: usize, edges: usize) -> usize {
        self.store.memory_with(states) + self.edges.memory_with(self.store.len() + states, edges)
    }
}

/// Decides what the search loop does next.
pub(crate) trait Selection {
    /// How many configurations may be asked for before the first of them is expanded: more than one lets the
    /// loop overlap the latencies of memory.
    const BATCH: usize = 1;
    /// How many batches pass between two looks at the limits.
    const TICK: usize = 1 << 8;
    /// The configuration to expand next.
    fn next(&mut self, so_far: &SoFar<'_>) -> Option<u32>;
    /// Puts the moves to fire from `state` into `chosen`. All of them are enabled.
    fn choose(&mut self, state: u32, view: &View<'_>, chosen: &mut Vec<u32>);
    /// Puts another configuration in the place of one that was reached.
    fn replace(&mut self, _: &Layout, _: &mut Words) {}
    /// The row written last holds what was reached from `state`, in the order in which moves were chosen.
    fn expanded(&mut self, state: u32, edges: &Edges);
    /// Bytes held.
    fn memory(&self) -> usize {
        0
    }
    /// Why there is no next configuration, if not because everything was expanded.
    fn stopped(&self) -> Option<Stop> {
        None
    }
}

/// What the loop found, and why it ended early if it did.
pub(crate) struct Explored<'m> {
    pub(crate) graph: Graph<'m>,
    pub(crate) stopped: Option<Stop>,
}

/// Explores `model` under `bound` from its initial configuration, or from `start`.
pub(crate) fn explore<'m, S: Selection>(
    model: &'m Model,
    bound: u32,
    start: Option<&[u64]>,
    selection: &mut S,
    limits: Limits<'_>,
    observer: &mut dyn Observer,
) -> Explored<'m> {
    let layout = Layout::new(model, bound);
    let mut store = Store::new(layout.bits());
    let mut edges = Edges::new(model);
    let initial = zeros(layout.width());
    store.intern(start.unwrap_or(&initial));
    let mut batch = Batch::new(layout.width());
    let mut stopped;
    let mut ticks = 0_usize;
    let mut transitions = 0_usize;
    // What a batch may add, going by the largest so far.
    let mut ahead = 2 * S::BATCH;
    let memory = limits.memory;
    loop {
        let so_far = SoFar { model, layout: &layout, store: &store, edges: &edges, memory };
        if memory < usize::MAX && so_far.memory_with(ahead, ahead) + selection.memory() > memory {
            stopped = Some(Stop::Memory);
            break;
        }
        batch.clear();
        while batch.rows.len() < S::BATCH {
            let so_far = SoFar { model, layout: &layout, store: &store, edges: &edges, memory };
            let Some(state) = selection.next(&so_far) else { break };
            batch.generate(state, model, &layout, &mut store, selection);
        }
        if batch.rows.is_empty() {
            stopped = selection.stopped();
            break;
        }
        ahead = ahead.max(2 * batch.keys.len());
        store.intern_all(&batch.keys, &mut batch.numbers);
        transitions += batch.numbers.len();
        if limits.keep_edges {
            batch.write(&mut edges, selection);
        }
        ticks += 1;
        if ticks.is_multiple_of(S::TICK) || store.len() > limits.states {
            let memory = store.memory() + edges.memory() + selection.memory();
            let progress = Progress { bound, states: store.len(), transitions, memory };
            stopped = exceeded(&progress, &limits);
            if stopped.is_some() {
                break;
            }
            observer.progress(progress);
        }
    }
    let graph = Graph::new(model, layout, store, edges);
    let graph = if limits.keep_edges { graph } else { graph.without_edges(transitions) };
    Explored { graph, stopped }
}

/// The successors of a few configurations on their way into the store.
struct Batch {
    source: Words,
    target: Words,
    /// Each configuration and where its moves end.
    rows: Vec<(u32, usize)>,
    chosen: Vec<u32>,
    /// What each successor is folded to, and its number.
    keys: Vec<u64>,
    numbers: Vec<u32>,
}

impl Batch {
    fn new(width: usize) -> Self {
        Self {
            source: zeros(width),
            target: zeros(width),
            rows: Vec::new(),
            chosen: Vec::new(),
            keys: Vec::new(),
            numbers: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.chosen.clear();
        self.keys.clear();
        self.numbers.clear();
    }

    fn generate<S: Selection>(
        &mut self,
        state: u32,
        model: &Model,
        layout: &Layout,
        store: &mut Store,
        selection: &mut S,
    ) {
        let key = store.folded(state);
        store.read(state, &mut self.source);
        let from = self.chosen.len();
        selection.choose(state, &View { model, layout, words: &self.source }, &mut self.chosen);
        for &number in &self.chosen[from..] {
            self.target.copy_from_slice(&self.source);
            layout.fire(&mut self.target, &model.moves[number as usize]);
            selection.replace(layout, &mut self.target);
            self.keys.push(store.fold_near(&self.target, &self.source, key));
        }
        self.rows.push((state, self.chosen.len()));
    }

    /// Writes what was interned as rows of edges.
    fn write<S: Selection>(&self, edges: &mut Edges, selection: &mut S) {
        let mut next = 0;
        for &(state, end) in &self.rows {
            for (&label, &target) in self.chosen[next..end].iter().zip(&self.numbers[next..end]) {
                edges.push(label, target);
            }
            next = end;
            edges.close_row(state);
            selection.expanded(state, edges);
        }
    }
}

fn exceeded(progress: &Progress, limits: &Limits<'_>) -> Option<Stop> {
    if limits.cancelled() {
        Some(Stop::Cancelled)
    } else if progress.states > limits.states.min(MOST) {
        Some(Stop::States)
    } else {
        None
    }
}
