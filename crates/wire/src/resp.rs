//! `resp`: RESP2 and RESP3, what Redis speaks.
//!
//! A command is judged by its name and the arguments that the protocol reads, a reply by its type and, for a simple
//! string, an error or an array, by how it begins. Everything else is passed on as it comes. The values of an
//! aggregate are counted, not nested: how many are still to come is all there is to know.

use referee_monitor::FieldValue;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::connection::{Body, Effect};
use crate::error::TableError;
use crate::reading::Reading;
use crate::signature::{MessageId, Sender, Signature};
use crate::step::{After, Fields, Label, Malformed, Message, Step, excerpt};
use crate::table::{Table, Then};
use crate::value::{Scalar, integer};

/// How long a line with a number may be.
const MAX_NUMBER: usize = 32;
/// How many values an aggregate may have: what Redis itself takes.
const MAX_VALUES: i64 = 1024 * 1024 * 1024;

/// The codec.
#[derive(Debug)]
pub(crate) struct Resp {
    /// By name in upper case.
    commands: FxHashMap<Box<[u8]>, Vec<MessageId>>,
    any_command: Vec<MessageId>,
    /// How replies begin, the longest first.
    replies: Vec<(Box<[u8]>, MessageId)>,
    /// Whether arrays are told apart by their first value.
    looks_into_arrays: bool,
    /// By [`MessageId::index`].
    shapes: Vec<Shape>,
}

#[derive(Debug)]
struct Shape {
    /// For each field, its argument and type.
    fields: Vec<(usize, Scalar)>,
    aside: bool,
    effect: Effect,
}

impl Resp {
    pub(crate) fn compile(
        table: &Table,
        signature: &Signature,
        errors: &mut Vec<TableError>,
    ) -> Option<Self> {
        let before = errors.len();
        let mut commands: FxHashMap<Box<[u8]>, Vec<MessageId>> = FxHashMap::default();
        let mut replies: Vec<(Box<[u8]>, MessageId)> = Vec::new();
        let mut shapes = Vec::new();
        for (id, known) in (0..).map(MessageId).zip(&signature.messages) {
            let name = &*known.name;
            let entry =
                table.messages.iter().find(|(other, _)| **other == *known.name).map(|(_, entry)| entry);
            let Some(pattern) = entry.and_then(|entry| entry.pattern.as_deref()) else {
                let message = format!("nothing says which command or reply `{name}` is");
                errors.push(TableError::new(["messages"], message));
                continue;
            };
            if known.sender == Sender::Client {
                for command in pattern.split_ascii_whitespace() {
                    let command = if command == "any" { String::new() } else { command.to_ascii_uppercase() };
                    commands.entry(command.into_bytes().into()).or_default().push(id);
                }
            } else if pattern == "any" {
                replies.push(([].into(), id));
            } else {
                for start in pattern.split_ascii_whitespace() {
                    if !start
                        .starts_with(['+', '-', ':', '$', '*', '_', '#', ',', '(', '!', '=', '%', '~', '>'])
                    {
                        let message = format!(
                            "`{start}` does not begin like a reply: `+OK`, `-`, `:`, `$`, `*`, `_`, …"
                        );
                        errors.push(TableError::new(["messages", name, "pattern"], message));
                    }
                    replies.push((start.as_bytes().into(), id));
                }
            }
            let mut fields = Vec::new();
            for (position, field) in known.fields.iter().enumerate() {
                let key = field.name.as_deref().unwrap_or("_");
                let given = entry.and_then(|entry| entry.fields.iter().find(|(other, _)| other == key));
                let argument =
                    given.map_or(Some(position + 1), |(_, text)| text.parse().ok().filter(|n| *n < 64));
                match (argument, Scalar::of(&field.ty)) {
                    (Some(argument), Some(scalar)) => fields.push((argument, scalar)),
                    (None, _) => {
                        let message = "the number of an argument, 0 for the command itself";
                        errors.push(TableError::new(["messages", name, "fields", key], message));
                    }
                    (_, None) => {
                        errors.push(TableError::new(
                            ["messages", name],
                            format!("`{key}` is of no type that one value has"),
                        ));
                    }
                }
            }
            if known.sender == Sender::Server && fields.len() > 1 {
                errors.push(TableError::new(["messages", name], "a reply has one field at most: its value"));
            }
            crate::json::unknown_fields(entry, known, errors);
            let transparent = entry.is_some_and(|entry| entry.then == Some(Then::Transparent));
            let effect = if transparent { Effect::Transparent } else { Effect::None };
            shapes.push(Shape { fields, aside: known.aside, effect });
        }
        replies.sort_by_key(|(start, _)| usize::MAX - start.len());
        let any_command = commands.remove(&[][..]).unwrap_or_default();
        let looks_into_arrays =
            replies.iter().any(|(start, _)| start.len() > 1 && matches!(start[0], b'*' | b'>'));
        (errors.len() == before).then_some(Self { commands, any_command, replies, looks_into_arrays, shapes })
    }

    #[inline]
    pub(crate) fn decode<'b>(
        &self,
        limit: usize,
        sender: Sender,
        unread: &'b [u8],
        reading: Reading<'_>,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let found = match sender {
            Sender::Client => self.command(unread, reading, fields),
            Sender::Server => self.reply(unread, reading, fields),
        };
        match found {
            Ok(found) => found.finish(unread, limit),
            Err(step) => step,
        }
    }

    #[inline]
    fn command<'b>(
        &self,
        unread: &'b [u8],
        reading: Reading<'_>,
        fields: &mut Fields<'b>,
    ) -> Result<Found<'b>, Step<'b>> {
        let mut cursor = Cursor { bytes: unread, at: 0 };
        let mut arguments: SmallVec<[&[u8]; 8]> = SmallVec::new();
        let mut values = 0;
        let mut wanted = 1;
        if unread.first() == Some(&b'*') {
            let count = cursor.number()?.unwrap_or(0);
            // An empty command is nothing; Redis passes over it, too.
            values = u64::try_from(count).unwrap_or(0);
        } else {
            // An inline command: a line of words.
            let line = cursor.line()?;
            arguments.extend(line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()));
        }
        if values > 0 {
            arguments.push(cursor.bulk()?);
            values -= 1;
        }
        let name = arguments.first().copied().unwrap_or_default();
        let id = if name.is_empty() { None } else { self.find_command(name, reading) };
        let shape = id.and_then(|id| self.shapes.get(id.index()));
        for (argument, _) in shape.map_or(&[][..], |shape| &shape.fields) {
            wanted = wanted.max(argument + 1);
        }
        while arguments.len() < wanted && values > 0 {
            arguments.push(cursor.bulk()?);
            values -= 1;
        }
        for (argument, scalar) in shape.map_or(&[][..], |shape| &shape.fields) {
            fields.push(match arguments.get(*argument) {
                Some(bytes) => scalar.read(bytes),
                None => FieldValue::Malformed("an argument is missing"),
            });
        }
        let label = match id {
            Some(id) => Label::Known(id),
            None => Label::Unknown(excerpt(name)),
        };
        let aside = name.is_empty() || shape.is_some_and(|shape| shape.aside);
        let effect = shape.map_or(Effect::None, |shape| shape.effect);
        Ok(Found { label, aside, bytes: cursor.at, body: Body::Resp(values), effect })
    }

    fn find_command(&self, name: &[u8], reading: Reading<'_>) -> Option<MessageId> {
        let mut upper = [0_u8; 32];
        let upper = upper.get_mut(..name.len())?;
        upper.copy_from_slice(name);
        upper.make_ascii_uppercase();
        let named = self.commands.get(&*upper).map_or(&[][..], |list| list);
        let any = &self.any_command;
        let takes = |id: &&MessageId| reading.takes(**id);
        named.iter().find(takes).or(named.first()).or_else(|| any.iter().find(takes)).or(any.first()).copied()
    }

    #[inline]
    fn reply<'b>(
        &self,
        unread: &'b [u8],
        reading: Reading<'_>,
        fields: &mut Fields<'b>,
    ) -> Result<Found<'b>, Step<'b>> {
        let mut cursor = Cursor { bytes: unread, at: 0 };
        let mut values = 0;
        let mut content: Option<&[u8]> = None;
        let mut length = 0;
        // As it begins: its type, and what tells it apart from others of that type.
        let mut kind = *unread.first().unwrap_or(&0);
        match kind {
            b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => {
                content = cursor.line()?.get(1..);
            }
            b'$' | b'!' | b'=' => match cursor.number()? {
                Some(bytes) => length = u64::try_from(bytes).unwrap_or(0).saturating_add(2),
                None => kind = b'_',
            },
            b'*' | b'~' | b'>' | b'%' | b'|' => match cursor.number()? {
                Some(count) => {
                    let pairs = if matches!(kind, b'%' | b'|') { 2 } else { 1 };
                    values = u64::try_from(count).unwrap_or(0).saturating_mul(pairs);
                    if self.looks_into_arrays && values > 0 && matches!(kind, b'*' | b'>') {
                        content = Cursor { ..cursor }.first_word()?;
                    }
                }
                None => kind = b'_',
            },
            _ => return Err(Malformed::new("no reply begins with this byte", 0).into()),
        }
        let matches = |start: &[u8]| match start.split_first() {
            None => !matches!(kind, b'>' | b'|'),
            Some((first, rest)) => *first == kind && content.unwrap_or_default().starts_with(rest),
        };
        let mut found = self.replies.iter().filter(|(start, _)| matches(start)).map(|(_, id)| *id);
        let first = found.next();
        let id =
            first.filter(|id| reading.takes(*id)).or_else(|| found.find(|id| reading.takes(*id))).or(first);
        let shape = id.and_then(|id| self.shapes.get(id.index()));
        if let Some((_, scalar)) = shape.and_then(|shape| shape.fields.first()) {
            if length > 0 {
                content = Some(
                    cursor
                        .take(length)?
                        .split_at_checked(length as usize - 2)
                        .map_or(&[][..], |(data, _)| data),
                );
                length = 0;
            }
            fields.push(
                content.map_or(FieldValue::Malformed("a reply without a value of its own"), |bytes| {
                    scalar.read(bytes)
                }),
            );
        }
        let label = match id {
            Some(id) => Label::Known(id),
            None => Label::Unknown(excerpt(unread)),
        };
        // What is pushed is no answer, and an attribute comes before one.
        let aside = shape.map_or(matches!(kind, b'>' | b'|'), |shape| shape.aside);
        let body = if length > 0 { Body::Exactly(length) } else { Body::Resp(values) };
        let effect = shape.map_or(Effect::None, |shape| shape.effect);
        Ok(Found { label, aside, bytes: cursor.at, body, effect })
    }
}

/// A message, as far as it is judged.
struct Found<'b> {
    label: Label<'b>,
    aside: bool,
    bytes: usize,
    body: Body,
    effect: Effect,
}

impl<'b> Found<'b> {
    /// With its body, if that is there already and not too long.
    #[inline]
    fn finish(mut self, unread: &'b [u8], limit: usize) -> Step<'b> {
        let rest = unread.get(self.bytes..).unwrap_or_default();
        let whole = match self.body {
            Body::Exactly(bytes) => Some(bytes),
            // What is wrong, if anything, is told when the rest is read.
            Body::Resp(mut values) => {
                skip(&mut values, rest).ok().filter(|(_, last)| *last).map(|(bytes, _)| bytes)
            }
            _ => None,
        };
        let there = rest.len().min(limit.saturating_sub(self.bytes)) as u64;
        if let Some(bytes) = whole.filter(|bytes| *bytes <= there) {
            self.bytes += usize::try_from(bytes).unwrap_or(0);
            self.body = Body::None;
        }
        let after = After { body: self.body, effect: self.effect };
        let has_body = self.body != Body::None;
        Step::Message(Message {
            label: self.label,
            bytes: self.bytes,
            has_body,
            aside: self.aside,
            session: None,
            after,
        })
    }
}

/// Passes over `values` values as far as they can be seen: how many bytes, perhaps more than there are, and whether
/// that is all.
pub(crate) fn skip(values: &mut u64, bytes: &[u8]) -> Result<(u64, bool), Malformed> {
    let mut cursor = Cursor { bytes, at: 0 };
    while *values > 0 {
        let start = cursor.at;
        let kind = match bytes.get(start) {
            Some(kind) => *kind,
            None => return Ok((start as u64, false)),
        };
        let more = match kind {
            b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => cursor.line().map(|_| (0, 0)),
            b'$' | b'!' | b'=' => cursor.number().map(|length| {
                (length.map_or(0, |length| u64::try_from(length).unwrap_or(0).saturating_add(2)), 0)
            }),
            b'*' | b'~' | b'>' => {
                cursor.number().map(|count| (0, u64::try_from(count.unwrap_or(0)).unwrap_or(0)))
            }
            // An attribute is besides the value that follows.
            b'|' => cursor.number().map(|count| (0, u64::try_from(count.unwrap_or(0)).unwrap_or(0) * 2 + 1)),
            b'%' => cursor.number().map(|count| (0, u64::try_from(count.unwrap_or(0)).unwrap_or(0) * 2)),
            _ => return Err(Malformed::new("no value begins with this byte", start)),
        };
        let (length, more) = match more {
            Ok(more) => more,
            Err(Step::Malformed(malformed)) => return Err(malformed),
            // A line that is not whole yet.
            Err(_) => return Ok((start as u64, false)),
        };
        *values = (*values - 1).saturating_add(more);
        let end = cursor.at as u64 + length;
        if end > bytes.len() as u64 {
            return Ok((end, *values == 0));
        }
        cursor.at += length as usize;
    }
    Ok((cursor.at as u64, true))
}

/// A place in the unread bytes.
struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Cursor<'b> {
    /// The line here, without its CR LF.
    #[inline]
    fn line(&mut self) -> Result<&'b [u8], Step<'b>> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(feed) = memchr::memchr(b'\n', rest) else {
            return Err(Step::More { at_least: self.bytes.len() + 1 });
        };
        self.at += feed + 1;
        let line = rest.get(..feed).unwrap_or_default();
        Ok(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// The number in the line here, after its first byte; none if it is -1.
    #[inline]
    fn number(&mut self) -> Result<Option<i64>, Step<'b>> {
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        // Most have one digit.
        if let [_, digit @ b'0'..=b'9', b'\r', b'\n', ..] = rest {
            self.at += 4;
            return Ok(Some(i64::from(digit - b'0')));
        }
        let seen = rest.get(..MAX_NUMBER).unwrap_or(rest);
        let Some(end) = memchr::memchr(b'\r', seen) else {
            return Err(if rest.len() >= MAX_NUMBER {
                Malformed::new("a length that is no number", start).into()
            } else {
                Step::More { at_least: self.bytes.len() + 1 }
            });
        };
        match rest.get(end + 1) {
            Some(b'\n') => {}
            Some(_) => return Err(Malformed::new("a lone CR", start + end).into()),
            None => return Err(Step::More { at_least: self.bytes.len() + 1 }),
        }
        self.at += end + 2;
        match integer(rest.get(1..end).unwrap_or_default()) {
            Some(-1) => Ok(None),
            Some(number @ 0..=MAX_VALUES) => Ok(Some(number)),
            _ => Err(Malformed::new("a length that is no number, or out of range", start).into()),
        }
    }

    /// The next `length` bytes, whose last two are CR LF.
    fn take(&mut self, length: u64) -> Result<&'b [u8], Step<'b>> {
        let end = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(self.at);
        let Some(bytes) = self.bytes.get(self.at..end) else { return Err(Step::More { at_least: end }) };
        if !bytes.ends_with(b"\r\n") {
            return Err(Malformed::new("a string that is longer than its length", end - 2).into());
        }
        self.at = end;
        Ok(bytes)
    }

    /// The bulk string here.
    #[inline]
    fn bulk(&mut self) -> Result<&'b [u8], Step<'b>> {
        match self.bytes.get(self.at) {
            Some(b'$') => {}
            Some(_) => return Err(Malformed::new("a command is an array of bulk strings", self.at).into()),
            None => return Err(Step::More { at_least: self.at + 1 }),
        }
        let start = self.at;
        let Some(length) = self.number()? else {
            return Err(Malformed::new("a null in a command", start).into());
        };
        let bytes = self.take(u64::try_from(length).unwrap_or(0) + 2)?;
        Ok(bytes.get(..bytes.len() - 2).unwrap_or_default())
    }

    /// The string here, if it is one.
    fn first_word(mut self) -> Result<Option<&'b [u8]>, Step<'b>> {
        match self.bytes.get(self.at) {
            Some(b'$') => self.bulk().map(Some),
            Some(b'+') => self.line().map(|line| line.get(1..)),
            Some(_) => Ok(None),
            None => Err(Step::More { at_least: self.at + 1 }),
        }
    }
}
