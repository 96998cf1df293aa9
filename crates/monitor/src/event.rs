//! Events: who sent what to whom, borrowed from wherever it was decoded.
//!
//! An event owns nothing. A decoder that knows the monitor beforehand resolves names once, with
//! [`Monitor::channel`](crate::Monitor::channel) and [`Monitor::label`](crate::Monitor::label), and calls
//! [`Monitor::step_interned`](crate::Monitor::step_interned).

use std::fmt::{self, Display, Formatter, Write};
use std::sync::Arc;

use referee_theory::expr::Value;
use referee_theory::{Role, Type};

use crate::labels::LabelId;

/// How deep a value of an opaque type may be nested: beyond this it is a value of no type.
pub const MAX_VALUE_DEPTH: usize = 64;

/// One end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Party {
    /// A role of the protocol.
    Role(Role),
    /// The side under scrutiny, whatever its role is called.
    Process,
    /// The other side; with several peers, whichever of them fits.
    Environment,
    /// Somebody the protocol does not know.
    Stranger,
}

impl From<Role> for Party {
    fn from(role: Role) -> Self {
        Self::Role(role)
    }
}

/// A direction and a peer as a monitor counts them: see [`Monitor::channel`](crate::Monitor::channel). Only
/// meaningful to the monitor that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Even numbers lead from the process, odd ones to it.
    pub(crate) index: u32,
    /// Where its labels begin in a row of the table; beyond the table for strangers.
    pub(crate) offset: u32,
}

impl Channel {
    /// Between two others: not this monitor's business.
    pub(crate) const UNCONCERNED: Self = Self { index: u32::MAX, offset: u32::MAX };

    /// Whether it leads from the environment to the process.
    pub(crate) fn is_incoming(self) -> bool {
        self.index & 1 == 1
    }
}

/// One message, as it was seen.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Who sent it.
    pub from: Party,
    /// Whom it is for.
    pub to: Party,
    /// What it is called.
    pub label: EventLabel<'a>,
    /// What it carries.
    pub payload: Payload<'a>,
}

impl<'a> Event<'a> {
    /// The message `label(payload)` from `from` to `to`.
    #[must_use]
    pub fn new(from: impl Into<Party>, to: impl Into<Party>, label: &'a str, payload: Payload<'a>) -> Self {
        Self { from: from.into(), to: to.into(), label: EventLabel::Text(label), payload }
    }
}

/// The label of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventLabel<'a> {
    /// As it was written.
    Text(&'a str),
    /// Resolved before.
    Known(LabelId),
    /// It could not be decoded, for this reason.
    Malformed(&'a str),
}

/// The fields of an event.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// In the order of the declaration.
    Positional(&'a [FieldValue<'a>]),
    /// By name, in any order. A field that the protocol does not name is taken by its position.
    Named(&'a [(&'a str, FieldValue<'a>)]),
    /// It could not be decoded, for this reason.
    Malformed(&'a str),
}

impl<'a> Payload<'a> {
    /// How many fields there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Positional(values) => values.len(),
            Self::Named(values) => values.len(),
            Self::Malformed(_) => 0,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of the field declared at `index` under `name`.
    #[inline]
    #[must_use]
    pub fn field(&self, index: usize, name: Option<&Arc<str>>) -> Option<&'a FieldValue<'a>> {
        match self {
            Self::Positional(values) => values.get(index),
            Self::Named(values) => match (values.get(index), name) {
                (Some((found, value)), Some(name)) if **found == **name => Some(value),
                (entry, None) => entry.map(|(_, value)| value),
                (_, Some(name)) => values.iter().find(|(found, _)| **found == **name).map(|(_, value)| value),
            },
            Self::Malformed(_) => None,
        }
    }
}

/// The value of a payload field.
///
/// An [`Int`](Self::Int) is a value of `float` too, and a [`Str`](Self::Str) one of `bytes`: text formats do
/// not tell these apart. Values of every kind are values of an opaque type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldValue<'a> {
    /// No information.
    Unit,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// Text.
    Str(&'a str),
    /// Raw bytes.
    Bytes(&'a [u8]),
    /// The elements of a list or tuple.
    List(&'a [FieldValue<'a>]),
    /// Named fields, in any order.
    Record(&'a [(&'a str, FieldValue<'a>)]),
    /// Something that could not be decoded, for this reason.
    Malformed(&'a str),
}

impl FieldValue<'_> {
    /// The kinds of value that can be told apart without looking inside, one bit each.
    #[inline]
    pub(crate) fn kind_bit(&self) -> u16 {
        match self {
            Self::Unit => 1 << 0,
            Self::Bool(_) => 1 << 1,
            Self::Int(_) => 1 << 2,
            Self::Float(_) => 1 << 3,
            Self::Str(_) => 1 << 4,
            Self::Bytes(_) => 1 << 5,
            Self::List(_) => 1 << 6,
            Self::Record(_) => 1 << 7,
            Self::Malformed(_) => 1 << 8,
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
            Self::Str(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Record(_) => "record",
            Self::Malformed(_) => "malformed value",
        }
    }

    /// Whether this is a value of `ty`.
    #[must_use]
    pub fn has_type(&self, ty: &Type) -> bool {
        match (ty, self) {
            (Type::Unit, Self::Unit)
            | (Type::Bool, Self::Bool(_))
            | (Type::Int, Self::Int(_))
            | (Type::Float, Self::Float(_) | Self::Int(_))
            | (Type::String, Self::Str(_))
            | (Type::Bytes, Self::Bytes(_) | Self::Str(_)) => true,
            (Type::List(element), Self::List(values)) => values.iter().all(|value| value.has_type(element)),
            (Type::Tuple(types), Self::List(values)) => {
                types.len() == values.len() && types.iter().zip(*values).all(|(ty, value)| value.has_type(ty))
            }
            (Type::Record(fields), Self::Record(values)) => {
                fields.len() == values.len()
                    && fields.iter().all(|(name, ty)| find(values, name).is_some_and(|v| v.has_type(ty)))
            }
            (Type::Opaque(_), _) => self.is_whole(MAX_VALUE_DEPTH),
            _ => false,
        }
    }

    /// Whether nothing in it is malformed, and it is at most `depth` deep.
    fn is_whole(&self, depth: usize) -> bool {
        match self {
            Self::Malformed(_) => false,
            Self::List(values) => depth > 0 && values.iter().all(|value| value.is_whole(depth - 1)),
            Self::Record(fields) => depth > 0 && fields.iter().all(|(_, value)| value.is_whole(depth - 1)),
            _ => true,
        }
    }

    /// Why it is malformed, if it is; looked for in what a value of `ty` would have.
    pub(crate) fn malformed(&self, ty: &Type) -> Option<&str> {
        match (self, ty) {
            (Self::Malformed(reason), _) => Some(reason),
            (Self::List(values), Type::List(element)) => values.iter().find_map(|v| v.malformed(element)),
            (Self::List(values), Type::Tuple(types)) => {
                values.iter().zip(&**types).find_map(|(value, ty)| value.malformed(ty))
            }
            (Self::Record(values), Type::Record(fields)) => {
                fields.iter().find_map(|(name, ty)| find(values, name)?.malformed(ty))
            }
            _ => None,
        }
    }

    /// This as a value of `ty`, if it is one.
    #[must_use]
    pub fn to_value(&self, ty: &Type) -> Option<Value> {
        Some(match (ty, self) {
            (Type::Unit, Self::Unit) => Value::Unit,
            (Type::Bool, Self::Bool(value)) => Value::Bool(*value),
            (Type::Int, Self::Int(value)) => Value::Int(*value),
            (Type::Float, Self::Float(value)) => Value::Float(*value),
            (Type::Float, Self::Int(value)) => Value::Float(*value as f64),
            (Type::String, Self::Str(text)) => Value::string(text),
            (Type::Bytes, Self::Bytes(bytes)) => Value::Bytes(Arc::from(*bytes)),
            (Type::Bytes, Self::Str(text)) => Value::Bytes(Arc::from(text.as_bytes())),
            (Type::List(element), Self::List(values)) => {
                Value::List(values.iter().map(|value| value.to_value(element)).collect::<Option<_>>()?)
            }
            (Type::Tuple(types), Self::List(values)) if types.len() == values.len() => Value::Tuple(
                types.iter().zip(*values).map(|(ty, value)| value.to_value(ty)).collect::<Option<_>>()?,
            ),
            (Type::Record(fields), Self::Record(values)) if fields.len() == values.len() => Value::Record(
                fields
                    .iter()
                    .map(|(name, ty)| Some((Arc::clone(name), find(values, name)?.to_value(ty)?)))
                    .collect::<Option<_>>()?,
            ),
            (Type::Opaque(_), _) if self.is_whole(MAX_VALUE_DEPTH) => {
                Value::Opaque(self.opaque_text().into())
            }
            _ => return None,
        })
    }

    /// The text by which values of an opaque type are compared: that of a string, else what `Display` shows.
    pub(crate) fn opaque_text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Str(text) => (*text).into(),
            other => other.to_string().into(),
        }
    }
}

/// The field called `name`.
pub(crate) fn find<'a>(fields: &'a [(&str, FieldValue<'a>)], name: &str) -> Option<&'a FieldValue<'a>> {
    fields.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
}

/// In the notation of [`Value`]. Nesting beyond [`MAX_VALUE_DEPTH`] shows as `…`.
impl Display for FieldValue<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_value(f, self, MAX_VALUE_DEPTH)
    }
}

fn write_value(f: &mut Formatter<'_>, value: &FieldValue<'_>, depth: usize) -> fmt::Result {
    match value {
        FieldValue::Unit => f.write_str("()"),
        FieldValue::Bool(value) => value.fmt(f),
        FieldValue::Int(value) => value.fmt(f),
        FieldValue::Float(value) => write!(f, "{value:?}"),
        FieldValue::Str(text) => Value::string(text).fmt(f),
        FieldValue::Bytes(bytes) => Value::Bytes(Arc::from(*bytes)).fmt(f),
        FieldValue::Malformed(reason) => write!(f, "<{reason}>"),
        FieldValue::List(_) | FieldValue::Record(_) if depth == 0 => f.write_char('…'),
        FieldValue::List(values) => {
            f.write_char('[')?;
            for (i, value) in values.iter().enumerate() {
                f.write_str(if i > 0 { ", " } else { "" })?;
                write_value(f, value, depth - 1)?;
            }
            f.write_char(']')
        }
        FieldValue::Record(fields) => {
            f.write_char('{')?;
            for (i, (name, value)) in fields.iter().enumerate() {
                write!(f, "{}{name}: ", if i > 0 { ", " } else { "" })?;
                write_value(f, value, depth - 1)?;
            }
            f.write_char('}')
        }
    }
}
