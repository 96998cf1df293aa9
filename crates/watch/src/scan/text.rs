//! Strings with escapes.

use bumpalo::Bump;

use super::{Flaw, string_end};

/// The text of the string at `i` and the position after it.
#[inline]
pub(crate) fn string<'a>(text: &'a str, i: usize, bump: &'a Bump) -> Result<(&'a str, usize), Flaw> {
    let (end, escaped) = string_end(text.as_bytes(), i + 1)?;
    let inner = text.get(i + 1..end).unwrap_or_default();
    Ok((if escaped { unescaped(inner, i + 1, bump)? } else { inner }, end + 1))
}

#[cold]
fn unescaped<'a>(raw: &str, at: usize, bump: &'a Bump) -> Result<&'a str, Flaw> {
    let mut out = String::with_capacity(raw.len());
    unescape(raw, &mut out).map_err(|flaw| Flaw::new(flaw.what, at + flaw.at))?;
    Ok(bump.alloc_str(&out))
}

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
