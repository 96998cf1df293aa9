//! Explaining a failed projection: which choice the role does not learn about. Only runs on failure.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Disagreement, HiddenChoice, Item, Projection, ProjectionError, RoleAction, Step};
use crate::global::{Branch, Branches, Exchange, Global, NodeId};
use crate::machine::{Action, State};
use crate::vocabulary::{Label, Origin, Role};

impl Projection<'_> {
    pub(super) fn exchange(&self, node: NodeId) -> &Exchange {
        match self.global.node(node) {
            Global::Exchange(exchange) => exchange,
            // Items are only made of exchanges.
            Global::End | Global::Rec(_) | Global::Call(_) | Global::Par(_) | Global::Join(_) => &NO_EXCHANGE,
        }
    }

    pub(super) fn sender_of(&self, item: Item) -> Role {
        match item {
            Item::Send(node) | Item::Receive(node, _) => self.exchange(node).sender,
            Item::End | Item::Fork(_) => self.role,
        }
    }

    /// The error for a disagreement in `state`, given how each state was found.
    pub(super) fn explain(
        &self,
        &Disagreement(conflict, left, right): &Disagreement,
        state: State,
        came_from: &[Option<(State, Step)>],
    ) -> ProjectionError {
        let mut trace = Vec::new();
        let mut at = state;
        while let Some((before, step)) = came_from[at.index()] {
            trace.push(step);
            at = before;
        }
        trace.reverse();
        ProjectionError {
            role: self.role,
            conflict,
            choice: self.hidden_choice(left, right, &trace),
            left: self.action(left, right),
            right: self.action(right, left),
        }
    }

    /// The label that is received at `item`.
    pub(super) fn label_of(&self, item: Item) -> Option<Label> {
        let Item::Receive(node, index) = item else { return None };
        let branch = self.exchange(node).branches.get(index as usize)?;
        Some(self.global.vocabulary().label(branch.message))
    }

    /// What the role does at `item`; of several messages it may send, one that it may not send at `other`.
    fn action(&self, item: Item, other: Item) -> RoleAction {
        let (node, index, action) = match item {
            Item::End => return RoleAction::End,
            Item::Fork(node) => {
                let origin = match self.global.node(node) {
                    Global::Par(par) => par.origin,
                    _ => Origin::NONE,
                };
                return RoleAction::Fork { origin };
            }
            Item::Send(node) => {
                let others: &[Branch] = match other {
                    Item::Send(other) => &self.exchange(other).branches,
                    Item::End | Item::Receive(..) | Item::Fork(_) => &[],
                };
                let vocabulary = self.global.vocabulary();
                let same = |a: &Branch, b: &Branch| {
                    a.receiver == b.receiver && vocabulary.same_signature(a.message, b.message)
                };
                let branches = &self.exchange(node).branches;
                let only_here = branches.iter().position(|a| !others.iter().any(|b| same(a, b)));
                (node, only_here.unwrap_or(0), Action::Send)
            }
            Item::Receive(node, index) => (node, index as usize, Action::Receive),
        };
        let exchange = self.exchange(node);
        let Some(branch) = exchange.branches.get(index) else { return RoleAction::End };
        let peer = if action == Action::Send { branch.receiver } else { exchange.sender };
        RoleAction::Act { action, peer, message: branch.message, origin: branch.origin }
    }

    /// The last choice, made by others, after which the role sees `trace` and then stands before `left` on one
    /// branch and before `right` on another.
    fn hidden_choice(&self, left: Item, right: Item, trace: &[Step]) -> Option<HiddenChoice> {
        let regions = self.regions(trace)?;
        let mut sides = [left, right].map(|item| Side { item, after_step: FxHashSet::default() });
        let mut less_clear = None;
        for (i, region) in regions.iter().enumerate().rev() {
            let step = trace.get(i);
            let reaching = sides.each_ref().map(|side| self.reaching(region, side, step));
            // Nodes are numbered in preorder, so the last is the innermost.
            let mut exchanges: Vec<NodeId> = region.iter().copied().collect();
            exchanges.sort_unstable_by(|a, b| b.cmp(a));
            for node in exchanges {
                let Global::Exchange(exchange) = self.global.node(node) else { continue };
                if exchange.sender == self.role {
                    continue;
                }
                let leads = |side: usize, index: usize| {
                    let branch = &exchange.branches[index];
                    if branch.receiver == self.role {
                        self.shows(node, index, &sides[side], step)
                    } else {
                        reaching[side].contains(&branch.next)
                    }
                };
                let branches = 0..exchange.branches.len();
                let only = |side: usize| {
                    branches.clone().find(|&index| leads(side, index) && !leads(1 - side, index))
                };
                let choice = |left: usize, right: usize| {
                    let [left, right] = [left, right].map(|index| &exchange.branches[index]);
                    HiddenChoice {
                        origin: exchange.origin,
                        sender: exchange.sender,
                        left: (left.message, left.origin),
                        right: (right.message, right.origin),
                    }
                };
                if let (Some(left), Some(right)) = (only(0), only(1)) {
                    return Some(choice(left, right));
                }
                // In a loop, branches may lead to both sides sooner or later.
                let left = only(0).or_else(|| branches.clone().find(|&index| leads(0, index)));
                let right = branches.clone().rev().find(|&index| leads(1, index) && Some(index) != left);
                if let (None, Some(left), Some(right)) = (less_clear, left, right) {
                    less_clear = Some(choice(left, right));
                }
            }
            for (side, reaching) in sides.iter_mut().zip(reaching) {
                side.after_step = reaching;
            }
        }
        less_clear
    }

    /// The nodes the protocol may be at before each step of the trace, and after the last. `None` if there
    /// are too many to be worth an explanation.
    fn regions(&self, trace: &[Step]) -> Option<Vec<FxHashSet<NodeId>>> {
        let mut regions = Vec::with_capacity(trace.len() + 1);
        let mut starts = vec![self.global.root()];
        let mut visited = 0;
        for i in 0..=trace.len() {
            let mut region = FxHashSet::default();
            while let Some(node) = starts.pop() {
                if region.insert(node) {
                    self.for_each_unseen(node, |next| starts.push(next));
                }
            }
            visited += region.len();
            if visited > MAX_VISITED {
                return None;
            }
            if let Some(step) = trace.get(i) {
                for &node in &region {
                    self.for_each_seen(node, |index, seen| {
                        if seen == *step {
                            starts.push(self.exchange(node).branches[index].next);
                        }
                    });
                }
            }
            regions.push(region);
        }
        Some(regions)
    }

    /// The nodes of `region` from which `side` is reached without the role seeing anything.
    fn reaching(&self, region: &FxHashSet<NodeId>, side: &Side, step: Option<&Step>) -> FxHashSet<NodeId> {
        let mut before: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        let mut stack = Vec::new();
        for &node in region {
            self.for_each_unseen(node, |next| before.entry(next).or_default().push(node));
            let mut shows = match (self.global.node(node), step) {
                (Global::End | Global::Join(_), None) => side.item == Item::End,
                _ => step.is_none() && [Item::Send(node), Item::Fork(node)].contains(&side.item),
            };
            self.for_each_seen(node, |index, _| shows |= self.shows(node, index, side, step));
            if shows {
                stack.push(node);
            }
        }
        let mut reached = FxHashSet::default();
        while let Some(node) = stack.pop() {
            if reached.insert(node) {
                stack.extend(before.get(&node).into_iter().flatten());
            }
        }
        reached
    }

    /// Whether the role, seeing branch `index` of `node`, is on the way to `side`: it is what `side` is about
    /// or, earlier in the trace, the next step.
    fn shows(&self, node: NodeId, index: usize, side: &Side, step: Option<&Step>) -> bool {
        let Some(step) = step else {
            return matches!(side.item, Item::Receive(at, branch) if (at, branch as usize) == (node, index));
        };
        let mut shows = false;
        self.for_each_seen(node, |seen_index, seen| {
            let next = self.exchange(node).branches[seen_index].next;
            shows |= seen_index == index && seen == *step && side.after_step.contains(&next);
        });
        shows
    }

    /// Where the protocol can go from `node` without the role seeing it.
    fn for_each_unseen(&self, node: NodeId, mut visit: impl FnMut(NodeId)) {
        match self.global.node(node) {
            Global::End => {}
            Global::Rec(rec) => visit(rec.body),
            Global::Call(call) => visit(call.target),
            Global::Par(par) => match self.regions_of(node) {
                [] => visit(par.next),
                regions => regions.iter().for_each(|block| visit(par.blocks[*block])),
            },
            Global::Join(par) => self.after_block(*par).into_iter().for_each(visit),
            Global::Exchange(exchange) if exchange.sender == self.role => {}
            Global::Exchange(exchange) => {
                let unseen = exchange.branches.iter().filter(|branch| branch.receiver != self.role);
                unseen.for_each(|branch| visit(branch.next));
            }
        }
    }

    /// The branches of `node` that the role sees, and what it sees of them.
    fn for_each_seen(&self, node: NodeId, mut visit: impl FnMut(usize, Step)) {
        let Global::Exchange(exchange) = self.global.node(node) else { return };
        for (index, branch) in exchange.branches.iter().enumerate() {
            let label = self.global.vocabulary().label(branch.message);
            if exchange.sender == self.role {
                visit(index, Step { action: Action::Send, peer: branch.receiver, label });
            } else if branch.receiver == self.role {
                visit(index, Step { action: Action::Receive, peer: exchange.sender, label });
            }
        }
    }
}

/// One of two items that disagree, seen from a step of the trace that leads to them.
struct Side {
    item: Item,
    /// From where it is reached once the step is taken.
    after_step: FxHashSet<NodeId>,
}

/// How many nodes are visited, at most, to explain a disagreement.
const MAX_VISITED: usize = 1 << 22;

static NO_EXCHANGE: Exchange =
    Exchange { sender: Role(0), branches: Branches::new_const(), origin: Origin::NONE };
