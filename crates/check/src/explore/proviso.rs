//! No enabled role is ignored for ever: what the sound reduction does when nothing new is left to expand.
//!
//! A configuration is *closed* once it is known that every role enabled at it is fired somewhere it leads to
//! (the claim (N) of `docs/checking.md`). A strongly connected component that no edge leaves and in which some
//! enabled role is fired nowhere is *open*: that role is fired at a representative, and the search goes on from
//! there. What leads to a closed configuration is closed; what leads to nothing but open components waits for
//! one of them. An edge back to something that waits counts as an edge to what it waits for, so that a cycle
//! through earlier parts of the graph is seen for what it is, and no part is looked at twice.
//!
//! Nothing here depends on how configurations are numbered: however many threads share them, the same ones are
//! expanded.

use super::{View, best_role};
use crate::edges::Edges;
use crate::layout::Layout;
use crate::model::{Model, narrow};
use crate::segments::Segments;
use crate::store::{Store, Words};

/// The configurations and edges of one owner. The configuration `number` of part `p` of `n` is called
/// `number * n + p`, as the targets of edges are.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) store: &'a Store,
    pub(crate) edges: &'a Edges,
}

/// A role to be fired at a configuration that was expanded before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    pub(crate) part: usize,
    pub(crate) state: u32,
    pub(crate) role: usize,
}

/// What a configuration waits for once it is known to wait for nothing.
const CLOSED: u32 = u32::MAX;

/// A component that no edge leaves and that ignores a role.
#[derive(Clone, Debug)]
struct Open {
    part: usize,
    state: u32,
    /// The roles fired in it.
    fired: Box<[u64]>,
    /// The row in which the representative is expanded again.
    row: usize,
    /// Its number among all that were ever open.
    name: u32,
}

/// What is known between two looks at the graph.
#[derive(Debug)]
pub(crate) struct Proviso {
    words: usize,
    /// By part: how many configurations were looked at, and how many rows belong to second expansions.
    seen: Vec<u32>,
    extra: Vec<usize>,
    open: Vec<Open>,
    /// By part and configuration looked at: the name of what it waits for.
    waits: Vec<Segments<u32>>,
    /// By name: what this one became; itself as long as it is open.
    became: Vec<u32>,
    /// The most bytes that a look needed. What one thread gave back the others do not get: with several it counts as held.
    looked: usize,
}

impl Proviso {
    pub(crate) fn new(roles: usize, parts: usize) -> Self {
        Self {
            words: roles.div_ceil(64).max(1),
            seen: vec![0; parts],
            extra: vec![0; parts],
            open: Vec::new(),
            waits: vec![Segments::new(); parts],
            became: Vec::new(),
            looked: 0,
        }
    }

    pub(crate) fn memory(&self) -> usize {
        let waits: usize = self.waits.iter().map(Segments::memory).sum();
        let looked = if self.waits.len() > 1 { self.looked } else { 0 };
        looked + waits + self.became.capacity() * size_of::<u32>() + self.open.capacity() * OPEN
    }

    /// What must be expanded again now that everything in `parts` has been expanded. The caller expands these
    /// first, in this order, one row each, and then whatever is new. `None` if this needs more than `room` bytes.
    pub(crate) fn settle(
        &mut self,
        model: &Model,
        layout: &Layout,
        parts: &[Part<'_>],
        room: usize,
    ) -> Option<Vec<Again>> {
        if self.open.is_empty() && self.is_acyclic(parts) {
            return Some(Vec::new());
        }
        let room = room + if parts.len() > 1 { self.looked } else { 0 };
        let Found { open, of, resolved, needed } = Look::new(self, model, layout, parts, room)?.run()?;
        self.looked = self.looked.max(needed);
        if !open.is_empty() {
            let waits = of.len() * size_of::<u32>();
            let disorder: usize = parts.iter().map(|part| part.edges.disorder(part.store.len())).sum();
            if 2 * waits + resolved.memory() + 3 * open.len() * OPEN + disorder > room {
                return None;
            }
        }
        let mut again = Vec::with_capacity(open.len());
        let base = narrow(self.became.len());
        let name = |resolution: u32| if resolution == CLOSED { CLOSED } else { base + resolution };
        if !open.is_empty() {
            let mut node = 0;
            for (at, part) in parts.iter().enumerate() {
                for _ in self.seen[at] as usize..part.store.len() {
                    self.waits[at].push(name(resolved.get(of[node] as usize)));
                    node += 1;
                }
            }
            for old in &self.open {
                self.became[old.name as usize] = name(resolved.get(of[node] as usize));
                node += 1;
            }
        }
        for (at, part) in parts.iter().enumerate() {
            self.seen[at] = narrow(part.store.len());
        }
        self.open.clear();
        for (mut component, role) in open {
            let part = component.part;
            component.name = narrow(self.became.len());
            component.row = self.seen[part] as usize + self.extra[part];
            component.fired[role / 64] |= 1 << (role % 64);
            self.extra[part] += 1;
            self.became.push(component.name);
            again.push(Again { part, state: component.state, role });
            self.open.push(component);
        }
        Some(again)
    }

    /// Whether every edge leads to a larger number, as in a protocol that ends. (A configuration without edges
    /// has no enabled role.)
    fn is_acyclic(&self, parts: &[Part<'_>]) -> bool {
        let [part] = parts else { return false };
        let first = self.seen[0] as usize;
        (first..part.store.len()).all(|state| {
            part.edges.row(state + self.extra[0]).all(|edge| part.edges.target(edge) as usize > state)
        })
    }

    /// What a configuration that was looked at waits for.
    fn waits_for(&mut self, part: usize, state: usize) -> u32 {
        let first = self.waits[part].get(state);
        let mut name = first;
        while name != CLOSED && self.became[name as usize] != name {
            name = self.became[name as usize];
        }
        // The next one to ask has a shorter way.
        *self.waits[part].at_mut(state) = name;
        let mut at = first;
        while at != name {
            at = std::mem::replace(&mut self.became[at as usize], name);
        }
        name
    }
}

/// One look: strongly connected components (Tarjan, without recursion) of what is new and what is open. A node
/// is a new configuration, part by part, or an open component.
struct Look<'a> {
    proviso: &'a mut Proviso,
    model: &'a Model,
    layout: &'a Layout,
    parts: &'a [Part<'a>],
    /// By part, the node of its first new configuration; then that of the first open component; then the end.
    bases: Vec<usize>,
    /// By name, from the first that is open now: its node.
    first_name: u32,
    /// The component of each node.
    of: Vec<u32>,
    low: Vec<u32>,
    stack: Segments<u32>,
    /// By component: what it waits for, an index of `open`.
    resolved: Segments<u32>,
    /// The components found open, and the role to be fired in each.
    open: Vec<(Open, usize)>,
    /// Bytes left for what grows.
    room: usize,
}

/// What a look has found.
struct Found {
    /// As in the look.
    open: Vec<(Open, usize)>,
    of: Vec<u32>,
    resolved: Segments<u32>,
    /// The most bytes that it needed.
    needed: usize,
}

/// Bytes of an open component.
const OPEN: usize = size_of::<(Open, usize)>() + 16;

/// How many nodes are entered between two looks at the memory.
const TICK: u32 = 1 << 12;

const NO_COMPONENT: u32 = u32::MAX;

impl<'a> Look<'a> {
    /// `None` if more than `room` bytes are needed.
    fn new(
        proviso: &'a mut Proviso,
        model: &'a Model,
        layout: &'a Layout,
        parts: &'a [Part<'a>],
        room: usize,
    ) -> Option<Self> {
        let mut bases = vec![0];
        let mut nodes = 0;
        for (part, &seen) in parts.iter().zip(&proviso.seen) {
            nodes += part.store.len() - seen as usize;
            bases.push(nodes);
        }
        nodes += proviso.open.len();
        bases.push(nodes);
        let first_name = proviso.open.first().map_or(0, |open| open.name);
        let room = room.checked_sub(nodes * 2 * size_of::<u32>())?;
        Some(Self {
            proviso,
            model,
            layout,
            parts,
            bases,
            first_name,
            of: vec![NO_COMPONENT; nodes],
            low: vec![0; nodes],
            stack: Segments::new(),
            resolved: Segments::new(),
            open: Vec::new(),
            room,
        })
    }

    /// The part and row of a node.
    fn row(&self, node: u32) -> (usize, std::ops::Range<usize>) {
        let node = node as usize;
        let open = self.bases[self.parts.len()];
        if node >= open {
            let open = &self.proviso.open[node - open];
            return (open.part, self.parts[open.part].edges.row(open.row));
        }
        let (part, state) = self.place(node);
        (part, self.parts[part].edges.row(state as usize + self.proviso.extra[part]))
    }

    /// The part and number of a node that is a configuration.
    fn place(&self, node: usize) -> (usize, u32) {
        let part =
            if self.parts.len() == 1 { 0 } else { self.bases.partition_point(|&base| base <= node) - 1 };
        (part, narrow(node - self.bases[part]) + self.proviso.seen[part])
    }

    /// The node an edge leads to; `None` where that is closed.
    fn node(&mut self, target: u32) -> Option<u32> {
        let owners = narrow(self.parts.len());
        let (part, state) = ((target % owners) as usize, target / owners);
        let seen = self.proviso.seen[part];
        if state >= seen {
            return Some(narrow(self.bases[part]) + state - seen);
        }
        let name = self.proviso.waits_for(part, state as usize);
        (name != CLOSED).then(|| narrow(self.bases[self.parts.len()]) + name - self.first_name)
    }

    fn run(mut self) -> Option<Found> {
        // Node, how many of its edges were followed, depth-first number.
        let mut frames: Segments<(u32, u32, u32)> = Segments::new();
        let mut counter = 0_u32;
        for start in 0..narrow(self.of.len()) {
            if self.low[start as usize] != 0 {
                continue;
            }
            let mut entered = Some(start);
            loop {
                if let Some(node) = entered.take() {
                    counter += 1;
                    if counter.is_multiple_of(TICK) && self.grown() + frames.memory() > self.room {
                        return None;
                    }
                    self.low[node as usize] = counter;
                    self.stack.push(node);
                    frames.push((node, 0, counter));
                }
                let Some(top) = frames.len().checked_sub(1) else { break };
                let frame = frames.at_mut(top);
                let (part, row) = self.row(frame.0);
                let (node, edge, number) = (frame.0 as usize, row.start + frame.1 as usize, frame.2);
                if edge < row.end {
                    let target = self.parts[part].edges.target(edge);
                    frame.1 += 1;
                    let Some(target) = self.node(target) else { continue };
                    if self.low[target as usize] == 0 {
                        entered = Some(target);
                    } else if self.of[target as usize] == NO_COMPONENT {
                        self.low[node] = self.low[node].min(self.low[target as usize]);
                    }
                    continue;
                }
                frames.pop();
                if self.low[node] == number {
                    self.complete(node);
                } else if top > 0 {
                    let below = frames.get(top - 1).0 as usize;
                    self.low[below] = self.low[below].min(self.low[node]);
                }
            }
        }
        let needed = self.of.len() * 2 * size_of::<u32>() + self.grown() + frames.memory();
        Some(Found { open: self.open, of: self.of, resolved: self.resolved, needed })
    }

    /// Bytes held by what grows.
    fn grown(&self) -> usize {
        self.stack.memory() + self.resolved.memory() + 3 * self.open.len() * OPEN
    }

    /// The component whose first node is `root` is known: it is the end of the stack.
    fn complete(&mut self, root: usize) {
        let component = narrow(self.resolved.len());
        let from = (0..self.stack.len()).rfind(|&at| self.stack.get(at) as usize == root).unwrap_or(0);
        for at in from..self.stack.len() {
            self.of[self.stack.get(at) as usize] = component;
        }
        let resolution = match self.leads_to(component, from) {
            Some(resolution) => resolution,
            None => match self.ignoring(from) {
                Some(found) => {
                    self.open.push(found);
                    narrow(self.open.len() - 1)
                }
                None => CLOSED,
            },
        };
        (from..self.stack.len()).for_each(|_| _ = self.stack.pop());
        self.resolved.push(resolution);
    }

    /// What the edges that leave a component, the stack from `from` on, lead to: something closed if possible, else
    /// the least of what is waited for; `None` where no edge leaves.
    fn leads_to(&mut self, component: u32, from: usize) -> Option<u32> {
        let mut best: Option<u32> = None;
        for at in from..self.stack.len() {
            let (part, row) = self.row(self.stack.get(at));
            for edge in row {
                let target = self.parts[part].edges.target(edge);
                let resolution = match self.node(target) {
                    Some(node) if self.of[node as usize] == component => continue,
                    Some(node) => self.resolved.get(self.of[node as usize] as usize),
                    None => CLOSED,
                };
                if resolution == CLOSED {
                    return Some(CLOSED);
                }
                let less = |known: u32| self.key(resolution) < self.key(known);
                if best.is_none_or(less) {
                    best = Some(resolution);
                }
            }
        }
        best
    }

    fn key(&self, open: u32) -> Words {
        let (open, _) = &self.open[open as usize];
        self.parts[open.part].store.get(open.state)
    }

    /// The component that no edge leaves, the stack from `from` on, if it ignores a role, and that role. Its
    /// representative is the least configuration, whatever its number.
    fn ignoring(&self, from: usize) -> Option<(Open, usize)> {
        let first_open = self.bases[self.parts.len()];
        let mut fired = vec![0_u64; self.proviso.words].into_boxed_slice();
        let mut least: Option<(usize, u32)> = None;
        for node in (from..self.stack.len()).map(|at| self.stack.get(at)) {
            let place = if node as usize >= first_open {
                let open = &self.proviso.open[node as usize - first_open];
                fired.iter_mut().zip(&open.fired).for_each(|(all, own)| *all |= own);
                (open.part, open.state)
            } else {
                let (part, row) = self.row(node);
                if let Some(edge) = row.into_iter().next() {
                    let role = self.model.moves[self.parts[part].edges.label(edge) as usize].role as usize;
                    fired[role / 64] |= 1 << (role % 64);
                }
                self.place(node as usize)
            };
            let words = |(part, state): (usize, u32)| self.parts[part].store.get(state);
            if least.is_none_or(|known| words(place) < words(known)) {
                least = Some(place);
            }
        }
        let (part, state) = least?;
        let words = self.parts[part].store.get(state);
        let view = View { model: self.model, layout: self.layout, words: &words };
        let role = best_role(&view, &fired)?;
        Some((Open { part, state, fired, row: 0, name: 0 }, role))
    }
}
