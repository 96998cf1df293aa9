//! JSON values as terms, borrowed from the line where they can be.

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use referee_theory::property::term::MAX_DEPTH;
use referee_theory::property::{Fields, Items, Term};
use rustc_hash::FxHashSet;

use crate::scan::text::string;
use crate::scan::{Flaw, number, skip_blanks, skip_key, skip_value};

type Members<'a> = &'a [(&'a str, Term<'a>)];

/// The whole of `text` as a term.
pub(super) fn term<'a>(text: &'a str, bump: &'a Bump) -> Result<Term<'a>, Flaw> {
    let (term, end) = value(text, 0, 1, bump)?;
    if end == text.len() { Ok(term) } else { Err(Flaw::new("something after a value", end)) }
}

/// The value at `i` and the position after it.
#[inline]
fn value<'a>(text: &'a str, i: usize, depth: usize, bump: &'a Bump) -> Result<(Term<'a>, usize), Flaw> {
    let bytes = text.as_bytes();
    match bytes.get(i) {
        Some(b'"') => {
            let (inner, end) = string(text, i, bump)?;
            Ok((Term::Text(inner), end))
        }
        Some(b'-' | b'0'..=b'9') => numeral(text, i),
        Some(b'{' | b'[') if depth >= MAX_DEPTH => Err(Flaw::new("nested too deep", i)),
        Some(b'{') => {
            let (members, end) = members(text, i, depth + 1, None, bump)?;
            Ok((Term::Record(Fields::Terms(members)), end))
        }
        Some(b'[') => elements(text, i, depth + 1, bump),
        first => {
            let end = skip_value(bytes, i)?;
            let term = match first {
                Some(b't') => Term::Bool(true),
                Some(b'f') => Term::Bool(false),
                _ => Term::Null,
            };
            Ok((term, end))
        }
    }
}

/// An integer beyond 64 bits is known by its digits; `-0` is the integer 0.
fn numeral(text: &str, i: usize) -> Result<(Term<'_>, usize), Flaw> {
    let (end, integer) = number::end(text.as_bytes(), i)?;
    let written = text.get(i..end).unwrap_or_default();
    let term = match integer {
        true => written.parse().map_or(Term::Big(written), Term::Int),
        false => match written.parse::<f64>() {
            Ok(value) if value.is_finite() => Term::Float(value),
            _ => return Err(Flaw::new("a number beyond the range of floats", i)),
        },
    };
    Ok((term, end))
}

/// The members of the object at `i`, and the position after it. With `only`, members with other names are left out.
pub(super) fn members<'a>(
    text: &'a str,
    i: usize,
    depth: usize,
    only: Option<&dyn Fn(&str) -> bool>,
    bump: &'a Bump,
) -> Result<(Members<'a>, usize), Flaw> {
    let bytes = text.as_bytes();
    let mut members = BumpVec::new_in(bump);
    let mut i = skip_blanks(bytes, i + 1);
    if bytes.get(i) == Some(&b'}') {
        return Ok((&[], i + 1));
    }
    loop {
        let start = i;
        let after = skip_key(bytes, i)?;
        let (name, _) = string(text, i, bump)?;
        if only.is_none_or(|wanted| wanted(name)) {
            if members.len() < SMALL && members.iter().any(|(known, _)| *known == name) {
                return Err(Flaw::new(TWICE, start));
            }
            let (term, end) = value(text, after, depth, bump)?;
            members.push((name, term));
            i = end;
        } else {
            i = skip_value(bytes, after)?;
        }
        i = skip_blanks(bytes, i);
        match bytes.get(i) {
            Some(b',') => i = skip_blanks(bytes, i + 1),
            Some(b'}') if members.len() >= SMALL && repeats(&members) => return Err(Flaw::new(TWICE, start)),
            Some(b'}') => return Ok((members.into_bump_slice(), i + 1)),
            _ => return Err(Flaw::new("a comma or a closing brace is missing", i)),
        }
    }
}

pub(super) const TWICE: &str = "a name appears twice in one object";
/// Up to this many members each name is compared with those before it.
const SMALL: usize = 16;

#[cold]
fn repeats(members: &[(&str, Term<'_>)]) -> bool {
    let mut seen = FxHashSet::default();
    !members.iter().all(|(name, _)| seen.insert(*name))
}

fn elements<'a>(text: &'a str, i: usize, depth: usize, bump: &'a Bump) -> Result<(Term<'a>, usize), Flaw> {
    let bytes = text.as_bytes();
    let mut elements = BumpVec::new_in(bump);
    let mut i = skip_blanks(bytes, i + 1);
    let list = |elements: BumpVec<'a, Term<'a>>| Term::List(Items::Terms(elements.into_bump_slice()));
    if bytes.get(i) == Some(&b']') {
        return Ok((list(elements), i + 1));
    }
    loop {
        let (term, end) = value(text, i, depth, bump)?;
        elements.push(term);
        i = skip_blanks(bytes, end);
        match bytes.get(i) {
            Some(b',') => i = skip_blanks(bytes, i + 1),
            Some(b']') => return Ok((list(elements), i + 1)),
            _ => return Err(Flaw::new("a comma or a closing bracket is missing", i)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_terms() {
        let bump = Bump::new();
        let show = |text| term(text, &bump).map_or_else(|flaw| flaw.to_string(), |term| term.to_string());
        assert_eq!(show("{\"a\":[1,-0,1.5,null,true,\"x\\n\"]}"), "{\"a\": [1,0,1.5,null,true,\"x\\n\"]}");
        assert_eq!(show("12345678901234567890123"), "12345678901234567890123");
        assert_eq!(show("1e999"), "a number beyond the range of floats");
        assert_eq!(show("{\"a\":1,\"\\u0061\":2}"), TWICE);
        let many: Vec<String> = (0..40).map(|i| format!("\"k{}\":1", i % 39)).collect();
        assert_eq!(show(bump.alloc_str(&format!("{{{}}}", many.join(",")))), TWICE);
        assert_eq!(show(bump.alloc_str(&"[".repeat(200))), "nested too deep");
        assert!(matches!(term("-9223372036854775809", &bump), Ok(Term::Big(_))));
    }
}
