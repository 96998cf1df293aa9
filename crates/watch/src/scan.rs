//! The JSON scanner's primitives: strings, numbers and whole values, by position in a text.
//!
//! Nothing here builds anything. A text is one or many lines; a line feed ends every scan, because JSON
//! forbids it inside strings and JSON lines forbids it elsewhere, so that no line has to be cut out first.
//! Everything is checked against the grammar of RFC 8259: what is skipped is skipped because it is valid.

pub(crate) mod erlang;
pub(crate) mod number;
pub(crate) mod text;

use std::fmt;

/// How deep arrays and objects may be nested in a line.
pub(crate) const MAX_DEPTH: u32 = 128;

/// Why a text is not JSON, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) what: &'static str,
    pub(crate) at: usize,
}

impl Flaw {
    #[cold]
    pub(crate) fn new(what: &'static str, at: usize) -> Self {
        Self { what, at }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

/// The first position from `i` on that is not a blank. Line feeds are no blanks here.
#[inline(always)]
pub(crate) fn skip_blanks(bytes: &[u8], mut i: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\r') = bytes.get(i) {
        i += 1;
    }
    i
}

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES << 7;

/// Marks (in the high bit of each byte) quotes, backslashes and control characters. Only the lowest mark
/// can be relied on: subtraction borrows upwards.
#[inline(always)]
fn specials(word: u64) -> u64 {
    let quotes = word ^ (ONES * b'"' as u64);
    let slashes = word ^ (ONES * b'\\' as u64);
    let zero = |x: u64| x.wrapping_sub(ONES) & !x;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (zero(quotes) | zero(slashes) | control) & HIGHS
}

/// The position of the next quote, backslash or control character from `i` on; the end of the text if there
/// is none.
#[inline(always)]
fn next_special(bytes: &[u8], mut i: usize) -> usize {
    while let Some(eight) = bytes.get(i..).and_then(|rest| rest.first_chunk::<8>()) {
        let marks = specials(u64::from_le_bytes(*eight));
        if marks != 0 {
            return i + (marks.trailing_zeros() / 8) as usize;
        }
        i += 8;
    }
    while let Some(byte) = bytes.get(i) {
        if matches!(byte, b'"' | b'\\' | 0..0x20) {
            return i;
        }
        i += 1;
    }
    i
}

/// The position of the quote that closes the string whose text starts at `i`, and whether it has escapes.
#[inline(always)]
pub(crate) fn string_end(bytes: &[u8], i: usize) -> Result<(usize, bool), Flaw> {
    let at = next_special(bytes, i);
    if bytes.get(at) == Some(&b'"') {
        return Ok((at, false));
    }
    escaped_string_end(bytes, at).map(|end| (end, true))
}

#[cold]
fn escaped_string_end(bytes: &[u8], mut i: usize) -> Result<usize, Flaw> {
    loop {
        match bytes.get(i) {
            Some(b'"') => return Ok(i),
            Some(b'\\') => match bytes.get(i + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => i += 2,
                Some(b'u') if (2..6).all(|k| bytes.get(i + k).is_some_and(u8::is_ascii_hexdigit)) => i += 6,
                _ => return Err(Flaw::new("a wrong escape in a string", i)),
            },
            Some(b'\n') | None => return Err(Flaw::new("a string that is not closed", i)),
            Some(b'\r') if matches!(bytes.get(i + 1), Some(b'\n') | None) => {
                return Err(Flaw::new("a string that is not closed", i));
            }
            Some(_) => return Err(Flaw::new("a control character in a string", i)),
        }
        i = next_special(bytes, i);
    }
}

/// The position after the value that starts at `i`.
#[inline]
pub(crate) fn skip_value(bytes: &[u8], i: usize) -> Result<usize, Flaw> {
    match bytes.get(i) {
        Some(b'"') => string_end(bytes, i + 1).map(|(end, _)| end + 1),
        Some(b'-' | b'0'..=b'9') => number::end(bytes, i).map(|(end, _)| end),
        Some(b'{' | b'[') => skip_container(bytes, i),
        _ => skip_scalar(bytes, i),
    }
}

/// The position after the number, truth value or null at `i`.
#[inline]
pub(crate) fn skip_scalar(bytes: &[u8], i: usize) -> Result<usize, Flaw> {
    let literal = |word: &[u8]| {
        let end = i + word.len();
        if bytes.get(i..end) == Some(word) { Ok(end) } else { Err(Flaw::new("an unknown word", i)) }
    };
    match bytes.get(i) {
        Some(b'-' | b'0'..=b'9') => number::end(bytes, i).map(|(end, _)| end),
        Some(b't') => literal(b"true"),
        Some(b'f') => literal(b"false"),
        Some(b'n') => literal(b"null"),
        Some(b'N' | b'I') => Err(Flaw::new("NaN and Infinity are not JSON", i)),
        Some(b'\n') | None => Err(Flaw::new("a value is missing", i)),
        Some(_) => Err(Flaw::new("something that is no JSON value", i)),
    }
}

/// The position after the array or object that starts at `i`. No recursion: `open` has one bit for each
/// container, set for objects.
fn skip_container(bytes: &[u8], mut i: usize) -> Result<usize, Flaw> {
    let mut open: u128 = 0;
    let mut depth = 0_u32;
    'value: loop {
        match bytes.get(i) {
            Some(&bracket @ (b'{' | b'[')) => {
                let object = bracket == b'{';
                i = skip_blanks(bytes, i + 1);
                let empty = bytes.get(i) == Some(if object { &b'}' } else { &b']' });
                if !empty {
                    if depth == MAX_DEPTH {
                        return Err(Flaw::new("nested deeper than 128 levels", i));
                    }
                    depth += 1;
                    open = open << 1 | u128::from(object);
                    if object {
                        i = skip_key(bytes, i)?;
                    }
                    continue 'value;
                }
                i += 1;
            }
            Some(b'"') => i = string_end(bytes, i + 1)?.0 + 1,
            _ => i = skip_scalar(bytes, i)?,
        }
        // After a value: further elements, or the ends of containers.
        loop {
            if depth == 0 {
                return Ok(i);
            }
            i = skip_blanks(bytes, i);
            let object = open & 1 == 1;
            match bytes.get(i) {
                Some(b',') => {
                    i = skip_blanks(bytes, i + 1);
                    if object {
                        i = skip_key(bytes, i)?;
                    }
                    continue 'value;
                }
                Some(b'}') if object => {}
                Some(b']') if !object => {}
                _ => return Err(Flaw::new("a comma or a closing bracket is missing", i)),
            }
            i += 1;
            depth -= 1;
            open >>= 1;
        }
    }
}

/// The position of the value of the member whose key should start at `i`.
#[inline(always)]
pub(crate) fn skip_key(bytes: &[u8], i: usize) -> Result<usize, Flaw> {
    if bytes.get(i) != Some(&b'"') {
        return Err(Flaw::new("a key is missing", i));
    }
    let (end, _) = string_end(bytes, i + 1)?;
    after_key(bytes, end + 1)
}

/// The position of the value after the key that ends before `i`.
#[inline(always)]
pub(crate) fn after_key(bytes: &[u8], i: usize) -> Result<usize, Flaw> {
    let i = skip_blanks(bytes, i);
    if bytes.get(i) != Some(&b':') {
        return Err(Flaw::new("a colon is missing", i));
    }
    Ok(skip_blanks(bytes, i + 1))
}

#[cfg(test)]
mod tests;
