//! `frames`: binary messages with a tag and a length.
//!
//! A frame is judged by its tag and the values that its layout names; whatever comes after the last of them is
//! passed on as it comes. Some protocols begin with frames that have no tag, or answer with a bare byte: where the
//! state of the session expects one, it is read as such.

mod checksum;
mod layout;
mod number;

use std::collections::HashMap;

use referee_monitor::FieldValue;

use crate::connection::{Body, Effect};
use crate::error::TableError;
use crate::reading::{Mode, Reading};
use crate::signature::{Known, MessageId, Sender, Signature};
use crate::step::{After, Fields, Label, Malformed, Message, Scratch, Step};
use crate::table::{Endian, LengthForm, LengthTable, MessageTable, Table, TagTable};
use layout::Outcome;
use number::ReadNumber;

pub(crate) use layout::Layout;
pub(crate) use number::{Number, unsigned};

/// The codec.
#[derive(Debug)]
pub(crate) struct Frames {
    /// None, if no frame has one.
    tag: Option<TagTable>,
    length: Length,
    untagged: Option<Length>,
    little: bool,
    /// The messages of each side, by tag.
    tags: [HashMap<u64, Vec<MessageId>>; 2],
    untagged_messages: [Vec<MessageId>; 2],
    bare: [Vec<MessageId>; 2],
    /// By [`MessageId::index`].
    shapes: Vec<Shape>,
}

/// How long a frame is.
#[derive(Clone, Copy, Debug)]
struct Length {
    at: usize,
    number: Number,
    /// From which byte of the frame on it counts; none: from the end of the header on.
    counts_from: Option<u64>,
    times: u64,
    plus: i64,
    /// Where the tag ends, which is part of the header.
    tag_end: usize,
    /// The least and the most that it may say.
    range: (u64, u64),
}

#[derive(Clone, Debug)]
struct Shape {
    layout: Layout,
    fields: usize,
    aside: bool,
    effect: Effect,
    untagged: bool,
    bare: Option<Box<[u8]>>,
    /// How long it is, if it begins with `bare`.
    length: Option<Length>,
}

impl Frames {
    pub(crate) fn compile(
        table: &Table,
        signature: &Signature,
        errors: &mut Vec<TableError>,
    ) -> Option<Self> {
        let before = errors.len();
        let Some(length) = table.length else {
            errors.push(TableError::new([], "`length` is missing: where is it in a frame?"));
            return None;
        };
        let tag_end = table.tag.map_or(0, |tag| usize::from(tag.at) + tag.bytes.bytes());
        let length = Length::new(length, tag_end);
        let untagged = table.untagged_length.map(|length| Length::new(length, 0));
        let mut frames = Self {
            tag: table.tag,
            length,
            untagged: untagged.or(table.tag.is_none().then_some(length)),
            little: table.endian == Some(Endian::Little),
            tags: [HashMap::new(), HashMap::new()],
            untagged_messages: [Vec::new(), Vec::new()],
            bare: [Vec::new(), Vec::new()],
            shapes: vec![Shape::default(); signature.messages.len()],
        };
        // In the order of the table, in which the first match counts.
        for (name, entry) in &table.messages {
            for (id, known) in
                (0..).map(MessageId).zip(&signature.messages).filter(|(_, known)| *known.name == **name)
            {
                frames.add(id, known, entry, errors);
            }
        }
        // The most exact first: the one with the most constants.
        let shapes = &frames.shapes;
        let constants = |id: &MessageId| shapes.get(id.index()).map_or(0, |shape| shape.layout.constants());
        let tagged = frames.tags.iter_mut().flat_map(HashMap::values_mut);
        for candidates in tagged.chain(&mut frames.untagged_messages) {
            candidates.sort_by_key(|id| std::cmp::Reverse(constants(id)));
        }
        for known in &signature.messages {
            if !table.messages.iter().any(|(name, _)| **name == *known.name) {
                let message = format!("no tag for the protocol's message `{}`", known.name);
                errors.push(TableError::new(["messages"], message));
            }
        }
        (errors.len() == before).then_some(frames)
    }

    fn add(&mut self, id: MessageId, known: &Known, entry: &MessageTable, errors: &mut Vec<TableError>) {
        let name = &*known.name;
        let side = known.sender.index();
        let width = self.tag.map_or(0, |tag| tag.bytes.bytes());
        let tag = entry.tag.or_else(|| entry.pattern.as_ref().and_then(|text| tag_number(text, width)));
        if tag.is_some() && self.tag.is_none() {
            let message = "`tag` is missing from the table: where is it in a frame?";
            errors.push(TableError::new(["messages", name], message));
        }
        // Where no frame has a tag, none need say so.
        let is_untagged =
            entry.untagged || (!entry.silent && self.tag.is_none() && tag.is_none() && entry.bare.is_none());
        match (tag, is_untagged && !entry.silent, &entry.bare) {
            (None, false, None) if entry.silent => {}
            (Some(tag), false, None) => {
                if let Some(tags) = self.tags.get_mut(side) {
                    tags.entry(tag).or_default().push(id);
                }
            }
            (None, true, None) => {
                if self.untagged.is_none() {
                    errors.push(TableError::new(
                        ["messages", name, "untagged"],
                        "`untagged-length` is missing from the table",
                    ));
                }
                self.untagged_messages.get_mut(side).into_iter().for_each(|list| list.push(id));
            }
            (None, false, Some(_)) => self.bare.get_mut(side).into_iter().for_each(|list| list.push(id)),
            _ => {
                let message =
                    "give exactly one of a tag (a text of its length, or a number), `untagged` and `bare`";
                errors.push(TableError::new(["messages", name], message));
            }
        }
        let layout =
            Layout::parse(&entry.layout, &known.fields, self.little).unwrap_or_else(|(index, reason)| {
                errors.push(TableError::new(["messages", name, "layout", &index.to_string()], reason));
                Layout::default()
            });
        if let Some(missing) = (0..known.fields.len()).find(|field| !layout.fills(*field)) {
            let field = known.fields.get(missing).and_then(|field| field.name.as_deref()).unwrap_or("_");
            errors.push(TableError::new(
                ["messages", name],
                format!("nothing gives the field `{field}` a value"),
            ));
        }
        let shape = Shape {
            layout,
            fields: known.fields.len(),
            aside: known.aside,
            effect: entry.then.into(),
            untagged: is_untagged,
            bare: entry.bare.as_ref().map(|text| text.as_bytes().into()),
            length: entry
                .length
                .map(|length| Length::new(length, entry.bare.as_ref().map_or(0, String::len))),
        };
        if entry.length.is_some() && entry.bare.is_none() {
            errors.push(TableError::new(
                ["messages", name, "length"],
                "this is for messages that begin with `bare`",
            ));
        }
        if let Some(slot) = self.shapes.get_mut(id.index()) {
            *slot = shape;
        }
    }

    pub(crate) fn mode(&self, possible: &[MessageId], signature: &Signature) -> Result<Mode, TableError> {
        let shape = |id: &MessageId| self.shapes.get(id.index());
        let is_untagged = |id: &&MessageId| shape(id).is_some_and(|shape| shape.untagged);
        // What begins with bytes of its own is told apart from both.
        let is_bare = |id: &&MessageId| shape(id).is_some_and(|shape| shape.bare.is_some());
        let framed = possible.len() - possible.iter().filter(is_bare).count();
        match possible.iter().filter(is_untagged).count() {
            0 => Ok(Mode::Usual),
            count if count == framed => Ok(Mode::Untagged),
            _ => {
                let name =
                    possible.iter().find(is_untagged).and_then(|id| signature.messages.get(id.index()));
                let message = "the protocol takes a message with a tag where this one may come: they cannot be told apart";
                Err(TableError::new(["messages", name.map_or("", |known| &known.name), "untagged"], message))
            }
        }
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
        for id in self.bare.get(sender.index()).map_or(&[][..], |list| list) {
            if let Some(shape) = self.shapes.get(id.index()).filter(|_| reading.takes(*id))
                && let Some(bytes) = &shape.bare
            {
                if let Some(length) = shape.length.filter(|_| unread.starts_with(bytes)) {
                    return match length.total(unread, self.little) {
                        // As a whole: nothing is known of what follows it.
                        Ok((total, _)) => match usize::try_from(total).unwrap_or(usize::MAX) {
                            total if total > unread.len() => Step::More { at_least: total },
                            total => shape.message(*id, total, 0),
                        },
                        Err(step) => step,
                    };
                }
                if unread.starts_with(bytes) {
                    return shape.message(*id, bytes.len(), 0);
                }
                if bytes.starts_with(unread) {
                    return Step::More { at_least: bytes.len() };
                }
            }
        }
        let untagged = self.tag.is_none() || reading.mode == Mode::Untagged;
        let Some(length) = (if untagged { self.untagged } else { Some(self.length) }) else {
            return Step::Wait;
        };
        let (total, header) = match length.total(unread, self.little) {
            Ok(found) => found,
            Err(step) => return step,
        };
        let (tag, candidates) = match self.tag.filter(|_| !untagged) {
            None => (0, self.untagged_messages.get(sender.index()).map_or(&[][..], |list| list)),
            Some(tag) => {
                let (at, end) = (usize::from(tag.at), usize::from(tag.at) + tag.bytes.bytes());
                let number = unsigned(unread.get(at..end).unwrap_or_default(), self.little);
                let number = number & tag.mask.unwrap_or(u64::MAX);
                let tags = self.tags.get(sender.index());
                (number, tags.and_then(|tags| tags.get(&number)).map_or(&[][..], |list| list))
            }
        };
        let frame = Frame { unread, total, header, limit };
        let mut other = None;
        let takes = |id: &MessageId| reading.takes(*id);
        for id in candidates.iter().filter(|id| takes(id)).chain(candidates.iter().filter(|id| !takes(id))) {
            let Some(shape) = self.shapes.get(id.index()) else { continue };
            fields.clear();
            fields.resize(shape.fields, FieldValue::Unit);
            match shape.layout.read(&frame, &scratch.bump, fields) {
                Outcome::Read(bytes) => return shape.message(*id, bytes, total - bytes as u64),
                Outcome::More(at_least) => return Step::More { at_least },
                Outcome::Other => {}
                Outcome::Short => other = other.or(Some("a frame that is shorter than its fields")),
                Outcome::Malformed(reason) => other = other.or(Some(reason)),
            }
        }
        fields.clear();
        match other {
            Some(reason) => Malformed::new(reason, 0).into(),
            None => unknown(tag, header, total, unread),
        }
    }
}

/// A frame that no message is.
#[cold]
fn unknown<'b>(tag: u64, bytes: usize, total: u64, frame: &'b [u8]) -> Step<'b> {
    // The header as text, if its tag is a letter.
    let shown = match u8::try_from(tag) {
        Ok(tag) if tag.is_ascii_graphic() => frame.get(..1).and_then(|tag| std::str::from_utf8(tag).ok()),
        _ => None,
    };
    let label = Label::Unknown(shown.unwrap_or("a frame with an unknown tag"));
    let body = body(total - bytes as u64);
    let after = After { body, effect: Effect::None };
    Step::Message(Message { label, bytes, has_body: body != Body::None, aside: false, session: None, after })
}

fn body(bytes: u64) -> Body {
    if bytes == 0 { Body::None } else { Body::Exactly(bytes) }
}

impl Shape {
    fn message<'b>(&self, id: MessageId, bytes: usize, rest: u64) -> Step<'b> {
        let body = body(rest);
        Step::Message(Message {
            label: Label::Known(id),
            bytes,
            has_body: body != Body::None,
            aside: self.aside,
            session: None,
            after: After { body, effect: self.effect },
        })
    }
}

impl Default for Shape {
    fn default() -> Self {
        let layout = Layout::default();
        let effect = Effect::None;
        Self { layout, fields: 0, aside: false, effect, untagged: false, bare: None, length: None }
    }
}

impl Length {
    fn new(table: LengthTable, tag_end: usize) -> Self {
        let number = match table.bytes {
            LengthForm::Fixed(width) => Number::Fixed(width.bytes(), false),
            LengthForm::Leb128 => Number::Leb128(10),
            LengthForm::Mqtt => Number::Leb128(4),
            LengthForm::Quic => Number::Quic,
        };
        Self {
            at: usize::from(table.at),
            number,
            counts_from: table.counts_from.map(u64::from),
            times: table.times.map_or(1, u64::from),
            plus: table.plus.map_or(0, i64::from),
            tag_end,
            range: (table.min.unwrap_or(0), table.max.unwrap_or(u64::MAX)),
        }
    }

    /// How many bytes the frame has that `unread` begins with, and its header.
    fn total<'b>(&self, unread: &[u8], little: bool) -> Result<(u64, usize), Step<'b>> {
        let least = (self.at + self.number.least()).max(self.tag_end);
        if unread.len() < least {
            return Err(Step::More { at_least: least });
        }
        let (number, bytes) = match self.number.read(unread.get(self.at..).unwrap_or_default(), little) {
            Ok(ReadNumber::Whole(number, bytes)) => (u64::try_from(number).unwrap_or(u64::MAX), bytes),
            Ok(ReadNumber::Partial(bytes)) => return Err(Step::More { at_least: self.at + bytes }),
            Err(malformed) => return Err(Malformed::new(malformed.reason, self.at).into()),
        };
        let header = (self.at + bytes).max(self.tag_end);
        if unread.len() < header {
            return Err(Step::More { at_least: header });
        }
        if number < self.range.0 || number > self.range.1 {
            return Err(Malformed::new("a length that no frame may have here", self.at).into());
        }
        let counted = number.saturating_mul(self.times);
        let total = counted.saturating_add(self.counts_from.unwrap_or(header as u64));
        let total = total.saturating_add_signed(self.plus);
        if total < header as u64 {
            return Err(Malformed::new("a length that is less than the header's", self.at).into());
        }
        Ok((total, header))
    }
}

/// A frame of `total` bytes, as far as it is there.
struct Frame<'b> {
    unread: &'b [u8],
    total: u64,
    header: usize,
    limit: usize,
}

/// A tag as a number: a text of exactly its length.
fn tag_number(text: &str, bytes: usize) -> Option<u64> {
    (text.len() == bytes && bytes > 0).then(|| unsigned(text.as_bytes(), false))
}
