//! Writing JSON: texts, whole numbers, fields by their types.

use crate::source::FieldType;

/// Stands for a byte that is not UTF-8: what it is in cannot be read.
pub(crate) const NOT_UTF8: char = '\u{1a}';

/// Appends `text` as a JSON string.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    escape(text, out);
    out.push('"');
}

/// Appends `text` as it stands between the quotes of a JSON string; false if it is not UTF-8.
#[inline]
pub(crate) fn escape(text: &str, out: &mut String) -> bool {
    // Without a way out in the middle, so that many bytes are looked at in one step.
    let special = |byte: &u8| *byte < 0x20 || matches!(*byte, b'"' | b'\\');
    if text.as_bytes().iter().fold(false, |any, byte| any | special(byte)) {
        return escape_special(text, out);
    }
    out.push_str(text);
    true
}

fn escape_special(text: &str, out: &mut String) -> bool {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if u32::from(c) < 0x20 => *out += &format!("\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    !text.contains(NOT_UTF8)
}

/// Appends a whole number.
pub(crate) fn number(value: i64, out: &mut String) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        if let Some(digit) = digits.get_mut(at) {
            *digit = b'0' + (rest % 10) as u8;
        }
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push('-');
    }
    out.push_str(digits.get(at..).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default());
}

/// Writes a field; false if it is not of its type.
pub(crate) fn field(text: &str, ty: FieldType, out: &mut String) -> bool {
    match ty {
        FieldType::String => {
            out.push('"');
            let is_text = escape(text, out);
            out.push('"');
            is_text
        }
        FieldType::Int => text.parse().is_ok_and(|value| {
            number(value, out);
            true
        }),
        FieldType::Float => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => {
                *out += &format!("{value:?}");
                true
            }
            _ => false,
        },
        FieldType::Bool => {
            out.push_str(text);
            matches!(text, "true" | "false")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for value in [0, 7, -1, 10, 1_770_091_506_000_000_000, i64::MAX, i64::MIN] {
            let mut out = String::new();
            number(value, &mut out);
            assert_eq!(out, value.to_string());
        }
        for text in ["", "plain", "a\"b", "back\\slash", "tab\tand \u{1}", "é\u{7f}"] {
            let mut out = String::new();
            quote(text, &mut out);
            assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
        }
        assert!(!escape("x\u{1a}", &mut String::new()));
    }
}
