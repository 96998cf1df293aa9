//! `resp`: RESP2 and RESP3, what Redis speaks.
//!
//! A command is judged by its name and the arguments that the protocol reads, a reply by its type and, for a simple
//! string, an error or an array, by how it begins. Everything else is passed on as it comes. The values of an
//! aggregate are counted, not nested: how many are still to come is all there is to know.

mod inline;
mod values;

use referee_monitor::FieldValue;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::connection::{Body, Effect};
use crate::error::TableError;
use crate::reading::Reading;
use crate::signature::{MessageId, Sender, Signature};
use crate::step::{After, Fields, Label, Malformed, Message, Scratch, Step, excerpt};
use crate::table::Table;
use crate::value::Scalar;
use values::Cursor;

pub(crate) use values::Values;

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
                    if start == "newline" {
                        replies.push(([b'\n'].into(), id));
                        continue;
                    }
                    if !start
                        .starts_with(['+', '-', ':', '$', '*', '_', '#', ',', '(', '!', '=', '%', '~', '>'])
                    {
                        let message = format!(
                            "`{start}` does not begin like a reply: `+OK`, `-`, `:`, `$`, `*`, `_`, …"
                        );
                        errors.push(TableError::new(["messages", name, "pattern"], message));
                    }
                    if start.len() > 64 {
                        errors.push(TableError::new(["messages", name, "pattern"], "at most 64 bytes"));
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
            let effect = entry.and_then(|entry| entry.then).into();
            shapes.push(Shape { fields, aside: known.aside, effect });
        }
        let order = |id: &MessageId| {
            let name = signature.messages.get(id.index()).map(|known| &*known.name);
            table.messages.iter().position(|(other, _)| Some(other.as_str()) == name)
        };
        replies.sort_by_key(|(start, id)| (usize::MAX - start.len(), order(id)));
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
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let found = match sender {
            Sender::Client => self.command(unread, reading, scratch, fields),
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
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Result<Found<'b>, Step<'b>> {
        let mut cursor = Cursor { bytes: unread, at: 0 };
        let mut arguments: SmallVec<[&[u8]; 8]> = SmallVec::new();
        let mut values = 0;
        let mut wanted = 1;
        if unread.first() == Some(&b'*') {
            values = cursor.number()?.unwrap_or(0);
        } else {
            // An inline command: a line of words.
            let line = cursor.line()?;
            inline::words(line, &scratch.bump, &mut arguments)?;
        }
        if values > 0 {
            arguments.push(cursor.bulk()?);
            values -= 1;
        }
        let name = arguments.first().copied().unwrap_or_default();
        // An empty line, or no words at all: Redis says nothing to that.
        let is_nothing = arguments.is_empty();
        let id = if is_nothing { None } else { self.find_command(name, reading) };
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
        let aside = is_nothing || shape.is_some_and(|shape| shape.aside);
        let effect = shape.map_or(Effect::None, |shape| shape.effect);
        Ok(Found { label, aside, bytes: cursor.at, body: Body::Resp(Values::of_command(values)), effect })
    }

    fn find_command(&self, name: &[u8], reading: Reading<'_>) -> Option<MessageId> {
        let mut upper: SmallVec<[u8; 32]> = name.into();
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
        // How many bytes a string has that was not read.
        let mut length = None;
        // As it begins: its type, and what tells it apart from others of that type.
        let mut kind = *unread.first().unwrap_or(&0);
        match kind {
            b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => {
                content = cursor.strict_line()?.get(1..);
            }
            b'$' | b'!' | b'=' => match cursor.number()? {
                Some(bytes) => length = Some(bytes),
                None => kind = b'_',
            },
            b'*' | b'~' | b'>' | b'%' | b'|' => match cursor.number()? {
                Some(count) => {
                    let pairs = if matches!(kind, b'%' | b'|') { 2 } else { 1 };
                    values = count.saturating_mul(pairs);
                    if self.looks_into_arrays && values > 0 && matches!(kind, b'*' | b'>') {
                        content = Cursor { ..cursor }.first_word()?;
                    }
                }
                None => kind = b'_',
            },
            // What a server that prepares a copy of its data says meanwhile.
            b'\n' if self.replies.iter().any(|(start, _)| **start == *b"\n") => cursor.at = 1,
            _ => return Err(Malformed::new("no reply begins with this byte", 0).into()),
        }
        let matches = |start: &[u8]| match start.split_first() {
            None => !matches!(kind, b'>' | b'|' | b'\n'),
            Some((first, rest)) => *first == kind && content.unwrap_or_default().starts_with(rest),
        };
        let found = || self.replies.iter().filter(|(start, _)| matches(start)).map(|(_, id)| *id);
        // What changes the connection is not what somebody meant who was not asked for that.
        let is_plain =
            |id: &MessageId| self.shapes.get(id.index()).is_some_and(|shape| shape.effect == Effect::None);
        let id = found().find(|id| reading.takes(*id));
        let id = id.or_else(|| found().find(is_plain)).or_else(|| found().next());
        let shape = id.and_then(|id| self.shapes.get(id.index()));
        if let Some((_, scalar)) = shape.and_then(|shape| shape.fields.first()) {
            if let Some(bytes) = length.take() {
                content = Some(cursor.text(bytes)?);
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
        let body = Body::Resp(length.map_or(Values::new(values), Values::of_text));
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
            // What is wrong, if anything, is told when the rest is read.
            Body::Resp(mut values) => {
                values.skip(rest).ok().filter(|(_, last)| *last).map(|(bytes, _)| bytes)
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
