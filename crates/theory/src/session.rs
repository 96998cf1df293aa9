//! Session types: one role's view of a session, as a term (ECOOP'21, Section 2; KMC's local types).
//!
//! `!` is what the role sends, `?` what it receives. Every branch names its peer, so the same term serves
//! binary session types (one peer throughout) and the local types of many roles. A term is only a way to
//! write behaviour down: [`SessionType::machine`] gives the behaviour itself.

use std::sync::Arc;

mod global;

use rustc_hash::FxHashMap;

use crate::machine::{Action, Machine, MachineBuilder, State, Transition};
use crate::unfold;
use crate::vocabulary::{Message, Origin, Role, Vocabulary};

/// A node of a [`SessionType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermId(pub u32);

impl TermId {
    /// This node as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What can stand at a node of a session type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Session {
    /// Nothing more happens.
    End,
    /// One of several actions.
    Choice(Vec<SessionBranch>),
    /// `rec X.(S)`.
    Rec {
        /// The variable's name.
        name: Arc<str>,
        /// The definition.
        body: TermId,
        /// Where it is defined.
        origin: Origin,
    },
    /// `X`, a call of the definition at `target`.
    Call {
        /// The [`Session::Rec`] that is called.
        target: TermId,
        /// Where it is called.
        origin: Origin,
    },
}

/// One action and what comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionBranch {
    /// Send or receive.
    pub action: Action,
    /// The other role.
    pub peer: Role,
    /// What travels.
    pub message: Message,
    /// What comes after it.
    pub next: TermId,
    /// Where the text says so.
    pub origin: Origin,
}

/// A session type whose recursion is closed and guarded; only [`SessionTypeBuilder::finish`] makes one.
#[derive(Clone, Debug)]
pub struct SessionType {
    vocabulary: Arc<Vocabulary>,
    role: Role,
    nodes: Vec<Session>,
    /// For each node, what stands there once definitions and calls are followed.
    // INVARIANT: as long as `nodes`; every entry is an end or a choice.
    unfolded: Vec<TermId>,
    root: TermId,
}

/// Why a session type is ill formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionError {
    /// A variable is called from its definition without any action in between.
    Unguarded {
        /// The definition.
        definition: Origin,
        /// The call.
        call: Origin,
    },
}

/// Builds a [`SessionType`] node by node.
#[derive(Clone, Debug, Default)]
pub struct SessionTypeBuilder {
    nodes: Vec<Session>,
}

impl SessionTypeBuilder {
    /// No nodes yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A node with this content.
    pub fn add(&mut self, content: Session) -> TermId {
        self.nodes.push(content);
        TermId(u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX))
    }

    /// A node to refer to before its content is known; until [`set`](Self::set) it is an end.
    pub fn reserve(&mut self) -> TermId {
        self.add(Session::End)
    }

    /// Gives `node` its content.
    pub fn set(&mut self, node: TermId, content: Session) {
        self.nodes[node.index()] = content;
    }

    /// The session type of `role` that starts at `root`.
    ///
    /// # Errors
    /// Every recursion without an action in between.
    pub fn finish(
        self,
        vocabulary: Arc<Vocabulary>,
        role: Role,
        root: TermId,
    ) -> Result<SessionType, Vec<SessionError>> {
        let errors = unguarded(&self.nodes);
        if errors.is_empty() {
            let unfolded = unfolded(&self.nodes);
            Ok(SessionType { vocabulary, role, nodes: self.nodes, unfolded, root })
        } else {
            Err(errors)
        }
    }
}

/// Cycles of definitions and calls alone. Each node has at most one successor along these.
fn unguarded(nodes: &[Session]) -> Vec<SessionError> {
    let mut errors = Vec::new();
    let mut visited_in = vec![None; nodes.len()];
    for start in 0..nodes.len() {
        let mut at = start;
        while visited_in[at].is_none() {
            visited_in[at] = Some(start);
            at = successor(&nodes[at]).map_or(at, TermId::index);
        }
        if visited_in[at] == Some(start) && successor(&nodes[at]).is_some() {
            errors.push(describe_cycle(nodes, at));
        }
    }
    errors
}

/// What every node stands for once definitions and calls are followed.
fn unfolded(nodes: &[Session]) -> Vec<TermId> {
    let ends = unfold::ends(nodes.len(), |at| successor(&nodes[at]).map(TermId::index));
    ends.into_iter().map(|end| TermId(u32::try_from(end).unwrap_or(u32::MAX))).collect()
}

/// Where a definition or a call leads at once.
fn successor(node: &Session) -> Option<TermId> {
    match node {
        Session::Rec { body, .. } => Some(*body),
        Session::Call { target, .. } => Some(*target),
        Session::End | Session::Choice(_) => None,
    }
}

/// The definition that the cycle through `start` comes to first, and the last call before it.
fn describe_cycle(nodes: &[Session], start: usize) -> SessionError {
    let (mut definition, mut call) = (None, None);
    let mut at = start;
    loop {
        match &nodes[at] {
            Session::Rec { origin, .. } => definition = definition.or(Some(*origin)),
            Session::Call { origin, .. } => call = Some(*origin),
            Session::End | Session::Choice(_) => {}
        }
        at = successor(&nodes[at]).map_or(start, TermId::index);
        if at == start {
            break;
        }
    }
    let known = definition.or(call).unwrap_or(Origin::NONE);
    SessionError::Unguarded { definition: known, call: call.unwrap_or(known) }
}

impl SessionType {
    /// The names behind the numbers.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Whose view this is.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Where the session starts.
    #[must_use]
    pub fn root(&self) -> TermId {
        self.root
    }

    /// What stands at `node`.
    #[must_use]
    pub fn node(&self, node: TermId) -> &Session {
        &self.nodes[node.index()]
    }

    /// How many nodes there are.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The other side's view: `dual(S)` for a binary session type with this `peer`.
    #[must_use]
    pub fn dual(&self, peer: Role) -> Self {
        let mut nodes = self.nodes.clone();
        for node in &mut nodes {
            if let Session::Choice(branches) = node {
                for branch in branches {
                    branch.action = branch.action.dual();
                    branch.peer = self.role;
                }
            }
        }
        let unfolded = self.unfolded.clone();
        Self { vocabulary: Arc::clone(&self.vocabulary), role: peer, nodes, unfolded, root: self.root }
    }

    /// What stands at `node` once definitions and calls are followed: an end or a choice.
    #[must_use]
    pub fn unfold(&self, node: TermId) -> TermId {
        self.unfolded[node.index()]
    }

    /// [`unfold`](Self::unfold) of every node, in time linear in the type.
    pub(crate) fn unfoldings(&self) -> Vec<TermId> {
        let mut unfolded: Vec<Option<TermId>> = vec![None; self.nodes.len()];
        let mut chain = Vec::new();
        for start in 0..self.nodes.len() {
            let mut at = TermId(u32::try_from(start).unwrap_or(u32::MAX));
            let end = loop {
                if let Some(known) = unfolded[at.index()] {
                    break known;
                }
                let Some(next) = successor(self.node(at)) else { break at };
                chain.push(at);
                at = next;
            };
            unfolded[at.index()] = Some(end);
            for node in chain.drain(..) {
                unfolded[node.index()] = Some(end);
            }
        }
        unfolded.into_iter().flatten().collect()
    }

    /// The machine that behaves as this type says, with one final state.
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.machine_with(true)
    }

    /// The machine whose states are the places of this type: two ends are two states. It behaves as
    /// [`machine`](Self::machine) does; what is counted of it is what is counted of the text.
    #[must_use]
    pub fn machine_of_places(&self) -> Machine {
        self.machine_with(false)
    }

    fn machine_with(&self, one_end: bool) -> Machine {
        let unfolded = self.unfoldings();
        let mut builder = MachineBuilder::new(self.role);
        let mut numbers: FxHashMap<TermId, State> = FxHashMap::default();
        let mut end = None;
        let mut stack = Vec::new();
        let mut state_of = |term: TermId, builder: &mut MachineBuilder, stack: &mut Vec<TermId>| {
            let term = unfolded[term.index()];
            if one_end && matches!(self.node(term), Session::End) {
                return *end.get_or_insert_with(|| builder.add_state());
            }
            *numbers.entry(term).or_insert_with(|| {
                stack.push(term);
                builder.add_state()
            })
        };
        let initial = state_of(self.root, &mut builder, &mut stack);
        while let Some(term) = stack.pop() {
            let Session::Choice(branches) = self.node(term) else { continue };
            let source = state_of(term, &mut builder, &mut stack);
            for branch in branches {
                let target = state_of(branch.next, &mut builder, &mut stack);
                let SessionBranch { action, peer, message, origin, .. } = *branch;
                builder.add_transition(source, Transition { action, peer, message, target, origin });
            }
        }
        builder.finish_from(initial)
    }
}

impl Machine {
    /// A session type that behaves as this machine: one definition per state that is entered again from
    /// within, and a copy of what several paths share.
    ///
    /// Returns `None` when the term would have more than `limit` nodes: sharing can be exponential.
    #[must_use]
    pub fn session_type(&self, vocabulary: &Arc<Vocabulary>, limit: usize) -> Option<SessionType> {
        self.session_type_with_names(vocabulary, limit, &FxHashMap::default())
    }

    /// As [`session_type`](Self::session_type); a definition is called as `names` calls what happens first in it.
    #[must_use]
    pub fn session_type_with_names(
        &self,
        vocabulary: &Arc<Vocabulary>,
        limit: usize,
        names: &FxHashMap<Origin, Arc<str>>,
    ) -> Option<SessionType> {
        let looping = loop_heads(self.state_count(), |state, next| {
            let transitions = self.transitions(State(u32::try_from(state).unwrap_or(u32::MAX)));
            transitions.get(next).map(|transition| transition.target.index())
        });
        let mut builder = SessionTypeBuilder::new();
        // The definition in scope for each state on the current path.
        let mut open: FxHashMap<State, TermId> = FxHashMap::default();
        enum Step {
            Enter(State, TermId),
            Leave(State),
        }
        let root = builder.reserve();
        let mut steps = vec![Step::Enter(self.initial(), root)];
        while let Some(step) = steps.pop() {
            if builder.nodes.len() > limit {
                return None;
            }
            let (state, node) = match step {
                Step::Leave(state) => {
                    open.remove(&state);
                    continue;
                }
                Step::Enter(state, node) => (state, node),
            };
            if let Some(&target) = open.get(&state) {
                builder.set(node, Session::Call { target, origin: Origin::NONE });
                continue;
            }
            let transitions = self.transitions(state);
            if transitions.is_empty() {
                continue;
            }
            let body = if looping[state.index()] {
                let body = builder.reserve();
                let known = transitions.iter().find_map(|transition| names.get(&transition.origin));
                let name = known.cloned().unwrap_or_else(|| format!("X{}", open.len()).into());
                builder.set(node, Session::Rec { name, body, origin: Origin::NONE });
                open.insert(state, node);
                steps.push(Step::Leave(state));
                body
            } else {
                node
            };
            let mut branches = Vec::with_capacity(transitions.len());
            let first = steps.len();
            for t in transitions {
                let next = builder.reserve();
                steps.push(Step::Enter(t.target, next));
                let Transition { action, peer, message, origin, .. } = *t;
                branches.push(SessionBranch { action, peer, message, next, origin });
            }
            steps[first..].reverse();
            builder.set(body, Session::Choice(branches));
        }
        builder.finish(Arc::clone(vocabulary), self.role(), root).ok()
    }
}

/// The nodes of a graph, the first of which is the start, that a depth-first walk meets again while still below them.
/// (Which walk it is decides only where definitions stand, not what they mean.)
pub(crate) fn loop_heads(count: usize, successor: impl Fn(usize, usize) -> Option<usize>) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; count];
    let mut heads = vec![false; count];
    let mut stack = vec![(0, 0)];
    marks[0] = Mark::Open;
    while let Some((node, next)) = stack.last_mut() {
        let Some(target) = successor(*node, *next) else {
            marks[*node] = Mark::Done;
            stack.pop();
            continue;
        };
        *next += 1;
        match marks[target] {
            Mark::Open => heads[target] = true,
            Mark::New => {
                marks[target] = Mark::Open;
                stack.push((target, 0));
            }
            Mark::Done => {}
        }
    }
    heads
}
