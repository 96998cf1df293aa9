//! Relative types as trees: erasure and union (Definition 25), equality, and the product's types as trees.

use std::collections::BTreeSet;
use std::fmt;

use referee_theory::Vocabulary;
use referee_theory::relative::{Relative, RelativeId, RelativeType};

use super::{Locations, Tree};
use crate::global::{self, Branch, payload_name};

impl Tree {
    /// Definition 25: every set of locations replaced by ∅.
    #[must_use]
    pub fn erase(&self) -> Self {
        let mut erased = self.clone();
        erased.for_each_location_set(&mut |locations| locations.clear());
        erased
    }

    pub(crate) fn for_each_location_set(&mut self, visit: &mut impl FnMut(&mut Locations)) {
        match self {
            Self::End => {}
            Self::Call(_, locations) => visit(locations),
            Self::Rec(_, locations, body) => {
                visit(locations);
                body.for_each_location_set(visit);
            }
            Self::Exchange { locations, branches, .. } | Self::Dependency { locations, branches, .. } => {
                visit(locations);
                branches.iter_mut().for_each(|branch| branch.next.for_each_location_set(visit));
            }
        }
    }

    /// Definition 25: `R ∪ R'` for types that are equal (up to renaming) once erased.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let both = |a: &Locations, b: &Locations| a.union(b).cloned().collect();
        let merge = |a: &[Branch<Self>], b: &[Branch<Self>]| -> Vec<Branch<Self>> {
            a.iter()
                .map(|a| match b.iter().find(|b| b.label == a.label) {
                    Some(b) => Branch::new(&a.label, &a.payload, a.next.union(&b.next)),
                    None => a.clone(),
                })
                .collect()
        };
        match (self.clone(), other) {
            (Self::Call(name, l), Self::Call(_, m)) => Self::Call(name, both(&l, m)),
            (Self::Rec(name, l, body), Self::Rec(_, m, other)) => {
                Self::Rec(name, both(&l, m), Box::new(body.union(other)))
            }
            (
                Self::Exchange { sender, receiver, locations, branches },
                Self::Exchange { locations: m, branches: others, .. },
            ) => Self::Exchange {
                sender,
                receiver,
                locations: both(&locations, m),
                branches: merge(&branches, others),
            },
            (
                Self::Dependency { informer, sends, other, informed, locations, branches },
                Self::Dependency { locations: m, branches: others, .. },
            ) => Self::Dependency {
                informer,
                sends,
                other,
                informed,
                locations: both(&locations, m),
                branches: merge(&branches, others),
            },
            (same, _) => same,
        }
    }

    /// Equality up to renaming of recursion variables and the order of branches. Locations count.
    #[must_use]
    pub fn equal_up_to_renaming(&self, other: &Self) -> bool {
        self.equal_in(other, &mut Vec::new())
    }

    fn equal_in(&self, other: &Self, scope: &mut Vec<(String, String)>) -> bool {
        match (self, other) {
            (Self::End, Self::End) => true,
            (Self::Call(x, l), Self::Call(y, m)) => {
                // The innermost binders of both names must be one pair; free names must be the same.
                let left = scope.iter().rposition(|(a, _)| a == x);
                let right = scope.iter().rposition(|(_, b)| b == y);
                l == m && left == right && (left.is_some() || x == y)
            }
            (Self::Rec(x, l, a), Self::Rec(y, m, b)) => {
                scope.push((x.clone(), y.clone()));
                let equal = a.equal_in(b, scope);
                scope.pop();
                l == m && equal
            }
            (
                Self::Exchange { sender, receiver, locations, branches },
                Self::Exchange { sender: s, receiver: r, locations: m, branches: others },
            ) => (sender, receiver, locations) == (s, r, m) && Self::branches_equal(branches, others, scope),
            (
                Self::Dependency { informer, sends, other, informed, locations, branches },
                Self::Dependency { informer: i, sends: s, other: o, informed: d, locations: m, branches: bs },
            ) => {
                (informer, sends, other, informed, locations) == (i, s, o, d, m)
                    && Self::branches_equal(branches, bs, scope)
            }
            _ => false,
        }
    }

    fn branches_equal(a: &[Branch<Self>], b: &[Branch<Self>], scope: &mut Vec<(String, String)>) -> bool {
        a.len() == b.len()
            && a.iter().all(|a| {
                let same = b.iter().find(|b| (&b.label, &b.payload) == (&a.label, &a.payload));
                same.is_some_and(|b| a.next.equal_in(&b.next, scope))
            })
    }

    /// The same type with branches in the order of their labels.
    pub(super) fn sorted(&self) -> Self {
        let mut sorted = self.clone();
        match &mut sorted {
            Self::End | Self::Call(..) => {}
            Self::Rec(_, _, body) => **body = body.sorted(),
            Self::Exchange { branches, .. } | Self::Dependency { branches, .. } => {
                branches.iter_mut().for_each(|branch| branch.next = branch.next.sorted());
                branches.sort_by(|a, b| a.label.cmp(&b.label));
            }
        }
        sorted
    }

    /// Whether the pair itself exchanges something: a dependency is no exchange.
    #[must_use]
    pub fn contains_exchange(&self) -> bool {
        match self {
            Self::End | Self::Call(..) => false,
            Self::Exchange { .. } => true,
            Self::Rec(_, _, body) => body.contains_exchange(),
            Self::Dependency { branches, .. } => branches.iter().any(|b| b.next.contains_exchange()),
        }
    }

    pub(super) fn calls(&self) -> BTreeSet<String> {
        match self {
            Self::End => BTreeSet::new(),
            Self::Call(name, _) => BTreeSet::from([name.clone()]),
            Self::Rec(_, _, body) => body.calls(),
            Self::Exchange { branches, .. } | Self::Dependency { branches, .. } => {
                branches.iter().flat_map(|b| b.next.calls()).collect()
            }
        }
    }

    pub(super) fn free_calls(&self) -> BTreeSet<String> {
        match self {
            Self::End => BTreeSet::new(),
            Self::Call(name, _) => BTreeSet::from([name.clone()]),
            Self::Rec(name, _, body) => {
                let mut free = body.free_calls();
                free.remove(name);
                free
            }
            Self::Exchange { branches, .. } | Self::Dependency { branches, .. } => {
                branches.iter().flat_map(|b| b.next.free_calls()).collect()
            }
        }
    }

    /// The product's type, without locations. Variables are called after their levels.
    #[must_use]
    pub fn from_theory(relative: &RelativeType) -> Self {
        Self::from_node(relative, relative.root())
    }

    fn from_node(relative: &RelativeType, node: RelativeId) -> Self {
        let vocabulary = relative.vocabulary();
        let name = |role| vocabulary.role_name(role).to_owned();
        match relative.node(node) {
            Relative::End => Self::End,
            Relative::Call { level } => Self::Call(format!("X{level}"), Locations::new()),
            Relative::Rec { level, body } => {
                let body = Box::new(Self::from_node(relative, *body));
                Self::Rec(format!("X{level}"), Locations::new(), body)
            }
            Relative::Exchange { sender, receiver, branches } => Self::Exchange {
                sender: name(*sender),
                receiver: name(*receiver),
                locations: Locations::new(),
                branches: Self::from_branches(relative, vocabulary, branches, true),
            },
            Relative::Dependency { informer, action, other, informed, branches } => Self::Dependency {
                informer: name(*informer),
                sends: *action == referee_theory::Action::Send,
                other: name(*other),
                informed: name(*informed),
                locations: Locations::new(),
                branches: Self::from_branches(relative, vocabulary, branches, false),
            },
        }
    }

    fn from_branches(
        relative: &RelativeType,
        vocabulary: &Vocabulary,
        branches: &[(referee_theory::Message, RelativeId)],
        payloads: bool,
    ) -> Vec<Branch<Self>> {
        let branch = |&(message, next): &(referee_theory::Message, RelativeId)| {
            let payload = if payloads { payload_name(vocabulary.spec(message)) } else { String::new() };
            Branch::new(vocabulary.label_of(message), &payload, Self::from_node(relative, next))
        };
        branches.iter().map(branch).collect()
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("end"),
            Self::Call(name, _) => f.write_str(name),
            Self::Rec(name, _, body) => write!(f, "μ{name}.{body}"),
            Self::Exchange { sender, receiver, branches, .. } => {
                write!(f, "{sender}!{receiver}")?;
                global::write_branches(f, branches)
            }
            Self::Dependency { informer, sends, other, informed, branches, .. } => {
                let symbol = if *sends { '!' } else { '?' };
                write!(f, "({informer}{symbol}{other})!{informed}")?;
                global::write_branches(f, branches)
            }
        }
    }
}
