//! Projection of a global type onto one role, with full merging.
//!
//! The projection is computed as a [`Machine`] whose states are the sets of actions that the role may be
//! in front of, given all it has seen: a subset construction. On such a set, merging is
//!
//! - receives from one sender: the union of their labels, continuations of a common label merged in turn
//!   (a common label with different assertions is checked by its sender alone, who knows which applies);
//! - sends: defined only when all offer the same messages, for the role would choose without knowing where
//!   it is;
//! - anything else (send and receive, receives from different senders, an end and an action): undefined.
//!
//! This is the coinductive reading of the textbook's inductive full merge: it is defined wherever that is,
//! with the same behaviour, and also where branches agree only after unfolding their recursions. A loop in
//! which the role takes no part contributes nothing: the role waits for what comes after it.
//!
//! In a `par` a role is in several places at once: see `fork`.

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::global::{Global, GlobalType, NodeId};
use crate::machine::{Action, Machine, MachineBuilder, State, System, Transition};
use crate::vocabulary::{Label, Message, Origin, Role};

mod blame;
mod fork;
mod merge;

pub use fork::MAX_INTERLEAVED;
use fork::{Configuration, Fork, Move};
#[cfg(test)]
mod tests;

/// Projections with more states than this, and more than the protocol has places, are refused: subsets can
/// be exponentially many.
const MAX_STATES: usize = 1 << 20;

/// What a role may be in front of: an element of a state of the projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Item {
    /// The protocol ends.
    End,
    /// The role sends one of the branches of this exchange.
    Send(NodeId),
    /// The role receives this branch of this exchange.
    Receive(NodeId, u32),
    /// The role enters two blocks, or more, of this `par`.
    Fork(NodeId),
}

/// A state of the projection: sorted, without repetitions. Nearly always there is just one item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Items {
    One(Item),
    Several(Rc<[Item]>),
}

impl Items {
    fn new(mut items: Vec<Item>) -> Self {
        items.sort_unstable();
        items.dedup();
        match items[..] {
            [item] => Self::One(item),
            _ => Self::Several(items.into()),
        }
    }

    /// The same without the end of the protocol, if that is one of several receptions.
    fn without_end(&self) -> Option<Self> {
        let Self::Several(items) = self else { return None };
        let rest: Vec<Item> = items.iter().copied().filter(|item| *item != Item::End).collect();
        let receives = rest.iter().all(|item| matches!(item, Item::Receive(..)));
        (rest.len() < items.len() && !rest.is_empty() && receives).then(|| Self::new(rest))
    }

    fn as_slice(&self) -> &[Item] {
        match self {
            Self::One(item) => std::slice::from_ref(item),
            Self::Several(items) => items,
        }
    }
}

/// The states found so far. Nearly all are one place in the protocol, and found there.
struct Numbers {
    /// By the node of a send, or of the reception of its first branch.
    at_node: Vec<Option<State>>,
    others: FxHashMap<Items, State>,
    forks: FxHashMap<Rc<Fork>, State>,
    count: usize,
}

impl Numbers {
    fn new(nodes: usize) -> Self {
        let (others, forks) = (FxHashMap::default(), FxHashMap::default());
        Self { at_node: vec![None; nodes], others, forks, count: 0 }
    }

    /// A node is either sent at or received at, so the two never share a slot.
    fn slot(items: &Items) -> Option<NodeId> {
        match items {
            Items::One(Item::Send(node) | Item::Receive(node, 0)) => Some(*node),
            _ => None,
        }
    }

    fn get(&self, configuration: &Configuration) -> Option<State> {
        let items = match configuration {
            Configuration::Plain(items) => items,
            Configuration::Fork(fork) => return self.forks.get(fork).copied(),
        };
        match Self::slot(items) {
            Some(node) => self.at_node[node.index()],
            None => self.others.get(items).copied(),
        }
    }

    fn insert(&mut self, configuration: Configuration, state: State) {
        self.count += 1;
        let items = match configuration {
            Configuration::Plain(items) => items,
            Configuration::Fork(fork) => {
                self.forks.insert(fork, state);
                return;
            }
        };
        match Self::slot(&items) {
            Some(node) => self.at_node[node.index()] = Some(state),
            None => {
                self.others.insert(items, state);
            }
        }
    }
}

/// Two items of one state that cannot be merged.
struct Disagreement(Conflict, Item, Item);

/// What a role sees of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    action: Action,
    peer: Role,
    label: Label,
}

/// Why a global type has no projection onto a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectionError {
    /// The role that cannot know what to do.
    pub role: Role,
    /// In which way the branches disagree.
    pub conflict: Conflict,
    /// The choice that the role does not learn about, with the branches that disagree, where it is known.
    pub choice: Option<HiddenChoice>,
    /// What the role does first in one branch …
    pub left: RoleAction,
    /// … and in the other.
    pub right: RoleAction,
}

/// How two branches disagree for a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// In one branch the role sends, in the other it receives.
    SendOrReceive,
    /// In one branch the role is done, in the other it is not.
    EndOrAction,
    /// The role waits for different senders.
    DifferentSenders,
    /// The role sends different messages.
    DifferentSends,
    /// The role receives the same label with different payloads.
    DifferentPayloads,
    /// In one branch the role goes on in several blocks of a `par`, in the other it does not.
    BlocksOrAction,
    /// The role goes on in the blocks of two `par`s that do not correspond.
    DifferentBlocks,
    /// The projection exceeds the built-in limit on its size.
    TooLarge,
    /// The blocks of a `par` interleave in more ways than [`MAX_INTERLEAVED`].
    TooManyInterleavings,
}

/// A choice whose outcome a role would need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HiddenChoice {
    /// The choice.
    pub origin: Origin,
    /// Who makes it.
    pub sender: Role,
    /// The message of the branch that leads to [`ProjectionError::left`].
    pub left: (Message, Origin),
    /// The message of the branch that leads to [`ProjectionError::right`].
    pub right: (Message, Origin),
}

/// A first action of a role in a branch; `None` inside means it does nothing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleAction {
    /// The role is done.
    End,
    /// It sends or receives.
    Act {
        /// The direction.
        action: Action,
        /// The other role.
        peer: Role,
        /// The message.
        message: Message,
        /// Where the text says so.
        origin: Origin,
    },
    /// It goes on in several blocks of a `par`.
    Fork {
        /// The `par`.
        origin: Origin,
    },
}

impl GlobalType {
    /// The machine of `role`.
    ///
    /// # Errors
    /// When the role would have to behave differently after choices it cannot tell apart.
    pub fn project(&self, role: Role) -> Result<Machine, ProjectionError> {
        Projection::new(self, role).run()
    }

    /// The system of all roles' machines.
    ///
    /// # Errors
    /// Every role without a projection.
    pub fn project_all(&self) -> Result<System, Vec<ProjectionError>> {
        let mut machines = Vec::new();
        let mut errors = Vec::new();
        for role in self.vocabulary().roles() {
            match self.project(role) {
                Ok(machine) => machines.push(machine),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(System::new(self.vocabulary().clone(), machines)) } else { Err(errors) }
    }
}

struct Projection<'a> {
    global: &'a GlobalType,
    role: Role,
    /// How many states there may be.
    max_states: usize,
    /// Where the role is sure to be led from each node: see [`Projection::head`].
    heads: Vec<Option<NodeId>>,
    /// What is visible from each node where more than one walk may begin.
    closures: Vec<Option<Items>>,
    /// The blocks of each `par` that the role takes part in.
    regions: FxHashMap<NodeId, Vec<usize>>,
}

impl<'a> Projection<'a> {
    fn new(global: &'a GlobalType, role: Role) -> Self {
        let nodes = global.node_count();
        let max_states = MAX_STATES.max(nodes);
        let regions = fork::regions(global, role);
        Self { global, role, max_states, heads: vec![None; nodes], closures: vec![None; nodes], regions }
    }

    fn run(mut self) -> Result<Machine, ProjectionError> {
        let mut builder = MachineBuilder::new(self.role);
        let mut numbers = Numbers::new(self.global.node_count());
        // How each state was found first, to explain what is wrong with it.
        let mut came_from: Vec<Option<(State, Step)>> = vec![None];
        let mut queue = VecDeque::new();
        let source = builder.add_state();
        let initial =
            self.enter(&[self.global.root()]).map_err(|found| self.explain(&found, source, &came_from))?;
        numbers.insert(initial.clone(), source);
        // Who is not connected yet waits: perhaps for ever.
        let initial = match initial {
            Configuration::Plain(items) if self.is_unconnected(items.as_slice()) => {
                builder.accept(source);
                Configuration::Plain(items.without_end().unwrap_or(items))
            }
            other => other,
        };
        queue.push_back((initial, source));
        while let Some((configuration, source)) = queue.pop_front() {
            let (moves, may_stay) =
                self.moves(&configuration).map_err(|found| self.explain(&found, source, &came_from))?;
            if may_stay {
                builder.accept(source);
            }
            for Move { action, peer, message, origin, target } in moves {
                let state = match numbers.get(&target) {
                    Some(known) => known,
                    None => {
                        if let Some(found) = self.is_too_large(&numbers, &target) {
                            return Err(self.explain(&found, source, &came_from));
                        }
                        let fresh = builder.add_state();
                        let step = Step { action, peer, label: self.global.vocabulary().label(message) };
                        came_from.push(Some((source, step)));
                        numbers.insert(target.clone(), fresh);
                        queue.push_back((target, fresh));
                        fresh
                    }
                };
                builder.add_transition(source, Transition { action, peer, message, target: state, origin });
            }
        }
        Ok(builder.finish())
    }

    fn is_too_large(&self, numbers: &Numbers, target: &Configuration) -> Option<Disagreement> {
        match target {
            Configuration::Fork(fork) if numbers.forks.len() >= MAX_INTERLEAVED => {
                let par = Item::Fork(fork.par);
                Some(Disagreement(Conflict::TooManyInterleavings, par, par))
            }
            _ if numbers.count >= self.max_states => {
                Some(Disagreement(Conflict::TooLarge, Item::End, Item::End))
            }
            _ => None,
        }
    }

    /// Whether the role waits there, and only for messages that it may wait for in vain.
    fn waits(&self, items: &[Item]) -> bool {
        self.waits_only(items, |message| self.global.is_optional(message))
    }

    /// Whether the role, which begins there, has to be connected first.
    fn is_unconnected(&self, items: &[Item]) -> bool {
        self.waits_only(items, |message| self.global.is_connecting(message))
    }

    fn waits_only(&self, items: &[Item], for_such: impl Fn(Origin) -> bool) -> bool {
        let such = |item: &Item| match *item {
            Item::End => true,
            Item::Send(_) | Item::Fork(_) => false,
            Item::Receive(node, index) => for_such(self.exchange(node).branches[index as usize].origin),
        };
        items.iter().any(|item| *item != Item::End) && items.iter().all(such)
    }

    fn closure_of_all(&mut self, nodes: &[NodeId]) -> Items {
        if let [node] = nodes {
            return self.closure(*node);
        }
        let mut all: Vec<Item> = Vec::new();
        for &node in nodes {
            all.extend_from_slice(self.closure(node).as_slice());
        }
        Items::new(all)
    }

    /// The first node that `node` leads to where the role acts or others choose without it. Many nodes can
    /// lead to one, calls to their definition above all: from there on, they are walked once.
    fn head(&mut self, node: NodeId) -> NodeId {
        let mut path = Vec::new();
        let mut at = node;
        loop {
            if let Some(known) = self.heads[at.index()] {
                at = known;
                break;
            }
            let next = match self.global.node(at) {
                Global::Rec(rec) => rec.body,
                Global::Call(call) => call.target,
                Global::Exchange(exchange) => match exchange.branches.as_slice() {
                    [only] if !exchange.involves(self.role) => only.next,
                    _ => break,
                },
                Global::Par(par) => match self.regions_of(at) {
                    [] => par.next,
                    [only] => par.blocks[*only],
                    _ => break,
                },
                Global::Join(par) => match self.after_block(*par) {
                    Some(next) => next,
                    None => break,
                },
                Global::End => break,
            };
            // For now its own head: if the way leads back here, nothing is ever visible.
            self.heads[at.index()] = Some(at);
            path.push(at);
            at = next;
        }
        for passed in path {
            self.heads[passed.index()] = Some(at);
        }
        at
    }

    /// What the role can be in front of when the protocol is at `start`, sorted.
    fn closure(&mut self, start: NodeId) -> Items {
        let start = self.head(start);
        if let Some(item) = self.visible_at_once(start) {
            return Items::One(item);
        }
        if let Some(known) = &self.closures[start.index()] {
            return known.clone();
        }
        let mut items = Vec::new();
        let mut seen = FxHashSet::default();
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            let node = self.head(node);
            if !seen.insert(node) {
                continue;
            }
            if let Some(known) = &self.closures[node.index()] {
                items.extend_from_slice(known.as_slice());
                continue;
            }
            match self.global.node(node) {
                Global::End | Global::Join(_) => items.push(Item::End),
                Global::Par(_) => items.push(Item::Fork(node)),
                Global::Rec(rec) => stack.push(rec.body),
                Global::Call(call) => stack.push(call.target),
                Global::Exchange(exchange) if exchange.sender == self.role => items.push(Item::Send(node)),
                Global::Exchange(exchange) => {
                    for (index, branch) in (0..).zip(&exchange.branches) {
                        if branch.receiver == self.role {
                            items.push(Item::Receive(node, index));
                        } else {
                            stack.push(branch.next);
                        }
                    }
                }
            }
        }
        let items = Items::new(items);
        self.closures[start.index()] = Some(items.clone());
        items
    }

    /// The one thing the role does at `node`, where that is plain to see.
    fn visible_at_once(&self, node: NodeId) -> Option<Item> {
        match self.global.node(node) {
            Global::End | Global::Join(_) => Some(Item::End),
            Global::Par(_) => Some(Item::Fork(node)),
            Global::Exchange(exchange) if exchange.sender == self.role => Some(Item::Send(node)),
            Global::Exchange(exchange) => match &exchange.branches[..] {
                [only] if only.receiver == self.role => Some(Item::Receive(node, 0)),
                _ => None,
            },
            Global::Rec(_) | Global::Call(_) => None,
        }
    }
}
