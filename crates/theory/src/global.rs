//! Global types: all exchanges of a protocol seen from above (RV'23, Definition 4).
//!
//! A [`GlobalType`] is an arena of nodes, not a boxed tree: it may be nested arbitrarily deep, and what
//! follows a choice is one shared node rather than a copy per branch. Compared with the paper, the branches
//! of an exchange may have different receivers, messages carry assertions, and recursion carries data.
//!
//! **Levels.** Recursion variables are identified by [`Rec::level`], 1 + the greatest level among the
//! variables free in the whole `μX.G`, or 0 when it is closed. Within a body, a call at level *l* means the
//! nearest enclosing binder of level *l*. Levels do not depend on names nor on the path from the root, so
//! structural equality of nodes is equality up to renaming of binders, even where nodes are shared.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::assertion::{Assertions, BranchId, Enforcement};
use crate::calls::SubSessions;
use crate::data::Data;
use crate::expr::Expr;
use crate::payload::Type;
use crate::vocabulary::{Message, Origin, Role, Vocabulary};

mod build;
mod order;
mod par;

pub use build::{GlobalError, GlobalTypeBuilder, MAX_LEVEL};
pub use par::{MAX_PAR_DEPTH, Par};

/// A node of a [`GlobalType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// This node as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A block: the node of its `par`, and its number there.
pub type BlockId = (NodeId, usize);

/// What can stand at a node.
#[derive(Clone, Debug)]
pub enum Global {
    /// The protocol is over.
    End,
    /// One role sends one of several messages.
    Exchange(Exchange),
    /// `μX.G`.
    Rec(Rec),
    /// `X`.
    Call(Call),
    /// Blocks side by side.
    Par(Par),
    /// The end of a block of the `par` at this node.
    Join(NodeId),
}

/// The branches of an exchange. Most have one, which needs no memory of its own.
pub type Branches = SmallVec<[Branch; 1]>;

/// `sender` picks one of `branches` and sends its message.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Who chooses and sends.
    pub sender: Role,
    /// What can be sent: at least one branch, no two with the same receiver and label.
    pub branches: Branches,
    /// The choice, or the message where there is nothing to choose.
    pub origin: Origin,
}

impl Exchange {
    /// The one receiver of all branches, if there is one.
    #[must_use]
    pub fn receiver(&self) -> Option<Role> {
        let first = self.branches.first()?.receiver;
        self.branches.iter().all(|branch| branch.receiver == first).then_some(first)
    }

    /// Whether `role` sends or may receive here.
    #[must_use]
    pub fn involves(&self, role: Role) -> bool {
        self.sender == role || self.branches.iter().any(|branch| branch.receiver == role)
    }
}

/// One alternative of an [`Exchange`].
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Who receives.
    pub receiver: Role,
    /// What is sent.
    pub message: Message,
    /// How the protocol goes on.
    pub next: NodeId,
    /// The message in the text.
    pub origin: Origin,
}

/// A recursive definition.
#[derive(Clone, Debug)]
pub struct Rec {
    /// What the text calls the variable. Not significant: see [`Rec::level`].
    pub name: Arc<str>,
    /// Identifies the binder among those that enclose a call; see the module's introduction.
    pub level: u32,
    /// Data carried around the loop.
    pub parameters: Vec<Parameter>,
    /// The definition.
    pub body: NodeId,
    /// The `rec` in the text.
    pub origin: Origin,
}

/// A recursion variable with data: nuScr's `rec X [t<B>: int = e]`.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The variable.
    pub name: Arc<str>,
    /// The roles that know its value; none given means all.
    pub roles: Vec<Role>,
    /// Its type.
    pub ty: Type,
    /// Its value on entry.
    pub initial: Arc<Expr>,
    /// What must hold of it whenever it gets a value, for readers: the conditions of messages say it as well.
    pub refinement: Option<Arc<Expr>>,
    /// Where it is declared.
    pub origin: Origin,
}

impl Parameter {
    /// Whether `role` knows its value.
    #[must_use]
    pub fn is_known_to(&self, role: Role) -> bool {
        self.roles.is_empty() || self.roles.contains(&role)
    }
}

/// A recursive call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The definition that is called; it encloses the call.
    pub target: NodeId,
    /// New values of the parameters; empty means unchanged.
    pub arguments: Vec<Arc<Expr>>,
    /// The `continue` in the text.
    pub origin: Origin,
}

/// A global protocol that is closed, guarded, and whose choices are between distinct messages. Only
/// [`GlobalTypeBuilder::finish`] makes one.
#[derive(Clone, Debug)]
pub struct GlobalType {
    vocabulary: Arc<Vocabulary>,
    nodes: Vec<Global>,
    root: NodeId,
    /// Assertions that not both roles of their message can check: see [`GlobalType::enforce`].
    partial: FxHashMap<BranchId, Enforcement>,
    /// What roles compute: see [`GlobalType::carry_data`].
    data: Data,
    /// Messages that connect their receivers: see [`GlobalType::connect_with`].
    // INVARIANT: sorted.
    connecting: Vec<Origin>,
    /// Roles of which there may be several copies: see [`GlobalType::copy`].
    copied: Vec<(Role, Arc<str>)>,
    /// Messages that their receivers may wait for in vain: see [`GlobalType::may_wait_for`].
    // INVARIANT: sorted.
    optional: Vec<Origin>,
    /// For each node the innermost block around it: its `par`, and which of its blocks. Empty if there is no `par`.
    blocks: Vec<Option<BlockId>>,
    /// Whether times are the sender's business alone: with more than two roles each monitor judges its own component.
    times_of_senders: bool,
    /// Its key, if it runs once for each value of one, and what it opens: see [`crate::calls`].
    pub(crate) sub_sessions: Option<Arc<SubSessions>>,
}

impl GlobalType {
    /// Takes note of who can check which assertion, so that the projection onto a role states only what the
    /// monitor of that role can check.
    pub fn enforce(&mut self, assertions: &Assertions) {
        let partial = assertions.enforcement.iter().filter(|found| !(found.sender && found.receiver));
        self.partial = partial.map(|found| (found.branch, *found)).collect();
    }

    /// The protocol as somebody follows it who sees all messages of its two roles, such as a monitor between them: it can
    /// check whatever one of the two can, and knows the recursion data of both. `None` if that is what each role sees, or
    /// if there are not two roles.
    #[must_use]
    pub fn as_seen_between(&self) -> Option<Self> {
        if self.vocabulary.roles().len() != 2 {
            return None;
        }
        let is_private = |node: &Global| match node {
            Global::Rec(rec) => rec.parameters.iter().any(|parameter| parameter.roles.len() == 1),
            _ => false,
        };
        if self.partial.is_empty() && !self.nodes.iter().any(is_private) {
            return None;
        }
        let mut seen = self.clone();
        seen.partial.clear();
        seen.data = Data::default();
        for node in &mut seen.nodes {
            if let Global::Rec(rec) = node {
                rec.parameters.iter_mut().for_each(|parameter| parameter.roles.clear());
            }
        }
        // Who sees all messages can follow every value.
        seen.carry_data().ok()?;
        Some(seen)
    }

    /// Says that the messages of these places connect their receivers. Who has to be connected before anything else may wait
    /// for that for ever, and need not be told that nobody will connect to it.
    pub fn connect_with(&mut self, messages: impl IntoIterator<Item = Origin>) {
        self.connecting.extend(messages);
        self.connecting.sort_unstable();
        self.connecting.dedup();
    }

    /// Whether the message of this place connects its receiver.
    #[must_use]
    pub fn is_connecting(&self, message: Origin) -> bool {
        self.connecting.binary_search(&message).is_ok()
    }

    /// Whether somebody connects to `role`.
    #[must_use]
    pub fn is_connected_to(&self, role: Role) -> bool {
        let mut branches = self.exchanges().flat_map(|(_, exchange)| &exchange.branches);
        !self.connecting.is_empty()
            && branches.any(|branch| branch.receiver == role && self.is_connecting(branch.origin))
    }

    /// Says that there may be several copies of each of `roles`, and what their number is called.
    pub fn copy(&mut self, roles: impl IntoIterator<Item = (Role, Arc<str>)>) {
        self.copied.extend(roles);
    }

    /// What the number of copies of `role` is called, if there may be several.
    #[must_use]
    pub fn copies_of(&self, role: Role) -> Option<&Arc<str>> {
        self.copied.iter().find(|(copied, _)| *copied == role).map(|(_, number)| number)
    }

    /// Says that whoever waits for the messages of these places, and for nothing else, may wait for ever. It need not be told
    /// that nothing will come.
    pub fn may_wait_for(&mut self, messages: impl IntoIterator<Item = Origin>) {
        self.optional.extend(messages);
        self.optional.sort_unstable();
        self.optional.dedup();
    }

    /// Whether the receiver of the message of this place may wait for it in vain.
    #[must_use]
    pub fn is_optional(&self, message: Origin) -> bool {
        self.optional.binary_search(&message).is_ok()
    }

    /// The message of a branch as its sender (or else its receiver) can check it, with what that role computes after
    /// it.
    #[must_use]
    pub fn message_as_checked(&self, branch: BranchId, message: Message, by_sender: bool) -> Message {
        let enforced = self.as_enforced(branch, message, by_sender);
        match self.node(branch.0) {
            Global::Exchange(exchange) if !self.data.is_empty() => {
                let role = if by_sender { exchange.sender } else { exchange.branches[branch.1].receiver };
                self.with_updates(role, [branch], enforced)
            }
            _ => enforced,
        }
    }

    /// The message of a branch as its sender (or else its receiver) can check it.
    pub(crate) fn as_enforced(&self, branch: BranchId, message: Message, by_sender: bool) -> Message {
        let message = match self.partial.get(&branch) {
            Some(found) if !(if by_sender { found.sender } else { found.receiver }) => {
                self.vocabulary.without_assertion(message)
            }
            _ => message,
        };
        if self.times_of_senders && !by_sender { self.vocabulary.without_times(message) } else { message }
    }

    /// `message` with what `role` computes after any of `branches`, which look the same to it.
    pub(crate) fn with_updates(
        &self,
        role: Role,
        branches: impl IntoIterator<Item = BranchId>,
        message: Message,
    ) -> Message {
        if self.data.is_empty() {
            return message;
        }
        let updates = self.data.updates(role, branches.into_iter().collect());
        updates.and_then(|updates| self.vocabulary.with_updates(message, updates)).unwrap_or(message)
    }

    pub(crate) fn vocabulary_mut(&mut self) -> &mut Vocabulary {
        Arc::make_mut(&mut self.vocabulary)
    }

    pub(crate) fn data_mut(&mut self) -> &mut Data {
        &mut self.data
    }

    /// The names behind the numbers.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Where the protocol starts.
    #[must_use]
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// What stands at `node`.
    #[must_use]
    pub fn node(&self, node: NodeId) -> &Global {
        &self.nodes[node.index()]
    }

    /// How many nodes there are. Every one is reachable.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// All nodes.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Global)> + ExactSizeIterator {
        self.nodes.iter().enumerate().map(|(index, node)| (id(index), node))
    }

    /// Every `par`.
    pub fn pars(&self) -> impl Iterator<Item = (NodeId, &Par)> {
        self.nodes().filter_map(|(id, node)| match node {
            Global::Par(par) => Some((id, par)),
            _ => None,
        })
    }

    /// The blocks around `node`, the innermost first.
    pub fn blocks_around(&self, node: NodeId) -> impl Iterator<Item = BlockId> {
        let around = |node: NodeId| self.blocks.get(node.index()).copied().flatten();
        std::iter::successors(around(node), move |(par, _)| around(*par))
    }

    /// All exchanges.
    pub fn exchanges(&self) -> impl Iterator<Item = (NodeId, &Exchange)> {
        self.nodes().filter_map(|(id, node)| match node {
            Global::Exchange(exchange) => Some((id, exchange)),
            _ => None,
        })
    }

    /// The roles that take part in an exchange, in the order of their declaration: `part(G)`.
    #[must_use]
    pub fn participants(&self) -> Vec<Role> {
        let mut takes_part = vec![false; self.vocabulary.roles().len()];
        for (_, exchange) in self.exchanges() {
            takes_part[exchange.sender.index()] = true;
            for branch in &exchange.branches {
                takes_part[branch.receiver.index()] = true;
            }
        }
        self.vocabulary.roles().filter(|role| takes_part[role.index()]).collect()
    }

    /// By the place of each message, what the text calls the innermost recursion around it.
    #[must_use]
    pub fn recursion_names(&self) -> FxHashMap<Origin, Arc<str>> {
        let mut names = FxHashMap::default();
        let mut seen = vec![false; self.nodes.len()];
        let mut pending: Vec<(NodeId, Option<&Arc<str>>)> = vec![(self.root, None)];
        while let Some((at, around)) = pending.pop() {
            if std::mem::replace(&mut seen[at.index()], true) {
                continue;
            }
            let node = self.node(at);
            let inside = if let Global::Rec(rec) = node { Some(&rec.name) } else { around };
            if let (Global::Exchange(exchange), Some(name)) = (node, around) {
                let places = exchange.branches.iter().map(|branch| branch.origin);
                names.extend(places.map(|place| (place, Arc::clone(name))));
            }
            node.for_each_child(|child| pending.push((child, inside)));
        }
        names
    }

    /// Every node after all nodes it leads to, calls aside (a call leads back).
    #[must_use]
    pub fn postorder(&self) -> Vec<NodeId> {
        order::postorder(&self.nodes, self.root)
    }
}

impl Global {
    /// Calls `visit` with every node this one leads to, in order; a call and the end of a block lead nowhere.
    pub fn for_each_child(&self, mut visit: impl FnMut(NodeId)) {
        match self {
            Self::End | Self::Call(_) | Self::Join(_) => {}
            Self::Exchange(exchange) => exchange.branches.iter().for_each(|branch| visit(branch.next)),
            Self::Rec(rec) => visit(rec.body),
            Self::Par(par) => {
                par.blocks.iter().for_each(|block| visit(*block));
                visit(par.next);
            }
        }
    }

    /// As [`for_each_child`](Self::for_each_child), to redirect them.
    pub(crate) fn for_each_child_mut(&mut self, mut visit: impl FnMut(&mut NodeId)) {
        match self {
            Self::End | Self::Call(_) | Self::Join(_) => {}
            Self::Exchange(exchange) => {
                exchange.branches.iter_mut().for_each(|branch| visit(&mut branch.next));
            }
            Self::Rec(rec) => visit(&mut rec.body),
            Self::Par(par) => {
                par.blocks.iter_mut().for_each(&mut visit);
                visit(&mut par.next);
            }
        }
    }
}

fn id(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap_or(u32::MAX))
}
