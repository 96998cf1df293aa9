//! Figure 3: session types and duals, with the assertions of Section 5.1.

use std::collections::BTreeSet;

use super::value::{Base, Predicate};
use super::{Label, Name};

/// A session type, S.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Session {
    /// ⊕{!lᵢ(xᵢ: Bᵢ)\[Aᵢ\].Sᵢ}.
    Select(Vec<Branch>),
    /// &{?lᵢ(xᵢ: Bᵢ)\[Aᵢ\].Sᵢ}.
    Branch(Vec<Branch>),
    /// rec X.S.
    Rec(Name, Box<Session>),
    /// X.
    Variable(Name),
    /// end.
    End,
}

/// l(x: B)\[A\].S; the types of Figure 3 have A = tt and do not use x.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Branch {
    /// l.
    pub label: Label,
    /// x.
    pub variable: Name,
    /// B.
    pub base: Base,
    /// A.
    pub assertion: Predicate,
    /// S.
    pub next: Session,
}

impl Session {
    /// The dual type.
    #[must_use]
    pub fn dual(&self) -> Self {
        let duals = |branches: &[Branch]| {
            branches.iter().map(|b| Branch { next: b.next.dual(), ..b.clone() }).collect::<Vec<_>>()
        };
        match self {
            Self::Select(branches) => Self::Branch(duals(branches)),
            Self::Branch(branches) => Self::Select(duals(branches)),
            Self::Rec(name, body) => Self::Rec(name, Box::new(body.dual())),
            Self::Variable(_) | Self::End => self.clone(),
        }
    }

    /// S\[R/X\] for a closed R.
    #[must_use]
    pub fn substitute(&self, with: &Self, variable: Name) -> Self {
        let all = |branches: &[Branch]| {
            let branch = |b: &Branch| Branch { next: b.next.substitute(with, variable), ..b.clone() };
            branches.iter().map(branch).collect::<Vec<_>>()
        };
        match self {
            Self::Variable(name) if *name == variable => with.clone(),
            Self::Rec(name, _) if *name == variable => self.clone(),
            Self::Rec(name, body) => Self::Rec(name, Box::new(body.substitute(with, variable))),
            Self::Select(branches) => Self::Select(all(branches)),
            Self::Branch(branches) => Self::Branch(all(branches)),
            Self::Variable(_) | Self::End => self.clone(),
        }
    }

    /// rec X.S is S\[rec X.S/X\], as often as needed: a selection, a branching or end.
    #[must_use]
    pub fn unfold(&self) -> Self {
        match self {
            Self::Rec(name, body) => body.substitute(self, name).unfold(),
            other => other.clone(),
        }
    }

    /// Equality of equi-recursive types (Section 2.3): the greatest relation closed under unfolding.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        equal(self, other, &mut BTreeSet::new())
    }
}

fn equal(left: &Session, right: &Session, assumed: &mut BTreeSet<(Session, Session)>) -> bool {
    let (left, right) = (left.unfold(), right.unfold());
    if !assumed.insert((left.clone(), right.clone())) {
        return true;
    }
    match (&left, &right) {
        (Session::End, Session::End) => true,
        (Session::Select(left), Session::Select(right)) | (Session::Branch(left), Session::Branch(right)) => {
            left.len() == right.len()
                && left.iter().all(|l| {
                    right
                        .iter()
                        .any(|r| l.label == r.label && l.base == r.base && equal(&l.next, &r.next, assumed))
                })
        }
        _ => false,
    }
}
