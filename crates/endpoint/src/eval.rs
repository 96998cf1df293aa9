//! The arithmetic of assertions, as Referee's monitors compute it: an expression that is not defined for some values fails, and a
//! conjunction or disjunction that another operand settles does not.

use alloc::string::ToString;

use crate::error::Failure;

/// What an expression gives.
pub type Outcome<T> = Result<T, Failure>;

const UNDEFINED: Failure = Failure::Undefined;

/// `left && right`: false if either is false, even if the other fails; else the first failure from the left.
///
/// # Errors
/// No operand is false, and one fails.
pub fn and(left: impl FnOnce() -> Outcome<bool>, right: impl FnOnce() -> Outcome<bool>) -> Outcome<bool> {
    settle(left, right, false)
}

/// `left || right`: true if either is true, even if the other fails; else the first failure from the left.
///
/// # Errors
/// No operand is true, and one fails.
pub fn or(left: impl FnOnce() -> Outcome<bool>, right: impl FnOnce() -> Outcome<bool>) -> Outcome<bool> {
    settle(left, right, true)
}

fn settle(
    left: impl FnOnce() -> Outcome<bool>,
    right: impl FnOnce() -> Outcome<bool>,
    settled: bool,
) -> Outcome<bool> {
    match left() {
        Ok(value) if value == settled => Ok(settled),
        Ok(_) => right(),
        Err(failure) => match right() {
            Ok(value) if value == settled => Ok(settled),
            Ok(_) | Err(_) => Err(failure),
        },
    }
}

/// What a predicate of the program has answered.
///
/// # Errors
/// It has no answer.
pub fn ask<T, E: ToString>(name: &'static str, answer: Result<T, E>) -> Outcome<T> {
    answer.map_err(|reason| Failure::Predicate { name, reason: reason.to_string() })
}

/// `left + right`.
///
/// # Errors
/// It needs more than 64 bits.
pub fn add(left: i64, right: i64) -> Outcome<i64> {
    left.checked_add(right).ok_or(UNDEFINED)
}

/// `left - right`.
///
/// # Errors
/// It needs more than 64 bits.
pub fn subtract(left: i64, right: i64) -> Outcome<i64> {
    left.checked_sub(right).ok_or(UNDEFINED)
}

/// `left * right`.
///
/// # Errors
/// It needs more than 64 bits.
pub fn multiply(left: i64, right: i64) -> Outcome<i64> {
    left.checked_mul(right).ok_or(UNDEFINED)
}

/// `left / right`, towards zero.
///
/// # Errors
/// `right` is zero, or the result needs more than 64 bits.
pub fn divide(left: i64, right: i64) -> Outcome<i64> {
    left.checked_div(right).ok_or(UNDEFINED)
}

/// `left % right`, with the sign of `left`.
///
/// # Errors
/// `right` is zero, or the division would need more than 64 bits.
pub fn remainder(left: i64, right: i64) -> Outcome<i64> {
    left.checked_rem(right).ok_or(UNDEFINED)
}

/// `-value`.
///
/// # Errors
/// It needs more than 64 bits.
pub fn negate(value: i64) -> Outcome<i64> {
    value.checked_neg().ok_or(UNDEFINED)
}

/// `abs(value)`.
///
/// # Errors
/// It needs more than 64 bits.
pub fn abs(value: i64) -> Outcome<i64> {
    value.checked_abs().ok_or(UNDEFINED)
}

/// `abs(value)` of a float.
#[must_use]
pub fn abs_float(value: f64) -> f64 {
    f64::from_bits(value.to_bits() & (u64::MAX >> 1))
}

/// The element at `index`.
///
/// # Errors
/// There is none.
pub fn element<T>(values: &[T], index: i64) -> Outcome<&T> {
    usize::try_from(index).ok().and_then(|index| values.get(index)).ok_or(UNDEFINED)
}

/// `int(value)` of a float: towards zero.
///
/// # Errors
/// It needs more than 64 bits, or is no number.
pub fn float_to_int(value: f64) -> Outcome<i64> {
    // The least int, and the first float past the greatest. A float within is cut off exactly.
    const RANGE: core::ops::Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
    if RANGE.contains(&value) { Ok(value as i64) } else { Err(UNDEFINED) }
}

/// `int(text)` or `double(text)`.
///
/// # Errors
/// The text is no such number.
pub fn parse<T: core::str::FromStr>(text: &str) -> Outcome<T> {
    text.parse().map_err(|_| UNDEFINED)
}

/// `string(bytes)`.
///
/// # Errors
/// The bytes are no UTF-8.
pub fn text(bytes: &[u8]) -> Outcome<&str> {
    core::str::from_utf8(bytes).map_err(|_| UNDEFINED)
}

/// `size(text)`: how many characters it has.
#[must_use]
pub fn characters(text: &str) -> i64 {
    length(text.chars().count())
}

/// `size(bytes)` or `size(list)`.
#[must_use]
pub fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// `min(left, right)`: the first unless the second is smaller, so that NaN stays if it is first.
#[must_use]
pub fn min<T: PartialOrd>(left: T, right: T) -> T {
    if right < left { right } else { left }
}

/// `max(left, right)`: the first unless the second is larger, so that NaN stays if it is first.
#[must_use]
pub fn max<T: PartialOrd>(left: T, right: T) -> T {
    if right > left { right } else { left }
}

/// A regular expression as a table: states by classes of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// For each byte its class.
    pub classes: &'static [u8; 256],
    /// How many entries a state has: one for each class, and the last for the end of the text.
    pub width: usize,
    /// For each state and class the next state.
    pub next: &'static [u16],
    /// The state at the beginning.
    pub start: u16,
    /// The states from which on it is certain that the pattern occurs: `true` for a match.
    pub accepts: &'static [bool],
}

impl Pattern {
    /// Whether the pattern occurs in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        let mut state = self.start;
        let accepts = |state: u16| self.accepts.get(usize::from(state)).copied().unwrap_or(false);
        let step = |state: u16, class: usize| {
            self.next.get(usize::from(state) * self.width + class).copied().unwrap_or(state)
        };
        for byte in text.bytes() {
            if accepts(state) {
                return true;
            }
            state = step(state, usize::from(self.classes[usize::from(byte)]));
        }
        accepts(state) || accepts(step(state, self.width - 1))
    }
}
