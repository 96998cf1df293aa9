//! Values of messages that are played: from JSON, shown, and examples that a monitor has nothing against.

use referee::monitor::FieldValue;
use referee::theory::{Field, Type};
use serde_json::{Value, json};

/// So many values are tried until one is found that keeps an assertion.
const MAX_TRIED: usize = 4_000;

/// Calls `with` with `values` as fields of a message.
pub(super) fn with<T>(values: &[Value], with: impl FnOnce(&[FieldValue<'_>]) -> T) -> T {
    let fields: Vec<FieldValue<'_>> = values.iter().map(field).collect();
    with(&fields)
}

fn field(value: &Value) -> FieldValue<'_> {
    match value {
        Value::Null => FieldValue::Unit,
        Value::Bool(truth) => FieldValue::Bool(*truth),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => FieldValue::Int(integer),
            None => FieldValue::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => FieldValue::Str(text),
        Value::Array(all) if all.is_empty() => FieldValue::List(&[]),
        Value::Object(all) if all.is_empty() => FieldValue::Record(&[]),
        Value::Array(_) | Value::Object(_) => FieldValue::Malformed("lists and records cannot be played yet"),
    }
}

/// `1, "bob"`
pub(super) fn shown(values: &[Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Values for `fields` that `fits` accepts, if some are found soon; and whether none were.
pub(super) fn example(
    fields: &[Field],
    assertion: Option<&str>,
    bound: &[Value],
    fits: &dyn Fn(&[Value]) -> bool,
) -> (Vec<Value>, bool) {
    let literals = literals(assertion.unwrap_or_default());
    let candidates: Vec<Vec<Value>> =
        fields.iter().map(|field| candidates(&field.ty, &literals, bound)).collect();
    let count = candidates.iter().fold(1_usize, |all, some| all.saturating_mul(some.len()));
    let pick = |mut number: usize| -> Vec<Value> {
        let choose = |some: &Vec<Value>| {
            let value = some.get(number % some.len()).cloned().unwrap_or(Value::Null);
            number /= some.len();
            value
        };
        candidates.iter().map(choose).collect()
    };
    let found = (0..count.min(MAX_TRIED)).map(pick).find(|values| fits(values));
    let is_none = found.is_none();
    (found.unwrap_or_else(|| pick(0)), is_none)
}

/// Integers in the text of an assertion, and those beside them: where it changes its mind.
fn literals(assertion: &str) -> Vec<i64> {
    let words = assertion.split(|character: char| !character.is_ascii_digit());
    words
        .filter_map(|digits| digits.parse::<i64>().ok())
        .flat_map(|number| [number, number.saturating_add(1), number.saturating_sub(1), -number])
        .collect()
}

fn candidates(ty: &Type, literals: &[i64], bound: &[Value]) -> Vec<Value> {
    let integers = [1, 0, 2, -1, 10, 100].into_iter().chain(literals.iter().copied());
    let mut all: Vec<Value> = match ty {
        Type::Unit => vec![Value::Null],
        Type::Bool => vec![json!(true), json!(false)],
        Type::Int => integers.map(Value::from).collect(),
        Type::Float => integers.map(Value::from).chain([json!(0.5)]).collect(),
        Type::String | Type::Bytes => vec![json!("text"), json!("")],
        Type::List(_) => vec![json!([])],
        _ => vec![json!("value"), json!({})],
    };
    let fits = |value: &&Value| match ty {
        Type::Bool => value.is_boolean(),
        Type::Int => value.is_i64(),
        Type::Float => value.is_number(),
        Type::String | Type::Bytes => value.is_string(),
        _ => false,
    };
    all.extend(bound.iter().filter(fits).cloned());
    // Sums and differences with what is known: balances, offsets, sequence numbers.
    if *ty == Type::Int {
        let known: Vec<i64> = bound.iter().filter_map(Value::as_i64).collect();
        all.extend(
            known
                .iter()
                .flat_map(|number| [number.saturating_add(1), number.saturating_sub(1)])
                .map(Value::from),
        );
    }
    all
}
