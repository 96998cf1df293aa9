//! Values that submonitors keep: small ones need no memory of their own.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use referee_theory::property::{Term, Value};

/// Texts up to this length are kept in place: most names and process identifiers.
const SHORT: usize = 21;

/// A value that outlives its event. Equality is that of [`Term`].
#[derive(Clone, Debug)]
pub(crate) enum Datum {
    Int(i64),
    Short(Short),
    Other(Arc<Value>),
}

/// A short text of some kind.
// INVARIANT: the first `length` bytes are a text, the others zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    kind: Kind,
    length: u8,
    bytes: [u8; SHORT],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Atom,
    Pid,
    Reference,
}

impl Short {
    #[inline]
    fn new(kind: Kind, text: &str) -> Option<Self> {
        let mut bytes = [0; SHORT];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self { kind, length: text.len() as u8, bytes })
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    #[inline]
    fn is(&self, kind: Kind, text: &str) -> bool {
        self.kind == kind && same_text(self.bytes(), text.as_bytes())
    }

    fn view(&self) -> Term<'_> {
        let text = std::str::from_utf8(self.bytes()).unwrap_or_default();
        match self.kind {
            Kind::Text => Term::Text(text),
            Kind::Atom => Term::Atom(text),
            Kind::Pid => Term::Pid(text),
            Kind::Reference => Term::Reference(text),
        }
    }
}

impl Datum {
    #[inline]
    pub(crate) fn of(term: Term<'_>) -> Self {
        let short = match term {
            Term::Int(value) => return Self::Int(value),
            Term::Text(text) => Short::new(Kind::Text, text),
            Term::Atom(name) => Short::new(Kind::Atom, name),
            Term::Pid(name) => Short::new(Kind::Pid, name),
            Term::Reference(name) => Short::new(Kind::Reference, name),
            _ => None,
        };
        short.map_or_else(|| Self::Other(Arc::new(term.to_owned())), Self::Short)
    }

    pub(crate) fn view(&self) -> Term<'_> {
        match self {
            Self::Int(value) => Term::Int(*value),
            Self::Short(short) => short.view(),
            Self::Other(term) => term.view(),
        }
    }

    /// Whether `term` is this.
    #[inline]
    pub(crate) fn is(&self, term: Term<'_>) -> bool {
        match (self, term) {
            (Self::Int(left), Term::Int(right)) => *left == right,
            (Self::Short(short), Term::Text(text)) => short.is(Kind::Text, text),
            (Self::Short(short), Term::Atom(name)) => short.is(Kind::Atom, name),
            (Self::Short(short), Term::Pid(name)) => short.is(Kind::Pid, name),
            (Self::Short(short), Term::Reference(name)) => short.is(Kind::Reference, name),
            (Self::Other(own), term) => **own == term,
            _ => false,
        }
    }
}

/// Whether two texts are equal. Most are names of a few bytes, for which a call of `memcmp` costs more than the rest.
#[inline]
pub(crate) fn same_text(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    match left.len() {
        0 => true,
        1..4 => {
            let bytes = |text: &[u8]| {
                (text.first().copied(), text.get(text.len() / 2).copied(), text.last().copied())
            };
            bytes(left) == bytes(right)
        }
        4..8 => {
            let ends = |text: &[u8]| {
                (
                    text.first_chunk().copied().map(u32::from_le_bytes),
                    text.last_chunk().copied().map(u32::from_le_bytes),
                )
            };
            ends(left) == ends(right)
        }
        8..=16 => {
            let ends = |text: &[u8]| {
                (
                    text.first_chunk().copied().map(u64::from_le_bytes),
                    text.last_chunk().copied().map(u64::from_le_bytes),
                )
            };
            ends(left) == ends(right)
        }
        _ => left == right,
    }
}

impl PartialEq for Datum {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => left == right,
            (Self::Short(left), Self::Short(right)) => left == right,
            (Self::Other(left), Self::Other(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for Datum {}

/// A datum has the hash of its term.
impl Hash for Datum {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.view().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_whole() {
        for length in 0..24_usize {
            let text = vec![b'a'; length];
            assert!(same_text(&text, &text.clone()));
            assert!(!same_text(&text, &vec![b'a'; length + 1]));
            for at in 0..length {
                let mut other = text.clone();
                other[at] = b'b';
                assert!(!same_text(&text, &other), "{length} {at}");
            }
        }
    }

    #[test]
    fn a_datum_is_its_term() {
        let long = "a text that is longer than what fits";
        let terms = [
            Term::Null,
            Term::Bool(true),
            Term::Int(-1),
            Term::Float(1.5),
            Term::Text("ok"),
            Term::Atom("ok"),
            Term::Pid("<0.1.0>"),
            Term::Reference("<0.1.0>"),
            Term::Text(long),
            Term::Atom(long),
            Term::Text(""),
            Term::Text("\0"),
            Term::Text("exactly21bytes-exactl"),
        ];
        assert_eq!(size_of::<Datum>(), 24);
        for (i, left) in terms.iter().enumerate() {
            assert_eq!(Datum::of(*left).view(), *left);
            for (j, right) in terms.iter().enumerate() {
                assert_eq!(Datum::of(*left).is(*right), i == j, "{left} {right}");
                assert_eq!(Datum::of(*left) == Datum::of(*right), i == j, "{left} {right}");
            }
        }
    }
}
