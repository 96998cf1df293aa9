//! Terms that outlive the event they came from.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Fields, Items, Term};

/// A term that owns its parts. Cloning one copies no text and no elements.
#[derive(Clone, Debug)]
pub enum OwnedTerm {
    /// As [`Term::Null`].
    Null,
    /// As [`Term::Bool`].
    Bool(bool),
    /// As [`Term::Int`].
    Int(i64),
    /// As [`Term::Big`].
    Big(Arc<str>),
    /// As [`Term::Float`].
    Float(f64),
    /// As [`Term::Text`].
    Text(Arc<str>),
    /// As [`Term::Atom`].
    Atom(Arc<str>),
    /// As [`Term::Pid`].
    Pid(Arc<str>),
    /// As [`Term::Reference`].
    Reference(Arc<str>),
    /// As [`Term::Tuple`].
    Tuple(Arc<[OwnedTerm]>),
    /// As [`Term::List`].
    List(Arc<[OwnedTerm]>),
    /// As [`Term::Record`].
    Record(Arc<[(Arc<str>, OwnedTerm)]>),
}

impl OwnedTerm {
    /// The text `text`.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// The atom `name`; `true` and `false` are truth values.
    #[must_use]
    pub fn atom(name: &str) -> Self {
        match name {
            "true" => Self::Bool(true),
            "false" => Self::Bool(false),
            name => Self::Atom(name.into()),
        }
    }

    /// The integer `value`, however large.
    #[must_use]
    pub fn integer(value: i128) -> Self {
        i64::try_from(value).map_or_else(|_| Self::Big(value.to_string().into()), Self::Int)
    }

    /// This term, borrowed.
    #[must_use]
    pub fn view(&self) -> Term<'_> {
        match self {
            Self::Null => Term::Null,
            Self::Bool(value) => Term::Bool(*value),
            Self::Int(value) => Term::Int(*value),
            Self::Big(digits) => Term::Big(digits),
            Self::Float(value) => Term::Float(*value),
            Self::Text(text) => Term::Text(text),
            Self::Atom(name) => Term::Atom(name),
            Self::Pid(name) => Term::Pid(name),
            Self::Reference(name) => Term::Reference(name),
            Self::Tuple(items) => Term::Tuple(Items::Owned(items)),
            Self::List(items) => Term::List(Items::Owned(items)),
            Self::Record(members) => Term::Record(Fields::Owned(members)),
        }
    }
}

impl Term<'_> {
    /// A copy that outlives the event; [`Term::Absent`] becomes null, which no pattern lets happen.
    #[must_use]
    pub fn to_owned(self) -> OwnedTerm {
        match self {
            Self::Absent | Self::Null => OwnedTerm::Null,
            Self::Bool(value) => OwnedTerm::Bool(value),
            Self::Int(value) => OwnedTerm::Int(value),
            Self::Big(digits) => OwnedTerm::Big(digits.into()),
            Self::Float(value) => OwnedTerm::Float(value),
            Self::Text(text) => OwnedTerm::Text(text.into()),
            Self::Atom(name) => OwnedTerm::Atom(name.into()),
            Self::Pid(name) => OwnedTerm::Pid(name.into()),
            Self::Reference(name) => OwnedTerm::Reference(name.into()),
            Self::Tuple(items) => OwnedTerm::Tuple(items.iter().map(Term::to_owned).collect()),
            Self::List(items) => OwnedTerm::List(items.iter().map(Term::to_owned).collect()),
            Self::Record(members) => {
                OwnedTerm::Record(members.iter().map(|(name, term)| (name.into(), term.to_owned())).collect())
            }
        }
    }
}

impl PartialEq for OwnedTerm {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl Eq for OwnedTerm {}

impl PartialEq<Term<'_>> for OwnedTerm {
    fn eq(&self, other: &Term<'_>) -> bool {
        self.view() == *other
    }
}

impl Hash for OwnedTerm {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.view().hash(state);
    }
}
