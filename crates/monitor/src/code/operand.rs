//! Values while an assertion is evaluated: borrowed wherever they can be.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use referee_theory::Type;
use referee_theory::expr::{Value, equal};

use super::Failure;
use crate::event::{FieldValue, find};
use crate::registry::Argument;

#[derive(Clone, Debug)]
pub(super) enum Operand<'a> {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Octets(Cow<'a, [u8]>),
    Opaque(Cow<'a, str>),
    /// A container as it came, and its type.
    Field(&'a FieldValue<'a>, &'a Type),
    /// A unit, list, tuple or record. Cloning one copies no elements.
    Tree(Value),
}

impl<'a> Operand<'a> {
    /// `value`, which has type `ty`.
    pub(super) fn of_field(value: &'a FieldValue<'a>, ty: &'a Type) -> Self {
        match (ty, value) {
            (Type::Bool, FieldValue::Bool(value)) => Self::Bool(*value),
            (Type::Int, FieldValue::Int(value)) => Self::Int(*value),
            (Type::Float, FieldValue::Float(value)) => Self::Float(*value),
            (Type::Float, FieldValue::Int(value)) => Self::Float(*value as f64),
            (Type::String, FieldValue::Str(text)) => Self::Text((*text).into()),
            (Type::Bytes, FieldValue::Bytes(bytes)) => Self::Octets((*bytes).into()),
            (Type::Bytes, FieldValue::Str(text)) => Self::Octets(text.as_bytes().into()),
            (Type::Opaque(_), value) => Self::Opaque(value.opaque_text()),
            _ => Self::Field(value, ty),
        }
    }

    pub(super) fn of_value(value: Value) -> Self {
        match value {
            Value::Bool(value) => Self::Bool(value),
            Value::Int(value) => Self::Int(value),
            Value::Float(value) => Self::Float(value),
            Value::String(text) => Self::Text(text.to_string().into()),
            Value::Bytes(bytes) => Self::Octets(bytes.to_vec().into()),
            Value::Opaque(text) => Self::Opaque(text.to_string().into()),
            other => Self::Tree(other),
        }
    }

    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Float(value) => Value::Float(*value),
            Self::Text(text) => Value::string(text),
            Self::Octets(bytes) => Value::Bytes(Arc::from(&**bytes)),
            Self::Opaque(text) => Value::Opaque(Arc::from(&**text)),
            Self::Field(value, ty) => value.to_value(ty).unwrap_or(Value::Unit),
            Self::Tree(value) => value.clone(),
        }
    }

    /// As an argument; `made` keeps what had to be made for it.
    pub(super) fn as_argument<'b>(&'b self, made: &'b Value) -> Argument<'b> {
        match self {
            Self::Bool(value) => Argument::Bool(*value),
            Self::Int(value) => Argument::Int(*value),
            Self::Float(value) => Argument::Float(*value),
            Self::Text(text) | Self::Opaque(text) => Argument::Text(text),
            Self::Octets(bytes) => Argument::Bytes(bytes),
            Self::Tree(value) => value.view(),
            Self::Field(..) => made.view(),
        }
    }

    pub(super) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Int(left), Self::Int(right)) => left == right,
            #[expect(clippy::float_cmp, reason = "equality is that of IEEE 754")]
            (Self::Float(left), Self::Float(right)) => left == right,
            (Self::Text(left), Self::Text(right)) | (Self::Opaque(left), Self::Opaque(right)) => {
                left == right
            }
            (Self::Octets(left), Self::Octets(right)) => left == right,
            (Self::Tree(left), Self::Tree(right)) => equal(left, right),
            (Self::Field(..) | Self::Tree(_), Self::Field(..) | Self::Tree(_)) => {
                equal(&self.to_value(), &other.to_value())
            }
            _ => false,
        }
    }

    /// The order of two values of one ordered type; nothing inside for NaN.
    pub(super) fn compare(&self, other: &Self) -> Result<Option<Ordering>, Failure> {
        Ok(match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => Some(left.cmp(right)),
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(right)),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(right),
            (Self::Text(left), Self::Text(right)) => Some(left.cmp(right)),
            (Self::Octets(left), Self::Octets(right)) => Some(left.cmp(right)),
            _ => return Err(Failure::IllTyped),
        })
    }

    /// How many elements a list or tuple has.
    pub(super) fn length(&self) -> Option<usize> {
        match self {
            Self::Field(FieldValue::List(values), _) => Some(values.len()),
            Self::Tree(Value::List(values) | Value::Tuple(values)) => Some(values.len()),
            _ => None,
        }
    }

    /// The element at `index`, which may be out of range.
    pub(super) fn element(self, index: usize) -> Option<Self> {
        match self {
            Self::Field(FieldValue::List(values), ty) => {
                let ty = match ty {
                    Type::List(element) => element,
                    Type::Tuple(types) => types.get(index)?,
                    _ => return None,
                };
                Some(Self::of_field(values.get(index)?, ty))
            }
            Self::Tree(Value::List(values) | Value::Tuple(values)) => {
                values.get(index).map(|value| Self::of_value(value.clone()))
            }
            _ => None,
        }
    }

    /// The field called `name`.
    pub(super) fn member(self, name: &str) -> Option<Self> {
        match self {
            Self::Field(FieldValue::Record(values), Type::Record(fields)) => {
                let (_, ty) = fields.iter().find(|(field, _)| **field == *name)?;
                Some(Self::of_field(find(values, name)?, ty))
            }
            Self::Tree(Value::Record(fields)) => {
                let (_, value) = fields.iter().find(|(field, _)| **field == *name)?;
                Some(Self::of_value(value.clone()))
            }
            _ => None,
        }
    }
}
