//! Algorithm 1 of RV'23, with the locations of Algorithm 3.
//!
//! Three readings where the printed algorithm leaves room (see `docs/differences.md`): projections are compared
//! up to renaming of recursion variables; "a recursive call on any Y ≠ X" (line 12) means a *free* one, so
//! that nested loops of dependencies alone are pruned too; lines 8 and 9 forward labels, not payloads.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::{Branches, Relative, RelativeId, RelativeType};
use crate::global::{Exchange, Global, GlobalType, NodeId};
use crate::machine::Action;
use crate::vocabulary::{Message, Origin, Role};

/// Why a global type is not usable through relative types: it is not well formed (Definition 7).
#[derive(Clone, Debug)]
pub struct RelativeError {
    /// The two roles whose relative type is undefined.
    pub pair: (Role, Role),
    /// Why.
    pub cause: Cause,
}

/// Why two roles have no relative type.
#[derive(Clone, Debug)]
pub enum Cause {
    /// What they do depends on an exchange that neither takes part in.
    Undefined(Undefined),
    /// The protocol has a `par`: relative types are sequences.
    Par(Origin),
}

/// An exchange that decides something between two roles, neither of which takes part in it.
#[derive(Clone, Debug)]
pub struct Undefined {
    /// The exchange in the global type.
    pub exchange: NodeId,
    /// Its place in the text.
    pub origin: Origin,
    /// Who sends there.
    pub sender: Role,
    /// Who may receive there.
    pub receivers: Vec<Role>,
    /// One branch, and what the pair then does, in the paper's notation.
    pub left: (Message, Origin, String),
    /// A branch after which the pair does something else.
    pub right: (Message, Origin, String),
}

impl GlobalType {
    /// The relative projection `G ⟩ (p, q)`.
    ///
    /// # Errors
    /// When what the pair does depends on an exchange that neither takes part in.
    pub fn relative(&self, p: Role, q: Role) -> Result<RelativeType, RelativeError> {
        Projection::new(self, (p, q)).run()
    }

    /// The relative types of all pairs of participants, in the order of their declaration.
    ///
    /// # Errors
    /// Every pair whose projection is undefined: the type is not well formed (Definition 7).
    pub fn relative_all(&self) -> Result<Vec<RelativeType>, Vec<RelativeError>> {
        let participants = self.participants();
        let mut types = Vec::new();
        let mut errors = Vec::new();
        for (i, &p) in participants.iter().enumerate() {
            for &q in &participants[i + 1..] {
                match self.relative(p, q) {
                    Ok(relative) => types.push(relative),
                    Err(error) => errors.push(error),
                }
            }
        }
        if errors.is_empty() { Ok(types) } else { Err(errors) }
    }
}

struct Projection<'a> {
    global: &'a GlobalType,
    pair: (Role, Role),
    relative: RelativeType,
    interned: FxHashMap<Relative, RelativeId>,
    /// Per node of the relative type: whether it contains an exchange …
    has_exchange: Vec<bool>,
    /// … and the outermost recursion variable free in it.
    outermost_free: Vec<u32>,
}

const CLOSED: u32 = u32::MAX;

impl<'a> Projection<'a> {
    fn new(global: &'a GlobalType, pair: (Role, Role)) -> Self {
        let relative = RelativeType {
            vocabulary: Arc::clone(global.vocabulary()),
            pair,
            nodes: Vec::new(),
            names: FxHashMap::default(),
            locations: Vec::new(),
            projected: Vec::new(),
            root: RelativeId(0),
        };
        Self {
            global,
            pair,
            relative,
            interned: FxHashMap::default(),
            has_exchange: Vec::new(),
            outermost_free: Vec::new(),
        }
    }

    fn run(mut self) -> Result<RelativeType, RelativeError> {
        if let Some((_, par)) = self.global.pars().next() {
            return Err(RelativeError { pair: self.pair, cause: Cause::Par(par.origin) });
        }
        let mut projected = vec![RelativeId(0); self.global.node_count()];
        for id in self.global.postorder() {
            projected[id.index()] = match self.global.node(id) {
                // There is no `par`: see above.
                Global::End | Global::Par(_) | Global::Join(_) => self.intern(Relative::End, id, None),
                Global::Call(call) => {
                    let Global::Rec(rec) = self.global.node(call.target) else { continue };
                    self.intern(Relative::Call { level: rec.level }, id, None)
                }
                Global::Rec(rec) => {
                    let body = projected[rec.body.index()];
                    let keeps =
                        self.has_exchange[body.index()] || self.outermost_free[body.index()] < rec.level;
                    if keeps {
                        let node = Relative::Rec { level: rec.level, body };
                        self.intern(node, id, Some(Arc::clone(&rec.name)))
                    } else {
                        self.intern(Relative::End, id, None)
                    }
                }
                Global::Exchange(exchange) => self.exchange(id, exchange, &projected)?,
            };
        }
        self.relative.root = projected[self.global.root().index()];
        self.forget_pruned_locations(&projected);
        self.relative.projected = projected;
        Ok(self.relative)
    }

    /// What lies in a pruned loop may share a node with what does not, but nothing stands for it.
    fn forget_pruned_locations(&mut self, projected: &[RelativeId]) {
        let mut kept = vec![false; self.global.node_count()];
        let mut stack = vec![self.global.root()];
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut kept[node.index()], true)
                && self.relative.node(projected[node.index()]) != &Relative::End
            {
                self.global.node(node).for_each_child(|child| stack.push(child));
            }
        }
        for locations in &mut self.relative.locations {
            locations.retain(|location| kept[location.index()]);
        }
    }

    /// Lines 4 to 9.
    fn exchange(
        &mut self,
        id: NodeId,
        exchange: &Exchange,
        projected: &[RelativeId],
    ) -> Result<RelativeId, RelativeError> {
        let (p, q) = self.pair;
        let vocabulary = self.global.vocabulary();
        let branches = || -> Branches {
            let branch =
                |b: &crate::global::Branch| (vocabulary.signature(b.message), projected[b.next.index()]);
            exchange.branches.iter().map(branch).collect()
        };
        // A choice between receivers is outside the paper's definition: it never projects to an exchange.
        let receiver = exchange.receiver();
        for (sender, other) in [(p, q), (q, p)] {
            if exchange.sender == sender && receiver == Some(other) {
                let node = Relative::Exchange { sender, receiver: other, branches: branches() };
                return Ok(self.intern(node, id, None));
            }
        }
        let first = &exchange.branches[0];
        let differs = |b: &&crate::global::Branch| projected[b.next.index()] != projected[first.next.index()];
        let pair_may_meet = receiver.is_none() && exchange.involves(p) && exchange.involves(q);
        let Some(different) = exchange.branches.iter().find(differs).or(pair_may_meet.then_some(first))
        else {
            return Ok(projected[first.next.index()]);
        };
        if let Some(receiver) = receiver {
            for (me, action, other) in
                [(exchange.sender, Action::Send, receiver), (receiver, Action::Receive, exchange.sender)]
            {
                if me == p || me == q {
                    let informed = if me == p { q } else { p };
                    let labels = exchange.branches.iter().map(|b| (b.message, projected[b.next.index()]));
                    let branches = labels.map(|(m, next)| (self.bare(m), next)).collect();
                    let node = Relative::Dependency { informer: me, action, other, informed, branches };
                    return Ok(self.intern(node, id, None));
                }
            }
        }
        let scope = self.names_in_scope(id);
        let describe = |branch: &crate::global::Branch| {
            let text = self.relative.text_in(projected[branch.next.index()], scope.clone());
            (branch.message, branch.origin, text)
        };
        let mut receivers: Vec<Role> = exchange.branches.iter().map(|b| b.receiver).collect();
        receivers.sort_unstable();
        receivers.dedup();
        let undefined = Undefined {
            exchange: id,
            origin: exchange.origin,
            sender: exchange.sender,
            receivers,
            left: describe(first),
            right: describe(different),
        };
        Err(RelativeError { pair: self.pair, cause: Cause::Undefined(undefined) })
    }

    /// What the text calls the recursion variables that are free at `node`, by level. (Their definitions are
    /// projected after their bodies, so the relative type does not know them yet.)
    fn names_in_scope(&self, node: NodeId) -> Vec<Option<Arc<str>>> {
        let mut seen = FxHashSet::default();
        let mut called = Vec::new();
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if seen.insert(node) {
                let content = self.global.node(node);
                content.for_each_child(|child| stack.push(child));
                if let Global::Call(call) = content {
                    called.push(call.target);
                }
            }
        }
        let mut names: Vec<Option<Arc<str>>> = Vec::new();
        for target in called.into_iter().filter(|target| !seen.contains(target)) {
            let Global::Rec(rec) = self.global.node(target) else { continue };
            let level = rec.level as usize;
            if names.len() <= level {
                names.resize(level + 1, None);
            }
            names[level] = Some(Arc::clone(&rec.name));
        }
        names
    }

    /// A dependency forwards a label: two messages with one label are the same to it.
    fn bare(&self, message: Message) -> Message {
        self.global.vocabulary().first_with_label(message)
    }

    fn intern(&mut self, node: Relative, location: NodeId, name: Option<Arc<str>>) -> RelativeId {
        let key = order_of_branches_forgotten(&node);
        let id = match self.interned.get(&key) {
            Some(&known) => known,
            None => {
                let fresh = RelativeId(u32::try_from(self.relative.nodes.len()).unwrap_or(u32::MAX));
                let (has_exchange, outermost_free) = self.attributes(&node);
                self.interned.insert(key, fresh);
                self.relative.nodes.push(node);
                if let Some(name) = name {
                    self.relative.names.insert(fresh, name);
                }
                self.relative.locations.push(SmallVec::new());
                self.has_exchange.push(has_exchange);
                self.outermost_free.push(outermost_free);
                fresh
            }
        };
        self.relative.locations[id.index()].push(location);
        id
    }

    fn attributes(&self, node: &Relative) -> (bool, u32) {
        match node {
            Relative::End => (false, CLOSED),
            Relative::Call { level } => (false, *level),
            Relative::Rec { level, body } => {
                let free = self.outermost_free[body.index()];
                (self.has_exchange[body.index()], if free < *level { free } else { CLOSED })
            }
            Relative::Exchange { branches, .. } => (true, self.free_in(branches)),
            Relative::Dependency { branches, .. } => {
                let any = branches.iter().any(|(_, next)| self.has_exchange[next.index()]);
                (any, self.free_in(branches))
            }
        }
    }

    fn free_in(&self, branches: &[(Message, RelativeId)]) -> u32 {
        branches.iter().map(|(_, next)| self.outermost_free[next.index()]).min().unwrap_or(CLOSED)
    }
}

/// Branches are a set: types that list them in different orders are equal.
fn order_of_branches_forgotten(node: &Relative) -> Relative {
    let mut key = node.clone();
    if let Relative::Exchange { branches, .. } | Relative::Dependency { branches, .. } = &mut key {
        branches.sort_unstable();
    }
    key
}
