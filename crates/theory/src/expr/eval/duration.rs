//! Arithmetic of times and durations, in nanoseconds.

use super::{Computed, Failure, Number, Operator, Outcome, Term, Value, is_number, number, overflow};

/// The result of an operation on times, if there is room for it.
pub(super) fn temporal<'e, F: Failure>(result: Option<Value>, symbol: &'static str) -> Outcome<'e, F> {
    result.map(Computed::Owned).ok_or_else(|| F::of(|| overflow(symbol)))
}

/// Arithmetic of times and durations; `None` if it is none, nothing inside if the result is too large.
pub(super) fn timely(operator: Operator, left: Term<'_>, right: Term<'_>) -> Option<Option<Value>> {
    use Operator as Op;
    Some(match (operator, left, right) {
        (Op::Subtract, Term::Time(left), Term::Time(right)) => left.checked_sub(right).map(Value::Duration),
        (Op::Add, Term::Time(time), Term::Duration(length))
        | (Op::Add, Term::Duration(length), Term::Time(time)) => time.checked_add(length).map(Value::Time),
        (Op::Subtract, Term::Time(time), Term::Duration(length)) => time.checked_sub(length).map(Value::Time),
        (Op::Add, Term::Duration(left), Term::Duration(right)) => {
            left.checked_add(right).map(Value::Duration)
        }
        (Op::Subtract, Term::Duration(left), Term::Duration(right)) => {
            left.checked_sub(right).map(Value::Duration)
        }
        (Op::Multiply, Term::Duration(length), factor) | (Op::Multiply, factor, Term::Duration(length))
            if is_number(factor) =>
        {
            scaled(operator, length, factor).map(Value::Duration)
        }
        (Op::Divide, Term::Duration(length), factor) if is_number(factor) => {
            scaled(operator, length, factor).map(Value::Duration)
        }
        _ => return None,
    })
}

/// A length multiplied or divided, to the nearest nanosecond. By an integer it is exact before it is rounded; by a
/// float it is what floats give.
fn scaled(operator: Operator, length: i64, factor: Term<'_>) -> Option<i64> {
    let multiplies = operator == Operator::Multiply;
    match number(factor)? {
        Number::Int(factor) if multiplies => factor.checked_mul(length.into())?.try_into().ok(),
        Number::Int(factor) => {
            let length = i128::from(length);
            let (whole, rest) = (length.checked_div(factor)?, length.checked_rem(factor)?);
            let rounds_up = rest.unsigned_abs() >= factor.unsigned_abs() - rest.unsigned_abs();
            let away = if (length < 0) == (factor < 0) { 1 } else { -1 };
            (if rounds_up { whole + away } else { whole }).try_into().ok()
        }
        Number::Float(factor) => {
            let length = length as f64;
            let result = if multiplies { length * factor } else { length / factor }.round();
            // 2⁶³ is the first that is too large.
            let end = -(i64::MIN as f64);
            (-end..end).contains(&result).then_some(result as i64)
        }
    }
}
