//! Relative types: the part of a global protocol that concerns a pair of roles, with its dependencies
//! (RV'23, Definition 4), and relative projection (Algorithms 1 and 3, Definitions 5 and 7).
//!
//! A [`RelativeType`] is hash-consed: equal parts, up to renaming of recursion variables, are one node.
//! Comparing the projections of two branches (Algorithm 1, line 7) is comparing two numbers, so projecting
//! takes time linear in the global type where the algorithm as printed is exponential in nested choices.
//!
//! Locations (Algorithm 3) are kept beside the type, per node: the set of exchanges of the global type that
//! the node stands for. The paper writes a location as the sequence of labels that leads to an exchange;
//! here it is the exchange itself.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::global::NodeId;
use crate::machine::Action;
use crate::vocabulary::{Message, Role, Vocabulary};

mod project;
mod text;

pub use project::{Cause, RelativeError, Undefined};

/// A node of a [`RelativeType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelativeId(pub u32);

impl RelativeId {
    /// This node as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The outcomes of an exchange and how the type goes on after each; nearly always one or two.
pub type Branches = SmallVec<[(Message, RelativeId); 2]>;

/// What can stand at a node of a relative type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Relative {
    /// Nothing further concerns the pair.
    End,
    /// `p!q{i<Ti>.Ri}`: one of the pair sends to the other. Messages are signatures.
    Exchange {
        /// Who sends.
        sender: Role,
        /// Who receives.
        receiver: Role,
        /// What can be sent.
        branches: Branches,
    },
    /// `(p!r)!q{i.Ri}` or `(p?r)!q{i.Ri}`: one of the pair tells the other which message it sent to, or
    /// received from, a third role.
    Dependency {
        /// Who took part in the exchange, and tells.
        informer: Role,
        /// Whether it sent or received there.
        action: Action,
        /// The third role.
        other: Role,
        /// Who is told.
        informed: Role,
        /// The outcomes.
        branches: Branches,
    },
    /// `μX.R`; levels as in [`crate::global`].
    Rec {
        /// Identifies the binder.
        level: u32,
        /// The definition.
        body: RelativeId,
    },
    /// `X`.
    Call {
        /// The binder that is called: the nearest enclosing one of this level.
        level: u32,
    },
}

/// What two roles of a global protocol have to do with each other.
#[derive(Clone, Debug)]
pub struct RelativeType {
    vocabulary: Arc<Vocabulary>,
    pair: (Role, Role),
    nodes: Vec<Relative>,
    /// What the text calls the variables of definitions.
    names: FxHashMap<RelativeId, Arc<str>>,
    locations: Vec<SmallVec<[NodeId; 2]>>,
    /// The projection of each node of the global type.
    projected: Vec<RelativeId>,
    root: RelativeId,
}

impl RelativeType {
    /// The names behind the numbers.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The two roles.
    #[must_use]
    pub fn pair(&self) -> (Role, Role) {
        self.pair
    }

    /// Where the type starts.
    #[must_use]
    pub fn root(&self) -> RelativeId {
        self.root
    }

    /// What stands at `node`.
    #[must_use]
    pub fn node(&self, node: RelativeId) -> &Relative {
        &self.nodes[node.index()]
    }

    /// What the text calls the recursion variable defined at `node`.
    #[must_use]
    pub fn name(&self, node: RelativeId) -> &str {
        self.names.get(&node).map_or("X", |name| name)
    }

    /// The nodes of the global type that `node` stands for: its location annotation in Algorithm 3.
    #[must_use]
    pub fn locations(&self, node: RelativeId) -> &[NodeId] {
        &self.locations[node.index()]
    }

    /// The projection of `node` of the global type: comparing two is comparing what the pair does there, as
    /// Definition 8 asks.
    #[must_use]
    pub fn of(&self, node: NodeId) -> RelativeId {
        self.projected[node.index()]
    }

    /// Whether the pair has nothing to do with each other.
    #[must_use]
    pub fn is_end(&self) -> bool {
        matches!(self.node(self.root), Relative::End)
    }

    /// The type in the paper's notation, on one line.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.text_at(self.root)
    }
}
