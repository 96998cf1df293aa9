//! Loops that no `rec` stands for.
//!
//! A choice that begins with `continue X` is a choice between the first messages of `X`; what follows such a
//! message leads back to the choice itself. Global types know only loops through definitions and calls, so
//! here a definition is put around the place where such a loop begins, and the way back becomes a call.
//!
//! The graph is unfolded along its paths: a node met again on its own path is a call. What two paths share
//! stays shared where it means the same, that is, where the same definitions of its loop are around it.

use std::rc::Rc;
use std::sync::Arc;

use referee_theory::global::{Call, Exchange, Rec};
use referee_theory::{Global, GlobalTypeBuilder, NodeId, Origin};
use rustc_hash::{FxHashMap, FxHashSet};

/// The graph from `start` on without loops but through calls. `None`: it would have more than `limit` nodes.
pub(super) fn untie(
    builder: GlobalTypeBuilder,
    start: NodeId,
    limit: usize,
) -> Option<(GlobalTypeBuilder, NodeId)> {
    let heads = heads(&builder, start);
    if !heads.contains(&true) {
        return Some((builder, start));
    }
    let components = components(&builder, start);
    let mut knots = Knots {
        old: &builder,
        components,
        heads,
        new: GlobalTypeBuilder::new(),
        placed: FxHashMap::default(),
        pending: Vec::new(),
        called: FxHashSet::default(),
    };
    let start = knots.place(start, None, Origin::NONE);
    let mut added = Vec::new();
    while let Some((node, at, around)) = knots.pending.pop() {
        if knots.new.node_count() > limit {
            return None;
        }
        added.extend(knots.unfold(node, at, around));
    }
    let Knots { mut new, called, .. } = knots;
    for (definition, body) in added {
        // Nothing led back here after all.
        if !called.contains(&definition)
            && let Some(content) = new.get(body).cloned()
        {
            new.set(definition, content);
        }
    }
    Some((new, start))
}

/// The definitions around a place, innermost first.
type Around = Option<Rc<Definition>>;

struct Definition {
    old: NodeId,
    new: NodeId,
    outer: Around,
}

struct Knots<'a> {
    old: &'a GlobalTypeBuilder,
    /// Nodes that lead to each other, by jumps too, have the same number.
    components: Vec<usize>,
    /// Where loops without a jump begin: every such loop passes one of these.
    heads: Vec<bool>,
    new: GlobalTypeBuilder,
    placed: FxHashMap<(NodeId, Vec<NodeId>), NodeId>,
    pending: Vec<(NodeId, NodeId, Around)>,
    called: FxHashSet<NodeId>,
}

impl Knots<'_> {
    /// What `node` becomes where these definitions are around it.
    fn place(&mut self, node: NodeId, around: Around, origin: Origin) -> NodeId {
        let arguments = match self.old.get(node) {
            None | Some(Global::End) => return self.new.end(),
            Some(Global::Join(_)) => return self.new.join(),
            // It is entered anew: with the values it has on entry.
            Some(Global::Rec(rec)) => rec.parameters.iter().map(|p| Arc::clone(&p.initial)).collect(),
            Some(_) => Vec::new(),
        };
        if let Some(target) = self.find(node, &around) {
            self.called.insert(target);
            return self.new.add(Global::Call(Call { target, arguments, origin }));
        }
        let key = (node, self.relevant(node, &around));
        if let Some(&placed) = self.placed.get(&key) {
            return placed;
        }
        let new = self.new.reserve();
        self.placed.insert(key, new);
        self.pending.push((node, new, around));
        new
    }

    /// Gives `at` the content of `node`. Returns the definition that was added, and its body.
    fn unfold(&mut self, node: NodeId, at: NodeId, around: Around) -> Option<(NodeId, NodeId)> {
        let inside = |new| Some(Rc::new(Definition { old: node, new, outer: around.clone() }));
        let old = self.old;
        match old.get(node)? {
            Global::End | Global::Join(_) => None,
            Global::Par(par) => {
                // A branch begins with no `par`, so no loop without a jump begins there.
                let mut copy = par.clone();
                for part in copy.blocks.iter_mut().chain([&mut copy.next]) {
                    *part = self.place(*part, around.clone(), par.origin);
                }
                self.new.set(at, Global::Par(copy));
                None
            }
            Global::Exchange(exchange) if self.heads[node.index()] => {
                let body = self.new.reserve();
                let (name, origin) = ("Loop".into(), exchange.origin);
                let rec = Rec { name, level: 0, parameters: Vec::new(), body, origin };
                self.new.set(at, Global::Rec(rec));
                self.exchange(exchange, body, &inside(at));
                Some((at, body))
            }
            Global::Exchange(exchange) => {
                self.exchange(exchange, at, &around);
                None
            }
            Global::Rec(rec) => {
                let body = self.place(rec.body, inside(at), rec.origin);
                self.new.set(at, Global::Rec(Rec { body, ..rec.clone() }));
                None
            }
            Global::Call(call) => {
                match self.find(call.target, &around) {
                    Some(target) => {
                        self.called.insert(target);
                        self.new.set(at, Global::Call(Call { target, ..call.clone() }));
                    }
                    // Jumps stand inside what they jump to; if one did not, what it means would be there.
                    None => self.pending.push((call.target, at, around)),
                }
                None
            }
        }
    }

    fn exchange(&mut self, exchange: &Exchange, at: NodeId, around: &Around) {
        let mut copy = exchange.clone();
        for branch in &mut copy.branches {
            branch.next = self.place(branch.next, around.clone(), branch.origin);
        }
        self.new.set(at, Global::Exchange(copy));
    }

    /// The definitions around that `node` can jump to, innermost first. Those of its component are the
    /// innermost ones: a path that has left a component does not come back.
    fn of_component<'d>(&self, node: NodeId, around: &'d Around) -> impl Iterator<Item = &'d Definition> {
        let component = self.components[node.index()];
        let all = std::iter::successors(around.as_deref(), |definition| definition.outer.as_deref());
        let components = &self.components;
        let inner: Vec<&Definition> =
            all.take_while(|definition| components[definition.old.index()] == component).collect();
        inner.into_iter()
    }

    fn find(&self, node: NodeId, around: &Around) -> Option<NodeId> {
        self.of_component(node, around).find(|definition| definition.old == node).map(|d| d.new)
    }

    fn relevant(&self, node: NodeId, around: &Around) -> Vec<NodeId> {
        self.of_component(node, around).map(|definition| definition.new).collect()
    }
}

/// The nodes that some path without jumps comes back to, found by walking all paths once.
fn heads(builder: &GlobalTypeBuilder, start: NodeId) -> Vec<bool> {
    let count = builder.node_count();
    let (mut heads, mut seen, mut on_path) = (vec![false; count], vec![false; count], vec![false; count]);
    let mut steps = vec![(start, false)];
    while let Some((node, leave)) = steps.pop() {
        let index = node.index();
        if leave {
            on_path[index] = false;
        } else if on_path[index] {
            heads[index] = true;
        } else if !std::mem::replace(&mut seen[index], true) {
            on_path[index] = true;
            steps.push((node, true));
            if let Some(content) = builder.get(node) {
                content.for_each_child(|child| steps.push((child, false)));
            }
        }
    }
    heads
}

/// The strongly connected components of what `start` leads to, by jumps too, one number for each (Tarjan's
/// algorithm, with a stack of its own).
fn components(builder: &GlobalTypeBuilder, start: NodeId) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let count = builder.node_count();
    let (mut order, mut low, mut of) = (vec![UNSEEN; count], vec![UNSEEN; count], vec![UNSEEN; count]);
    let (mut found, mut open, mut next) = (0, Vec::new(), 0);
    let successors = |node: usize| {
        let mut successors = Vec::new();
        match builder.get(NodeId(u32::try_from(node).unwrap_or(u32::MAX))) {
            Some(Global::Call(call)) => successors.push(call.target.index()),
            Some(content) => content.for_each_child(|child| successors.push(child.index())),
            None => {}
        }
        successors
    };
    let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut enter = Some(start.index());
    loop {
        if let Some(node) = enter.take() {
            (order[node], low[node]) = (next, next);
            next += 1;
            open.push(node);
            path.push((node, successors(node)));
        }
        let Some((node, left)) = path.last_mut() else { break };
        let node = *node;
        match left.pop() {
            Some(child) if order[child] == UNSEEN => enter = Some(child),
            Some(child) if of[child] == UNSEEN => low[node] = low[node].min(order[child]),
            Some(_) => {}
            None => {
                path.pop();
                if let Some((parent, _)) = path.last() {
                    low[*parent] = low[*parent].min(low[node]);
                }
                if low[node] == order[node] {
                    let first = open.iter().rposition(|member| *member == node).unwrap_or(0);
                    for member in &open[first..] {
                        of[*member] = found;
                    }
                    found += 1;
                    open.truncate(first);
                }
            }
        }
    }
    of
}
