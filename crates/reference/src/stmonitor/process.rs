//! Figure 2: the process calculus.

use super::value::{Atom, Predicate, Value};
use super::{Label, Name};

/// A process, P.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Process {
    /// ◁l(a).P.
    Send(Label, Atom, Box<Process>),
    /// ▷{lᵢ(xᵢ).Pᵢ}.
    Receive(Vec<(Label, Name, Process)>),
    /// μX.P.
    Rec(Name, Box<Process>),
    /// X.
    Variable(Name),
    /// if A then P else Q; the number tells one conditional of a process from another.
    If(u32, Predicate, Box<Process>, Box<Process>),
    /// 0.
    Nil,
}

impl Process {
    /// P\[v/x\].
    #[must_use]
    pub fn substitute(&self, value: Value, variable: Name) -> Self {
        match self {
            Self::Send(label, atom, next) => {
                let next = next.substitute(value, variable);
                Self::Send(label, atom.substitute(value, variable), Box::new(next))
            }
            Self::Receive(branches) => {
                let branch = |(label, bound, next): &(Label, Name, Self)| {
                    let shadowed = *bound == variable;
                    let next = if shadowed { next.clone() } else { next.substitute(value, variable) };
                    (*label, *bound, next)
                };
                Self::Receive(branches.iter().map(branch).collect())
            }
            Self::Rec(name, body) => Self::Rec(name, Box::new(body.substitute(value, variable))),
            Self::If(number, predicate, then, otherwise) => Self::If(
                *number,
                predicate.substitute(value, variable),
                Box::new(then.substitute(value, variable)),
                Box::new(otherwise.substitute(value, variable)),
            ),
            Self::Variable(_) | Self::Nil => self.clone(),
        }
    }

    /// P\[Q/X\] for a closed Q.
    #[must_use]
    pub fn unfold(&self, with: &Self, variable: Name) -> Self {
        match self {
            Self::Variable(name) if *name == variable => with.clone(),
            Self::Rec(name, _) if *name == variable => self.clone(),
            Self::Rec(name, body) => Self::Rec(name, Box::new(body.unfold(with, variable))),
            Self::Send(label, atom, next) => Self::Send(label, *atom, Box::new(next.unfold(with, variable))),
            Self::Receive(branches) => Self::Receive(
                branches.iter().map(|(l, x, next)| (*l, *x, next.unfold(with, variable))).collect(),
            ),
            Self::If(number, predicate, then, otherwise) => Self::If(
                *number,
                predicate.clone(),
                Box::new(then.unfold(with, variable)),
                Box::new(otherwise.unfold(with, variable)),
            ),
            Self::Variable(_) | Self::Nil => self.clone(),
        }
    }

    /// P −τ→ P′: rules pRec, pTru, pFls. At most one applies.
    #[must_use]
    pub fn silent(&self) -> Option<Self> {
        match self {
            Self::Rec(name, body) => Some(body.unfold(self, name)),
            Self::If(_, predicate, then, otherwise) => match predicate.evaluate()? {
                true => Some((**then).clone()),
                false => Some((**otherwise).clone()),
            },
            _ => None,
        }
    }

    /// P −◁l(v)→ P′: rule pSnd.
    #[must_use]
    pub fn send(&self) -> Option<(Label, Value, Self)> {
        match self {
            Self::Send(label, Atom::Value(value), next) => Some((label, *value, (**next).clone())),
            _ => None,
        }
    }

    /// P −▷l(v)→ P′: rule pRcv.
    #[must_use]
    pub fn receive(&self, label: Label, value: Value) -> Option<Self> {
        let Self::Receive(branches) = self else { return None };
        let (_, variable, next) = branches.iter().find(|(l, ..)| *l == label)?;
        Some(next.substitute(value, variable))
    }

    /// The conditionals in it.
    #[must_use]
    pub fn conditionals(&self) -> Vec<u32> {
        match self {
            Self::If(number, _, then, otherwise) => {
                let mut all = vec![*number];
                all.extend(then.conditionals());
                all.extend(otherwise.conditionals());
                all
            }
            Self::Send(_, _, next) | Self::Rec(_, next) => next.conditionals(),
            Self::Receive(branches) => branches.iter().flat_map(|(.., next)| next.conditionals()).collect(),
            Self::Variable(_) | Self::Nil => Vec::new(),
        }
    }

    /// Definition 18, with inputs from `messages`: every conditional goes both ways in some execution.
    #[must_use]
    pub fn has_no_dead_code(&self, messages: &[(Label, Value)]) -> bool {
        let mut taken = std::collections::BTreeSet::new();
        let mut seen = std::collections::BTreeSet::new();
        let mut pending = vec![self.clone()];
        while let Some(process) = pending.pop() {
            if !seen.insert(process.clone()) {
                continue;
            }
            if let Self::If(number, predicate, ..) = &process
                && let Some(way) = predicate.evaluate()
            {
                taken.insert((*number, way));
            }
            pending.extend(process.silent());
            pending.extend(process.send().map(|(.., next)| next));
            pending.extend(messages.iter().filter_map(|(label, value)| process.receive(label, *value)));
        }
        self.conditionals().iter().all(|&n| taken.contains(&(n, true)) && taken.contains(&(n, false)))
    }
}
