//! RelaMon's names for payload types: `str`, `array[int]`, `str,str`.

use std::fmt::Write as _;
use std::sync::Arc;

use referee_theory::{Field, Type};

use crate::payload;

/// How deep `array[…]` may be nested.
pub(crate) const MAX_DEPTH: usize = 128;

/// Why a text is no list of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadType {
    /// Brackets that do not match, or nothing where a type should be.
    Malformed,
    /// Deeper than [`MAX_DEPTH`].
    TooDeep,
}

/// The fields that `text`, a list of types without blanks, stands for; `unit` alone stands for none.
pub(crate) fn fields(text: &str) -> Result<Arc<[Field]>, BadType> {
    if text == "unit" {
        return Ok(Arc::new([]));
    }
    let types = split(text).ok_or(BadType::Malformed)?;
    types.into_iter().map(|part| Ok(Field { name: None, ty: from_text(part)? })).collect()
}

/// At the commas outside brackets.
fn split(text: &str) -> Option<Vec<&str>> {
    let mut depth = 0_usize;
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    (depth == 0 && parts.iter().all(|part| !part.is_empty())).then_some(parts)
}

fn from_text(mut text: &str) -> Result<Type, BadType> {
    let mut arrays = 0;
    while let Some(element) = text.strip_prefix("array[").and_then(|rest| rest.strip_suffix(']')) {
        if element.is_empty() {
            return Err(BadType::Malformed);
        }
        // Several elements: not a list of anything Referee knows.
        if split(element).is_none_or(|parts| parts.len() != 1) {
            break;
        }
        text = element;
        arrays += 1;
        if arrays > MAX_DEPTH {
            return Err(BadType::TooDeep);
        }
    }
    let scalar = payload::builtin(text).unwrap_or_else(|| Type::opaque(text));
    Ok((0..arrays).fold(scalar, |element, _| Type::list(element)))
}

/// What RelaMon's files call the payload `fields`, if they have a name for it.
pub(crate) fn text(fields: &[Field]) -> Option<String> {
    if fields.is_empty() {
        return Some(String::from("unit"));
    }
    let mut out = String::new();
    for (i, field) in fields.iter().enumerate() {
        let mut arrays = 0;
        let mut ty = &field.ty;
        while let Type::List(element) = ty {
            arrays += 1;
            ty = element;
        }
        let scalar = match ty {
            Type::String => "str",
            Type::Int => "int",
            Type::Bool => "bool",
            Type::Float => "real",
            Type::Bytes => "bytes",
            Type::Unit => "unit",
            // What is read as another type there has no name.
            Type::Opaque(name) if from_text(name) != Ok(ty.clone()) => return None,
            Type::Opaque(name) => name,
            Type::List(_) | Type::Tuple(_) | Type::Record(_) => return None,
        };
        let comma = if i > 0 { "," } else { "" };
        let _ = write!(out, "{comma}{}{scalar}{}", "array[".repeat(arrays), "]".repeat(arrays));
    }
    Some(out)
}
