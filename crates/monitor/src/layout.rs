//! Where a session keeps the variables that later assertions read.
//!
//! A variable has a slot of its kind: scalars are machine words, the first of them inside the session
//! itself; text, bytes and containers are kept in a part that a session allocates when it first binds one.
//! Variables that are never needed at the same time share a slot.

use std::sync::Arc;

use referee_theory::Type;

/// Where one variable is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    /// The word inside the session.
    First,
    /// A further word.
    Scalar(u32),
    /// A string, or the text of a value of an opaque type.
    Text(u32),
    /// Bytes.
    Octets(u32),
    /// A list, tuple, record or unit.
    Tree(u32),
}

/// The kinds of slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// bool, int, float.
    Scalar,
    /// string, opaque.
    Text,
    /// bytes.
    Octets,
    /// Everything else.
    Tree,
}

impl Class {
    pub(crate) fn of(ty: &Type) -> Self {
        match ty {
            Type::Bool | Type::Int | Type::Float => Self::Scalar,
            Type::String | Type::Opaque(_) => Self::Text,
            Type::Bytes => Self::Octets,
            Type::Unit | Type::List(_) | Type::Tuple(_) | Type::Record(_) => Self::Tree,
        }
    }

    pub(crate) fn slot(self, index: u32) -> Slot {
        match (self, index) {
            (Self::Scalar, 0) => Slot::First,
            (Self::Scalar, index) => Slot::Scalar(index - 1),
            (Self::Text, index) => Slot::Text(index),
            (Self::Octets, index) => Slot::Octets(index),
            (Self::Tree, index) => Slot::Tree(index),
        }
    }
}

/// A variable with one type and one slot.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: Arc<str>,
    pub(crate) ty: Type,
    pub(crate) slot: Slot,
}

/// How many slots of each kind a session needs, and what is in them in each state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) variables: Vec<Variable>,
    /// `live[offsets[s]..offsets[s + 1]]` are the variables kept in state `s`.
    pub(crate) offsets: Vec<u32>,
    pub(crate) live: Vec<u32>,
    pub(crate) scalars: usize,
    pub(crate) texts: usize,
    pub(crate) octets: usize,
    pub(crate) trees: usize,
}

impl Layout {
    /// The variables kept in `state`.
    pub(crate) fn live(&self, state: u32) -> impl Iterator<Item = &Variable> {
        let state = state as usize;
        let range = match (self.offsets.get(state), self.offsets.get(state + 1)) {
            (Some(&from), Some(&to)) => from as usize..to as usize,
            _ => 0..0,
        };
        let live = self.live.get(range).unwrap_or_default();
        live.iter().filter_map(|&index| self.variables.get(index as usize))
    }
}
