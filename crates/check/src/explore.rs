//! The one search loop. What is expanded, in which order and how far, is a [`Selection`]:
//! [`full`] is TS_k, [`paper`] is Algorithm 1 to the letter, [`sound`] is the repaired reduction.

pub(crate) mod full;
pub(crate) mod paper;
pub(crate) mod sound;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::graph::{Edges, Graph};
use crate::layout::Layout;
use crate::model::{Model, Move};
use crate::store::{MOST, Store};

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

/// What bounds an exploration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits<'a> {
    pub(crate) states: usize,
    pub(crate) memory: usize,
    pub(crate) cancel: Option<&'a AtomicBool>,
    pub(crate) threads: usize,
}

impl Limits<'_> {
    pub(crate) fn at_most(self, states: usize) -> Self {
        Self { states: self.states.min(states), ..self }
    }
}

/// A configuration about to be expanded.
pub(crate) struct View<'a> {
    pub(crate) model: &'a Model,
    pub(crate) layout: &'a Layout,
    pub(crate) words: &'a [u64],
}

impl View<'_> {
    /// The enabled moves of `role`, by number.
    pub(crate) fn enabled(&self, role: usize) -> impl Iterator<Item = (u32, &Move)> + '_ {
        let local = self.model.local(role, self.layout.local(self.words, role));
        (local.first..local.end)
            .map(|number| (number, &self.model.moves[number as usize]))
            .filter(|(_, step)| self.layout.enables(self.words, step))
    }
}

/// Decides what the search loop does next.
pub(crate) trait Selection {
    /// The configuration to expand next; `found` configurations exist so far.
    fn next(&mut self, edges: &Edges, found: usize) -> Option<u32>;
    /// Puts the moves to fire from `state` into `chosen`. All of them are enabled.
    fn choose(&mut self, state: u32, view: &View<'_>, chosen: &mut Vec<u32>);
    /// `targets` were reached from `state`, in the order in which the moves were chosen.
    fn expanded(&mut self, state: u32, edges: &Edges);
    /// Bytes held.
    fn memory(&self) -> usize {
        0
    }
}

/// What the loop found, and why it ended early if it did.
pub(crate) struct Explored<'m> {
    pub(crate) graph: Graph<'m>,
    pub(crate) stopped: Option<Stop>,
}

const TICK: usize = 1 << 12;

/// Explores `model` under `bound` from its initial configuration, or from `start`.
pub(crate) fn explore<'m, S: Selection>(
    model: &'m Model,
    bound: u32,
    start: Option<&[u64]>,
    mut selection: S,
    limits: Limits<'_>,
    observer: &mut dyn Observer,
) -> Explored<'m> {
    let layout = Layout::new(model, bound);
    let width = layout.width();
    let mut store = Store::new(width);
    let mut edges = Edges::new(model.moves.len());
    let initial = vec![0_u64; width];
    store.intern(start.unwrap_or(&initial));
    let mut source = vec![0_u64; width];
    let mut chosen = Vec::new();
    let mut keys: Vec<u64> = Vec::new();
    let mut hashes: Vec<u64> = Vec::new();
    let mut stopped = None;
    let mut ticks = 0_usize;
    while let Some(state) = selection.next(&edges, store.len()) {
        source.copy_from_slice(store.get(state));
        chosen.clear();
        selection.choose(state, &View { model, layout: &layout, words: &source }, &mut chosen);
        keys.clear();
        hashes.clear();
        for &number in &chosen {
            let at = keys.len();
            keys.extend_from_slice(&source);
            let key = &mut keys[at..];
            layout.fire(key, &model.moves[number as usize]);
            let hash = Store::hash(key);
            // The slots are independent reads: asking for all of them first hides their latency.
            std::hint::black_box(store.touch(hash));
            hashes.push(hash);
        }
        for (index, &number) in chosen.iter().enumerate() {
            let key = &keys[index * width..(index + 1) * width];
            let (target, _) = store.intern_hashed(key, hashes[index]);
            edges.push(number, target);
        }
        edges.close_row(state);
        selection.expanded(state, &edges);
        ticks += 1;
        if ticks % TICK == 0 || store.len() > limits.states {
            let memory = store.memory() + edges.memory() + selection.memory();
            let progress = Progress { bound, states: store.len(), transitions: edges.len(), memory };
            stopped = exceeded(&progress, &limits);
            if stopped.is_some() {
                break;
            }
            observer.progress(progress);
        }
    }
    Explored { graph: Graph::new(model, layout, store, edges), stopped }
}

fn exceeded(progress: &Progress, limits: &Limits<'_>) -> Option<Stop> {
    let room = (u32::MAX - (1 << 24)) as usize;
    if limits.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        Some(Stop::Cancelled)
    } else if progress.states > limits.states.min(MOST) || progress.transitions > room {
        Some(Stop::States)
    } else if progress.memory > limits.memory {
        Some(Stop::Memory)
    } else {
        None
    }
}
