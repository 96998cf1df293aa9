//! Payloads: JSON values as the monitor's field values, borrowed from the line where they can be.

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use referee_monitor::{FieldValue, Payload};

use crate::scan::text::string;
use crate::scan::{Flaw, number, skip_blanks, skip_key, skip_value};

/// How deep values may be nested: beyond this they are of no type. The monitor's own bound.
const MAX_DEPTH: u32 = referee_monitor::event::MAX_VALUE_DEPTH as u32;

/// How many fields are decoded without allocating.
pub(crate) const INLINE: usize = 8;

/// Fields with their names.
type Members<'a> = &'a [(&'a str, FieldValue<'a>)];

/// Fields that fit without allocating.
pub(crate) type Inline<'a> = [FieldValue<'a>; INLINE];

/// The fields that a message of some label declares, in order, each with its quoted key: `"uname":`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    pub(crate) keys: Box<[Box<[u8]>]>,
}

/// Decodes the object `text` into `values` if its members are those of `declared`, in order and without
/// blanks before their colons; returns how many.
///
/// `Ok(None)`: it is something else, and [`general`] must be asked.
#[inline]
pub(crate) fn declared<'a>(
    text: &'a str,
    declared: &Declared,
    values: &mut Inline<'a>,
    bump: &'a Bump,
) -> Result<Option<usize>, Flaw> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'{') || declared.keys.len() > INLINE {
        return Ok(None);
    }
    let mut i = 1;
    for (index, (key, slot)) in declared.keys.iter().zip(values.iter_mut()).enumerate() {
        if index > 0 {
            if bytes.get(i) != Some(&b',') {
                return Ok(None);
            }
            i += 1;
        }
        i = skip_blanks(bytes, i);
        if !bytes.get(i..).is_some_and(|rest| rest.starts_with(key)) {
            return Ok(None);
        }
        i = skip_blanks(bytes, i + key.len());
        let (read, end) = value(text, i, 0, bump)?;
        *slot = read;
        i = skip_blanks(bytes, end);
    }
    i = skip_blanks(bytes, i);
    Ok((bytes.get(i..) == Some(b"}")).then_some(declared.keys.len()))
}

/// Decodes the payload `text`, any JSON value: an object has named fields, an array positional ones, null
/// none, and a scalar is a single field. With `only`, members with other names are left out.
pub(crate) fn general<'a>(
    text: &'a str,
    only: Option<&dyn Fn(&str) -> bool>,
    bump: &'a Bump,
) -> Result<Payload<'a>, Flaw> {
    let (payload, end) = match text.as_bytes().first() {
        Some(b'{') => {
            let (members, end) = members(text, 0, 0, only, bump)?;
            (Payload::Named(members), end)
        }
        Some(b'[') => {
            let (elements, end) = elements(text, 0, 0, bump)?;
            (Payload::Positional(elements), end)
        }
        None | Some(b'n') => (Payload::Positional(&[]), skip_value(text.as_bytes(), 0).unwrap_or(0)),
        Some(_) => {
            let (value, end) = value(text, 0, 0, bump)?;
            (Payload::Positional(bump.alloc([value])), end)
        }
    };
    if end == text.len() { Ok(payload) } else { Err(Flaw::new("something after the payload", end)) }
}

/// The value at `i` and the position after it.
#[inline]
fn value<'a>(text: &'a str, i: usize, depth: u32, bump: &'a Bump) -> Result<(FieldValue<'a>, usize), Flaw> {
    let bytes = text.as_bytes();
    match bytes.get(i) {
        Some(b'"') => {
            let (inner, end) = string(text, i, bump)?;
            Ok((FieldValue::Str(inner), end))
        }
        Some(b'-' | b'0'..=b'9') => number::value(text, i),
        Some(b'{' | b'[') if depth == MAX_DEPTH => {
            Ok((FieldValue::Malformed("nested too deep"), skip_value(bytes, i)?))
        }
        Some(b'{') => {
            let (members, end) = members(text, i, depth + 1, None, bump)?;
            Ok((FieldValue::Record(members), end))
        }
        Some(b'[') => {
            let (elements, end) = elements(text, i, depth + 1, bump)?;
            Ok((FieldValue::List(elements), end))
        }
        first => {
            let end = skip_value(bytes, i)?;
            let value = match first {
                Some(b't') => FieldValue::Bool(true),
                Some(b'f') => FieldValue::Bool(false),
                _ => FieldValue::Unit,
            };
            Ok((value, end))
        }
    }
}

fn members<'a>(
    text: &'a str,
    i: usize,
    depth: u32,
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
        let after = skip_key(bytes, i)?;
        let (name, _) = string(text, i, bump)?;
        if only.is_none_or(|wanted| wanted(name)) {
            let (value, end) = value(text, after, depth, bump)?;
            members.push((name, value));
            i = end;
        } else {
            i = skip_value(bytes, after)?;
        }
        i = skip_blanks(bytes, i);
        match bytes.get(i) {
            Some(b',') => i = skip_blanks(bytes, i + 1),
            Some(b'}') => return Ok((members.into_bump_slice(), i + 1)),
            _ => return Err(Flaw::new("a comma or a closing brace is missing", i)),
        }
    }
}

fn elements<'a>(
    text: &'a str,
    i: usize,
    depth: u32,
    bump: &'a Bump,
) -> Result<(&'a [FieldValue<'a>], usize), Flaw> {
    let bytes = text.as_bytes();
    let mut elements = BumpVec::new_in(bump);
    let mut i = skip_blanks(bytes, i + 1);
    if bytes.get(i) == Some(&b']') {
        return Ok((&[], i + 1));
    }
    loop {
        let (value, end) = value(text, i, depth, bump)?;
        elements.push(value);
        i = skip_blanks(bytes, end);
        match bytes.get(i) {
            Some(b',') => i = skip_blanks(bytes, i + 1),
            Some(b']') => return Ok((elements.into_bump_slice(), i + 1)),
            _ => return Err(Flaw::new("a comma or a closing bracket is missing", i)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        let bump = Bump::new();
        match general(text, None, &bump) {
            Ok(payload) => format!("{payload:?}"),
            Err(flaw) => flaw.to_string(),
        }
    }

    #[test]
    fn every_json_value_is_a_payload() {
        assert_eq!(show("null"), "Positional([])");
        assert_eq!(show("7"), "Positional([Int(7)])");
        assert_eq!(show("[1,\"a\",null,true]"), "Positional([Int(1), Str(\"a\"), Unit, Bool(true)])");
        assert_eq!(
            show("{\"a\": {\"b\": [1.5]}}"),
            "Named([(\"a\", Record([(\"b\", List([Float(1.5)]))]))])"
        );
        assert_eq!(show("{\"\\u0061\":\"\\n\"}"), "Named([(\"a\", Str(\"\\n\"))])");
        assert_eq!(show("{\"a\":1}x"), "something after the payload");
    }

    #[test]
    fn declared_fields_need_no_names() {
        let keys = ["\"a\":", "\"b\":"].map(|key| key.as_bytes().into());
        let fields = Declared { keys: Box::new(keys) };
        let bump = Bump::new();
        let read = |text| {
            let mut values = [FieldValue::Unit; INLINE];
            declared(text, &fields, &mut values, &bump).map(|count| count.map(|n| values[..n].to_vec()))
        };
        let both = Ok(Some(vec![FieldValue::Int(1), FieldValue::Str("x")]));
        assert_eq!(read("{\"a\":1,\"b\":\"x\"}"), both);
        assert_eq!(read("{ \"a\": 1 , \"b\": \"x\" }"), both);
        for other in [
            "{\"b\":\"x\",\"a\":1}",
            "{\"a\":1}",
            "{\"a\":1,\"b\":2,\"c\":3}",
            "[1,2]",
            "{}",
            "{\"a\" :1,\"b\":2}",
        ] {
            assert_eq!(read(other), Ok(None), "{other}");
        }
        assert!(read("{\"a\":1,\"b\":}").is_err());
    }
}
