//! Run-time values of payload fields and expressions.

use std::fmt::{self, Display, Formatter, Write};
use std::sync::Arc;

use super::Literal;
use super::print::{write_bytes, write_string};
use crate::payload::Type;

/// A value. Cloning one copies no text and no elements.
///
/// Equality is CEL's `==`: structural, floats by IEEE 754 (NaN is unequal to itself, `0.0 == -0.0`), and
/// values of different kinds are unequal.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No information.
    Unit,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float, infinities and NaN included.
    Float(f64),
    /// Text.
    String(Arc<str>),
    /// Raw bytes.
    Bytes(Arc<[u8]>),
    /// A list.
    List(Arc<[Value]>),
    /// A tuple.
    Tuple(Arc<[Value]>),
    /// Named fields, in declaration order.
    Record(Arc<[(Arc<str>, Value)]>),
    /// A value of an opaque type, known by the text that stands for it on the wire.
    Opaque(Arc<str>),
}

impl Value {
    /// The text `text`.
    #[must_use]
    pub fn string(text: &str) -> Self {
        Self::String(text.into())
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
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Record(_) => "record",
            Self::Opaque(_) => "opaque value",
        }
    }
}

impl From<&Literal> for Value {
    fn from(literal: &Literal) -> Self {
        match literal {
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::Float(value) => Self::Float(value.get()),
            Literal::String(text) => Self::String(Arc::clone(text)),
            Literal::Bytes(bytes) => Self::Bytes(Arc::clone(bytes)),
        }
    }
}

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
            Self::Opaque(text) => f.write_str(text),
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
