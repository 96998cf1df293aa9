//! Inline commands: a line of words, with Redis's quotes.

use bumpalo::Bump;
use bumpalo::collections::Vec;
use smallvec::SmallVec;

use crate::step::Malformed;

const UNBALANCED: &str = "quotes that are not balanced";

/// The words of `line`, as Redis splits it.
pub(super) fn words<'b>(
    line: &'b [u8],
    bump: &'b Bump,
    words: &mut SmallVec<[&'b [u8]; 8]>,
) -> Result<(), Malformed> {
    if let Some(at) = memchr::memchr(0, line) {
        // Redis looks for the end of the line before it.
        return Err(Malformed::new("a NUL in a command of words", at));
    }
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    let mut rest = line;
    loop {
        let start = rest.iter().position(|byte| !is_blank(byte)).unwrap_or(rest.len());
        rest = rest.get(start..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\''));
        let end = end.unwrap_or(rest.len());
        if matches!(rest.get(end), Some(b'"' | b'\'')) {
            let at = line.len() - rest.len();
            let (word, length) = quoted(rest, bump).ok_or_else(|| Malformed::new(UNBALANCED, at))?;
            words.push(word);
            rest = rest.get(length..).unwrap_or_default();
        } else {
            let (word, tail) = rest.split_at(end);
            words.push(word);
            rest = tail;
        }
    }
}

/// The word that `rest` begins with, which has quotes, and how long it is.
fn quoted<'b>(rest: &[u8], bump: &'b Bump) -> Option<(&'b [u8], usize)> {
    let mut word = Vec::new_in(bump);
    let mut quote = None;
    let mut at = 0;
    loop {
        let here = rest.get(at).copied();
        match (quote, here) {
            (None, None | Some(b' ' | b'\t' | b'\n' | b'\r')) => return Some((word.into_bump_slice(), at)),
            (None, Some(open @ (b'"' | b'\''))) => quote = Some(open),
            (Some(_), None) => return None,
            (Some(close), Some(byte)) if byte == close => {
                // Nothing but a blank may follow.
                let next = rest.get(at + 1);
                let is_end =
                    next.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c));
                return is_end.then(|| (word.into_bump_slice(), at + 1));
            }
            (Some(b'"'), Some(b'\\')) => {
                let digit = |at: usize| rest.get(at).and_then(|byte| char::from(*byte).to_digit(16));
                match (rest.get(at + 1)?, digit(at + 2), digit(at + 3)) {
                    (b'x', Some(high), Some(low)) => {
                        word.push(u8::try_from(high << 4 | low).unwrap_or(0));
                        at += 2;
                    }
                    (b'n', ..) => word.push(b'\n'),
                    (b'r', ..) => word.push(b'\r'),
                    (b't', ..) => word.push(b'\t'),
                    (b'b', ..) => word.push(0x08),
                    (b'a', ..) => word.push(0x07),
                    (other, ..) => word.push(*other),
                }
                at += 1;
            }
            (Some(b'\''), Some(b'\\')) if rest.get(at + 1) == Some(&b'\'') => {
                word.push(b'\'');
                at += 1;
            }
            (_, Some(byte)) => word.push(byte),
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Option<std::vec::Vec<String>> {
        let bump = Bump::new();
        let mut found = SmallVec::new();
        words(line.as_bytes(), &bump, &mut found).ok()?;
        Some(found.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect())
    }

    #[test]
    fn as_redis_splits_them() {
        for (line, expected) in [
            ("  PING  x ", &["PING", "x"][..]),
            ("\"MONITOR\"", &["MONITOR"]),
            (r#""\x4dONITOR" 'a b' "\"q\"""#, &["MONITOR", "a b", "\"q\""]),
            (r#"MON"ITOR""#, &["MONITOR"]),
            ("SET k 'it\\'s'", &["SET", "k", "it's"]),
            ("a\u{b}b", &["a\u{b}b"]),
            ("\u{b}a", &["a"]),
            ("", &[]),
        ] {
            assert_eq!(
                split(line).as_deref(),
                Some(&expected.iter().map(|w| (*w).to_owned()).collect::<std::vec::Vec<_>>()[..]),
                "{line}"
            );
        }
        for wrong in ["\"a", "'a", "\"a\"b", "a\0b", "\"\\"] {
            assert_eq!(split(wrong), None, "{wrong:?}");
        }
    }
}
