//! Erlang terms as they are printed, borrowed from the line where they can be.
//!
//! A string is the list of its characters, as in Erlang. What the model of terms lacks becomes what is nearest: a
//! binary that holds text is that text, any other stands for itself like a reference; a map is a record whose
//! names are the keys as they are printed.

use bumpalo::Bump;
use bumpalo::collections::{String as BumpString, Vec as BumpVec};
use referee_theory::property::term::MAX_DEPTH;
use referee_theory::property::{Fields, Items, Term};

use super::{Flaw, skip_blanks};

/// The term that starts at `i`, and the position after it.
pub(crate) fn term<'a>(
    text: &'a str,
    i: usize,
    depth: usize,
    bump: &'a Bump,
) -> Result<(Term<'a>, usize), Flaw> {
    let bytes = text.as_bytes();
    let i = skip_blanks(bytes, i);
    match bytes.get(i) {
        Some(b'a'..=b'z') => {
            let end = word_end(bytes, i + 1);
            let term = match text.get(i..end).unwrap_or_default() {
                "true" => Term::Bool(true),
                "false" => Term::Bool(false),
                word => Term::Atom(word),
            };
            Ok((term, end))
        }
        Some(b'0'..=b'9' | b'-' | b'+') => number(text, i, bump),
        Some(b'{') => {
            let (elements, end) = elements(text, i + 1, b'}', depth, bump)?;
            Ok((Term::Tuple(Items::Terms(elements)), end))
        }
        Some(b'[') => {
            let (elements, end) = elements(text, i + 1, b']', depth, bump)?;
            Ok((Term::List(Items::Terms(elements)), end))
        }
        Some(b'\'') => {
            let (name, end) = quoted(text, i, b'\'', bump)?;
            let term = match name {
                "true" => Term::Bool(true),
                "false" => Term::Bool(false),
                name => Term::Atom(name),
            };
            Ok((term, end))
        }
        Some(b'"') => {
            let (inner, end) = quoted(text, i, b'"', bump)?;
            let characters = inner.chars().map(|c| Term::Int(i64::from(u32::from(c))));
            let characters = BumpVec::from_iter_in(characters, bump).into_bump_slice();
            Ok((Term::List(Items::Terms(characters)), end))
        }
        Some(b'<') if bytes.get(i + 1) == Some(&b'<') => binary(text, i, bump),
        Some(b'<') => angled(text, i, i),
        Some(b'#') if bytes.get(i + 1) == Some(&b'{') => map(text, i + 2, depth, bump),
        Some(b'#') => angled(text, i, word_end(bytes, i + 1)),
        Some(b'$') => {
            let c = text.get(i + 1..).and_then(|rest| rest.chars().next());
            let c = c.ok_or_else(|| Flaw::new("a character is missing", i))?;
            Ok((Term::Int(i64::from(u32::from(c))), i + 1 + c.len_utf8()))
        }
        Some(b'\n' | b'\r') | None => Err(Flaw::new("a term is missing", i)),
        Some(_) => Err(Flaw::new("something that is no Erlang term", i)),
    }
}

fn word_end(bytes: &[u8], mut i: usize) -> usize {
    while let Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'@') = bytes.get(i) {
        i += 1;
    }
    i
}

/// `<0.1.0>` or `#Ref<0.1.2.3>`: everything from `start` to the bracket that closes the one at `open`.
fn angled<'a>(text: &'a str, start: usize, open: usize) -> Result<(Term<'a>, usize), Flaw> {
    let bytes = text.as_bytes();
    let flaw = || Flaw::new("a `<` that is not closed", open);
    if bytes.get(open) != Some(&b'<') {
        return Err(Flaw::new("something that is no Erlang term", start));
    }
    let mut i = open + 1;
    loop {
        match bytes.get(i) {
            Some(b'>') => {
                let written = text.get(start..=i).unwrap_or_default();
                return Ok((
                    if start == open { Term::Pid(written) } else { Term::Reference(written) },
                    i + 1,
                ));
            }
            Some(b'\n' | b'\r' | b'"' | b'<') | None => return Err(flaw()),
            Some(_) => i += 1,
        }
    }
}

fn number<'a>(text: &'a str, i: usize, bump: &'a Bump) -> Result<(Term<'a>, usize), Flaw> {
    let bytes = text.as_bytes();
    let flaw = || Flaw::new("a malformed number", i);
    let digits = |mut at: usize| {
        while let Some(b'0'..=b'9' | b'_') = bytes.get(at) {
            at += 1;
        }
        at
    };
    let first = i + usize::from(matches!(bytes.get(i), Some(b'-' | b'+')));
    let mut end = digits(first);
    if end == first {
        return Err(flaw());
    }
    if bytes.get(end) == Some(&b'#') {
        let radix: u32 = text.get(first..end).and_then(|base| base.parse().ok()).ok_or_else(flaw)?;
        let start = end + 1;
        end = start
            + text.get(start..).unwrap_or_default().bytes().take_while(u8::is_ascii_alphanumeric).count();
        if !(2..=36).contains(&radix) {
            return Err(flaw());
        }
        let value =
            i64::from_str_radix(text.get(start..end).unwrap_or_default(), radix).map_err(|_| flaw())?;
        return Ok((Term::Int(if bytes.get(i) == Some(&b'-') { -value } else { value }), end));
    }
    let fraction = digits(end + 1);
    if bytes.get(end) != Some(&b'.') || fraction == end + 1 {
        let written = text.get(i..end).unwrap_or_default();
        return Ok((integer(written, bump), end));
    }
    end = fraction;
    if let Some(b'e' | b'E') = bytes.get(end) {
        let exponent = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        end = digits(exponent);
        if end == exponent {
            return Err(flaw());
        }
    }
    let written = text.get(i..end).unwrap_or_default();
    match written.replace('_', "").parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Term::Float(value), end)),
        _ => Err(flaw()),
    }
}

fn integer<'a>(written: &'a str, bump: &'a Bump) -> Term<'a> {
    if let Ok(value) = written.parse() {
        return Term::Int(value);
    }
    let (sign, digits) = match written.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", written.strip_prefix('+').unwrap_or(written)),
    };
    let digits = digits.replace('_', "");
    let digits = digits.trim_start_matches('0');
    let text = bump.alloc_str(&format!("{sign}{digits}"));
    if digits.is_empty() { Term::Int(0) } else { text.parse().map_or(Term::Big(text), Term::Int) }
}

/// The terms from `i` up to `close`, and the position after it.
fn elements<'a>(
    text: &'a str,
    i: usize,
    close: u8,
    depth: usize,
    bump: &'a Bump,
) -> Result<(&'a [Term<'a>], usize), Flaw> {
    let bytes = text.as_bytes();
    if depth == MAX_DEPTH {
        return Err(Flaw::new("nested deeper than 128 levels", i));
    }
    let mut i = skip_blanks(bytes, i);
    if bytes.get(i) == Some(&close) {
        return Ok((&[], i + 1));
    }
    let mut elements = BumpVec::with_capacity_in(4, bump);
    loop {
        let (element, end) = term(text, i, depth + 1, bump)?;
        elements.push(element);
        i = skip_blanks(bytes, end);
        match bytes.get(i) {
            Some(b',') => i += 1,
            Some(b'|') if close == b']' => return Err(Flaw::new("a list with a tail", i)),
            Some(byte) if *byte == close => return Ok((elements.into_bump_slice(), i + 1)),
            _ => return Err(Flaw::new("a comma or a closing bracket is missing", i)),
        }
    }
}

/// `#{key => value}`; keys that are texts become members.
fn map<'a>(text: &'a str, i: usize, depth: usize, bump: &'a Bump) -> Result<(Term<'a>, usize), Flaw> {
    let bytes = text.as_bytes();
    if depth == MAX_DEPTH {
        return Err(Flaw::new("nested deeper than 128 levels", i));
    }
    let mut members: BumpVec<'_, (&str, Term<'_>)> = BumpVec::new_in(bump);
    let mut i = skip_blanks(bytes, i);
    if bytes.get(i) == Some(&b'}') {
        return Ok((Term::Record(Fields::default()), i + 1));
    }
    loop {
        let start = skip_blanks(bytes, i);
        let (key, end) = term(text, start, depth + 1, bump)?;
        let key = match key {
            Term::Atom(key) | Term::Text(key) => key,
            _ => text.get(start..end).unwrap_or_default(),
        };
        i = skip_blanks(bytes, end);
        if !text.get(i..).is_some_and(|rest| rest.starts_with("=>") || rest.starts_with(":=")) {
            return Err(Flaw::new("`=>` is missing", i));
        }
        let (value, end) = term(text, i + 2, depth + 1, bump)?;
        if members.iter().any(|(known, _)| *known == key) {
            return Err(Flaw::new("a key of a map appears twice", start));
        }
        members.push((key, value));
        i = skip_blanks(bytes, end);
        match bytes.get(i) {
            Some(b',') => i += 1,
            Some(b'}') => return Ok((Term::Record(Fields::Terms(members.into_bump_slice())), i + 1)),
            _ => return Err(Flaw::new("a comma or a closing brace is missing", i)),
        }
    }
}

/// `<<"text">>` or `<<1,2,3>>`.
fn binary<'a>(text: &'a str, i: usize, bump: &'a Bump) -> Result<(Term<'a>, usize), Flaw> {
    let bytes = text.as_bytes();
    let start = skip_blanks(bytes, i + 2);
    let (term, end) = match bytes.get(start) {
        Some(b'"') => {
            let (inner, end) = quoted(text, start, b'"', bump)?;
            (Term::Text(inner), end)
        }
        _ => {
            let end =
                start + bytes.get(start..).unwrap_or_default().iter().take_while(|b| is_octet(**b)).count();
            (Term::Reference(text.get(i..end + 2).unwrap_or_default()), end)
        }
    };
    let mut end = skip_blanks(bytes, end);
    if text.get(end..).is_some_and(|rest| rest.starts_with("/utf8")) {
        end += 5;
    }
    match text.get(end..).is_some_and(|rest| rest.starts_with(">>")) {
        true => Ok((term, end + 2)),
        false => Err(Flaw::new("a binary that is not closed", i)),
    }
}

/// What can stand in `<<1,2:4>>`.
fn is_octet(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b',' | b':' | b' ')
}

/// The text between the quote at `i` and the next, and the position after that.
fn quoted<'a>(text: &'a str, i: usize, quote: u8, bump: &'a Bump) -> Result<(&'a str, usize), Flaw> {
    let bytes = text.as_bytes();
    let mut end = i + 1;
    let mut escaped = false;
    loop {
        match bytes.get(end) {
            Some(byte) if *byte == quote => break,
            Some(b'\\') if bytes.get(end + 1).is_some_and(|byte| *byte != b'\n') => {
                escaped = true;
                end += 2;
            }
            Some(b'\n') | None => return Err(Flaw::new("a quote that is not closed", i)),
            Some(_) => end += 1,
        }
    }
    let raw = text.get(i + 1..end).unwrap_or_default();
    let inner = if escaped { unescape(raw, i + 1, bump)? } else { raw };
    Ok((inner, end + 1))
}

#[cold]
fn unescape<'a>(raw: &str, at: usize, bump: &'a Bump) -> Result<&'a str, Flaw> {
    let mut out = BumpString::new_in(bump);
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let wrong = || Flaw::new("a wrong escape", at);
        out.push(match chars.next().ok_or_else(wrong)? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            's' => ' ',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'e' => '\u{1b}',
            'd' => '\u{7f}',
            'x' => {
                let hex: String = match chars.next().ok_or_else(wrong)? {
                    '{' => chars.by_ref().take_while(|c| *c != '}').collect(),
                    first => [Some(first), chars.next()].into_iter().flatten().collect(),
                };
                u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32).ok_or_else(wrong)?
            }
            first @ '0'..='7' => {
                let mut code = first.to_digit(8).unwrap_or_default();
                let mut ahead = chars.clone();
                for _ in 0..2 {
                    let Some(digit) = ahead.next().and_then(|c| c.to_digit(8)) else { break };
                    code = code * 8 + digit;
                    chars = ahead.clone();
                }
                char::from_u32(code).ok_or_else(wrong)?
            }
            other => other,
        });
    }
    Ok(out.into_bump_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        let bump = Bump::new();
        match term(text, 0, 0, &bump) {
            Ok((term, end)) => format!("{term} {end}"),
            Err(flaw) => format!("{flaw} at {}", flaw.at),
        }
    }

    #[test]
    fn terms_are_read_as_erlang_prints_them() {
        for (text, expected) in [
            ("ok,", "ok 2"),
            ("{ok, 7}", "{ok,7} 7"),
            ("[]", "[] 2"),
            ("[a,[1.5e3|x]]", "a list with a tail at 9"),
            ("<0.12.0>", "<0.12.0> 8"),
            ("#Ref<0.1.2.3>", "#Ref<0.1.2.3> 13"),
            ("'it\\'s ok'", "'it\\'s ok' 10"),
            ("\"a\\x{e9}\\101\\n\"", "[97,233,65,10] 15"),
            ("<<\"bin\">>", "\"bin\" 9"),
            ("<<1,255>>", "<<1,255>> 9"),
            ("#{a => 1, b => [true]}", "{\"a\": 1, \"b\": [true]} 22"),
            ("-16#ff", "-255 6"),
            ("1_000", "1000 5"),
            ("123456789012345678901234567890", "123456789012345678901234567890 30"),
            ("$a", "97 2"),
            ("Var", "something that is no Erlang term at 0"),
            ("{a", "a comma or a closing bracket is missing at 2"),
            ("", "a term is missing at 0"),
            ("<0.1", "a `<` that is not closed at 0"),
            ("1.", "1 1"),
        ] {
            assert_eq!(show(text), expected, "{text}");
        }
        assert!(show(&"[".repeat(100_000)).starts_with("nested deeper"));
    }
}
