//! Monitors in the paper's grammar (RV'23, Figure 2), hash-consed: equal parts, up to renaming of recursion
//! variables and the order of branches, are one node.

use std::sync::Arc;

use referee_theory::{Label, Message, NodeId, Origin, Role, Vocabulary};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A node of a [`RoleMonitor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermId(pub u32);

impl TermId {
    /// This node as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Messages or labels, and how the monitor goes on after each.
pub type Branches<T> = SmallVec<[(T, TermId); 2]>;

/// What can stand at a node of a monitor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// `end`: the component may end.
    End,
    /// `p!q{i<Ti>.M}`: the component sends.
    Output {
        /// To whom.
        peer: Role,
        /// What it may send.
        branches: Branches<Message>,
    },
    /// `p?q{i<Ti>.M}`: the component receives.
    Input {
        /// From whom.
        peer: Role,
        /// What it may receive.
        branches: Branches<Message>,
    },
    /// `p!D(l).M`: the monitor tells others which label was chosen; nobody, if `informed` is empty.
    Inform {
        /// D, in the order of their declaration.
        informed: SmallVec<[Role; 2]>,
        /// What was chosen.
        label: Label,
        /// How the monitor goes on.
        next: TermId,
    },
    /// `p?q{i.M}`: the monitor is told which label was chosen; with a second informer
    /// `p?q{i.p?r{i.M, j.error}}`: it is told twice, and both must agree.
    Learn {
        /// By whom.
        informer: Role,
        /// By whom else.
        second: Option<Role>,
        /// What can have been chosen.
        branches: Branches<Label>,
    },
    /// `μX.M`; levels as in [`referee_theory::global`].
    Rec {
        /// Identifies the binder.
        level: u32,
        /// The definition.
        body: TermId,
    },
    /// `X`.
    Call {
        /// The nearest enclosing binder of this level.
        level: u32,
    },
}

/// A choice that a role neither takes part in nor is told of, and after which its monitor would differ: the
/// monitor follows one branch (Algorithm 2, line 15), whichever is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The exchange.
    pub exchange: NodeId,
    /// Its place in the text.
    pub origin: Origin,
    /// The branch that is followed.
    pub branch: usize,
    /// Its message.
    pub message: Message,
    /// How many branches there are.
    pub branches: usize,
}

/// The monitor of one role (RV'23, Definition 9).
#[derive(Clone, Debug)]
pub struct RoleMonitor {
    pub(super) vocabulary: Arc<Vocabulary>,
    pub(super) role: Role,
    pub(super) terms: Terms,
    pub(super) root: TermId,
    pub(super) followed: Vec<Followed>,
}

impl RoleMonitor {
    /// Whose monitor it is.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The names behind the numbers: those of the protocol.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Where it starts.
    #[must_use]
    pub fn root(&self) -> TermId {
        self.root
    }

    /// What stands at `node`.
    #[must_use]
    pub fn term(&self, node: TermId) -> &Term {
        &self.terms.nodes[node.index()]
    }

    /// What the protocol calls the recursion variable defined at `node`.
    #[must_use]
    pub fn name(&self, node: TermId) -> &str {
        self.terms.names.get(&node).map_or("X", |name| name)
    }

    /// The choices in which it follows one branch without knowing which was chosen.
    #[must_use]
    pub fn followed(&self) -> &[Followed] {
        &self.followed
    }
}

/// The nodes of one monitor.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    nodes: Vec<Term>,
    interned: FxHashMap<Term, TermId>,
    names: FxHashMap<TermId, Arc<str>>,
}

impl Terms {
    pub(super) fn add(&mut self, term: Term) -> TermId {
        let key = order_of_branches_forgotten(&term);
        if let Some(&known) = self.interned.get(&key) {
            return known;
        }
        let fresh = TermId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.interned.insert(key, fresh);
        self.nodes.push(term);
        fresh
    }

    pub(super) fn add_named(&mut self, term: Term, name: &Arc<str>) -> TermId {
        let node = self.add(term);
        self.names.entry(node).or_insert_with(|| Arc::clone(name));
        node
    }
}

fn order_of_branches_forgotten(term: &Term) -> Term {
    let mut key = term.clone();
    match &mut key {
        Term::Output { branches, .. } | Term::Input { branches, .. } => branches.sort_unstable(),
        Term::Learn { branches, .. } => branches.sort_unstable(),
        Term::End | Term::Inform { .. } | Term::Rec { .. } | Term::Call { .. } => {}
    }
    key
}
