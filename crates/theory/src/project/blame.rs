//! Explaining a failed projection: which choice the role does not learn about. Only runs on failure.

use rustc_hash::FxHashSet;

use super::{Conflict, HiddenChoice, Item, Projection, ProjectionError, RoleAction};
use crate::global::{Exchange, Global, NodeId};
use crate::machine::Action;
use crate::vocabulary::{Origin, Role};

impl Projection<'_> {
    pub(super) fn exchange(&self, node: NodeId) -> &Exchange {
        match self.global.node(node) {
            Global::Exchange(exchange) => exchange,
            // Items are only made of exchanges.
            Global::End | Global::Rec(_) | Global::Call(_) => &NO_EXCHANGE,
        }
    }

    pub(super) fn sender_of(&self, item: Item) -> Role {
        match item {
            Item::Send(node) | Item::Receive(node, _) => self.exchange(node).sender,
            Item::End => self.role,
        }
    }

    pub(super) fn conflict(&self, conflict: Conflict, left: Item, right: Item) -> ProjectionError {
        ProjectionError {
            role: self.role,
            conflict,
            choice: self.hidden_choice(left, right),
            left: self.action(left),
            right: self.action(right),
        }
    }

    fn action(&self, item: Item) -> RoleAction {
        let (node, index, action) = match item {
            Item::End => return RoleAction::End,
            Item::Send(node) => (node, 0, Action::Send),
            Item::Receive(node, index) => (node, index as usize, Action::Receive),
        };
        let exchange = self.exchange(node);
        let Some(branch) = exchange.branches.get(index) else { return RoleAction::End };
        let peer = if action == Action::Send { branch.receiver } else { exchange.sender };
        RoleAction::Act { action, peer, message: branch.message, origin: branch.origin }
    }

    /// The last choice, made by others, from which `left` and `right` are reached through different
    /// branches while the role sees nothing; failing that, any choice that separates them.
    fn hidden_choice(&self, left: Item, right: Item) -> Option<HiddenChoice> {
        for role_sees_nothing in [true, false] {
            let to_left = self.reaching(left, role_sees_nothing);
            let to_right = self.reaching(right, role_sees_nothing);
            // Nodes are numbered in preorder, so the last match is the innermost choice.
            for (node, exchange) in self.global.exchanges().collect::<Vec<_>>().into_iter().rev() {
                if exchange.sender == self.role {
                    continue;
                }
                let leads_to = |index: usize, item: Item, reaching: &FxHashSet<NodeId>| {
                    let branch = &exchange.branches[index];
                    let seen = role_sees_nothing && branch.receiver == self.role;
                    matches!(item, Item::Receive(n, i) if n == node && i as usize == index)
                        || !seen && reaching.contains(&branch.next)
                };
                let parts = |toward, towards: &_, away, aways: &_| {
                    let mut branches = exchange.branches.iter().enumerate();
                    branches.find(|(i, _)| leads_to(*i, toward, towards) && !leads_to(*i, away, aways))
                };
                let left_branch = parts(left, &to_left, right, &to_right);
                let right_branch = parts(right, &to_right, left, &to_left);
                if let (Some((_, l)), Some((_, r))) = (left_branch, right_branch) {
                    return Some(HiddenChoice {
                        origin: exchange.origin,
                        sender: exchange.sender,
                        left: (l.message, l.origin),
                        right: (r.message, r.origin),
                    });
                }
            }
        }
        None
    }

    /// The nodes from which `item` can be reached (through what the role does not see, if so asked).
    fn reaching(&self, item: Item, role_sees_nothing: bool) -> FxHashSet<NodeId> {
        let mut predecessors: Vec<Vec<NodeId>> = vec![Vec::new(); self.global.node_count()];
        for (id, node) in self.global.nodes() {
            match node {
                Global::End => {}
                Global::Rec(rec) => predecessors[rec.body.index()].push(id),
                Global::Call(call) => predecessors[call.target.index()].push(id),
                Global::Exchange(exchange) => {
                    if role_sees_nothing && exchange.sender == self.role {
                        continue;
                    }
                    for branch in &exchange.branches {
                        if !(role_sees_nothing && branch.receiver == self.role) {
                            predecessors[branch.next.index()].push(id);
                        }
                    }
                }
            }
        }
        let mut stack: Vec<NodeId> = match item {
            Item::Send(node) | Item::Receive(node, _) => vec![node],
            Item::End => self
                .global
                .nodes()
                .filter(|(_, node)| matches!(node, Global::End))
                .map(|(id, _)| id)
                .collect(),
        };
        let mut reached = FxHashSet::default();
        while let Some(node) = stack.pop() {
            if reached.insert(node) {
                stack.extend(&predecessors[node.index()]);
            }
        }
        reached
    }
}

static NO_EXCHANGE: Exchange = Exchange { sender: Role(0), branches: Vec::new(), origin: Origin::NONE };
