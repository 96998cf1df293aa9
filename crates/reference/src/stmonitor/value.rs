//! Values v, base types B, atoms a ∈ Val ∪ Var and predicates A (Figure 2, Remark 4).

use super::Name;

/// A value, v.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// An integer.
    Int(i64),
    /// A string.
    Str(&'static str),
    /// A truth value.
    Bool(bool),
}

/// A base type, B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Base {
    /// Int.
    Int,
    /// Str.
    Str,
    /// Bool.
    Bool,
}

impl Value {
    /// The B with v ∈ B.
    #[must_use]
    pub fn base(self) -> Base {
        match self {
            Self::Int(_) => Base::Int,
            Self::Str(_) => Base::Str,
            Self::Bool(_) => Base::Bool,
        }
    }
}

/// a ∈ Val ∪ Var.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// v.
    Value(Value),
    /// x.
    Variable(Name),
}

impl Atom {
    /// a\[v/x\].
    #[must_use]
    pub fn substitute(self, value: Value, variable: Name) -> Self {
        if self == Self::Variable(variable) { Self::Value(value) } else { self }
    }
}

/// A predicate, A.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Predicate {
    /// tt, ff.
    Constant(bool),
    /// a == b.
    Equal(Atom, Atom),
    /// a >= b.
    AtLeast(Atom, Atom),
    /// A && A.
    And(Box<Predicate>, Box<Predicate>),
    /// !A.
    Not(Box<Predicate>),
    /// isB(a), of Remark 4.
    Is(Base, Atom),
}

impl Predicate {
    /// A\[v/x\].
    #[must_use]
    pub fn substitute(&self, value: Value, variable: Name) -> Self {
        match self {
            Self::Constant(_) => self.clone(),
            Self::Equal(a, b) => Self::Equal(a.substitute(value, variable), b.substitute(value, variable)),
            Self::AtLeast(a, b) => {
                Self::AtLeast(a.substitute(value, variable), b.substitute(value, variable))
            }
            Self::And(left, right) => Self::And(
                Box::new(left.substitute(value, variable)),
                Box::new(right.substitute(value, variable)),
            ),
            Self::Not(inner) => Self::Not(Box::new(inner.substitute(value, variable))),
            Self::Is(base, a) => Self::Is(*base, a.substitute(value, variable)),
        }
    }

    /// A ⇓ tt or A ⇓ ff; `None` if neither: ill-typed predicates do not evaluate (Section 4.2.1).
    #[must_use]
    pub fn evaluate(&self) -> Option<bool> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::Equal(Atom::Value(a), Atom::Value(b)) => (a.base() == b.base()).then(|| a == b),
            Self::AtLeast(Atom::Value(Value::Int(a)), Atom::Value(Value::Int(b))) => Some(a >= b),
            Self::And(left, right) => {
                let (left, right) = (left.evaluate()?, right.evaluate()?);
                Some(left && right)
            }
            Self::Not(inner) => inner.evaluate().map(|value| !value),
            Self::Is(base, Atom::Value(value)) => Some(value.base() == *base),
            Self::Equal(..) | Self::AtLeast(..) | Self::Is(..) => None,
        }
    }
}
