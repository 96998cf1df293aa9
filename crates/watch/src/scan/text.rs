//! Strings with escapes.

use super::Flaw;

/// Appends to `out` what `raw`, the text between the quotes of a valid JSON string, stands for.
///
/// # Errors
/// A surrogate without its other half: JSON can write it, but it is no text.
pub(crate) fn unescape(raw: &str, out: &mut String) -> Result<(), Flaw> {
    let mut rest = raw;
    while let Some(slash) = rest.find('\\') {
        let (before, escape) = rest.split_at(slash);
        out.push_str(before);
        let at = raw.len() - escape.len();
        let lone = || Flaw::new("half a surrogate pair in a string", at);
        let mut length = 2;
        match escape.as_bytes().get(1) {
            Some(b'b') => out.push('\u{8}'),
            Some(b'f') => out.push('\u{c}'),
            Some(b'n') => out.push('\n'),
            Some(b'r') => out.push('\r'),
            Some(b't') => out.push('\t'),
            Some(b'u') => {
                length = 6;
                let first = unit(escape, 2).ok_or_else(lone)?;
                let code = match first {
                    0xD800..0xDC00 => {
                        length = 12;
                        let second = escape.get(6..8).filter(|mark| *mark == "\\u").and(unit(escape, 8));
                        let low = second.filter(|unit| (0xDC00..0xE000).contains(unit)).ok_or_else(lone)?;
                        0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00)
                    }
                    code => code,
                };
                out.push(char::from_u32(code).ok_or_else(lone)?);
            }
            Some(&other) => out.push(char::from(other)),
            None => return Err(lone()),
        }
        rest = escape.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(())
}

fn unit(text: &str, at: usize) -> Option<u32> {
    u32::from_str_radix(text.get(at..at + 4)?, 16).ok()
}
