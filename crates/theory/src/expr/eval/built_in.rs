//! What the built-in functions compute.

use std::cmp::Ordering;
use std::sync::Arc;

use super::super::{Function, Pattern, Value};
use super::{EvalErrorKind, ill_typed, int};

/// The least int as a float, and the first float past the greatest: both exact.
const INT_RANGE: std::ops::Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;

pub(super) fn call(function: Function, args: &[Value]) -> Result<Value, EvalErrorKind> {
    let found = match (function, args) {
        (Function::Size, [value]) => size(value),
        (Function::StartsWith, [Value::String(text), Value::String(part)]) => {
            Some(Value::Bool(text.starts_with(&**part)))
        }
        (Function::EndsWith, [Value::String(text), Value::String(part)]) => {
            Some(Value::Bool(text.ends_with(&**part)))
        }
        (Function::Contains, [Value::String(text), Value::String(part)]) => {
            Some(Value::Bool(text.contains(&**part)))
        }
        (Function::Matches, [Value::String(text), Value::String(pattern)]) => {
            // The checker has compiled it before: a bad pattern is an ill-typed expression.
            Pattern::new(pattern).ok().map(|pattern| Value::Bool(pattern.is_match(text)))
        }
        (Function::Int, [value]) => return convert(function, value, to_int),
        (Function::Float, [value]) => return convert(function, value, to_float),
        (Function::String, [value]) => return convert(function, value, to_string),
        (Function::Abs, [Value::Int(value)]) => return int(value.checked_abs(), function.name()),
        (Function::Abs, [Value::Float(value)]) => Some(Value::Float(value.abs())),
        (Function::Min, [_, _, ..]) => extreme(args, Ordering::Less),
        (Function::Max, [_, _, ..]) => extreme(args, Ordering::Greater),
        _ => None,
    };
    found.ok_or_else(|| ill_typed(function.name(), &args.iter().collect::<Vec<_>>()))
}

/// Characters, bytes or elements.
fn size(value: &Value) -> Option<Value> {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(values) => values.len(),
        _ => return None,
    };
    i64::try_from(size).ok().map(Value::Int)
}

/// The first argument unless a later one is strictly better: so NaN stays if it is first, else is ignored.
fn extreme(args: &[Value], better: Ordering) -> Option<Value> {
    let (mut best, rest) = args.split_first()?;
    for value in rest {
        let ordering = match (value, best) {
            (Value::Int(value), Value::Int(best)) => Some(value.cmp(best)),
            (Value::Float(value), Value::Float(best)) => value.partial_cmp(best),
            _ => return None,
        };
        if ordering == Some(better) {
            best = value;
        }
    }
    Some(best.clone())
}

/// A conversion gives nothing for a value of the wrong kind, and nothing inside for one without a result.
fn convert(
    function: Function,
    value: &Value,
    conversion: fn(&Value) -> Option<Option<Value>>,
) -> Result<Value, EvalErrorKind> {
    let name = function.name();
    let result = conversion(value).ok_or_else(|| ill_typed(name, &[value]))?;
    result.ok_or_else(|| EvalErrorKind::Conversion { function: name, value: value.clone() })
}

fn to_int(value: &Value) -> Option<Option<Value>> {
    Some(match value {
        Value::Int(_) => Some(value.clone()),
        // Towards zero, and in range.
        Value::Float(value) => INT_RANGE.contains(&value.trunc()).then(|| Value::Int(value.trunc() as i64)),
        Value::String(text) => text.parse().ok().map(Value::Int),
        _ => return None,
    })
}

fn to_float(value: &Value) -> Option<Option<Value>> {
    Some(match value {
        // To the nearest float, as CEL says.
        Value::Int(value) => Some(Value::Float(*value as f64)),
        Value::Float(_) => Some(value.clone()),
        Value::String(text) => text.parse().ok().map(Value::Float),
        _ => return None,
    })
}

/// Floats print as the shortest decimal that reads back the same: `1`, `0.1`, `inf`, `NaN`.
fn to_string(value: &Value) -> Option<Option<Value>> {
    Some(match value {
        Value::Bool(value) => Some(Value::string(&value.to_string())),
        Value::Int(value) => Some(Value::string(&value.to_string())),
        Value::Float(value) => Some(Value::string(&value.to_string())),
        Value::String(_) => Some(value.clone()),
        Value::Bytes(bytes) => std::str::from_utf8(bytes).ok().map(|text| Value::String(Arc::from(text))),
        _ => return None,
    })
}
