//! TS_k, or its sound reduction, by several threads: each owns the configurations whose hash falls to it.
//!
//! Work goes in rounds of three steps, each a step of all threads at once: generate the successors of some of
//! one's own configurations and sort them by owner; intern what the others sent; put the numbers that come
//! back into one's rows. Nothing is shared but what is handed over between steps, so there are no locks.
//! Configurations are numbered by owner at the end; which numbers they get depends on the number of threads,
//! what is found does not.

use super::proviso::{Again, Part, Proviso};
use super::{Explored, Limits, Observer, Progress, View, best_role, exceeded};
use crate::graph::{Edges, Graph};
use crate::layout::Layout;
use crate::model::Model;
use crate::store::Store;

/// How many configurations a thread expands in one round.
const ROUND: usize = 1 << 14;

/// Rounds of fewer configurations are not worth starting threads.
const FEW: usize = 1 << 10;

/// Successors on their way to their owner.
#[derive(Debug, Default)]
struct Parcel {
    keys: Vec<u64>,
    hashes: Vec<u64>,
}

/// What one thread owns.
struct Shard {
    store: Store,
    edges: Edges,
    /// The next of its configurations to expand.
    next: u32,
    /// What it expands again before that.
    again: Vec<Again>,
    /// Per owner: what goes there.
    out: Vec<Parcel>,
    /// For each move fired in this round: its number and the owner of what it reached.
    fired: Vec<(u32, u32)>,
    /// Each configuration expanded in this round and where its moves end in `fired`.
    rows: Vec<(u32, usize)>,
    /// Per owner: the numbers that came back.
    numbers: Vec<Vec<u32>>,
    /// Where a successor is made.
    key: Vec<u64>,
}

impl Shard {
    fn new(model: &Model, width: usize, threads: usize) -> Self {
        Self {
            store: Store::new(width),
            edges: Edges::new(model.moves.len()),
            next: 0,
            again: Vec::new(),
            out: (0..threads).map(|_| Parcel::default()).collect(),
            fired: Vec::new(),
            rows: Vec::new(),
            numbers: Vec::new(),
            key: Vec::with_capacity(width),
        }
    }

    fn idle(&self) -> bool {
        self.again.is_empty() && self.next as usize == self.store.len()
    }

    fn generate(&mut self, model: &Model, layout: &Layout, reduced: bool) {
        self.fired.clear();
        self.rows.clear();
        for again in std::mem::take(&mut self.again) {
            self.expand(again.state, again.role..again.role + 1, model, layout);
        }
        // What is expanded again comes first, in rows of its own: see `proviso.rs`.
        if !self.rows.is_empty() {
            return;
        }
        while self.rows.len() < ROUND && !self.idle() {
            let state = self.next;
            self.next += 1;
            let roles = if reduced {
                let view = View { model, layout, words: self.store.get(state) };
                best_role(&view, &[]).map_or(0..0, |role| role..role + 1)
            } else {
                0..model.role_count()
            };
            self.expand(state, roles, model, layout);
        }
    }

    fn expand(&mut self, state: u32, roles: std::ops::Range<usize>, model: &Model, layout: &Layout) {
        let owners = self.out.len();
        let source = self.store.get(state);
        let view = View { model, layout, words: source };
        for role in roles {
            for &number in view.enabled(role).flatten() {
                self.key.clear();
                self.key.extend_from_slice(source);
                layout.fire(&mut self.key, &model.moves[number as usize]);
                let hash = Store::hash(&self.key);
                let owner = owner(hash, owners);
                self.out[owner].keys.extend_from_slice(&self.key);
                self.out[owner].hashes.push(hash);
                self.fired.push((number, owner as u32));
            }
        }
        self.rows.push((state, self.fired.len()));
    }

    /// The numbers of what each sender sent, in its order.
    fn receive(&mut self, parcels: &[Parcel], width: usize) -> Vec<Vec<u32>> {
        parcels
            .iter()
            .map(|parcel| {
                let mut numbers = Vec::with_capacity(parcel.hashes.len());
                for from in (0..parcel.hashes.len()).step_by(super::WARM) {
                    let hashes = &parcel.hashes[from..parcel.hashes.len().min(from + super::WARM)];
                    self.store.warm(hashes);
                    for (index, &hash) in hashes.iter().enumerate() {
                        let at = (from + index) * width;
                        numbers.push(self.store.intern_hashed(&parcel.keys[at..at + width], hash).0);
                    }
                }
                numbers
            })
            .collect()
    }

    /// Writes the rows of this round; a target is its number times the number of owners plus its owner.
    fn write_rows(&mut self) {
        let owners = self.out.len() as u32;
        let mut taken = vec![0; self.out.len()];
        let mut from = 0;
        for &(state, end) in &self.rows {
            for &(number, owner) in &self.fired[from..end] {
                let at = &mut taken[owner as usize];
                self.edges.push(number, self.numbers[owner as usize][*at] * owners + owner);
                *at += 1;
            }
            from = end;
            self.edges.close_row(state);
        }
    }
}

/// Which thread owns a configuration: bits of the hash that its store does not use first.
fn owner(hash: u64, owners: usize) -> usize {
    (hash as u32 >> 7) as usize % owners
}

/// Explores TS_k, or its sound reduction, with as many threads as `limits` says.
pub(crate) fn explore_parallel<'m>(
    model: &'m Model,
    bound: u32,
    reduced: bool,
    limits: Limits<'_>,
    observer: &mut dyn Observer,
) -> Explored<'m> {
    let layout = Layout::new(model, bound);
    let (width, threads) = (layout.width(), limits.threads.max(1));
    let mut shards: Vec<Shard> = (0..threads).map(|_| Shard::new(model, width, threads)).collect();
    let initial = vec![0; width];
    let first = owner(Store::hash(&initial), threads);
    shards[first].store.intern(&initial);
    let mut proviso = Proviso::new(model.role_count(), threads);
    let mut stopped = None;
    while stopped.is_none() {
        if shards.iter().all(Shard::idle) {
            let parts: Vec<Part<'_>> =
                shards.iter().map(|shard| Part { store: &shard.store, edges: &shard.edges }).collect();
            let again = if reduced { proviso.settle(model, &layout, &parts) } else { Vec::new() };
            if again.is_empty() {
                break;
            }
            again.into_iter().for_each(|again| shards[again.part].again.push(again));
        }
        each(&mut shards, |shard| shard.generate(model, &layout, reduced));
        // From each sender to each owner: turn the table round.
        let mut parcels: Vec<Vec<Parcel>> = (0..threads).map(|_| Vec::new()).collect();
        for shard in &mut shards {
            for (owner, parcel) in shard.out.iter_mut().enumerate() {
                parcels[owner].push(std::mem::take(parcel));
            }
        }
        let mut answers = Vec::new();
        let few = shards.iter().map(|shard| shard.rows.len()).sum::<usize>() < FEW;
        std::thread::scope(|scope| {
            if few {
                let each = shards.iter_mut().zip(&parcels);
                answers.extend(each.map(|(shard, parcels)| shard.receive(parcels, width)));
                return;
            }
            let running: Vec<_> = shards
                .iter_mut()
                .zip(&parcels)
                .map(|(shard, parcels)| scope.spawn(|| shard.receive(parcels, width)))
                .collect();
            answers.extend(running.into_iter().map(|thread| thread.join().unwrap_or_default()));
        });
        for (sender, shard) in shards.iter_mut().enumerate() {
            shard.numbers =
                answers.iter_mut().map(|to: &mut Vec<Vec<u32>>| std::mem::take(&mut to[sender])).collect();
        }
        each(&mut shards, Shard::write_rows);
        let progress = Progress {
            bound,
            states: shards.iter().map(|shard| shard.store.len()).sum(),
            transitions: shards.iter().map(|shard| shard.edges.len()).sum(),
            memory: shards.iter().map(|shard| shard.store.memory() + shard.edges.memory()).sum(),
        };
        stopped = exceeded(&progress, &limits);
        observer.progress(progress);
    }
    shards.rotate_left(first);
    let parts = shards.into_iter().map(|shard| (shard.store, shard.edges)).collect();
    Explored { graph: Graph::joined(model, layout, parts, first), stopped }
}

fn each(shards: &mut [Shard], work: impl Fn(&mut Shard) + Sync) {
    if shards.iter().map(|shard| shard.store.len() - shard.next as usize).sum::<usize>() < FEW {
        return shards.iter_mut().for_each(work);
    }
    std::thread::scope(|scope| {
        for shard in shards {
            scope.spawn(|| work(shard));
        }
    });
}
