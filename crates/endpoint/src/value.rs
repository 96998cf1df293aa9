//! Values between an endpoint and a codec.

use alloc::borrow::ToOwned as _;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

/// A value as a codec reads and writes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No information.
    Unit,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// Another number.
    Float(f64),
    /// Text.
    Text(String),
    /// Raw bytes, where the codec can tell them from text.
    Bytes(Vec<u8>),
    /// A list or a tuple.
    List(Vec<Value>),
    /// Named members, no name twice.
    Record(Vec<(String, Value)>),
}

/// A type that a field of a message may have.
pub trait Field: Sized {
    /// This for a codec.
    fn to_value(&self) -> Value;

    /// What a codec has read, if it is of this type.
    fn from_value(value: Value) -> Option<Self>;
}

/// A value of a type of which the protocol knows the name only. Two are equal if their texts are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opaque(pub String);

impl From<&str> for Opaque {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Opaque {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Field for () {
    fn to_value(&self) -> Value {
        Value::Unit
    }

    fn from_value(value: Value) -> Option<Self> {
        matches!(value, Value::Unit).then_some(())
    }
}

impl Field for bool {
    fn to_value(&self) -> Value {
        Value::Bool(*self)
    }

    fn from_value(value: Value) -> Option<Self> {
        if let Value::Bool(value) = value { Some(value) } else { None }
    }
}

impl Field for i64 {
    fn to_value(&self) -> Value {
        Value::Int(*self)
    }

    fn from_value(value: Value) -> Option<Self> {
        if let Value::Int(value) = value { Some(value) } else { None }
    }
}

impl Field for f64 {
    fn to_value(&self) -> Value {
        Value::Float(*self)
    }

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Float(value) => Some(value),
            Value::Int(value) => Some(value as f64),
            _ => None,
        }
    }
}

impl Field for String {
    fn to_value(&self) -> Value {
        Value::Text(self.clone())
    }

    fn from_value(value: Value) -> Option<Self> {
        if let Value::Text(value) = value { Some(value) } else { None }
    }
}

impl Field for Vec<u8> {
    fn to_value(&self) -> Value {
        Value::Bytes(self.clone())
    }

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Bytes(value) => Some(value),
            Value::Text(value) => Some(value.into_bytes()),
            _ => None,
        }
    }
}

impl Field for Opaque {
    fn to_value(&self) -> Value {
        Value::Text(self.0.clone())
    }

    fn from_value(value: Value) -> Option<Self> {
        Some(Self(match value {
            Value::Text(text) => text,
            other => other.to_string(),
        }))
    }
}

impl<T: Field> Field for Vec<T> {
    fn to_value(&self) -> Value {
        Value::List(self.iter().map(Field::to_value).collect())
    }

    fn from_value(value: Value) -> Option<Self> {
        let Value::List(elements) = value else { return None };
        elements.into_iter().map(T::from_value).collect()
    }
}

macro_rules! tuples {
    ($($count:literal: $($name:ident $index:tt),+;)+) => {$(
        impl<$($name: Field),+> Field for ($($name,)+) {
            fn to_value(&self) -> Value {
                Value::List(alloc::vec![$(self.$index.to_value()),+])
            }

            fn from_value(value: Value) -> Option<Self> {
                let Value::List(elements) = value else { return None };
                if elements.len() != $count {
                    return None;
                }
                let mut elements = elements.into_iter();
                Some(($($name::from_value(elements.next()?)?,)+))
            }
        }
    )+};
}

tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
    7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
}

/// The members of a record, by name and in any order.
pub struct Members(Vec<(String, Value)>);

impl Members {
    /// The members of `value`, if it is a record with this many.
    #[must_use]
    pub fn of(value: Value, count: usize) -> Option<Self> {
        match value {
            Value::Record(members) if members.len() == count => Some(Self(members)),
            _ => None,
        }
    }

    /// Takes the member called `name`, if it has its type.
    pub fn take<T: Field>(&mut self, name: &str) -> Option<T> {
        let at = self.0.iter().position(|(found, _)| found == name)?;
        T::from_value(self.0.swap_remove(at).1)
    }
}

/// In the notation of Referee's reports.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit => f.write_str("()"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bytes(bytes) => write!(f, "{bytes:?}"),
            Self::List(values) => {
                f.write_str("[")?;
                for (i, value) in values.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    value.fmt(f)?;
                }
                f.write_str("]")
            }
            Self::Record(members) => {
                f.write_str("{")?;
                for (i, (name, value)) in members.iter().enumerate() {
                    write!(f, "{}{name}: {value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}
