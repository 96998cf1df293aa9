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
    waits: Vec<Vec<u32>>,
    /// By name: what this one became; itself as long as it is open.
    became: Vec<u32>,
}

impl Proviso {
    pub(crate) fn new(roles: usize, parts: usize) -> Self {
        Self {
            words: roles.div_ceil(64).max(1),
            seen: vec![0; parts],
            extra: vec![0; parts],
            open: Vec::new(),
            waits: vec![Vec::new(); parts],
            became: Vec::new(),
        }
    }

    pub(crate) fn memory(&self) -> usize {
        self.waits.iter().map(|waits| waits.len() * 4).sum()
    }

    /// What must be expanded again now that everything in `parts` has been expanded. The caller expands these
    /// first, in this order, one row each, and then whatever is new.
    pub(crate) fn settle(&mut self, model: &Model, layout: &Layout, parts: &[Part<'_>]) -> Vec<Again> {
        if self.open.is_empty() && self.is_acyclic(parts) {
            return Vec::new();
        }
        let mut look = Look::new(self, model, layout, parts);
        look.run();
        let (open, of, resolved) = (look.open, look.of, look.resolved);
        let mut again = Vec::with_capacity(open.len());
        let base = narrow(self.became.len());
        let name = |resolution: u32| if resolution == CLOSED { CLOSED } else { base + resolution };
        if !open.is_empty() {
            let mut node = 0;
            for (at, part) in parts.iter().enumerate() {
                for _ in self.seen[at] as usize..part.store.len() {
                    self.waits[at].push(name(resolved[of[node] as usize]));
                    node += 1;
                }
            }
            for old in &self.open {
                self.became[old.name as usize] = name(resolved[of[node] as usize]);
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
        again
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
        let first = self.waits[part][state];
        let mut name = first;
        while name != CLOSED && self.became[name as usize] != name {
            name = self.became[name as usize];
        }
        // The next one to ask has a shorter way.
        self.waits[part][state] = name;
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
    stack: Vec<u32>,
    /// By component: what it waits for, an index of `open`.
    resolved: Vec<u32>,
    /// The components found open, and the role to be fired in each.
    open: Vec<(Open, usize)>,
}

const NO_COMPONENT: u32 = u32::MAX;

impl<'a> Look<'a> {
    fn new(proviso: &'a mut Proviso, model: &'a Model, layout: &'a Layout, parts: &'a [Part<'a>]) -> Self {
        let mut bases = vec![0];
        let mut nodes = 0;
        for (part, &seen) in parts.iter().zip(&proviso.seen) {
            nodes += part.store.len() - seen as usize;
            bases.push(nodes);
        }
        nodes += proviso.open.len();
        bases.push(nodes);
        let first_name = proviso.open.first().map_or(0, |open| open.name);
        Self {
            proviso,
            model,
            layout,
            parts,
            bases,
            first_name,
            of: vec![NO_COMPONENT; nodes],
            low: vec![0; nodes],
            stack: Vec::new(),
            resolved: Vec::new(),
            open: Vec::new(),
        }
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

    fn run(&mut self) {
        // Node, its part, the next of its edges and their end, depth-first number.
        let mut frames: Vec<(u32, usize, usize, usize, u32)> = Vec::new();
        let mut counter = 0_u32;
        for start in 0..narrow(self.of.len()) {
            if self.low[start as usize] != 0 {
                continue;
            }
            let mut entered = Some(start);
            loop {
                if let Some(node) = entered.take() {
                    counter += 1;
                    self.low[node as usize] = counter;
                    self.stack.push(node);
                    let (part, row) = self.row(node);
                    frames.push((node, part, row.start, row.end, counter));
                }
                let Some(frame) = frames.last_mut() else { break };
                let (node, part, number) = (frame.0 as usize, frame.1, frame.4);
                if frame.2 < frame.3 {
                    let target = self.parts[part].edges.target(frame.2);
                    frame.2 += 1;
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
                } else if let Some(below) = frames.last() {
                    let below = below.0 as usize;
                    self.low[below] = self.low[below].min(self.low[node]);
                }
            }
        }
    }

    /// The component whose first node is `root` is known: it is the end of the stack.
    fn complete(&mut self, root: usize) {
        let component = narrow(self.resolved.len());
        let from = self.stack.iter().rposition(|&node| node as usize == root).unwrap_or(0);
        for &node in &self.stack[from..] {
            self.of[node as usize] = component;
        }
        let resolution = match self.leads_to(component, from) {
            Some(resolution) => resolution,
            None => match self.ignoring(&self.stack[from..]) {
                Some(found) => {
                    self.open.push(found);
                    narrow(self.open.len() - 1)
                }
                None => CLOSED,
            },
        };
        self.stack.truncate(from);
        self.resolved.push(resolution);
    }

    /// What the edges that leave a component, the stack from `from` on, lead to: something closed if possible, else
    /// the least of what is waited for; `None` where no edge leaves.
    fn leads_to(&mut self, component: u32, from: usize) -> Option<u32> {
        let mut best: Option<u32> = None;
        for at in from..self.stack.len() {
            let (part, row) = self.row(self.stack[at]);
            for edge in row {
                let target = self.parts[part].edges.target(edge);
                let resolution = match self.node(target) {
                    Some(node) if self.of[node as usize] == component => continue,
                    Some(node) => self.resolved[self.of[node as usize] as usize],
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

    /// The component that no edge leaves, if it ignores a role, and that role. Its representative is the least
    /// configuration, whatever its number.
    fn ignoring(&self, members: &[u32]) -> Option<(Open, usize)> {
        let first_open = self.bases[self.parts.len()];
        let mut fired = vec![0_u64; self.proviso.words].into_boxed_slice();
        let mut least: Option<(usize, u32)> = None;
        for &node in members {
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
