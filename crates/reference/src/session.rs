//! Session types as trees (ECOOP'21, Figure 3; every branch names its peer, so local types too).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use referee_theory::session::{
    Session, SessionBranch, SessionError, SessionType, SessionTypeBuilder, TermId,
};
use referee_theory::{Action, MessageSpec, Origin, Vocabulary};

use crate::automaton::{Automaton, Step};
use crate::global::{payload_fields, payload_name};

/// A session type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tree {
    /// `end`.
    End,
    /// `+{!l(T).S, …}` or `&{?l(T).S, …}`: at least one branch.
    Choice(Vec<(Step, Tree)>),
    /// `rec X.(S)`.
    Rec(String, Box<Tree>),
    /// `X`.
    Call(String),
}

/// `peer!label.next` or `peer?label.next`, as one branch of a choice.
#[must_use]
pub fn branch(sends: bool, peer: &str, label: &str, next: Tree) -> (Step, Tree) {
    (Step { sends, peer: peer.to_owned(), label: label.to_owned(), payload: String::new() }, next)
}

impl Tree {
    /// The other side's view of a binary session: directions turned round, and `role` the peer.
    #[must_use]
    pub fn dual(&self, role: &str) -> Self {
        match self {
            Self::End | Self::Call(_) => self.clone(),
            Self::Rec(name, body) => Self::Rec(name.clone(), Box::new(body.dual(role))),
            Self::Choice(branches) => {
                let dual = |(step, next): &(Step, Self)| {
                    let step = Step { sends: !step.sends, peer: role.to_owned(), ..step.clone() };
                    (step, next.dual(role))
                };
                Self::Choice(branches.iter().map(dual).collect())
            }
        }
    }

    /// `S{with/X}` for a closed `with`.
    #[must_use]
    pub fn substitute(&self, variable: &str, with: &Self) -> Self {
        match self {
            Self::Call(name) if name == variable => with.clone(),
            Self::Rec(name, body) if name != variable => {
                Self::Rec(name.clone(), Box::new(body.substitute(variable, with)))
            }
            Self::End | Self::Call(_) | Self::Rec(..) => self.clone(),
            Self::Choice(branches) => {
                let branch = |(step, next): &(Step, Self)| (step.clone(), next.substitute(variable, with));
                Self::Choice(branches.iter().map(branch).collect())
            }
        }
    }

    /// One-level unfolding by substitution, repeated while a definition is on top: an end or a choice. For
    /// closed, guarded types.
    #[must_use]
    pub fn unfold(&self) -> Self {
        match self {
            Self::Rec(name, body) => body.substitute(name, self).unfold(),
            other => other.clone(),
        }
    }

    /// The steps of the unfolded type, each with the closed type that follows.
    #[must_use]
    pub fn steps(&self) -> Vec<(Step, Self)> {
        match self.unfold() {
            Self::Choice(branches) => branches,
            Self::End | Self::Rec(..) | Self::Call(_) => Vec::new(),
        }
    }

    /// The automaton whose states are the unfolded closed types that are reached.
    #[must_use]
    pub fn automaton(&self) -> Automaton {
        let unfolded =
            |tree: &Self| tree.steps().into_iter().map(|(step, next)| (step, next.unfold())).collect();
        Automaton::explore(self.unfold(), unfolded)
    }

    /// Whether the unfoldings agree as trees up to `depth` steps. Deterministic types only.
    #[must_use]
    pub fn equal_to_depth(&self, other: &Self, depth: usize) -> bool {
        let (left, right) = (self.automaton(), other.automaton());
        // `equal[i][j]`: the unfoldings of i and j agree up to d steps, for d = 0, 1, …, depth.
        let mut equal = vec![vec![true; right.edges.len()]; left.edges.len()];
        let sorted = |edges: &[(Step, usize)]| -> BTreeMap<Step, usize> { edges.iter().cloned().collect() };
        let lefts: Vec<_> = left.edges.iter().map(|edges| sorted(edges)).collect();
        let rights: Vec<_> = right.edges.iter().map(|edges| sorted(edges)).collect();
        for _ in 0..depth {
            let row = |a: &BTreeMap<Step, usize>| {
                let agree = |b: &BTreeMap<Step, usize>| {
                    a.len() == b.len() && a.iter().zip(b).all(|((s, i), (t, j))| s == t && equal[*i][*j])
                };
                rights.iter().map(agree).collect::<Vec<bool>>()
            };
            equal = lefts.iter().map(row).collect();
        }
        equal[0][0]
    }

    /// Equality of the infinite unfoldings of two deterministic types.
    ///
    /// The trees are compared up to depth n·m, where n and m count the different subtrees of each. That is
    /// enough: if the trees differ, take a shortest path to a difference. No pair of subtrees occurs twice
    /// on it (cutting out what lies between would give a shorter one) and there are n·m pairs.
    #[must_use]
    pub fn equal_up_to_unfolding(&self, other: &Self) -> bool {
        let pairs = self.automaton().edges.len() * other.automaton().edges.len();
        self.equal_to_depth(other, pairs)
    }

    /// This type as the product has it. `vocabulary` must know all names; see [`Self::extend_vocabulary`].
    ///
    /// # Errors
    /// What the product finds wrong with it.
    ///
    /// # Panics
    /// When a name is unknown or a variable is unbound.
    pub fn to_theory(
        &self,
        vocabulary: &Arc<Vocabulary>,
        role: &str,
    ) -> Result<SessionType, Vec<SessionError>> {
        let mut builder = SessionTypeBuilder::new();
        // A clone finds what is known without adding to the shared one.
        let mut names = Vocabulary::clone(vocabulary);
        let root = self.add_to(&mut builder, &mut names, &mut Vec::new());
        let role = names.add_role(role);
        assert_eq!(names.messages().len(), vocabulary.messages().len(), "unknown messages");
        builder.finish(Arc::clone(vocabulary), role, root)
    }

    /// Makes all names of this type known to `vocabulary`.
    pub fn extend_vocabulary(&self, vocabulary: &mut Vocabulary) {
        match self {
            Self::End | Self::Call(_) => {}
            Self::Rec(_, body) => body.extend_vocabulary(vocabulary),
            Self::Choice(branches) => {
                for (step, next) in branches {
                    vocabulary.add_role(&step.peer);
                    let label = vocabulary.add_label(&step.label);
                    let fields = payload_fields(&step.payload);
                    vocabulary.add_message(MessageSpec::new(label, fields, None));
                    next.extend_vocabulary(vocabulary);
                }
            }
        }
    }

    fn add_to(
        &self,
        builder: &mut SessionTypeBuilder,
        names: &mut Vocabulary,
        scope: &mut Vec<(String, TermId)>,
    ) -> TermId {
        let origin = Origin::NONE;
        match self {
            Self::End => builder.add(Session::End),
            Self::Call(name) => {
                let bound = scope.iter().rev().find(|(inner, _)| inner == name).map(|(_, node)| *node);
                let target = bound.unwrap_or_else(|| builder.reserve());
                builder.add(Session::Call { target, origin })
            }
            Self::Rec(name, body) => {
                let node = builder.reserve();
                scope.push((name.clone(), node));
                let body = body.add_to(builder, names, scope);
                scope.pop();
                builder.set(node, Session::Rec { name: name.as_str().into(), body, origin });
                node
            }
            Self::Choice(branches) => {
                let mut added = Vec::new();
                for (step, next) in branches {
                    let peer = names.add_role(&step.peer);
                    let label = names.add_label(&step.label);
                    let fields = payload_fields(&step.payload);
                    let message = names.add_message(MessageSpec::new(label, fields, None));
                    let action = if step.sends { Action::Send } else { Action::Receive };
                    let next = next.add_to(builder, names, scope);
                    added.push(SessionBranch { action, peer, message, next, origin });
                }
                builder.add(Session::Choice(added))
            }
        }
    }

    /// The product's type as a tree. Variables are called after their definitions' nodes.
    #[must_use]
    pub fn from_theory(session: &SessionType) -> Self {
        Self::from_node(session, session.root())
    }

    fn from_node(session: &SessionType, node: TermId) -> Self {
        match session.node(node) {
            Session::End => Self::End,
            Session::Call { target, .. } => Self::Call(format!("X{}", target.index())),
            Session::Rec { body, .. } => {
                Self::Rec(format!("X{}", node.index()), Box::new(Self::from_node(session, *body)))
            }
            Session::Choice(branches) => {
                let vocabulary = session.vocabulary();
                let branch = |b: &SessionBranch| {
                    let step = Step {
                        sends: b.action == Action::Send,
                        peer: vocabulary.role_name(b.peer).to_owned(),
                        label: vocabulary.label_of(b.message).to_owned(),
                        payload: payload_name(vocabulary.spec(b.message)),
                    };
                    (step, Self::from_node(session, b.next))
                };
                Self::Choice(branches.iter().map(branch).collect())
            }
        }
    }

    /// The recursion variables called but not defined here.
    #[must_use]
    pub fn free_variables(&self) -> BTreeSet<String> {
        match self {
            Self::End => BTreeSet::new(),
            Self::Call(name) => BTreeSet::from([name.clone()]),
            Self::Rec(name, body) => {
                let mut free = body.free_variables();
                free.remove(name);
                free
            }
            Self::Choice(branches) => branches.iter().flat_map(|(_, next)| next.free_variables()).collect(),
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("end"),
            Self::Call(name) => f.write_str(name),
            Self::Rec(name, body) => write!(f, "rec {name}.({body})"),
            Self::Choice(branches) => {
                f.write_str("{")?;
                for (i, (Step { sends, peer, label, payload }, next)) in branches.iter().enumerate() {
                    let (comma, symbol) = (if i > 0 { ", " } else { "" }, if *sends { '!' } else { '?' });
                    write!(f, "{comma}{peer}{symbol}{label}({payload}).{next}")?;
                }
                f.write_str("}")
            }
        }
    }
}
