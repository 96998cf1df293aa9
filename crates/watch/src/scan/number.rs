//! Numbers: where they end and what they are.

use referee_monitor::FieldValue;

use super::{Flaw, HIGHS, ONES};

/// The position after the number that starts at `i`, and whether it is written as an integer.
pub(crate) fn end(bytes: &[u8], i: usize) -> Result<(usize, bool), Flaw> {
    let mut at = i + usize::from(bytes.get(i) == Some(&b'-'));
    let whole = at;
    at = digits(bytes, at);
    if at == whole || (bytes.get(whole) == Some(&b'0') && at > whole + 1) {
        return Err(Flaw::new("a malformed number", i));
    }
    let mut integer = true;
    if bytes.get(at) == Some(&b'.') {
        integer = false;
        let fraction = at + 1;
        at = digits(bytes, fraction);
        if at == fraction {
            return Err(Flaw::new("a malformed number", i));
        }
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        integer = false;
        let exponent = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits(bytes, exponent);
        if at == exponent {
            return Err(Flaw::new("a malformed number", i));
        }
    }
    Ok((at, integer))
}

/// The first position from `i` on that is no digit.
#[inline]
fn digits(bytes: &[u8], mut i: usize) -> usize {
    while let Some(eight) = bytes.get(i..).and_then(|rest| rest.first_chunk::<8>()) {
        let others = non_digits(u64::from_le_bytes(*eight));
        if others != 0 {
            return i + (others.trailing_zeros() / 8) as usize;
        }
        i += 8;
    }
    while bytes.get(i).is_some_and(u8::is_ascii_digit) {
        i += 1;
    }
    i
}

/// Marks (in the high bit of each byte) what is no digit. Only the lowest mark can be relied on: addition carries upwards.
#[inline]
fn non_digits(word: u64) -> u64 {
    let value = word ^ (ONES * b'0' as u64);
    (value.wrapping_add(ONES * 0x76) | value) & HIGHS
}

/// The whole number that `digits` is, if it is one of at most 18 digits and nothing else.
#[inline]
pub(crate) fn whole(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut whole = 0_i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        whole = whole.wrapping_mul(10).wrapping_add(i64::from(digit));
    }
    Some(whole)
}

/// The number that starts at `i`, and the position after it. An integer beyond 64 bits is a float, so that
/// it is not of type `int`; a float beyond what a float holds is no value.
#[inline]
pub(crate) fn value(text: &str, i: usize) -> Result<(FieldValue<'static>, usize), Flaw> {
    let bytes = text.as_bytes();
    // Up to 18 digits without sign, the usual case.
    let mut at = i;
    let mut small = 0_i64;
    while at < i + 18
        && let Some(digit @ b'0'..=b'9') = bytes.get(at)
    {
        small = small.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
        at += 1;
    }
    let plain = at > i && !matches!(bytes.get(at), Some(b'0'..=b'9' | b'.' | b'e' | b'E'));
    if plain && (at == i + 1 || bytes.get(i) != Some(&b'0')) {
        return Ok((FieldValue::Int(small), at));
    }
    let (end, integer) = end(bytes, i)?;
    let written = text.get(i..end).unwrap_or_default();
    Ok((parse(written, integer), end))
}

fn parse(written: &str, integer: bool) -> FieldValue<'static> {
    if integer && let Ok(value) = written.parse() {
        return FieldValue::Int(value);
    }
    match written.parse::<f64>() {
        Ok(value) if value.is_finite() => FieldValue::Float(value),
        _ => FieldValue::Malformed("a number beyond the range of floats"),
    }
}
