//! Assertions compiled: names resolved to fields and slots, patterns and predicates looked up, the common
//! comparisons in one step.
//!
//! The meaning is that of `referee_theory::expr::eval`, errors included; the law `compiled_assertions` keeps
//! the two together. Scalars, strings and bytes are computed on without allocating, except where the
//! expression itself makes text (`+`, `string(x)`). Containers are read in place; comparing two of them, or
//! passing one to a predicate, copies.

mod compile;
mod operand;
mod run;

use std::cmp::Ordering;
use std::sync::Arc;

use referee_theory::Type;
use referee_theory::expr::{Function, Operator, Pattern};

pub(crate) use compile::{Binding, compile};
pub(crate) use run::Frame;

use crate::layout::Slot;

/// A compiled expression. At most `referee_theory::expr::MAX_DEPTH` deep, like what it is compiled from.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    Octets(Arc<[u8]>),
    Load(Load),
    List(Box<[Code]>),
    Not(Box<Code>),
    Negate(Box<Code>),
    Binary(Operator, Box<[Code; 2]>),
    /// A comparison of ints that are constants or variables.
    CompareInts(Orderings, IntLeaf, IntLeaf),
    /// `==` or `!=` of strings that are constants or variables.
    EqualTexts {
        negated: bool,
        left: TextLeaf,
        right: TextLeaf,
    },
    All(Box<[Code]>),
    Any(Box<[Code]>),
    If(Box<[Code; 3]>),
    Member(Box<Code>, Arc<str>),
    Index(Box<[Code; 2]>),
    /// `x in [a, b, c]`, without making the list.
    OneOf(Box<Code>, Box<[Code]>),
    Call(Function, Box<[Code]>),
    Matches(Box<Code>, Box<Pattern>),
    External(u32, Box<[Code]>),
}

impl Code {
    /// Whether it reads what earlier messages left.
    #[cfg(feature = "network")]
    pub(crate) fn looks_back(&self) -> bool {
        self.reads(&|_| true)
    }

    /// Whether it reads a slot that `which` names.
    pub(crate) fn reads(&self, which: &dyn Fn(Slot) -> bool) -> bool {
        let int = |leaf: &IntLeaf| matches!(leaf, IntLeaf::Slot(slot) if which(*slot));
        let text = |leaf: &TextLeaf| matches!(leaf, TextLeaf::Slot(slot) if which(*slot));
        let any = |of: &[Self]| of.iter().any(|code| code.reads(which));
        match self {
            Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Text(_) | Self::Octets(_) => false,
            Self::Load(load) => matches!(load, Load::Slot(slot, _) if which(*slot)),
            Self::CompareInts(_, left, right) => int(left) || int(right),
            Self::EqualTexts { left, right, .. } => text(left) || text(right),
            Self::Not(of) | Self::Negate(of) | Self::Member(of, _) | Self::Matches(of, _) => of.reads(which),
            Self::Binary(_, of) | Self::Index(of) => any(&**of),
            Self::If(of) => any(&**of),
            Self::OneOf(element, of) => element.reads(which) || any(of),
            Self::List(of) | Self::All(of) | Self::Any(of) | Self::Call(_, of) | Self::External(_, of) => {
                any(of)
            }
        }
    }
}

/// The orderings for which a comparison holds, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orderings(u8);

impl Orderings {
    /// Those for which `operator` holds; `None` if it is no comparison.
    fn of(operator: Operator) -> Option<Self> {
        let (less, equal, greater) = (1 << 0, 1 << 1, 1 << 2);
        Some(Self(match operator {
            Operator::Equal => equal,
            Operator::NotEqual => less | greater,
            Operator::Less => less,
            Operator::LessEqual => less | equal,
            Operator::Greater => greater,
            Operator::GreaterEqual => greater | equal,
            _ => return None,
        }))
    }

    #[inline]
    fn contains(self, ordering: Ordering) -> bool {
        self.0 >> (ordering as i8 + 1) & 1 == 1
    }
}

/// A variable: a field of the message itself, or what an earlier one left in a slot.
#[derive(Clone, Debug)]
pub(crate) enum Load {
    Field(u16, Type),
    Slot(Slot, Type),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum IntLeaf {
    Constant(i64),
    Field(u16),
    Slot(Slot),
}

#[derive(Clone, Debug)]
pub(crate) enum TextLeaf {
    Constant(Arc<str>),
    Field(u16),
    Slot(Slot),
}

/// Why an expression has no value; the reasons of `EvalErrorKind` without their details, which an
/// explanation finds again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Overflow,
    DivisionByZero,
    IndexOutOfRange,
    Conversion,
    /// An external predicate failed: nobody's fault but the configuration's.
    External,
    /// Cannot happen: the expression is well typed and the values have their types.
    IllTyped,
}
