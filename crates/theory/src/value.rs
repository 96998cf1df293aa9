//! Values: what messages and events carry, what expressions compute, what their constants are.
//!
//! One model serves declared payload types, JSON and Erlang. A [`Term`] is a borrowed value: what a reader hands over; it
//! borrows from the reader's buffer and arena, is copied freely and allocates nothing. A [`Value`] owns its parts and
//! outlives the event: constants, variables, results; cloning one copies no text. Either is looked at as a [`Term`].
//!
//! | | JSON | Erlang |
//! |---|---|---|
//! | `Null` (owned: `Unit`) | `null` | none |
//! | `Bool` | `true`, `false` | the atoms `true`, `false` |
//! | `Int`, `Big` | a number without fraction and exponent | an integer |
//! | `Float` | any other number | a float |
//! | `Text` (owned: `String`) | a string | none: `"ab"` is the list `[97, 98]` |
//! | `Bytes`, `Opaque` | only where a protocol declares the type | none |
//! | `Atom` | none | any other atom |
//! | `Pid`, `Reference` | none | `<0.1.0>`, `#Ref<0.1.2.3>` |
//! | `Tuple` | none | `{a, b}` |
//! | `List` | an array | a proper list |
//! | `Record` | an object; no name twice | none |
//! | `Time`, `Duration` | only computed: the time of an event, `5s` | none |
//!
//! A reader hands over no term nested deeper than [`MAX_DEPTH`], no NaN, no infinity, a [`Term::Big`] only for
//! what does not fit `Int`, without leading zeros or a plus sign, and a record without repeated names.
//!
//! **Equality** is exact, Erlang's `=:=`: terms of different kinds differ, `1` and `1.0` too. The members of a
//! record are compared by name, in any order. Hashing agrees with it. Numeric comparison is the guards' business.

mod compare;
mod owned;
mod show;

pub use compare::number_order;
pub(crate) use compare::{erlang_order, loosely_equal};
pub use owned::Value;

/// How deep terms may be nested: 1 for a scalar.
pub const MAX_DEPTH: usize = 128;

/// A borrowed term.
#[derive(Clone, Copy, Debug)]
pub enum Term<'a> {
    /// Nothing is there: a part that this kind of event lacks. No pattern but a wildcard matches it.
    Absent,
    /// JSON's `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// An integer that needs more, in decimal.
    Big(&'a str),
    /// A finite float.
    Float(f64),
    /// Unicode text.
    Text(&'a str),
    /// Raw bytes.
    Bytes(&'a [u8]),
    /// A value of an opaque type, known by the text that stands for it on the wire.
    Opaque(&'a str),
    /// An Erlang atom, without quotes.
    Atom(&'a str),
    /// An Erlang process identifier, as it is written: `<0.1.0>`.
    Pid(&'a str),
    /// An Erlang reference or port, as it is written: `#Ref<0.1.2.3>`.
    Reference(&'a str),
    /// A tuple.
    Tuple(Items<'a>),
    /// A list.
    List(Items<'a>),
    /// Named members.
    Record(Fields<'a>),
    /// A point in time, in nanoseconds since 1970.
    Time(i64),
    /// The length of a time, in nanoseconds.
    Duration(i64),
}

/// The elements of a tuple or list.
#[derive(Clone, Copy, Debug)]
pub enum Items<'a> {
    /// Elements of a borrowed term.
    Terms(&'a [Term<'a>]),
    /// Elements of an owned term.
    Owned(&'a [Value]),
}

/// The members of a record.
#[derive(Clone, Copy, Debug)]
pub enum Fields<'a> {
    /// Members of a borrowed term.
    Terms(&'a [(&'a str, Term<'a>)]),
    /// Members of an owned term.
    Owned(&'a [(std::sync::Arc<str>, Value)]),
}

impl<'a> Items<'a> {
    /// How many there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::Terms(terms) => terms.len(),
            Self::Owned(terms) => terms.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The element at `index`.
    #[must_use]
    pub fn get(self, index: usize) -> Option<Term<'a>> {
        match self {
            Self::Terms(terms) => terms.get(index).copied(),
            Self::Owned(terms) => terms.get(index).map(Value::view),
        }
    }

    /// Without the first `count` elements.
    #[must_use]
    pub fn skip(self, count: usize) -> Self {
        match self {
            Self::Terms(terms) => Self::Terms(terms.get(count..).unwrap_or_default()),
            Self::Owned(terms) => Self::Owned(terms.get(count..).unwrap_or_default()),
        }
    }

    /// The elements from left to right.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Term<'a>> + Clone {
        (0..self.len()).map(move |index| self.get(index).unwrap_or(Term::Absent))
    }
}

impl<'a> Fields<'a> {
    /// How many there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::Terms(members) => members.len(),
            Self::Owned(members) => members.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The member at `index`, in the order of the text.
    #[must_use]
    pub fn at(self, index: usize) -> Option<(&'a str, Term<'a>)> {
        match self {
            Self::Terms(members) => members.get(index).copied(),
            Self::Owned(members) => members.get(index).map(|(name, term)| (&**name, term.view())),
        }
    }

    /// The member called `name`.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Term<'a>> {
        match self {
            Self::Terms(members) => members.iter().find(|(key, _)| *key == name).map(|(_, term)| *term),
            Self::Owned(members) => {
                members.iter().find(|(key, _)| **key == *name).map(|(_, term)| term.view())
            }
        }
    }

    /// The members in the order of the text.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (&'a str, Term<'a>)> + Clone {
        (0..self.len()).map(move |index| self.at(index).unwrap_or(("", Term::Absent)))
    }
}

impl Default for Fields<'_> {
    fn default() -> Self {
        Self::Terms(&[])
    }
}

impl Term<'_> {
    /// What kind of term this is, in the users' words.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Absent => "nothing",
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Big(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Opaque(_) => "opaque value",
            Self::Atom(_) => "atom",
            Self::Pid(_) => "pid",
            Self::Reference(_) => "reference",
            Self::Tuple(_) => "tuple",
            Self::List(_) => "list",
            Self::Record(_) => "record",
            Self::Time(_) => "time",
            Self::Duration(_) => "duration",
        }
    }
}
