//! Lines that are not what they should be: what nothing reads may hold anything, and of the rest it is found out whose
//! event was lost.
//!
//! A value that no part of an event and no property reads is not looked at more closely than needed to find its end. If it
//! is not JSON (bytes that are not UTF-8, escapes that JSON does not know, nested too deep), it is overwritten by a
//! text of the same length, so that whoever reads the line after this finds the same parts at the same places.

use std::collections::BTreeSet;

use crate::scan::text::unescape;
use crate::scan::{skip_blanks, skip_value};
use crate::shape::{Part, Tree};

use super::fields::{Span, scalar};

/// Takes the place of each byte that is not UTF-8. JSON does not allow it raw, so that it is noticed where it is read.
pub(crate) const NOT_UTF8: u8 = 0x1a;

/// What a line with a flaw turned out to be.
pub(crate) struct Salvaged {
    /// The line, with what nobody reads overwritten where it was no JSON.
    pub(crate) line: String,
    /// The session's key, as far as it can be read.
    pub(crate) session: Session,
    /// Whether it has any part of an event.
    pub(crate) has_parts: bool,
}

/// Whose event a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Session {
    /// This one's; the empty key if the line has none.
    Key(String),
    /// It cannot be told.
    Unknown,
}

/// Which values are read besides the parts of an event.
#[derive(Clone, Copy)]
pub(crate) struct Reads<'a> {
    /// The members of the line itself.
    pub(crate) members: &'a BTreeSet<String>,
    /// Whether times matter.
    pub(crate) time: bool,
}

/// Looks at `line`, which is no event as it stands.
pub(crate) fn salvage(line: &str, tree: &Tree, reads: Reads<'_>) -> Salvaged {
    let mut salvage = Salvage {
        line: line.as_bytes().to_vec(),
        tree,
        reads,
        sessions: Vec::new(),
        parts: 0,
        key: String::new(),
    };
    let begin = skip_blanks(&salvage.line, 0);
    let whole = match salvage.line.get(begin) {
        Some(b'{') => salvage.object(begin, 0),
        _ => None,
    };
    // A line that breaks off may have had its key after the break.
    let complete = whole.is_some_and(|end| skip_blanks(&salvage.line, end) == salvage.line.len());
    let session = match &*salvage.sessions {
        [] if complete => Session::Key(String::new()),
        [only] => salvage.key_at(*only),
        _ => Session::Unknown,
    };
    let has_parts = !complete || salvage.parts > 0;
    // Overwriting begins and ends at ASCII characters.
    let clean = String::from_utf8(salvage.line).unwrap_or_else(|_| line.to_owned());
    Salvaged { line: clean, session, has_parts }
}

struct Salvage<'a> {
    line: Vec<u8>,
    tree: &'a Tree,
    reads: Reads<'a>,
    /// Where the session's key is.
    sessions: Vec<Span>,
    /// How many parts of an event were found.
    parts: u32,
    key: String,
}

impl Salvage<'_> {
    fn key_at(&self, span: Span) -> Session {
        let raw = self.line.get(span.start as usize..span.end as usize).unwrap_or_default();
        if skip_value(raw, 0) != Ok(raw.len()) {
            return Session::Unknown;
        }
        let text = std::str::from_utf8(raw).unwrap_or_default();
        match scalar(text, &mut String::new()) {
            Ok(key) => Session::Key(key.unwrap_or_default().to_owned()),
            Err(_) => Session::Unknown,
        }
    }

    /// Walks over the object at `i`, whose members are the children of `node`; the position after it, unless it breaks off.
    fn object(&mut self, i: usize, node: usize) -> Option<usize> {
        let tree = self.tree;
        let mut i = skip_blanks(&self.line, i + 1);
        if self.line.get(i) == Some(&b'}') {
            return Some(i + 1);
        }
        loop {
            if self.line.get(i) != Some(&b'"') {
                return None;
            }
            let key_end = string_end(&self.line, i)?;
            let known = self.read_key(i + 1, key_end - 1);
            if !known {
                overwrite(&mut self.line, i, key_end);
            }
            let colon = skip_blanks(&self.line, key_end);
            if self.line.get(colon) != Some(&b':') {
                return None;
            }
            let value = skip_blanks(&self.line, colon + 1);
            let key = &*self.key;
            let child = tree.nodes.get(node)?.children.iter().find(|child| known && *child.key == *key);
            i = match child {
                Some(child) => self.part(value, child.node)?,
                None => {
                    let end = value_end(&self.line, value)?;
                    if !(known && node == 0 && self.reads.members.contains(key)) {
                        self.discard(value, end);
                    }
                    end
                }
            };
            i = skip_blanks(&self.line, i);
            match self.line.get(i) {
                Some(b',') => i = skip_blanks(&self.line, i + 1),
                Some(b'}') => return Some(i + 1),
                _ => return None,
            }
        }
    }

    /// Reads the key between the given places; whether it is one.
    fn read_key(&mut self, start: usize, end: usize) -> bool {
        self.key.clear();
        let raw = self.line.get(start..end).unwrap_or_default();
        let valid =
            self.line.get(start - 1..=end).is_some_and(|quoted| skip_value(quoted, 0) == Ok(quoted.len()));
        valid && std::str::from_utf8(raw).is_ok_and(|raw| unescape(raw, &mut self.key).is_ok())
    }

    /// Walks over a value that is a part, or leads to one.
    fn part(&mut self, i: usize, node: usize) -> Option<usize> {
        let here = self.tree.nodes.get(node)?;
        let end = match self.line.get(i) {
            Some(b'{') if !here.children.is_empty() => self.object(i, node)?,
            _ => value_end(&self.line, i)?,
        };
        self.parts += here.parts.count_ones();
        if here.parts & 1 << Part::Session as u8 != 0 {
            self.sessions.push(Span::new(i, end));
        }
        if here.parts == 1 << Part::Time as u8 && !self.reads.time {
            self.discard(i, end);
        }
        Some(end)
    }

    /// Nobody reads the value: it is overwritten if it is no JSON.
    fn discard(&mut self, start: usize, end: usize) {
        if skip_value(self.line.get(..end).unwrap_or_default(), start) != Ok(end) {
            overwrite(&mut self.line, start, end);
        }
    }
}

/// Puts a text of the same length there.
fn overwrite(line: &mut [u8], start: usize, end: usize) {
    let Some(value) = line.get_mut(start..end) else { return };
    match value {
        [first, middle @ .., last] => {
            middle.fill(b'x');
            (*first, *last) = (b'"', b'"');
        }
        [only] => *only = b'0',
        [] => {}
    }
}

/// The position after the string that starts at `i`, whatever is in it.
fn string_end(line: &[u8], i: usize) -> Option<usize> {
    let mut at = i + 1;
    loop {
        match line.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The position after the value that starts at `i`, whatever it is: brackets are counted, not matched.
fn value_end(line: &[u8], i: usize) -> Option<usize> {
    let (mut at, mut depth) = (i, 0_usize);
    loop {
        match line.get(at)? {
            b'"' => {
                at = string_end(line, at)?;
                if depth == 0 {
                    return Some(at);
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return (at > i).then_some(at),
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b',' if depth == 0 => return (at > i).then_some(at),
            _ => {}
        }
        at += 1;
    }
}

/// Replaces each byte that is not UTF-8, in place.
pub(crate) fn mask_invalid(bytes: &mut [u8]) {
    let mut from = 0;
    while let Some(rest) = bytes.get_mut(from..) {
        let Err(error) = std::str::from_utf8(rest) else { return };
        let start = error.valid_up_to();
        let length = error.error_len().unwrap_or(rest.len() - start);
        if let Some(invalid) = rest.get_mut(start..start + length) {
            invalid.fill(NOT_UTF8);
        }
        from += start + length;
    }
}

#[cfg(test)]
mod tests;
