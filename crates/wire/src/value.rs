//! Values of fields from the bytes that spell them.

use referee_monitor::FieldValue;
use referee_theory::Type;

/// A type whose values are spelled as one piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Unit,
    Bool,
    Int,
    Float,
    Text,
    Bytes,
}

impl Scalar {
    /// `ty`, if it is such a type.
    pub(crate) fn of(ty: &Type) -> Option<Self> {
        Some(match ty {
            Type::Unit => Self::Unit,
            Type::Bool => Self::Bool,
            Type::Int => Self::Int,
            Type::Float => Self::Float,
            Type::String | Type::Opaque(_) => Self::Text,
            Type::Bytes => Self::Bytes,
            Type::List(_) | Type::Tuple(_) | Type::Record(_) => return None,
        })
    }

    /// The value that `bytes` spell.
    #[inline]
    pub(crate) fn read(self, bytes: &[u8]) -> FieldValue<'_> {
        match self {
            Self::Text => {
                std::str::from_utf8(bytes).map_or(FieldValue::Malformed("not UTF-8"), FieldValue::Str)
            }
            Self::Bytes => FieldValue::Bytes(bytes),
            Self::Int => match integer(bytes) {
                Some(value) => FieldValue::Int(value),
                None => FieldValue::Malformed("not an integer of 64 bits"),
            },
            Self::Float => match std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()) {
                Some(value) => FieldValue::Float(value),
                None => FieldValue::Malformed("not a number"),
            },
            Self::Bool => match bytes {
                b"true" => FieldValue::Bool(true),
                b"false" => FieldValue::Bool(false),
                _ => FieldValue::Malformed("neither `true` nor `false`"),
            },
            Self::Unit if bytes.is_empty() => FieldValue::Unit,
            Self::Unit => FieldValue::Malformed("not empty"),
        }
    }
}

/// The integer that `bytes` spell in decimal, with an optional sign.
#[inline]
pub(crate) fn integer(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value: i64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        // Downwards, because the least number has no opposite.
        value = value.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))?;
    }
    if negative { Some(value) } else { value.checked_neg() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        for number in [0, 1, -1, 10, i64::MAX, i64::MIN] {
            assert_eq!(integer(number.to_string().as_bytes()), Some(number));
        }
        assert_eq!(integer(b"+7"), Some(7));
        for wrong in ["", "-", "+", "1a", " 1", "--1", "9223372036854775808", "-9223372036854775809"] {
            assert_eq!(integer(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
