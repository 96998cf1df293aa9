//! Figure 6: the monitor calculus, with the verdicts of Section 5.1.

use super::value::{Atom, Predicate, Value};
use super::{Label, Name};

/// A monitor, M.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Monitor {
    /// ◁l(a).M: to the process.
    Send(Label, Atom, Box<Monitor>),
    /// ▷{lᵢ(xᵢ).Mᵢ}: from the process.
    Receive(Vec<(Label, Name, Monitor)>),
    /// ▲l(a).M: to the environment.
    Out(Label, Atom, Box<Monitor>),
    /// ▼{lᵢ(xᵢ).Mᵢ}: from the environment.
    In(Vec<(Label, Name, Monitor)>),
    /// μX.M.
    Rec(Name, Box<Monitor>),
    /// X.
    Variable(Name),
    /// if A then M else N.
    If(Predicate, Box<Monitor>, Box<Monitor>),
    /// 0.
    Nil,
    /// noP.
    NoP,
    /// noE.
    NoE,
    /// noP^A.
    NoPA,
    /// noE^A.
    NoEA,
}

impl Monitor {
    /// Whether this is a verdict.
    #[must_use]
    pub fn is_verdict(&self) -> bool {
        matches!(self, Self::NoP | Self::NoE | Self::NoPA | Self::NoEA)
    }

    /// M\[v/x\].
    #[must_use]
    pub fn substitute(&self, value: Value, variable: Name) -> Self {
        let under = |next: &Self| Box::new(next.substitute(value, variable));
        let branches = |branches: &[(Label, Name, Self)]| {
            let branch = |(label, bound, next): &(Label, Name, Self)| {
                let shadowed = *bound == variable;
                (*label, *bound, if shadowed { next.clone() } else { next.substitute(value, variable) })
            };
            branches.iter().map(branch).collect::<Vec<_>>()
        };
        match self {
            Self::Send(label, atom, next) => Self::Send(label, atom.substitute(value, variable), under(next)),
            Self::Out(label, atom, next) => Self::Out(label, atom.substitute(value, variable), under(next)),
            Self::Receive(all) => Self::Receive(branches(all)),
            Self::In(all) => Self::In(branches(all)),
            Self::Rec(name, body) => Self::Rec(name, under(body)),
            Self::If(predicate, then, otherwise) => {
                Self::If(predicate.substitute(value, variable), under(then), under(otherwise))
            }
            Self::Variable(_) | Self::Nil | Self::NoP | Self::NoE | Self::NoPA | Self::NoEA => self.clone(),
        }
    }

    /// M\[N/X\].
    #[must_use]
    pub fn unfold(&self, with: &Self, variable: Name) -> Self {
        let under = |next: &Self| Box::new(next.unfold(with, variable));
        let branches = |branches: &[(Label, Name, Self)]| {
            branches.iter().map(|(l, x, next)| (*l, *x, next.unfold(with, variable))).collect::<Vec<_>>()
        };
        match self {
            Self::Variable(name) if *name == variable => with.clone(),
            Self::Rec(name, _) if *name == variable => self.clone(),
            Self::Rec(name, body) => Self::Rec(name, under(body)),
            Self::Send(label, atom, next) => Self::Send(label, *atom, under(next)),
            Self::Out(label, atom, next) => Self::Out(label, *atom, under(next)),
            Self::Receive(all) => Self::Receive(branches(all)),
            Self::In(all) => Self::In(branches(all)),
            Self::If(predicate, then, otherwise) => {
                Self::If(predicate.clone(), under(then), under(otherwise))
            }
            Self::Variable(_) | Self::Nil | Self::NoP | Self::NoE | Self::NoPA | Self::NoEA => self.clone(),
        }
    }

    /// M −τ→ M′: rules mRec, mTru, mFls.
    #[must_use]
    pub fn silent(&self) -> Option<Self> {
        match self {
            Self::Rec(name, body) => Some(body.unfold(self, name)),
            Self::If(predicate, then, otherwise) => match predicate.evaluate()? {
                true => Some((**then).clone()),
                false => Some((**otherwise).clone()),
            },
            _ => None,
        }
    }

    /// M −◁l(v)→ M′: rule mSnd.
    #[must_use]
    pub fn send(&self) -> Option<(Label, Value, Self)> {
        match self {
            Self::Send(label, Atom::Value(value), next) => Some((label, *value, (**next).clone())),
            _ => None,
        }
    }

    /// M −▲l(v)→ M′: rule mOut.
    #[must_use]
    pub fn out(&self) -> Option<(Label, Value, Self)> {
        match self {
            Self::Out(label, Atom::Value(value), next) => Some((label, *value, (**next).clone())),
            _ => None,
        }
    }

    /// M −▷l(v)→ M′: rules mRcv and mIV.
    #[must_use]
    pub fn receive(&self, label: Label, value: Value) -> Option<Self> {
        let Self::Receive(branches) = self else { return None };
        Some(match branches.iter().find(|(l, ..)| *l == label) {
            Some((_, variable, next)) => next.substitute(value, variable),
            None => Self::NoP,
        })
    }

    /// M −▼l(v)→ M′: rules mIn and mEV.
    #[must_use]
    pub fn input(&self, label: Label, value: Value) -> Option<Self> {
        let Self::In(branches) = self else { return None };
        Some(match branches.iter().find(|(l, ..)| *l == label) {
            Some((_, variable, next)) => next.substitute(value, variable),
            None => Self::NoE,
        })
    }
}
