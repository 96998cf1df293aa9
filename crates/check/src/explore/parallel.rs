//! TS_k, or its sound reduction, by several threads: each owns the configurations whose hash falls to it.
//!
//! Work goes in rounds of two steps, each a step of all threads at once: put the numbers that came back into
//! one's rows and generate the successors of some more of one's own configurations, sorted by owner; intern what
//! the others sent. Nothing is shared but the batches that are handed over between steps, so there are no locks.
//! Configurations are numbered by owner at the end; which numbers they get depends on the number of threads,
//! what is found does not.

use std::ops::{ControlFlow, Range};

use rayon::prelude::*;

use super::proviso::{Again, Part, Proviso};
use super::{Explored, Limits, Observer, Progress, Stop, View, best_role, exceeded};
use crate::edges::Edges;
use crate::graph::{Graph, MAX_OWNERS};
use crate::keys::hash;
use crate::layout::Layout;
use crate::model::Model;
use crate::store::{Store, Words, zeros};

/// How many configurations a thread expands in one round.
const ROUND: usize = 1 << 14;

/// After how many words of successors a thread ends its round, at least and at most; in between, what these and their numbers
/// need is about a thirtieth of the memory that is allowed.
const WORDS: [usize; 2] = [1 << 10, 1 << 17];
const PART: usize = 1 << 10;

/// How many rounds pass between two reports of progress.
const TICK: usize = 1 << 4;

/// Rounds of fewer configurations are not worth starting threads.
const FEW: usize = 1 << 10;

/// At least so many words for what a thread writes all the time: no two share a pair of cache lines.
const APART: usize = 32;

/// Bytes of what is expanded again.
const AGAIN: usize = size_of::<Again>();

/// Successors on their way to their owner, and their numbers on the way back.
#[derive(Debug, Default)]
struct Batch {
    words: Vec<u64>,
    numbers: Vec<u32>,
}

impl Batch {
    fn clear(&mut self) {
        self.words.clear();
        self.numbers.clear();
    }
}

/// What one thread owns; never two in one pair of cache lines, for each is written all the time.
#[repr(align(128))]
struct Shard {
    store: Store,
    edges: Edges,
    /// The next of its configurations to expand.
    next: u32,
    /// What it expands again before that.
    again: Vec<Again>,
    /// Per owner: what goes there, or has come back.
    out: Vec<Batch>,
    /// Per sender: what has come from there.
    inbox: Vec<Batch>,
    /// Whether edges are kept.
    keep: bool,
    /// For each move fired in this round, if edges are kept: its number and the owner of what it reached.
    fired: Vec<(u32, u32)>,
    /// How many moves were fired in this round.
    moves: usize,
    /// Each configuration expanded in this round and where its moves end in `fired`.
    rows: Vec<(u32, usize)>,
    /// The moves of the configuration that is being expanded.
    chosen: Vec<u32>,
    /// The configuration that is being expanded, and where a successor is made.
    source: Words,
    target: Words,
    /// What the successors that came are folded to.
    keys: Vec<u64>,
    transitions: usize,
}

impl Shard {
    fn new(model: &Model, layout: &Layout, threads: usize, keep: bool) -> Self {
        Self {
            store: Store::new(layout.bits()),
            edges: Edges::new(model),
            next: 0,
            again: Vec::new(),
            out: (0..threads).map(|_| Batch::default()).collect(),
            inbox: (0..threads).map(|_| Batch::default()).collect(),
            keep,
            fired: Vec::new(),
            moves: 0,
            rows: Vec::new(),
            chosen: Vec::with_capacity(2 * APART),
            source: zeros(layout.width()),
            target: zeros(layout.width()),
            keys: Vec::new(),
            transitions: 0,
        }
    }

    /// How many configurations wait to be expanded.
    fn waiting(&self) -> usize {
        self.again.len() + self.store.len() - self.next as usize
    }

    /// Bytes held once what was fired here has rows and what was sent here is numbered, and to sort rows then.
    fn memory(&self, width: usize) -> usize {
        let coming = self.inbox.iter().map(|batch| batch.words.len()).sum::<usize>() / width.max(1);
        let batches = self.out.iter().chain(&self.inbox);
        let on_the_way: usize =
            batches.map(|batch| batch.words.capacity() * 8 + batch.numbers.capacity() * 4).sum();
        let rows = self.fired.capacity() * 8 + self.rows.capacity() * 16 + self.again.capacity() * AGAIN;
        // Numbers and keys grow as vectors do.
        let numbers = coming * 3 * (size_of::<u32>() + size_of::<u64>()) + self.keys.capacity() * 8;
        self.store.memory_with(coming)
            + self.edges.memory_with(self.store.len() + coming, self.fired.len())
            + on_the_way
            + rows
            + numbers
    }

    fn idle(&self) -> bool {
        self.waiting() == 0
    }

    /// Generates successors of at least one configuration that waits, and about as many `words` as are given.
    fn generate(&mut self, model: &Model, layout: &Layout, reduced: bool, words: usize) {
        self.out.iter_mut().for_each(Batch::clear);
        let most = (words / layout.width().max(1)).max(1);
        // What is expanded again comes first, in rows of its own: see `proviso.rs`.
        while self.rows.len() < ROUND && self.moves < most {
            let Some(again) = self.again.pop() else { break };
            self.expand(again.state, again.role..again.role + 1, model, layout);
        }
        while self.again.is_empty()
            && self.rows.len() < ROUND
            && self.moves < most
            && (self.next as usize) < self.store.len()
        {
            let state = self.next;
            self.next += 1;
            let roles = if reduced {
                let view = View { model, layout, words: &self.store.get(state) };
                best_role(&view, &[]).map_or(0..0, |role| role..role + 1)
            } else {
                0..model.role_count()
            };
            self.expand(state, roles, model, layout);
        }
    }

    fn expand(&mut self, state: u32, roles: Range<usize>, model: &Model, layout: &Layout) {
        self.store.read(state, &mut self.source);
        let view = View { model, layout, words: &self.source };
        self.chosen.clear();
        roles.for_each(|role| view.choose(role, &mut self.chosen));
        let owners = self.out.len();
        for &number in &self.chosen {
            let step = &model.moves[number as usize];
            let owner = match *self.source {
                // Most are one word: copying slices would cost more than the move.
                [source] => {
                    let mut target = [source];
                    layout.fire(&mut target, step);
                    let owner = owner(&target, owners);
                    self.out[owner].words.push(target[0]);
                    owner
                }
                _ => {
                    self.target.copy_from_slice(&self.source);
                    layout.fire(&mut self.target, step);
                    let owner = owner(&self.target, owners);
                    self.out[owner].words.extend_from_slice(&self.target);
                    owner
                }
            };
            if self.keep {
                self.fired.push((number, owner as u32));
            }
        }
        self.moves += self.chosen.len();
        self.rows.push((state, self.fired.len()));
    }

    /// Forgets what was fired in this round.
    fn forget(&mut self) {
        self.fired.clear();
        self.rows.clear();
        self.moves = 0;
    }

    /// Numbers what was sent here.
    fn receive(&mut self, width: usize) {
        for Batch { words, numbers } in &mut self.inbox {
            if width == 1 {
                self.store.intern_all(words, numbers);
                continue;
            }
            self.keys.clear();
            self.keys.extend(words.chunks(width).map(|words| self.store.fold(words)));
            self.store.intern_all(&self.keys, numbers);
        }
    }

    /// Writes the rows of the round before; a target is its number times the number of owners plus its owner.
    fn write_rows(&mut self) {
        self.transitions += self.moves;
        if !self.keep {
            self.forget();
            return;
        }
        let owners = self.out.len() as u32;
        let mut numbers: Vec<_> = self.out.iter().map(|batch| batch.numbers.iter()).collect();
        let mut fired = self.fired.iter();
        let mut from = 0;
        for &(state, end) in &self.rows {
            for &(number, owner) in fired.by_ref().take(end - from) {
                // INVARIANT: as many numbers came back from each owner as keys went there.
                let Some(target) = numbers[owner as usize].next() else { break };
                self.edges.push(number, target * owners + owner);
            }
            from = end;
            self.edges.close_row(state);
        }
        self.forget();
    }
}

/// Which thread owns a configuration: by the half of the hash that its store does not use. The first thread owns the
/// initial configuration, all zeros.
#[inline]
fn owner(words: &[u64], owners: usize) -> usize {
    let all = words.iter().fold(0_u64, |before, &word| hash(before.rotate_left(23) ^ word));
    (((all & u64::from(u32::MAX)) * owners as u64) >> u32::BITS) as usize
}

/// Explores TS_k, or its sound reduction, with as many threads as `limits` says.
pub(crate) fn explore_parallel<'m>(
    model: &'m Model,
    bound: u32,
    reduced: bool,
    limits: Limits<'_>,
    observer: &mut dyn Observer,
) -> Explored<'m> {
    let mut search = Search::new(model, bound, reduced, limits);
    let stopped = loop {
        // Within the pool one of its threads takes part: from outside, each step would wake two threads and wait for both.
        let rounds = rayon::scope(|_| {
            (1..TICK).try_for_each(|_| search.round().map_continue(|_| ()))?;
            search.round()
        });
        match rounds {
            ControlFlow::Continue(progress) => observer.progress(progress),
            ControlFlow::Break(stopped) => break stopped,
        }
    };
    let Search { mut shards, layout, .. } = search;
    shards.iter_mut().for_each(Shard::write_rows);
    let transitions = shards.iter().map(|shard| shard.transitions).sum();
    let parts = shards.into_iter().map(|shard| (shard.store, shard.edges)).collect();
    let graph = Graph::joined(model, layout, parts);
    Explored { graph: if limits.keep_edges { graph } else { graph.without_edges(transitions) }, stopped }
}

/// What the rounds of an exploration share.
struct Search<'m, 'l> {
    model: &'m Model,
    layout: Layout,
    bound: u32,
    reduced: bool,
    limits: Limits<'l>,
    shards: Vec<Shard>,
    proviso: Proviso,
    /// After how many words of successors a thread ends its round.
    words: usize,
}

impl<'m, 'l> Search<'m, 'l> {
    fn new(model: &'m Model, bound: u32, reduced: bool, limits: Limits<'l>) -> Self {
        let layout = Layout::new(model, bound);
        let threads = limits.threads.clamp(1, MAX_OWNERS);
        let shard = |_| Shard::new(model, &layout, threads, limits.keep_edges);
        let mut shards: Vec<Shard> = (0..threads).map(shard).collect();
        let initial = zeros(layout.width());
        shards[owner(&initial, threads)].store.intern(&initial);
        let proviso = Proviso::new(model.role_count(), threads);
        let words = (limits.memory / threads / PART).clamp(WORDS[0], WORDS[1]);
        Self { model, layout, bound, reduced, limits, shards, proviso, words }
    }

    /// Expands some configurations. Breaks when everything was seen, or with what ended the search before.
    fn round(&mut self) -> ControlFlow<Option<Stop>, Progress> {
        if self.shards.iter().all(Shard::idle) {
            match self.settle() {
                Some(true) => {}
                Some(false) => return ControlFlow::Break(None),
                None => return ControlFlow::Break(Some(Stop::Memory)),
            }
        }
        let (model, layout, reduced, words) = (self.model, &self.layout, self.reduced, self.words);
        each(&mut self.shards, |shard| {
            shard.write_rows();
            shard.generate(model, layout, reduced, words);
        });
        deliver(&mut self.shards, |shard| &mut shard.out, |shard| &mut shard.inbox);
        let memory = self.memory();
        if memory > self.limits.memory {
            self.shards.iter_mut().for_each(Shard::forget);
            return ControlFlow::Break(Some(Stop::Memory));
        }
        let width = self.layout.width();
        each(&mut self.shards, |shard| shard.receive(width));
        deliver(&mut self.shards, |shard| &mut shard.inbox, |shard| &mut shard.out);
        let progress = Progress {
            bound: self.bound,
            states: self.shards.iter().map(|shard| shard.store.len()).sum(),
            transitions: self.shards.iter().map(|shard| shard.transitions).sum(),
            memory,
        };
        match exceeded(&progress, &self.limits) {
            Some(stop) => ControlFlow::Break(Some(stop)),
            None => ControlFlow::Continue(progress),
        }
    }

    /// Bytes held by all.
    fn memory(&self) -> usize {
        let width = self.layout.width();
        self.shards.iter().map(|shard| shard.memory(width)).sum::<usize>() + self.proviso.memory()
    }

    /// Whether there is anything more to expand now that nothing waits; `None` if finding out needs more memory than is allowed.
    fn settle(&mut self) -> Option<bool> {
        self.shards.iter_mut().for_each(Shard::write_rows);
        if !self.reduced {
            return Some(false);
        }
        let room = self.limits.memory.saturating_sub(self.memory());
        let parts: Vec<Part<'_>> =
            self.shards.iter().map(|shard| Part { store: &shard.store, edges: &shard.edges }).collect();
        let again = self.proviso.settle(self.model, &self.layout, &parts, room)?;
        // Each shard takes its own from the last one on.
        again.into_iter().rev().for_each(|again| self.shards[again.part].again.push(again));
        Some(!self.shards.iter().all(Shard::idle))
    }
}

/// Moves the batch `from` has for each other to the place `to` has for it there.
fn deliver(
    shards: &mut [Shard],
    from: impl Fn(&mut Shard) -> &mut Vec<Batch>,
    to: impl Fn(&mut Shard) -> &mut Vec<Batch>,
) {
    for sender in 0..shards.len() {
        for receiver in 0..shards.len() {
            let batch = std::mem::take(&mut from(&mut shards[sender])[receiver]);
            to(&mut shards[receiver])[sender] = batch;
        }
    }
}

/// Does `work` for all shards at once, unless there is little of it.
fn each(shards: &mut [Shard], work: impl Fn(&mut Shard) + Send + Sync) {
    if shards.iter().map(Shard::waiting).sum::<usize>() < FEW {
        shards.iter_mut().for_each(work);
    } else {
        shards.par_iter_mut().with_max_len(1).for_each(work);
    }
}
