//! Values that own their parts.

use std::fmt::{self, Display, Formatter, Write};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Fields, Items, Term};
use crate::expr::print::{write_bytes, write_string};
use crate::payload::Type;

/// A value that owns its parts. Cloning one copies no text and no elements.
///
/// Equality is exact and reflexive, as that of [`Term`]: `1` and `1.0` differ, NaN is NaN. What an operator `==` makes of
/// two values is the business of the expression's dialect.
#[derive(Clone, Debug)]
pub enum Value {
    /// No information; JSON's `null`.
    Unit,
    /// A truth value.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// An integer that needs more, in decimal.
    Big(Arc<str>),
    /// A float; in protocols with declared types infinities and NaN included.
    Float(f64),
    /// Text.
    String(Arc<str>),
    /// Raw bytes.
    Bytes(Arc<[u8]>),
    /// An Erlang atom, without quotes.
    Atom(Arc<str>),
    /// An Erlang process identifier, as it is written: `<0.1.0>`.
    Pid(Arc<str>),
    /// An Erlang reference or port, as it is written: `#Ref<0.1.2.3>`.
    Reference(Arc<str>),
    /// A value of an opaque type, known by the text that stands for it on the wire.
    Opaque(Arc<str>),
    /// A list.
    List(Arc<[Value]>),
    /// A tuple.
    Tuple(Arc<[Value]>),
    /// Named fields; of a declared type in the order of the declaration.
    Record(Arc<[(Arc<str>, Value)]>),
    /// A point in time, in nanoseconds since 1970.
    Time(i64),
    /// The length of a time, in nanoseconds.
    Duration(i64),
}

impl Value {
    /// The text `text`.
    #[must_use]
    pub fn string(text: &str) -> Self {
        Self::String(text.into())
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

    /// Whether this is a value of `ty`. An opaque value is one of every opaque type.
    #[must_use]
    pub fn has_type(&self, ty: &Type) -> bool {
        match (self, ty) {
            (Self::Unit, Type::Unit)
            | (Self::Bool(_), Type::Bool)
            | (Self::Int(_), Type::Int)
            | (Self::Float(_), Type::Float)
            | (Self::String(_), Type::String)
            | (Self::Bytes(_), Type::Bytes)
            | (Self::Opaque(_), Type::Opaque(_)) => true,
            (Self::List(values), Type::List(element)) => values.iter().all(|value| value.has_type(element)),
            (Self::Tuple(values), Type::Tuple(types)) => {
                values.len() == types.len() && values.iter().zip(&**types).all(|(v, ty)| v.has_type(ty))
            }
            (Self::Record(values), Type::Record(fields)) => {
                values.len() == fields.len()
                    && values
                        .iter()
                        .zip(&**fields)
                        .all(|((name, value), (field, ty))| name == field && value.has_type(ty))
            }
            _ => false,
        }
    }

    /// What kind of value this is, in the users' words.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unit => "unit",
            other => other.view().kind(),
        }
    }

    /// This value, borrowed.
    #[must_use]
    pub fn view(&self) -> Term<'_> {
        match self {
            Self::Unit => Term::Null,
            Self::Bool(value) => Term::Bool(*value),
            Self::Int(value) => Term::Int(*value),
            Self::Big(digits) => Term::Big(digits),
            Self::Float(value) => Term::Float(*value),
            Self::String(text) => Term::Text(text),
            Self::Bytes(bytes) => Term::Bytes(bytes),
            Self::Opaque(text) => Term::Opaque(text),
            Self::Atom(name) => Term::Atom(name),
            Self::Pid(name) => Term::Pid(name),
            Self::Reference(name) => Term::Reference(name),
            Self::Tuple(items) => Term::Tuple(Items::Owned(items)),
            Self::List(items) => Term::List(Items::Owned(items)),
            Self::Record(members) => Term::Record(Fields::Owned(members)),
            Self::Time(time) => Term::Time(*time),
            Self::Duration(length) => Term::Duration(*length),
        }
    }
}

impl Term<'_> {
    /// A copy that outlives the event; [`Term::Absent`] becomes null, which no pattern lets happen.
    #[must_use]
    pub fn to_owned(self) -> Value {
        match self {
            Self::Absent | Self::Null => Value::Unit,
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Int(value),
            Self::Big(digits) => Value::Big(digits.into()),
            Self::Float(value) => Value::Float(value),
            Self::Text(text) => Value::String(text.into()),
            Self::Bytes(bytes) => Value::Bytes(bytes.into()),
            Self::Opaque(text) => Value::Opaque(text.into()),
            Self::Atom(name) => Value::Atom(name.into()),
            Self::Pid(name) => Value::Pid(name.into()),
            Self::Reference(name) => Value::Reference(name.into()),
            Self::Time(time) => Value::Time(time),
            Self::Duration(length) => Value::Duration(length),
            Self::Tuple(items) => Value::Tuple(items.iter().map(Term::to_owned).collect()),
            Self::List(items) => Value::List(items.iter().map(Term::to_owned).collect()),
            Self::Record(members) => {
                Value::Record(members.iter().map(|(name, term)| (name.into(), term.to_owned())).collect())
            }
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl Eq for Value {}

impl PartialEq<Term<'_>> for Value {
    fn eq(&self, other: &Term<'_>) -> bool {
        self.view() == *other
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.view().hash(state);
    }
}

/// In the notation of expressions.
impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit => f.write_str("()"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::String(text) => write_string(f, text),
            Self::Bytes(bytes) => write_bytes(f, bytes),
            Self::List(values) => write_sequence(f, '[', values, "]"),
            Self::Tuple(values) => write_sequence(f, '(', values, if values.len() == 1 { ",)" } else { ")" }),
            Self::Record(fields) => {
                f.write_char('{')?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{name}: {value}")?;
                }
                f.write_char('}')
            }
            Self::Big(text) | Self::Pid(text) | Self::Reference(text) | Self::Opaque(text) => {
                f.write_str(text)
            }
            Self::Atom(_) | Self::Time(_) | Self::Duration(_) => self.view().fmt(f),
        }
    }
}

fn write_sequence(f: &mut Formatter<'_>, open: char, values: &[Value], close: &str) -> fmt::Result {
    f.write_char(open)?;
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        value.fmt(f)?;
    }
    f.write_str(close)
}
