//! `par`: blocks side by side, what makes them ill formed, and which block each node belongs to
//! (`docs/concurrency.md`, section 1).
//!
//! Whoever builds a type may share nodes between blocks. A finished type does not: each block has nodes of its own, so that the end
//! of a block ([`Global::Join`]) knows its `par`.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::{BlockId, Global, GlobalError, GlobalType, NodeId, id};
use crate::vocabulary::{Origin, Vocabulary};

/// How deep blocks may be nested: a role that is in two blocks of each has 2ⁿ states.
pub const MAX_PAR_DEPTH: usize = 32;

/// So many nodes there may be when every block has its own.
const MAX_NODES: usize = 1 << 22;

/// `par { … } and { … }`: the blocks interleave freely, and `next` follows when all are over. Each role goes on when its own parts are.
#[derive(Clone, Debug)]
pub struct Par {
    /// Where each block starts.
    pub blocks: Vec<NodeId>,
    /// What follows.
    pub next: NodeId,
    /// The `par` in the text.
    pub origin: Origin,
}

/// Nowhere in particular: outside every block.
const OUTSIDE: usize = 0;

/// A block that nodes are copied for.
struct Context {
    /// Its `par`, among the copies.
    par: NodeId,
    origin: Origin,
    around: usize,
    depth: usize,
}

/// Gives every block nodes of its own. Returns the new root.
pub(super) fn separate(nodes: &mut Vec<Global>, root: NodeId, errors: &mut Vec<GlobalError>) -> NodeId {
    let outside = Context { par: NodeId(0), origin: Origin::NONE, around: OUTSIDE, depth: 0 };
    let mut contexts = vec![outside];
    let mut copies: FxHashMap<(NodeId, usize), NodeId> = FxHashMap::default();
    let mut new: Vec<Global> = Vec::new();
    let mut pending = Vec::new();
    let mut place = |node: NodeId, context: usize, new: &mut Vec<Global>, pending: &mut Vec<_>| {
        *copies.entry((node, context)).or_insert_with(|| {
            new.push(Global::End);
            pending.push((node, context, new.len() - 1));
            id(new.len() - 1)
        })
    };
    let start = place(root, OUTSIDE, &mut new, &mut pending);
    let mut calls = Vec::new();
    while let Some((old, context, at)) = pending.pop() {
        let mut content = nodes[old.index()].clone();
        match &mut content {
            // The end is the end of the block that it is reached in, or of the whole.
            Global::End | Global::Join(_) if context == OUTSIDE => content = Global::End,
            Global::End | Global::Join(_) => content = Global::Join(contexts[context].par),
            Global::Call(call) => calls.push((call.target, context, at)),
            Global::Par(par) => {
                let depth = contexts[context].depth + 1;
                if depth > MAX_PAR_DEPTH || new.len() > MAX_NODES {
                    errors.push(GlobalError::ParTooLarge { par: par.origin });
                    return start;
                }
                for block in &mut par.blocks {
                    contexts.push(Context { par: id(at), origin: par.origin, around: context, depth });
                    *block = place(*block, contexts.len() - 1, &mut new, &mut pending);
                }
                par.next = place(par.next, context, &mut new, &mut pending);
            }
            other => other.for_each_child_mut(|child| {
                *child = place(*child, context, &mut new, &mut pending);
            }),
        }
        new[at] = content;
    }
    for (target, context, at) in calls {
        let Global::Call(call) = &mut new[at] else { continue };
        if let Some(&copy) = copies.get(&(target, context)) {
            call.target = copy;
            continue;
        }
        let origin = call.origin;
        let around = std::iter::successors(Some(context), |context| match *context {
            OUTSIDE => None,
            inside => Some(contexts[inside].around),
        });
        let leaves = around.skip(1).any(|outer| copies.contains_key(&(target, outer)));
        errors.push(if leaves {
            GlobalError::LeavesBlock { call: origin, par: contexts[context].origin }
        } else {
            GlobalError::Unbound { call: origin }
        });
        new[at] = Global::End;
    }
    *nodes = new;
    start
}

/// For each node, the innermost block around it.
pub(super) fn blocks(nodes: &[Global], root: NodeId) -> Vec<Option<BlockId>> {
    let mut blocks = vec![None; nodes.len()];
    let mut seen = vec![false; nodes.len()];
    let mut pending = vec![(root, None)];
    while let Some((node, block)) = pending.pop() {
        if std::mem::replace(&mut seen[node.index()], true) {
            continue;
        }
        blocks[node.index()] = block;
        match &nodes[node.index()] {
            Global::Par(par) => {
                pending.extend(
                    par.blocks.iter().enumerate().map(|(index, start)| (*start, Some((node, index)))),
                );
                pending.push((par.next, block));
            }
            other => other.for_each_child(|child| pending.push((child, block))),
        }
    }
    blocks
}

/// Rules P1, P5 and P7.
pub(super) fn check(
    nodes: &[Global],
    blocks: &[Option<BlockId>],
    vocabulary: &Vocabulary,
    errors: &mut Vec<GlobalError>,
) {
    let around = |node: NodeId| {
        let of = |node: NodeId| blocks[node.index()];
        std::iter::successors(of(node), move |(par, _)| of(*par))
    };
    let place_of = |par: NodeId| match &nodes[par.index()] {
        Global::Par(par) => par.origin,
        _ => Origin::NONE,
    };
    let mut used = FxHashMap::default();
    for (index, node) in nodes.iter().enumerate() {
        match node {
            Global::Exchange(exchange) => {
                for branch in &exchange.branches {
                    let label = vocabulary.label(branch.message);
                    let channel = (exchange.sender, branch.receiver);
                    for (par, block) in around(id(index)) {
                        match used.entry((channel, label, par)) {
                            Entry::Vacant(entry) => {
                                entry.insert((block, branch.origin));
                            }
                            Entry::Occupied(entry) if entry.get().0 == block => {}
                            Entry::Occupied(entry) => {
                                let (first, second) = (entry.get().1, branch.origin);
                                let par = place_of(par);
                                let error =
                                    GlobalError::LabelInTwoBlocks { label, channel, first, second, par };
                                errors.push(error);
                                break;
                            }
                        }
                    }
                }
            }
            Global::Par(par) => {
                for (block, start) in par.blocks.iter().enumerate() {
                    if is_empty(nodes, *start) {
                        errors.push(GlobalError::EmptyBlock { par: par.origin, block });
                    }
                }
            }
            Global::End | Global::Rec(_) | Global::Call(_) | Global::Join(_) => {}
        }
    }
    let ends = can_end(nodes);
    let goes_on = |par: NodeId| match &nodes[par.index()] {
        Global::Par(par) => !matches!(nodes[par.next.index()], Global::End | Global::Join(_)),
        _ => false,
    };
    let mut told = rustc_hash::FxHashSet::default();
    for (index, node) in nodes.iter().enumerate().filter(|(index, _)| !ends[*index]) {
        let Global::Exchange(exchange) = node else { continue };
        if let Some((par, _)) = around(id(index)).find(|(par, _)| goes_on(*par))
            && told.insert(par)
        {
            errors.push(GlobalError::NeverJoins { par: place_of(par), place: exchange.origin });
        }
    }
}

impl GlobalType {
    /// A message from where the protocol, or the block around the message, cannot come to its end, if there is one.
    #[must_use]
    pub fn never_ends(&self) -> Option<Origin> {
        let ends = can_end(&self.nodes);
        self.exchanges().find(|(node, _)| !ends[node.index()]).map(|(_, exchange)| exchange.origin)
    }
}

/// Whether a block that starts there has no message.
fn is_empty(nodes: &[Global], mut node: NodeId) -> bool {
    loop {
        match &nodes[node.index()] {
            Global::Rec(rec) => node = rec.body,
            Global::Join(_) | Global::End => return true,
            Global::Exchange(_) | Global::Call(_) | Global::Par(_) => return false,
        }
    }
}

/// For each node, whether the block it belongs to, or the whole outside of blocks, can come to its end from there.
fn can_end(nodes: &[Global]) -> Vec<bool> {
    let mut before: Vec<Vec<NodeId>> = vec![Vec::new(); nodes.len()];
    let mut pending = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        match node {
            Global::End | Global::Join(_) => pending.push(id(index)),
            Global::Call(call) => before[call.target.index()].push(id(index)),
            Global::Par(par) => before[par.next.index()].push(id(index)),
            Global::Exchange(_) | Global::Rec(_) => {
                node.for_each_child(|child| before[child.index()].push(id(index)));
            }
        }
    }
    let mut ends = vec![false; nodes.len()];
    while let Some(node) = pending.pop() {
        if !std::mem::replace(&mut ends[node.index()], true) {
            pending.extend(&before[node.index()]);
        }
    }
    ends
}
