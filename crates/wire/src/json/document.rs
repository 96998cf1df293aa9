//! A JSON document: where it ends, where the values are that pointers lead to, and what these are.
//!
//! Everything is checked against the grammar of RFC 8259. A member that a pointer leads through may not be there
//! twice: two readers would take different ones.

use std::collections::HashSet;

use bumpalo::Bump;
use bumpalo::collections::{String as BumpString, Vec as BumpVec};
use referee_monitor::FieldValue;

/// How deep arrays and objects may be nested. Beyond what the monitor looks into, and little for a stack.
const MAX_DEPTH: u32 = 128;

/// Why what is in a document is not read.
const TWICE: &str = "a member that is there twice";

/// Why a text is no JSON document, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) what: &'static str,
    pub(crate) at: usize,
}

#[cold]
fn flaw<T>(what: &'static str, at: usize) -> Result<T, Flaw> {
    Err(Flaw { what, at })
}

/// JSON pointers (RFC 6901) as a tree, each with a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pointers {
    // INVARIANT: the first node is the whole document.
    nodes: Vec<Node>,
    count: usize,
}

#[derive(Clone, Debug, Default)]
struct Node {
    children: Vec<(Box<str>, usize)>,
    slots: Vec<usize>,
}

/// The first byte of a value and the one after it.
pub(crate) type Place = (usize, usize);

/// Where each pointer leads.
pub(crate) type Places = smallvec::SmallVec<[Place; 8]>;

/// No value.
pub(crate) const MISSING: Place = (0, 0);

impl Pointers {
    /// A tree of `pointers`, in whose order places are told.
    pub(crate) fn new<'a>(pointers: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut tree = Self { nodes: vec![Node::default()], count: 0 };
        for pointer in pointers {
            let mut at = 0;
            if !pointer.is_empty() && !pointer.starts_with('/') {
                return Err(format!("`{pointer}` is no JSON pointer: it has to begin with `/`"));
            }
            for key in pointer.split('/').skip(1) {
                let key = key.replace("~1", "/").replace("~0", "~");
                let fresh = tree.nodes.len();
                let Some(node) = tree.nodes.get_mut(at) else { break };
                at = match node.children.iter().find(|(other, _)| **other == *key) {
                    Some((_, child)) => *child,
                    None => {
                        node.children.push((key.into(), fresh));
                        tree.nodes.push(Node::default());
                        fresh
                    }
                };
            }
            if let Some(node) = tree.nodes.get_mut(at) {
                node.slots.push(tree.count);
            }
            tree.count += 1;
        }
        Ok(tree)
    }

    /// Where in the document at `start` of `text` the pointers lead, and where it ends.
    pub(crate) fn locate(&self, text: &str, start: usize) -> Result<(Places, usize), Flaw> {
        let mut places = Places::from_elem(MISSING, self.count);
        let end =
            Walk { tree: self, bytes: text.as_bytes(), places: &mut places }.value(start, Some(0), 0)?;
        Ok((places, end))
    }
}

/// One pass over a document.
struct Walk<'t> {
    tree: &'t Pointers,
    bytes: &'t [u8],
    places: &'t mut [Place],
}

impl Walk<'_> {
    /// Goes over the value at `start`, to which `node` leads.
    fn value(&mut self, start: usize, node: Option<usize>, depth: u32) -> Result<usize, Flaw> {
        let node = node.and_then(|node| self.tree.nodes.get(node));
        let end = match self.bytes.get(start) {
            Some(b'{') => self.object(start, node, depth)?,
            Some(b'[') => self.array(start, node, depth)?,
            Some(b'"') => string_end(self.bytes, start + 1)?.0 + 1,
            _ => scalar_end(self.bytes, start)?,
        };
        for slot in node.map_or(&[][..], |node| &node.slots) {
            if let Some(place) = self.places.get_mut(*slot) {
                *place = (start, end);
            }
        }
        Ok(end)
    }

    fn object(&mut self, start: usize, node: Option<&Node>, depth: u32) -> Result<usize, Flaw> {
        if depth == MAX_DEPTH {
            return flaw("nested deeper than 128 levels", start);
        }
        let mut at = skip_blanks(self.bytes, start + 1);
        if self.bytes.get(at) == Some(&b'}') {
            return Ok(at + 1);
        }
        let mut seen: u64 = 0;
        loop {
            if self.bytes.get(at) != Some(&b'"') {
                return flaw("a key is missing", at);
            }
            let (end, escaped) = string_end(self.bytes, at + 1)?;
            let key = self.bytes.get(at + 1..end).unwrap_or_default();
            let child = node.and_then(|node| node.child(key, escaped));
            if let Some((index, _)) = child {
                // Beyond 64 members of interest the last counts.
                let bit = 1_u64.checked_shl(index).unwrap_or(0);
                if seen & bit != 0 {
                    return flaw(TWICE, at);
                }
                seen |= bit;
            }
            at = skip_blanks(self.bytes, end + 1);
            if self.bytes.get(at) != Some(&b':') {
                return flaw("a colon is missing", at);
            }
            at = self.value(skip_blanks(self.bytes, at + 1), child.map(|(_, child)| child), depth + 1)?;
            at = skip_blanks(self.bytes, at);
            match self.bytes.get(at) {
                Some(b',') => at = skip_blanks(self.bytes, at + 1),
                Some(b'}') => return Ok(at + 1),
                _ => return flaw("a comma or a closing brace is missing", at),
            }
        }
    }

    fn array(&mut self, start: usize, node: Option<&Node>, depth: u32) -> Result<usize, Flaw> {
        if depth == MAX_DEPTH {
            return flaw("nested deeper than 128 levels", start);
        }
        let mut at = skip_blanks(self.bytes, start + 1);
        if self.bytes.get(at) == Some(&b']') {
            return Ok(at + 1);
        }
        for index in 0_usize.. {
            let child = node.and_then(|node| {
                let found = node.children.iter().find(|(key, _)| key.parse() == Ok(index));
                found.map(|(_, child)| *child)
            });
            at = skip_blanks(self.bytes, self.value(at, child, depth + 1)?);
            match self.bytes.get(at) {
                Some(b',') => at = skip_blanks(self.bytes, at + 1),
                Some(b']') => return Ok(at + 1),
                _ => return flaw("a comma or a closing bracket is missing", at),
            }
        }
        Ok(at)
    }
}

impl Node {
    /// The child that the raw `key` leads to, with its index.
    fn child(&self, key: &[u8], escaped: bool) -> Option<(u32, usize)> {
        if self.children.is_empty() {
            return None;
        }
        let plain;
        let key = if escaped {
            plain = unescape(std::str::from_utf8(key).ok()?)?;
            plain.as_bytes()
        } else {
            key
        };
        let index = self.children.iter().position(|(other, _)| other.as_bytes() == key)?;
        let (_, child) = self.children.get(index)?;
        Some((u32::try_from(index).unwrap_or(u32::MAX), *child))
    }
}

/// The first position from `at` on that is not a blank.
#[inline]
pub(crate) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\r' | b'\n') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The position of the quote that closes the string whose text starts at `at`, and whether it has escapes.
#[inline]
fn string_end(bytes: &[u8], mut at: usize) -> Result<(usize, bool), Flaw> {
    let mut escaped = false;
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok((at, escaped)),
            Some(b'\\') => {
                escaped = true;
                match bytes.get(at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
                    Some(b'u') if (2..6).all(|k| bytes.get(at + k).is_some_and(u8::is_ascii_hexdigit)) => {
                        at += 6
                    }
                    _ => return flaw("a wrong escape in a string", at),
                }
            }
            Some(0..0x20) => return flaw("a control character in a string", at),
            Some(_) => at += 1,
            None => return flaw("a string that is not closed", at),
        }
    }
}

fn scalar_end(bytes: &[u8], at: usize) -> Result<usize, Flaw> {
    let word = |word: &[u8]| {
        let end = at + word.len();
        if bytes.get(at..end) == Some(word) { Ok(end) } else { flaw("an unknown word", at) }
    };
    match bytes.get(at) {
        Some(b'-' | b'0'..=b'9') => number_end(bytes, at),
        Some(b't') => word(b"true"),
        Some(b'f') => word(b"false"),
        Some(b'n') => word(b"null"),
        _ => flaw("no JSON value", at),
    }
}

fn number_end(bytes: &[u8], start: usize) -> Result<usize, Flaw> {
    let digits = |at: usize| {
        at + bytes.get(at..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count()
    };
    let whole = start + usize::from(bytes.get(start) == Some(&b'-'));
    let mut at = digits(whole);
    if at == whole || (bytes.get(whole) == Some(&b'0') && at > whole + 1) {
        return flaw("a malformed number", start);
    }
    if bytes.get(at) == Some(&b'.') {
        let fraction = at + 1;
        at = digits(fraction);
        if at == fraction {
            return flaw("a malformed number", start);
        }
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let exponent = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits(exponent);
        if at == exponent {
            return flaw("a malformed number", start);
        }
    }
    Ok(at)
}

/// What `raw`, the text between the quotes of a valid JSON string, stands for. A surrogate without its other half
/// is no text.
fn unescape(raw: &str) -> Option<String> {
    let unit = |text: &str, at: usize| u32::from_str_radix(text.get(at..at + 4)?, 16).ok();
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(slash) = rest.find('\\') {
        let (before, escape) = rest.split_at(slash);
        out.push_str(before);
        let mut length = 2;
        out.push(match escape.as_bytes().get(1)? {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                length = 6;
                let mut code = unit(escape, 2)?;
                if (0xD800..0xDC00).contains(&code) {
                    length = 12;
                    let low = escape.get(6..8).filter(|mark| *mark == "\\u").and(unit(escape, 8))?;
                    code = 0x10000
                        + ((code - 0xD800) << 10)
                        + low.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                }
                char::from_u32(code)?
            }
            other => char::from(*other),
        });
        rest = escape.get(length..)?;
    }
    out.push_str(rest);
    Some(out)
}

/// The value at `place` of the valid document `text`. A member of type `unit` may be absent, as in an event that is watched.
pub(crate) fn value<'b>(text: &'b str, place: Place, is_unit: bool, bump: &'b Bump) -> FieldValue<'b> {
    if place == MISSING {
        return if is_unit { FieldValue::Unit } else { FieldValue::Malformed("the member is missing") };
    }
    build(text, place.0, 0, bump).0
}

/// The value at `at` and the position after it.
fn build<'b>(text: &'b str, at: usize, depth: usize, bump: &'b Bump) -> (FieldValue<'b>, usize) {
    let bytes = text.as_bytes();
    match bytes.get(at) {
        Some(b'"') => {
            let (text, end) = string(text, at, bump);
            (text.map_or(FieldValue::Malformed("half a surrogate pair in a string"), FieldValue::Str), end)
        }
        Some(b't') => (FieldValue::Bool(true), at + 4),
        Some(b'f') => (FieldValue::Bool(false), at + 5),
        Some(b'{' | b'[') if depth == referee_monitor::event::MAX_VALUE_DEPTH => {
            let mut walk = Walk { tree: &Pointers { nodes: Vec::new(), count: 0 }, bytes, places: &mut [] };
            (FieldValue::Malformed("nested too deep"), walk.value(at, None, 0).unwrap_or(bytes.len()))
        }
        Some(b'[') => {
            let (mut elements, mut wrong) = (BumpVec::new_in(bump), None);
            let mut at = skip_blanks(bytes, at + 1);
            while !matches!(bytes.get(at), Some(b']') | None) {
                let (element, end) = build(text, at, depth + 1, bump);
                match element {
                    FieldValue::Malformed(TWICE) => wrong = Some(TWICE),
                    element => elements.push(element),
                }
                at = skip_blanks(bytes, end);
                if bytes.get(at) == Some(&b',') {
                    at = skip_blanks(bytes, at + 1);
                }
            }
            let list = || FieldValue::List(elements.into_bump_slice());
            (wrong.map_or_else(list, FieldValue::Malformed), at + 1)
        }
        Some(b'{') => object(text, at, depth, bump),
        Some(b'-' | b'0'..=b'9') => {
            let end = number_end(bytes, at).unwrap_or(bytes.len());
            let written = text.get(at..end).unwrap_or_default();
            let value = match (written.parse(), written.parse::<f64>()) {
                (Ok(integer), _) => FieldValue::Int(integer),
                (_, Ok(float)) if float.is_finite() => FieldValue::Float(float),
                _ => FieldValue::Malformed("a number beyond the range of floats"),
            };
            (value, end)
        }
        // A document that was found valid has nothing else here.
        _ => (FieldValue::Unit, (at + 4).min(bytes.len())),
    }
}

/// The object at `at`, and the position after it. Of a member that is there twice, two readers would take different ones.
fn object<'b>(text: &'b str, at: usize, depth: usize, bump: &'b Bump) -> (FieldValue<'b>, usize) {
    let bytes = text.as_bytes();
    let (mut members, mut wrong) = (BumpVec::new_in(bump), None);
    let mut at = skip_blanks(bytes, at + 1);
    while !matches!(bytes.get(at), Some(b'}') | None) {
        let (name, end) = string(text, at, bump);
        let colon = skip_blanks(bytes, end);
        let (member, end) = build(text, skip_blanks(bytes, colon + 1), depth + 1, bump);
        match member {
            FieldValue::Malformed(TWICE) => wrong = Some(TWICE),
            member => members.push((name.unwrap_or("\u{fffd}"), member)),
        }
        at = skip_blanks(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = skip_blanks(bytes, at + 1);
        }
    }
    let value = match wrong {
        Some(reason) => FieldValue::Malformed(reason),
        None if has_twice(&members) => FieldValue::Malformed(TWICE),
        None => FieldValue::Record(members.into_bump_slice()),
    };
    (value, at + 1)
}

/// Whether a name is there twice, in time linear in their number.
fn has_twice(members: &[(&str, FieldValue<'_>)]) -> bool {
    /// So few are compared one with another.
    const FEW: usize = 8;
    if members.len() <= FEW {
        let mut names = members.iter().enumerate();
        return names
            .any(|(index, (name, _))| members.iter().skip(index + 1).any(|(other, _)| other == name));
    }
    let mut seen = HashSet::with_capacity(members.len());
    !members.iter().all(|(name, _)| seen.insert(*name))
}

/// The string at `at`, and the position after it.
pub(crate) fn string<'b>(text: &'b str, at: usize, bump: &'b Bump) -> (Option<&'b str>, usize) {
    let Ok((end, escaped)) = string_end(text.as_bytes(), at + 1) else { return (None, text.len()) };
    let raw = text.get(at + 1..end).unwrap_or_default();
    let text = if escaped {
        unescape(raw).map(|plain| BumpString::from_str_in(&plain, bump).into_bump_str())
    } else {
        Some(raw)
    };
    (text, end + 1)
}
