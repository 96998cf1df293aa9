//! Keys of calls: texts, and numbers that are equal by value.

use std::fmt;

use crate::event::FieldValue;

/// The value of a key. `1` and `"1"` differ; `1`, `1.0` and `1e0` do not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A text.
    Text(Box<str>),
    /// A number: see [`Key::number`].
    Number(Number),
}

/// A number, at any size.
// INVARIANT: what fits is small, so that equal numbers are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// A whole number.
    Small(i64),
    /// Any other.
    Other(Box<Digits>),
}

/// `digits · 10^exponent`, with neither leading nor trailing zeros.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Digits {
    negative: bool,
    digits: Box<str>,
    exponent: i64,
}

impl Key {
    /// The key that a field holds, if it holds one. A value of no type that a key has stands for itself, so that its call can say what is wrong.
    #[must_use]
    pub fn of(value: &FieldValue<'_>) -> Option<Self> {
        match value {
            FieldValue::Unit => None,
            FieldValue::Str(text) => Some(Self::text(text)),
            FieldValue::Int(number) => Some(Self::from(*number)),
            FieldValue::Float(number) => Self::number(&number.to_string()),
            other => Some(Self::text(&other.to_string())),
        }
    }

    /// The key as reports show it: a text without quotes.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.to_string(),
            Self::Number(_) => self.to_string(),
        }
    }

    /// The key that is this text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// The key that is this number, written in decimal, perhaps with a fraction and an exponent, as in JSON. `None` if it is none, or its
    /// exponent is beyond any number that is meant.
    #[must_use]
    pub fn number(text: &str) -> Option<Self> {
        let plain = text.parse::<i64>().ok().filter(|_| !text.starts_with('+'));
        if let Some(small) = plain {
            return Some(Self::from(small));
        }
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: String = [whole, fraction].concat();
        if whole.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let significant = digits.trim_start_matches('0');
        let shortest = significant.trim_end_matches('0');
        if shortest.is_empty() {
            return Some(Self::from(0));
        }
        let dropped = i64::try_from(significant.len() - shortest.len()).ok()?;
        let exponent = i64::from(exponent) + dropped - i64::try_from(fraction.len()).ok()?;
        let sign = if negative { "-" } else { "" };
        let zeros = usize::try_from(exponent).ok().filter(|zeros| *zeros < 20);
        let whole = zeros.and_then(|zeros| format!("{sign}{shortest}{}", "0".repeat(zeros)).parse().ok());
        Some(Self::Number(match whole {
            Some(small) => Number::Small(small),
            None => Number::Other(Box::new(Digits { negative, digits: shortest.into(), exponent })),
        }))
    }
}

impl fmt::Display for Key {
    /// As JSON writes it: `7`, `"a"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(Number::Small(number)) => number.fmt(f),
            Self::Number(Number::Other(number)) => {
                let sign = if number.negative { "-" } else { "" };
                write!(f, "{sign}{}e{}", number.digits, number.exponent)
            }
        }
    }
}

impl From<i64> for Key {
    fn from(value: i64) -> Self {
        Self::Number(Number::Small(value))
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn numbers_are_equal_by_value() {
        let same = |texts: &[&str]| {
            let keys: Vec<_> = texts.iter().map(|text| Key::number(text)).collect();
            assert!(keys.iter().all(|key| key.is_some() && *key == keys[0]), "{texts:?}");
        };
        same(&["1", "1.0", "1e0", "10e-1", "0.1e1", "01"]);
        same(&["0", "-0", "0.0", "0e5"]);
        same(&["-1500", "-1.5e3", "-15E2"]);
        same(&["9007199254740993", "9007199254740993.0"]);
        same(&["92233720368547758070", "9.223372036854775807e19", "92233720368547758070.0"]);
        same(&["0.5", "5e-1", "0.50"]);
        assert_ne!(Key::number("9007199254740993"), Key::number("9007199254740992"));
        assert_ne!(Key::number("1"), Some(Key::text("1")));
        assert_ne!(Key::number("1"), Key::number("-1"));
        assert_eq!(Key::number("12"), Some(Key::from(12)));
        for none in ["", "-", "x", "1x", ".5", "1e", "1e99999999999", "+1", "0x1"] {
            assert_eq!(Key::number(none), None, "{none}");
        }
    }
}
