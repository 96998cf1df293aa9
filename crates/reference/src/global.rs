//! Global types as trees (RV'23, Definition 4), and their translation into the product's arena.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use referee_theory::payload::Type;
use referee_theory::{
    Branch as TheoryBranch, Field, Global, GlobalError, GlobalType, GlobalTypeBuilder, MessageSpec, NodeId,
    Origin, Vocabulary,
};

/// A global type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tree {
    /// `end`.
    End,
    /// `s!r{i<Ti>.Gi}`.
    Exchange {
        /// s.
        sender: String,
        /// r.
        receiver: String,
        /// The branches, their labels pairwise distinct.
        branches: Vec<Branch<Tree>>,
    },
    /// `μX.G`.
    Rec(String, Box<Tree>),
    /// `X`.
    Call(String),
}

/// `i<Ti>.Gi`, or `i.Ri` when the payload is empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Branch<T> {
    /// i.
    pub label: String,
    /// The payload type's name; empty for none.
    pub payload: String,
    /// What follows.
    pub next: T,
}

impl<T> Branch<T> {
    /// The branch `label<payload>.next`.
    pub fn new(label: &str, payload: &str, next: T) -> Self {
        Self { label: label.to_owned(), payload: payload.to_owned(), next }
    }
}

/// `s!r{…}` from (label, payload, continuation) triples.
#[must_use]
pub fn exchange(sender: &str, receiver: &str, branches: Vec<(&str, &str, Tree)>) -> Tree {
    let branches = branches.into_iter().map(|(label, payload, next)| Branch::new(label, payload, next));
    Tree::Exchange { sender: sender.to_owned(), receiver: receiver.to_owned(), branches: branches.collect() }
}

/// `s!r{label.next}`.
#[must_use]
pub fn message(sender: &str, receiver: &str, label: &str, next: Tree) -> Tree {
    exchange(sender, receiver, vec![(label, "", next)])
}

/// `μX.G`.
#[must_use]
pub fn rec(name: &str, body: Tree) -> Tree {
    Tree::Rec(name.to_owned(), Box::new(body))
}

/// `X`.
#[must_use]
pub fn call(name: &str) -> Tree {
    Tree::Call(name.to_owned())
}

impl Tree {
    /// `part(G)`: the participants of all exchanges.
    #[must_use]
    pub fn participants(&self) -> BTreeSet<String> {
        match self {
            Self::End | Self::Call(_) => BTreeSet::new(),
            Self::Rec(_, body) => body.participants(),
            Self::Exchange { sender, receiver, branches } => {
                let mut all: BTreeSet<String> = branches.iter().flat_map(|b| b.next.participants()).collect();
                all.extend([sender.clone(), receiver.clone()]);
                all
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
            Self::Exchange { branches, .. } => {
                branches.iter().flat_map(|b| b.next.free_variables()).collect()
            }
        }
    }

    /// `G{with/X}` for a closed `with`, which nothing can capture.
    #[must_use]
    pub fn substitute(&self, variable: &str, with: &Self) -> Self {
        match self {
            Self::Call(name) if name == variable => with.clone(),
            Self::Rec(name, body) if name != variable => rec(name, body.substitute(variable, with)),
            Self::End | Self::Call(_) | Self::Rec(..) => self.clone(),
            Self::Exchange { sender, receiver, branches } => {
                let substituted = branches
                    .iter()
                    .map(|b| Branch::new(&b.label, &b.payload, b.next.substitute(variable, with)));
                Self::Exchange {
                    sender: sender.clone(),
                    receiver: receiver.clone(),
                    branches: substituted.collect(),
                }
            }
        }
    }

    /// Definition 30, `unfold₁(μX.G) = G{μX.G/X}`, repeated while a definition is on top. For a closed and
    /// guarded type.
    #[must_use]
    pub fn unfold(&self) -> Self {
        match self {
            Self::Rec(name, body) => body.substitute(name, self).unfold(),
            other => other.clone(),
        }
    }

    /// How many nodes the tree has.
    #[must_use]
    pub fn node_count(&self) -> usize {
        match self {
            Self::End | Self::Call(_) => 1,
            Self::Rec(_, body) => 1 + body.node_count(),
            Self::Exchange { branches, .. } => {
                1 + branches.iter().map(|b| b.next.node_count()).sum::<usize>()
            }
        }
    }

    /// This type as the product has it, with `roles` declared in this order. Every node and every branch has
    /// its own origin, counted from 0 in the order of the text.
    ///
    /// # Errors
    /// What the product finds wrong with it. An unbound call is one of an empty definition.
    pub fn to_theory(&self, roles: &[&str]) -> Result<GlobalType, Vec<GlobalError>> {
        self.translate(roles, false)
    }

    /// As [`to_theory`](Self::to_theory), but equal parts in equal scopes become one shared node.
    ///
    /// # Errors
    /// As [`to_theory`](Self::to_theory).
    pub fn to_shared_theory(&self, roles: &[&str]) -> Result<GlobalType, Vec<GlobalError>> {
        self.translate(roles, true)
    }

    fn translate(&self, roles: &[&str], share: bool) -> Result<GlobalType, Vec<GlobalError>> {
        let mut vocabulary = Vocabulary::new();
        for role in roles {
            vocabulary.add_role(role);
        }
        let mut translation = Translation {
            vocabulary,
            builder: GlobalTypeBuilder::new(),
            scope: Vec::new(),
            known: share.then(HashMap::new),
            origin: 0,
        };
        let root = translation.node(self);
        translation.builder.finish(Arc::new(translation.vocabulary), root)
    }
}

type ScopedTree = (Tree, Vec<(String, NodeId)>);

struct Translation {
    vocabulary: Vocabulary,
    builder: GlobalTypeBuilder,
    scope: Vec<(String, NodeId)>,
    known: Option<HashMap<ScopedTree, NodeId>>,
    origin: u32,
}

impl Translation {
    fn node(&mut self, tree: &Tree) -> NodeId {
        let free = tree.free_variables();
        let mut visible: Vec<(String, NodeId)> = Vec::new();
        for (name, node) in self.scope.iter().rev() {
            if free.contains(name) && !visible.iter().any(|(inner, _)| inner == name) {
                visible.push((name.clone(), *node));
            }
        }
        visible.sort();
        let key = (tree.clone(), visible);
        if let Some(&known) = self.known.as_ref().and_then(|known| known.get(&key)) {
            return known;
        }
        let node = self.fresh_node(tree);
        if let Some(known) = &mut self.known {
            known.insert(key, node);
        }
        node
    }

    fn fresh_node(&mut self, tree: &Tree) -> NodeId {
        let origin = self.next_origin();
        match tree {
            Tree::End => self.builder.add(Global::End),
            Tree::Call(name) => {
                let bound = self.scope.iter().rev().find(|(inner, _)| inner == name).map(|(_, node)| *node);
                let target = bound.unwrap_or_else(|| self.builder.reserve());
                self.builder.call(target, origin)
            }
            Tree::Rec(name, body) => {
                let node = self.builder.reserve();
                self.scope.push((name.clone(), node));
                let body = self.node(body);
                self.scope.pop();
                self.builder.define(node, name, body, origin);
                node
            }
            Tree::Exchange { sender, receiver, branches } => {
                let node = self.builder.reserve();
                let sender = self.vocabulary.add_role(sender);
                let receiver = self.vocabulary.add_role(receiver);
                let mut translated = Vec::new();
                for branch in branches {
                    let origin = self.next_origin();
                    let label = self.vocabulary.add_label(&branch.label);
                    let fields = payload_fields(&branch.payload);
                    let message = self.vocabulary.add_message(MessageSpec::new(label, fields, None));
                    let next = self.node(&branch.next);
                    translated.push(TheoryBranch { receiver, message, next, origin });
                }
                let content = referee_theory::Exchange { sender, branches: translated.into(), origin };
                self.builder.set(node, Global::Exchange(content));
                node
            }
        }
    }

    fn next_origin(&mut self) -> Origin {
        self.origin += 1;
        Origin(self.origin - 1)
    }
}

/// One unnamed field of the opaque type `payload`, or none.
pub(crate) fn payload_fields(payload: &str) -> Arc<[Field]> {
    if payload.is_empty() {
        Arc::new([])
    } else {
        Arc::new([Field { name: None, ty: Type::opaque(payload) }])
    }
}

/// The inverse of [`payload_fields`].
pub(crate) fn payload_name(spec: &MessageSpec) -> String {
    spec.fields.iter().map(|field| field.ty.to_string()).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("end"),
            Self::Call(name) => f.write_str(name),
            Self::Rec(name, body) => write!(f, "μ{name}.{body}"),
            Self::Exchange { sender, receiver, branches } => {
                write!(f, "{sender}!{receiver}")?;
                write_branches(f, branches)
            }
        }
    }
}

pub(crate) fn write_branches<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    branches: &[Branch<T>],
) -> fmt::Result {
    f.write_str("{")?;
    for (i, Branch { label, payload, next }) in branches.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(f, "{comma}{label}<{payload}>.{next}")?;
    }
    f.write_str("}")
}
