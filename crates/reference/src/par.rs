//! Blocks side by side: what a role sees of them, by the definition (`docs/concurrency.md`, section 1, *Machines*).
//!
//! > Tr(par{G₁}…{Gₙ} K ↾ r) = ( Tr(G₁↾r) ⧢ … ⧢ Tr(Gₙ↾r) ) ∪ ( Tr✓(G₁↾r) ⧢ … ⧢ Tr✓(Gₙ↾r) ) · Tr(K↾r)

use std::collections::BTreeSet;
use std::sync::Arc;

use referee_theory::{Branch, GlobalError, GlobalType, GlobalTypeBuilder, NodeId, Origin, Vocabulary};

use crate::automaton::{Automaton, Step};

/// A global type with blocks side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// `end`, of the whole or of a block.
    End,
    /// `s!r{l.G}`.
    Exchange {
        /// s.
        sender: &'static str,
        /// r.
        receiver: &'static str,
        /// The branches.
        branches: Vec<(String, Tree)>,
    },
    /// `par{G₁}…{Gₙ} K`.
    Par(Vec<Tree>, Box<Tree>),
    /// `μX.G`.
    Rec(String, Box<Tree>),
    /// `X`.
    Call(String),
}

/// What a role does, in order.
pub type Trace = Vec<Step>;

/// Tr and Tr✓, up to a length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// All, closed under prefixes.
    pub all: BTreeSet<Trace>,
    /// Those after which there is nothing left to do.
    pub ended: BTreeSet<Trace>,
}

impl Traces {
    fn nothing() -> Self {
        Self { all: BTreeSet::from([Vec::new()]), ended: BTreeSet::from([Vec::new()]) }
    }

    /// The traces of `automaton` of at most `longest` steps.
    #[must_use]
    pub fn of(automaton: &Automaton, longest: usize) -> Self {
        let mut traces = Self::default();
        let mut pending = vec![(0, Vec::new())];
        while let Some((state, trace)) = pending.pop() {
            if automaton.edges[state].is_empty() {
                traces.ended.insert(trace.clone());
            }
            if trace.len() < longest {
                for (step, target) in &automaton.edges[state] {
                    let mut longer = trace.clone();
                    longer.push(step.clone());
                    pending.push((*target, longer));
                }
            }
            traces.all.insert(trace);
        }
        traces
    }
}

/// `s!r{l.G}` with one branch.
#[must_use]
pub fn message(sender: &'static str, receiver: &'static str, label: &str, next: Tree) -> Tree {
    Tree::Exchange { sender, receiver, branches: vec![(label.to_owned(), next)] }
}

/// `par{G₁}…{Gₙ} K`.
#[must_use]
pub fn par(blocks: Vec<Tree>, next: Tree) -> Tree {
    Tree::Par(blocks, Box::new(next))
}

impl Tree {
    /// What `role` sees, up to `longest` steps.
    #[must_use]
    pub fn traces(&self, role: &str, longest: usize) -> Traces {
        self.look(role, longest, longest + 2)
    }

    fn look(&self, role: &str, longest: usize, unfoldings: usize) -> Traces {
        match self {
            Self::End | Self::Call(_) => Traces::nothing(),
            Self::Rec(..) if unfoldings == 0 => {
                Traces { all: BTreeSet::from([Vec::new()]), ended: BTreeSet::new() }
            }
            Self::Rec(name, body) => body.substitute(name, self).look(role, longest, unfoldings - 1),
            Self::Exchange { sender, receiver, branches } => {
                let mut traces = Traces { all: BTreeSet::from([Vec::new()]), ended: BTreeSet::new() };
                for (label, next) in branches {
                    let next = next.look(role, longest, unfoldings);
                    let first = match role {
                        _ if role == *sender => Some((true, receiver)),
                        _ if role == *receiver => Some((false, sender)),
                        _ => None,
                    };
                    let first: Trace =
                        first.into_iter().map(|(sends, peer)| step(sends, peer, label)).collect();
                    let before = BTreeSet::from([first]);
                    traces.all.extend(follow(&before, &next.all, longest));
                    traces.ended.extend(follow(&before, &next.ended, longest));
                }
                traces
            }
            Self::Par(blocks, next) => {
                let mut together = Traces::nothing();
                for block in blocks {
                    let block = block.look(role, longest, unfoldings);
                    together.all = shuffle(&together.all, &block.all, longest);
                    together.ended = shuffle(&together.ended, &block.ended, longest);
                }
                let next = next.look(role, longest, unfoldings);
                together.all.extend(follow(&together.ended, &next.all, longest));
                together.ended = follow(&together.ended, &next.ended, longest);
                together
            }
        }
    }

    fn substitute(&self, variable: &str, with: &Self) -> Self {
        match self {
            Self::Call(name) if name == variable => with.clone(),
            Self::End | Self::Call(_) => self.clone(),
            Self::Rec(name, _) if name == variable => self.clone(),
            Self::Rec(name, body) => Self::Rec(name.clone(), Box::new(body.substitute(variable, with))),
            Self::Exchange { sender, receiver, branches } => {
                let next = |(label, next): &(String, Self)| (label.clone(), next.substitute(variable, with));
                Self::Exchange { sender, receiver, branches: branches.iter().map(next).collect() }
            }
            Self::Par(blocks, next) => {
                let blocks = blocks.iter().map(|block| block.substitute(variable, with)).collect();
                Self::Par(blocks, Box::new(next.substitute(variable, with)))
            }
        }
    }

    /// This type as the product has it, with `roles` declared in this order.
    ///
    /// # Errors
    /// What the product finds wrong with it.
    pub fn to_theory(&self, roles: &[&str]) -> Result<GlobalType, Vec<GlobalError>> {
        let mut vocabulary = Vocabulary::new();
        roles.iter().for_each(|role| {
            vocabulary.add_role(role);
        });
        let mut builder = GlobalTypeBuilder::new();
        let root = self.add(&mut vocabulary, &mut builder, &mut Vec::new());
        builder.finish(Arc::new(vocabulary), root)
    }

    fn add(
        &self,
        vocabulary: &mut Vocabulary,
        builder: &mut GlobalTypeBuilder,
        scope: &mut Vec<(String, NodeId)>,
    ) -> NodeId {
        let origin = Origin(u32::try_from(builder.node_count()).unwrap_or(u32::MAX));
        match self {
            // In a block this is the end of the block.
            Self::End => builder.end(),
            Self::Call(name) => {
                let found = scope.iter().rev().find(|(known, _)| known == name).map(|(_, node)| *node);
                let target = found.unwrap_or_else(|| builder.reserve());
                builder.call(target, origin)
            }
            Self::Rec(name, body) => {
                let node = builder.reserve();
                scope.push((name.clone(), node));
                let body = body.add(vocabulary, builder, scope);
                scope.pop();
                builder.define(node, name, body, origin);
                node
            }
            Self::Exchange { sender, receiver, branches } => {
                let (sender, receiver) = (vocabulary.add_role(sender), vocabulary.add_role(receiver));
                let branches: Vec<Branch> = branches
                    .iter()
                    .map(|(label, next)| {
                        let message = vocabulary.add_plain_message(label);
                        let next = next.add(vocabulary, builder, scope);
                        Branch { receiver, message, next, origin }
                    })
                    .collect();
                builder.exchange(sender, branches, origin)
            }
            Self::Par(blocks, next) => {
                let blocks: Vec<NodeId> =
                    blocks.iter().map(|block| block.add(vocabulary, builder, scope)).collect();
                let next = next.add(vocabulary, builder, scope);
                builder.par(blocks, next, origin)
            }
        }
    }
}

fn step(sends: bool, peer: &str, label: &str) -> Step {
    Step { sends, peer: peer.to_owned(), label: label.to_owned(), payload: String::new() }
}

/// L · M, up to a length.
fn follow(left: &BTreeSet<Trace>, right: &BTreeSet<Trace>, longest: usize) -> BTreeSet<Trace> {
    let both = left.iter().flat_map(|left| right.iter().map(move |right| [&left[..], &right[..]].concat()));
    both.filter(|trace| trace.len() <= longest).collect()
}

/// L ⧢ M, up to a length.
#[must_use]
pub fn shuffle(left: &BTreeSet<Trace>, right: &BTreeSet<Trace>, longest: usize) -> BTreeSet<Trace> {
    let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right)));
    pairs
        .filter(|(left, right)| left.len() + right.len() <= longest)
        .flat_map(|(left, right)| interleavings(left, right))
        .collect()
}

/// All interleavings of two sequences.
#[must_use]
pub fn interleavings<T: Clone>(left: &[T], right: &[T]) -> Vec<Vec<T>> {
    let (Some((first, left_rest)), Some((other, right_rest))) = (left.split_first(), right.split_first())
    else {
        return vec![[left, right].concat()];
    };
    let begin = |first: &T, rest: Vec<Vec<T>>| {
        rest.into_iter().map(|rest| [std::slice::from_ref(first), &rest].concat()).collect::<Vec<_>>()
    };
    let mut all = begin(first, interleavings(left_rest, right));
    all.extend(begin(other, interleavings(left, right_rest)));
    all
}
