//! Building global types, and what makes one ill formed before any projection is tried.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Branch, Call, Exchange, Global, GlobalType, NodeId, Par, Rec, id, order, par};
use crate::data::Data;
use crate::vocabulary::{Label, Origin, Role, Vocabulary};

/// How many recursive definitions may depend on one another, each on all around it.
pub const MAX_LEVEL: u32 = 255;

/// Why a global type is ill formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GlobalError {
    /// A recursive call is reached from its definition without any exchange in between.
    Unguarded {
        /// The definition.
        definition: Origin,
        /// The call.
        call: Origin,
    },
    /// A call outside the definition it names.
    Unbound {
        /// The call.
        call: Origin,
    },
    /// A role sends to itself.
    SelfMessage {
        /// The role.
        role: Role,
        /// The message.
        message: Origin,
    },
    /// Two branches of one choice send the same label to the same receiver.
    DuplicateLabel {
        /// The label.
        label: Label,
        /// Its receiver.
        receiver: Role,
        /// The first such branch.
        first: Origin,
        /// The second.
        second: Origin,
    },
    /// The same label is on the same channel in two blocks of a `par`.
    LabelInTwoBlocks {
        /// The label.
        label: Label,
        /// Who sends it to whom.
        channel: (Role, Role),
        /// A message of one block.
        first: Origin,
        /// A message of another.
        second: Origin,
        /// The `par`.
        par: Origin,
    },
    /// A recursive call leaves the block of a `par` that it stands in.
    LeavesBlock {
        /// The call.
        call: Origin,
        /// The `par`.
        par: Origin,
    },
    /// A block of a `par` without a message.
    EmptyBlock {
        /// The `par`.
        par: Origin,
        /// Which block.
        block: usize,
    },
    /// Something follows a `par`, and a block of it can come to a place from which it does not end.
    NeverJoins {
        /// The `par`.
        par: Origin,
        /// Such a place.
        place: Origin,
    },
    /// Blocks are nested deeper than [`MAX_PAR_DEPTH`](super::MAX_PAR_DEPTH), or there are too many of them.
    ParTooLarge {
        /// The first `par` beyond the limit.
        par: Origin,
    },
    /// Definitions that depend on one another are nested deeper than [`MAX_LEVEL`].
    TooDeep {
        /// The first definition beyond the limit.
        definition: Origin,
    },
}

/// Builds a [`GlobalType`] node by node. Children may be added before or after their parents: reserve a
/// node to refer to it early.
#[derive(Clone, Debug, Default)]
pub struct GlobalTypeBuilder {
    nodes: Vec<Option<Global>>,
    end: Option<NodeId>,
    join: Option<NodeId>,
}

impl GlobalTypeBuilder {
    /// No nodes yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A node that will be given its content by [`set`](Self::set). Left empty it counts as the end.
    pub fn reserve(&mut self) -> NodeId {
        self.nodes.push(None);
        id(self.nodes.len() - 1)
    }

    /// Gives `node` its content.
    pub fn set(&mut self, node: NodeId, content: Global) {
        self.nodes[node.index()] = Some(content);
    }

    /// What `node` holds, if it was given something.
    #[must_use]
    pub fn get(&self, node: NodeId) -> Option<&Global> {
        self.nodes[node.index()].as_ref()
    }

    /// How many nodes were added.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// A node with this content.
    pub fn add(&mut self, content: Global) -> NodeId {
        self.nodes.push(Some(content));
        id(self.nodes.len() - 1)
    }

    /// The end: one node, however often it is asked for.
    pub fn end(&mut self) -> NodeId {
        if let Some(end) = self.end {
            return end;
        }
        let end = self.add(Global::End);
        self.end = Some(end);
        end
    }

    /// The end of whichever block leads to it: one node, however often it is asked for.
    pub fn join(&mut self) -> NodeId {
        if let Some(join) = self.join {
            return join;
        }
        // Which `par` it is of is found out when the type is finished.
        let join = self.add(Global::Join(NodeId(0)));
        self.join = Some(join);
        join
    }

    /// Blocks side by side, each of which leads to [`join`](Self::join), and what follows them.
    pub fn par(&mut self, blocks: impl IntoIterator<Item = NodeId>, next: NodeId, origin: Origin) -> NodeId {
        self.add(Global::Par(Par { blocks: blocks.into_iter().collect(), next, origin }))
    }

    /// An exchange of several messages.
    pub fn exchange(
        &mut self,
        sender: Role,
        branches: impl IntoIterator<Item = Branch>,
        origin: Origin,
    ) -> NodeId {
        let branches = branches.into_iter().collect();
        self.add(Global::Exchange(Exchange { sender, branches, origin }))
    }

    /// `μX.G` without data; `node` was reserved for it so that calls could refer to it.
    pub fn define(&mut self, node: NodeId, name: &str, body: NodeId, origin: Origin) {
        let rec = Rec { name: name.into(), level: 0, parameters: Vec::new(), body, origin };
        self.set(node, Global::Rec(rec));
    }

    /// A call of `target` without data.
    pub fn call(&mut self, target: NodeId, origin: Origin) -> NodeId {
        self.add(Global::Call(Call { target, arguments: Vec::new(), origin }))
    }

    /// The global type that starts at `root`.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of the text.
    pub fn finish(self, vocabulary: Arc<Vocabulary>, root: NodeId) -> Result<GlobalType, Vec<GlobalError>> {
        let mut nodes: Vec<Global> = self.nodes.into_iter().map(|n| n.unwrap_or(Global::End)).collect();
        let mut errors = Vec::new();
        let has_par = nodes.iter().any(|node| matches!(node, Global::Par(_) | Global::Join(_)));
        let root = if has_par { par::separate(&mut nodes, root, &mut errors) } else { root };
        let root = compact(&mut nodes, root, &mut errors);
        let blocks = if has_par { par::blocks(&nodes, root) } else { Vec::new() };
        check_exchanges(&nodes, &vocabulary, &mut errors);
        check_guards(&nodes, &mut errors);
        if has_par && errors.is_empty() {
            par::check(&nodes, &blocks, &vocabulary, &mut errors);
        }
        if errors.is_empty() {
            assign_levels(&mut nodes, root, &mut errors);
        }
        if errors.is_empty() {
            let mut global = GlobalType {
                vocabulary,
                nodes,
                root,
                partial: FxHashMap::default(),
                data: Data::default(),
                connecting: Vec::new(),
                copied: Vec::new(),
                optional: Vec::new(),
                blocks,
                times_of_senders: false,
                sub_sessions: None,
            };
            global.times_of_senders = global.vocabulary.is_timed() && global.participants().len() > 2;
            Ok(global)
        } else {
            Err(errors)
        }
    }
}

/// Drops unreachable nodes and renumbers the rest in preorder. Calls of dropped definitions are unbound.
fn compact(nodes: &mut Vec<Global>, root: NodeId, errors: &mut Vec<GlobalError>) -> NodeId {
    let order = order::preorder(nodes, root);
    let mut number = vec![None; nodes.len()];
    for (new, old) in order.iter().enumerate() {
        number[old.index()] = Some(id(new));
    }
    let mut kept: Vec<Global> = Vec::with_capacity(order.len());
    for old in order {
        let mut node = std::mem::replace(&mut nodes[old.index()], Global::End);
        node.for_each_child_mut(|child| *child = number[child.index()].unwrap_or(*child));
        match &mut node {
            Global::Call(call) => match number[call.target.index()] {
                Some(target) => call.target = target,
                None => {
                    errors.push(GlobalError::Unbound { call: call.origin });
                    node = Global::End;
                }
            },
            Global::Join(par) => *par = number[par.index()].unwrap_or(*par),
            Global::End | Global::Exchange(_) | Global::Rec(_) | Global::Par(_) => {}
        }
        kept.push(node);
    }
    *nodes = kept;
    id(0)
}

fn check_exchanges(nodes: &[Global], vocabulary: &Vocabulary, errors: &mut Vec<GlobalError>) {
    let mut first_by_label = FxHashMap::default();
    for node in nodes {
        let Global::Exchange(exchange) = node else { continue };
        first_by_label.clear();
        for branch in &exchange.branches {
            if branch.receiver == exchange.sender {
                errors.push(GlobalError::SelfMessage { role: exchange.sender, message: branch.origin });
            }
            let label = vocabulary.label(branch.message);
            let receiver = branch.receiver;
            match first_by_label.entry((receiver, label)) {
                Entry::Vacant(entry) => {
                    entry.insert(branch.origin);
                }
                Entry::Occupied(first) => {
                    let (first, second) = (*first.get(), branch.origin);
                    errors.push(GlobalError::DuplicateLabel { label, receiver, first, second });
                }
            }
        }
    }
}

/// A definition is guarded when no path of definitions and calls alone leads from it back to itself.
fn check_guards(nodes: &[Global], errors: &mut Vec<GlobalError>) {
    // Each node has at most one successor along definitions and calls, so this is a functional graph:
    // walk every chain once and look for the cycles.
    const FRESH: u32 = 0;
    let mut visited_in = vec![FRESH; nodes.len()];
    for start in 0..nodes.len() {
        let walk = u32::try_from(start).unwrap_or(u32::MAX).saturating_add(1);
        let mut at = id(start);
        let mut last_call = None;
        loop {
            match visited_in[at.index()] {
                FRESH => visited_in[at.index()] = walk,
                seen if seen == walk => {
                    if let (Some(call), Global::Rec(rec)) = (last_call, &nodes[at.index()]) {
                        errors.push(GlobalError::Unguarded { definition: rec.origin, call });
                    }
                    break;
                }
                _ => break,
            }
            match &nodes[at.index()] {
                Global::Rec(rec) => at = rec.body,
                Global::Call(call) => {
                    last_call = Some(call.origin);
                    at = call.target;
                }
                // Blocks are not empty.
                Global::End | Global::Exchange(_) | Global::Par(_) | Global::Join(_) => break,
            }
        }
    }
}

/// Computes [`Rec::level`], and finds calls that are not enclosed by their definition.
fn assign_levels(nodes: &mut [Global], root: NodeId, errors: &mut Vec<GlobalError>) {
    let free = match free_definitions(nodes, root) {
        Ok(free) => free,
        Err(error) => return errors.push(error),
    };
    if !free[root.index()].is_empty() {
        errors.extend(unbound_calls(nodes, root, &free));
        return;
    }
    // A definition comes before all it encloses in preorder, so the levels it depends on are known.
    for index in 0..nodes.len() {
        let innermost = free[index].iter().filter_map(|definition| match &nodes[definition.index()] {
            Global::Rec(outer) => Some(outer.level),
            _ => None,
        });
        let level = innermost.max().map_or(0, |level| level + 1);
        if let Global::Rec(rec) = &mut nodes[index] {
            rec.level = level;
            if level > MAX_LEVEL {
                errors.push(GlobalError::TooDeep { definition: rec.origin });
                return;
            }
        }
    }
}

/// The calls that can be reached from `root` without passing the definition they name.
fn unbound_calls(nodes: &[Global], root: NodeId, free: &[Rc<[NodeId]>]) -> Vec<GlobalError> {
    let mut calls = BTreeMap::new();
    for outside in free[root.index()].iter() {
        let mut seen = FxHashSet::default();
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            // A definition is not free in itself, so this stops there.
            if !free[node.index()].contains(outside) || !seen.insert(node) {
                continue;
            }
            if let Global::Call(call) = &nodes[node.index()] {
                calls.insert(node, GlobalError::Unbound { call: call.origin });
            }
            nodes[node.index()].for_each_child(|child| stack.push(child));
        }
    }
    calls.into_values().collect()
}

/// For every node, the definitions that are called from it but stand outside it.
///
/// Definitions that are free in one node are nested in one another, and each is free in the next: so there
/// are at most [`MAX_LEVEL`] + 1 of them, or the nesting is too deep.
fn free_definitions(nodes: &[Global], root: NodeId) -> Result<Vec<Rc<[NodeId]>>, GlobalError> {
    let none: Rc<[NodeId]> = Rc::new([]);
    let mut free = vec![Rc::clone(&none); nodes.len()];
    for node in order::postorder(nodes, root) {
        free[node.index()] = match &nodes[node.index()] {
            Global::End | Global::Join(_) => Rc::clone(&none),
            // No call leaves a block.
            Global::Par(par) => Rc::clone(&free[par.next.index()]),
            Global::Call(call) => Rc::new([call.target]),
            Global::Rec(rec) => {
                let body = &free[rec.body.index()];
                if body.contains(&node) {
                    body.iter().copied().filter(|definition| *definition != node).collect()
                } else {
                    Rc::clone(body)
                }
            }
            Global::Exchange(exchange) => {
                let mut union = Rc::clone(&none);
                for branch in &exchange.branches {
                    let more = &free[branch.next.index()];
                    if Rc::ptr_eq(&union, more) {
                        continue;
                    }
                    if union.is_empty() {
                        union = Rc::clone(more);
                    } else if more.iter().any(|definition| !union.contains(definition)) {
                        let mut both: Vec<NodeId> = union.iter().chain(more.iter()).copied().collect();
                        both.sort_unstable();
                        both.dedup();
                        if both.len() > MAX_LEVEL as usize + 1 {
                            let innermost = both.last().map(|definition| &nodes[definition.index()]);
                            let Some(Global::Rec(Rec { origin: definition, .. })) = innermost else {
                                continue;
                            };
                            return Err(GlobalError::TooDeep { definition: *definition });
                        }
                        union = both.into();
                    }
                }
                union
            }
        };
    }
    Ok(free)
}
