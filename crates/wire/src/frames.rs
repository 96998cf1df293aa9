//! `frames`: binary messages with a tag and a length.
//!
//! A frame is judged by its tag and the values that its layout names; whatever comes after the last of them is
//! passed on as it comes. Some protocols begin with frames that have no tag, or answer with a bare byte: where the
//! state of the session expects one, it is read as such.

mod layout;

use std::collections::HashMap;

use referee_monitor::FieldValue;

use crate::connection::{Body, Effect};
use crate::error::TableError;
use crate::reading::{Mode, Reading};
use crate::signature::{Known, MessageId, Sender, Signature};
use crate::step::{After, Fields, Label, Malformed, Message, Step};
use crate::table::{Endian, LengthTable, MessageTable, Table, TagTable};
use layout::{Layout, Outcome};

/// The codec.
#[derive(Debug)]
pub(crate) struct Frames {
    tag: TagTable,
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
    bytes: usize,
    counts_from: u64,
    /// Where the header ends.
    header: usize,
}

#[derive(Clone, Debug)]
struct Shape {
    layout: Layout,
    fields: usize,
    aside: bool,
    effect: Effect,
    untagged: bool,
    bare: Option<Box<[u8]>>,
}

impl Frames {
    pub(crate) fn compile(
        table: &Table,
        signature: &Signature,
        errors: &mut Vec<TableError>,
    ) -> Option<Self> {
        let before = errors.len();
        let mut need = |key: &str| {
            errors.push(TableError::new([], format!("`{key}` is missing: where is it in a frame?")))
        };
        let (Some(tag), Some(length)) = (table.tag, table.length) else {
            if table.tag.is_none() {
                need("tag");
            }
            if table.length.is_none() {
                need("length");
            }
            return None;
        };
        let mut frames = Self {
            tag,
            length: Length::new(length, usize::from(tag.at) + tag.bytes.bytes()),
            untagged: table.untagged_length.map(|length| Length::new(length, 0)),
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
        let tag = entry
            .tag
            .or_else(|| entry.pattern.as_ref().and_then(|text| tag_number(text, self.tag.bytes.bytes())));
        match (tag, entry.untagged, &entry.bare) {
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
            untagged: entry.untagged,
            bare: entry.bare.as_ref().map(|text| text.as_bytes().into()),
        };
        if let Some(slot) = self.shapes.get_mut(id.index()) {
            *slot = shape;
        }
    }

    pub(crate) fn mode(&self, possible: &[MessageId], signature: &Signature) -> Result<Mode, TableError> {
        let is_untagged = |id: &&MessageId| self.shapes.get(id.index()).is_some_and(|shape| shape.untagged);
        match possible.iter().filter(is_untagged).count() {
            0 => Ok(Mode::Usual),
            count if count == possible.len() => Ok(Mode::Untagged),
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
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        for id in self.bare.get(sender.index()).map_or(&[][..], |list| list) {
            if let Some(shape) = self.shapes.get(id.index()).filter(|_| reading.takes(*id))
                && let Some(bytes) = &shape.bare
            {
                if unread.starts_with(bytes) {
                    return shape.message(*id, bytes.len(), 0);
                }
                if bytes.starts_with(unread) {
                    return Step::More { at_least: bytes.len() };
                }
            }
        }
        let untagged = reading.mode == Mode::Untagged;
        let Some(length) = (if untagged { self.untagged } else { Some(self.length) }) else {
            return Step::Wait;
        };
        let Some(header) = unread.get(..length.header) else { return Step::More { at_least: length.header } };
        let number = |at: usize, bytes: usize| {
            layout::unsigned(header.get(at..at + bytes).unwrap_or_default(), self.little)
        };
        let total = number(length.at, length.bytes).saturating_add(length.counts_from);
        if total < length.header as u64 {
            return Malformed::new("a length that is less than the header's", length.at).into();
        }
        let (tag, candidates) = if untagged {
            (0, self.untagged_messages.get(sender.index()).map_or(&[][..], |list| list))
        } else {
            let tag = number(usize::from(self.tag.at), self.tag.bytes.bytes());
            let tags = self.tags.get(sender.index());
            (tag, tags.and_then(|tags| tags.get(&tag)).map_or(&[][..], |list| list))
        };
        let frame = Frame { unread, total, header: length.header, limit };
        let mut other = None;
        let takes = |id: &MessageId| reading.takes(*id);
        for id in candidates.iter().filter(|id| takes(id)).chain(candidates.iter().filter(|id| !takes(id))) {
            let Some(shape) = self.shapes.get(id.index()) else { continue };
            fields.clear();
            fields.resize(shape.fields, FieldValue::Unit);
            match shape.layout.read(&frame, fields) {
                Outcome::Read(bytes) => return shape.message(*id, bytes, total - bytes as u64),
                Outcome::More(at_least) => return Step::More { at_least },
                Outcome::Other => {}
                Outcome::Short => other = other.or(Some("a frame that is shorter than its fields")),
            }
        }
        fields.clear();
        match other {
            Some(reason) => Malformed::new(reason, 0).into(),
            None => unknown(tag, length.header, total, header),
        }
    }
}

/// A frame that no message is.
#[cold]
fn unknown<'b>(tag: u64, bytes: usize, total: u64, header: &'b [u8]) -> Step<'b> {
    // The header as text, if its tag is a letter.
    let shown = match u8::try_from(tag) {
        Ok(tag) if tag.is_ascii_graphic() => header.get(..1).and_then(|tag| std::str::from_utf8(tag).ok()),
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
        Self { layout, fields: 0, aside: false, effect: Effect::None, untagged: false, bare: None }
    }
}

impl Length {
    fn new(table: LengthTable, tag_end: usize) -> Self {
        let (at, bytes) = (usize::from(table.at), table.bytes.bytes());
        let header = (at + bytes).max(tag_end);
        let counts_from = table.counts_from.map_or(header as u64, u64::from);
        Self { at, bytes, counts_from, header }
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
    (text.len() == bytes).then(|| layout::unsigned(text.as_bytes(), false))
}
