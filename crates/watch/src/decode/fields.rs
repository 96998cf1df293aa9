//! The parts of an event in one JSON line, as places in the text.

use crate::scan::{Flaw, after_key, skip_blanks, skip_value, string_end, text};
use crate::shape::{MOST_MEMBERS, NO_MEMBER, PARTS, Part, Tree};

/// A place in a text; empty: not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    #[inline]
    pub(crate) fn new(start: usize, end: usize) -> Self {
        // INVARIANT: chunks are shorter than 4 GiB.
        Self { start: start as u32, end: end as u32 }
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Of a member that is there twice: where it is again.
    #[inline]
    pub(crate) fn twice(self) -> Option<usize> {
        (self.start == u32::MAX).then_some(self.end as usize)
    }

    #[inline]
    pub(crate) fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// Where the parts of an event are: whole JSON values, strings with their quotes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fields {
    spans: [Span; PARTS],
}

impl Fields {
    /// No part.
    pub(crate) const NONE: Self = Self { spans: [Span { start: 0, end: 0 }; PARTS] };

    #[inline]
    pub(crate) fn get(&self, part: Part) -> Span {
        self.spans[part as usize]
    }

    /// The same parts in a copy of the text that begins `by` bytes later, or, as it wraps, earlier.
    #[inline]
    pub(crate) fn moved(mut self, by: u32) -> Self {
        for span in &mut self.spans {
            let by = if span.is_empty() { 0 } else { by };
            *span = Span { start: span.start.wrapping_add(by), end: span.end.wrapping_add(by) };
        }
        self
    }

    /// Whether none of `parts` is there.
    #[inline]
    pub(crate) fn has_no(&self, parts: &[Part]) -> bool {
        parts.iter().all(|part| self.get(*part).is_empty())
    }

    #[inline(always)]
    fn set(&mut self, parts: u8, span: Span) -> Result<(), Flaw> {
        let mut rest = parts;
        while rest != 0 {
            let part = rest.trailing_zeros() as usize;
            let Some(place) = self.spans.get_mut(part) else { break };
            if !place.is_empty() {
                return Err(Flaw::new("a key of the event appears twice", span.start as usize));
            }
            *place = span;
            rest &= rest - 1;
        }
        Ok(())
    }
}

/// How many keys of a line are guessed from the line before.
const GUESSED: usize = 16;
const NO_GUESS: u8 = u8::MAX;

/// Finds the parts of events. Lines of one log mostly have the same keys in the same order, so each key is
/// first compared with the one at its place in the line before.
pub(crate) struct Scanner<'t> {
    tree: &'t Tree,
    guesses: [u8; GUESSED],
    scratch: String,
    /// Where the members of the last line are that the tree asks for by number.
    members: [Span; MOST_MEMBERS],
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(tree: &'t Tree) -> Self {
        let members = [Span::default(); MOST_MEMBERS];
        Self { tree, guesses: [NO_GUESS; GUESSED], scratch: String::new(), members }
    }

    /// Where the members of the last line are that the tree asks for, by their numbers.
    pub(crate) fn members(&self) -> &[Span] {
        self.members.get(..self.tree.members).unwrap_or_default()
    }

    /// Where parts are.
    pub(crate) fn tree(&self) -> &'t Tree {
        self.tree
    }

    /// Finds the parts of the event that starts at `start`; returns them and where the line ends.
    #[inline]
    pub(crate) fn line(&mut self, bytes: &[u8], start: usize) -> Result<(Fields, usize), Flaw> {
        let mut fields = Fields::default();
        let begin = skip_blanks(bytes, start);
        if bytes.get(begin) != Some(&b'{') {
            return Err(Flaw::new("not a JSON object", begin));
        }
        if self.tree.members > 0 {
            self.members = [Span::default(); MOST_MEMBERS];
        }
        let mut i = self.object(bytes, begin, 0, &mut fields)?;
        let parts = self.tree.nodes[0].parts;
        if parts != 0 {
            fields.set(parts, Span::new(begin, i))?;
        }
        i = skip_blanks(bytes, i);
        match bytes.get(i) {
            None | Some(b'\n') => Ok((fields, i)),
            Some(_) => Err(Flaw::new("something after the event", i)),
        }
    }

    /// Scans the object at `i`, whose members are the children of `node`.
    fn object(&mut self, bytes: &[u8], i: usize, node: usize, fields: &mut Fields) -> Result<usize, Flaw> {
        let tree = self.tree;
        let Some(here) = tree.nodes.get(node) else { return skip_value(bytes, i) };
        let mut i = skip_blanks(bytes, i + 1);
        if bytes.get(i) == Some(&b'}') {
            return Ok(i + 1);
        }
        let mut index = 0;
        loop {
            let name = i;
            let guess =
                if node == 0 { self.guesses.get(index).copied().unwrap_or(NO_GUESS) } else { NO_GUESS };
            let guessed = here.children.get(usize::from(guess)).filter(|child| {
                let (Some((key, mask, _)), Some(read)) =
                    (child.quoted, bytes.get(i..).and_then(|rest| rest.first_chunk::<16>()))
                else {
                    return false;
                };
                u128::from_le_bytes(*read) & mask == key
            });
            let child = match guessed {
                Some(child) => {
                    i = skip_blanks(bytes, i + child.quoted.map_or(0, |(_, _, length)| length));
                    Some(child)
                }
                None => {
                    if bytes.get(i) != Some(&b'"') {
                        return Err(Flaw::new("a key is missing", i));
                    }
                    let (end, escaped) = string_end(bytes, i + 1)?;
                    let found = self.find(bytes, node, (i + 1, end), escaped)?;
                    if node == 0
                        && let Some(guess) = self.guesses.get_mut(index)
                    {
                        *guess = found.and_then(|child| u8::try_from(child).ok()).unwrap_or(NO_GUESS);
                    }
                    i = after_key(bytes, end + 1)?;
                    found.and_then(|child| here.children.get(child))
                }
            };
            index += 1;
            let start = i;
            i = match child {
                None => skip_value(bytes, i)?,
                Some(child) => {
                    let end = match child.leaf {
                        Some(parts) => {
                            let end = skip_value(bytes, i)?;
                            fields.set(parts, Span::new(i, end))?;
                            end
                        }
                        None => self.part(bytes, i, child.node, fields)?,
                    };
                    if child.member != NO_MEMBER {
                        self.note(child.member, name, Span::new(start, end));
                    }
                    end
                }
            };
            i = skip_blanks(bytes, i);
            match bytes.get(i) {
                Some(b',') => i = skip_blanks(bytes, i + 1),
                Some(b'}') => return Ok(i + 1),
                _ => return Err(Flaw::new("a comma or a closing brace is missing", i)),
            }
        }
    }

    /// The member with this number is at `span`, and its name at `name`.
    #[inline]
    fn note(&mut self, member: u8, name: usize, span: Span) {
        let Some(place) = self.members.get_mut(usize::from(member)) else { return };
        if place.is_empty() {
            *place = span;
        } else if place.twice().is_none() {
            *place = Span { start: u32::MAX, end: name as u32 };
        }
    }

    /// Scans a value that leads to parts or is one.
    #[inline(never)]
    fn part(&mut self, bytes: &[u8], i: usize, node: usize, fields: &mut Fields) -> Result<usize, Flaw> {
        let Some(here) = self.tree.nodes.get(node) else { return skip_value(bytes, i) };
        let end = match bytes.get(i) {
            _ if here.children.is_empty() => skip_value(bytes, i)?,
            Some(b'{') => self.object(bytes, i, node, fields)?,
            Some(b'[') => self.array(bytes, i, node, fields)?,
            _ => skip_value(bytes, i)?,
        };
        if here.parts != 0 {
            fields.set(here.parts, Span::new(i, end))?;
        }
        Ok(end)
    }

    /// Scans the array at `i`; pointers name its elements by their numbers.
    fn array(&mut self, bytes: &[u8], i: usize, node: usize, fields: &mut Fields) -> Result<usize, Flaw> {
        let tree = self.tree;
        let mut i = skip_blanks(bytes, i + 1);
        if bytes.get(i) == Some(&b']') {
            return Ok(i + 1);
        }
        for index in 0_usize.. {
            let number = index.to_string();
            let child = tree.nodes.get(node).and_then(|n| n.children.iter().find(|c| *c.key == *number));
            i = match child {
                None => skip_value(bytes, i)?,
                Some(child) => self.part(bytes, i, child.node, fields)?,
            };
            i = skip_blanks(bytes, i);
            match bytes.get(i) {
                Some(b',') => i = skip_blanks(bytes, i + 1),
                Some(b']') => break,
                _ => return Err(Flaw::new("a comma or a closing bracket is missing", i)),
            }
        }
        Ok(i + 1)
    }

    /// The child of `node` whose key is between the given places.
    fn find(
        &mut self,
        bytes: &[u8],
        node: usize,
        (start, end): (usize, usize),
        escaped: bool,
    ) -> Result<Option<usize>, Flaw> {
        let Some(here) = self.tree.nodes.get(node) else { return Ok(None) };
        let raw = bytes.get(start..end).unwrap_or_default();
        if !escaped {
            return Ok(here.children.iter().position(|child| child.key.as_bytes() == raw));
        }
        let raw = std::str::from_utf8(raw).map_err(|_| Flaw::new("a key that is not UTF-8", start))?;
        self.scratch.clear();
        text::unescape(raw, &mut self.scratch).map_err(|flaw| Flaw::new(flaw.what, start + flaw.at))?;
        Ok(here.children.iter().position(|child| *child.key == *self.scratch))
    }
}

/// The text of the scalar `raw`, a JSON value: a string without its quotes, or a number or truth value as
/// written; `None` for null.
///
/// # Errors
/// Arrays, objects and strings that are no text.
#[inline]
pub(crate) fn scalar<'a>(raw: &'a str, scratch: &'a mut String) -> Result<Option<&'a str>, Flaw> {
    match raw.as_bytes() {
        [b'"', .., b'"'] => {
            let inner = raw.get(1..raw.len() - 1).unwrap_or_default();
            if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
                return Ok(Some(inner));
            }
            scratch.clear();
            text::unescape(inner, scratch)?;
            Ok(Some(scratch))
        }
        [b'{' | b'[', ..] => Err(Flaw::new("an object or array where a text is needed", 0)),
        b"null" | [] => Ok(None),
        _ => Ok(Some(raw)),
    }
}

/// Where the line that `at` is in ends.
pub(crate) fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).and_then(|rest| memchr::memchr(b'\n', rest)).map_or(bytes.len(), |length| at + length)
}
