//! `json`: documents in lines, with a length before them, or one after the other.
//!
//! The label and the fields are found with JSON pointers, in two passes over a document: one that checks it as a
//! whole and finds the label, and one that finds the fields of that message.

pub(crate) mod document;
pub(crate) mod rpc;

use std::collections::HashMap;

use referee_theory::Type;

use crate::connection::{Batch, Connection, Flow};
use crate::error::TableError;
use crate::reading::Reading;
use crate::signature::{MessageId, Sender, Signature};
use crate::step::{After, Fields, Label, Malformed, Message, Refusal, Scratch, Step, excerpt};
use crate::table::{CorrelateTable, Framing, Table};
use document::{MISSING, Place, Pointers, skip_blanks};
use rpc::{Meant, OPTIONAL, Rpc, without_optional};

/// The codec.
#[derive(Debug)]
pub(crate) struct Json {
    framing: Framing,
    documents: Documents,
}

/// What documents mean, however they are framed.
#[derive(Debug)]
pub(crate) struct Documents {
    /// Where the label is; for JSON-RPC, what tells what a document is.
    head: Pointers,
    rpc: Option<Box<Rpc>>,
    /// The messages of each side by what the label's place says.
    labels: [HashMap<Box<str>, Vec<MessageId>>; 2],
    /// By [`MessageId::index`]: where the fields are, and which may be missing.
    fields: Vec<(Pointers, Box<[bool]>)>,
    aside: Vec<bool>,
    /// Whether an array is a batch of messages, as JSON-RPC has them.
    has_batches: bool,
}

/// How many messages may be in an array.
const MAX_BATCH: u32 = 1000;

impl Json {
    pub(crate) fn compile(
        table: &Table,
        signature: &Signature,
        errors: &mut Vec<TableError>,
    ) -> Option<Self> {
        let documents = Documents::compile(table, signature, errors)?;
        Some(Self { framing: table.framing.unwrap_or_default(), documents })
    }

    #[inline]
    pub(crate) fn decode<'b>(
        &self,
        connection: &mut Connection,
        sender: Sender,
        unread: &'b [u8],
        reading: Reading<'_>,
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        match frame(self.framing, connection.flow(sender), unread) {
            Ok(frame) => {
                let document = unread.get(frame.start..frame.end).unwrap_or_default();
                let step = self.documents.message(connection, sender, document, reading, scratch, fields);
                match step {
                    Step::Message(message) => {
                        let bytes = connection.bytes_of(sender, frame.bytes);
                        Step::Message(Message { bytes, ..message })
                    }
                    Step::Malformed(malformed) => {
                        Step::Malformed(Malformed { at: malformed.at + frame.start, ..malformed })
                    }
                    step => step,
                }
            }
            Err(step) => step,
        }
    }

    /// What documents mean.
    pub(crate) fn documents(&self) -> &Documents {
        &self.documents
    }

    /// Tells the asker why, in place of the message of `sender` that was looked at last: to whom, and the bytes, none where nobody waits for
    /// an answer.
    pub(crate) fn refuse(
        &self,
        connection: &Connection,
        sender: Sender,
        why: &str,
    ) -> Option<(Sender, Vec<u8>)> {
        let (receiver, id) = match connection.rpc.as_ref()?.meant(sender) {
            Meant::Request(id) => (sender, id),
            Meant::Answer(id) => (sender.other(), id),
            Meant::Notification => return Some((sender, Vec::new())),
        };
        let error = self.documents.error(id, why)?;
        let mut bytes = Vec::new();
        self.framing.write(&error, &mut bytes).ok()?;
        Some((receiver, bytes))
    }

    /// Whether `left` is nothing but blanks, which are no message.
    pub(crate) fn is_blank(&self, left: &[u8]) -> bool {
        left.is_empty()
            || matches!(self.framing, Framing::Lines | Framing::Stream) && left.trim_ascii().is_empty()
    }
}

/// A document among the unread bytes.
struct Frame {
    start: usize,
    end: usize,
    /// Everything that belongs to it.
    bytes: usize,
}

/// The first document of `unread`.
fn frame<'b>(framing: Framing, flow: &mut Flow, unread: &'b [u8]) -> Result<Frame, Step<'b>> {
    let more = Step::More { at_least: unread.len() + 1 };
    match framing {
        Framing::Lines => {
            let start = skip_blanks(unread, flow.anchor);
            flow.anchor = start;
            let from = flow.scanned.max(start);
            let Some(found) = unread.get(from..).and_then(|rest| memchr::memchr(b'\n', rest)) else {
                flow.scanned = unread.len();
                return Err(more);
            };
            Ok(Frame { start, end: from + found, bytes: from + found + 1 })
        }
        Framing::Stream => {
            if flow.scanned == 0 {
                flow.anchor = skip_blanks(unread, flow.anchor);
                match unread.get(flow.anchor) {
                    Some(b'{' | b'[') => flow.scanned = flow.anchor,
                    Some(_) => {
                        return Err(Malformed::new("neither an object nor an array", flow.anchor).into());
                    }
                    None => return Err(more),
                }
            }
            match flow.nesting.scan(unread, flow.scanned) {
                Some(end) => {
                    // To be found again if it is not taken yet.
                    (flow.scanned, flow.nesting) = (0, Nesting::default());
                    Ok(Frame { start: flow.anchor, end, bytes: end })
                }
                None => {
                    flow.scanned = unread.len();
                    Err(more)
                }
            }
        }
        Framing::Length(width) => {
            let width = width.bytes();
            let Some(prefix) = unread.get(..width) else { return Err(Step::More { at_least: width }) };
            let length = prefix.iter().fold(0_u64, |length, byte| length << 8 | u64::from(*byte));
            let end = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(width);
            if unread.len() < end {
                Err(Step::More { at_least: end })
            } else {
                Ok(Frame { start: width, end, bytes: end })
            }
        }
        Framing::Headers => {
            let from = flow.scanned.saturating_sub(3);
            let Some(found) = unread.get(from..).and_then(|rest| memchr::memmem::find(rest, b"\r\n\r\n"))
            else {
                flow.scanned = unread.len();
                return Err(more);
            };
            let start = from + found + 4;
            let mut length = None;
            for line in unread.get(..start - 4).unwrap_or_default().split(|byte| *byte == b'\n') {
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let Some(colon) = memchr::memchr(b':', line) else {
                    return Err(Malformed::new("a header without a colon", 0).into());
                };
                let (name, value) = line.split_at(colon);
                if name.eq_ignore_ascii_case(b"content-length") {
                    let value = value.get(1..).unwrap_or_default().trim_ascii();
                    let digits = value.iter().all(u8::is_ascii_digit);
                    let value = crate::value::integer(value).filter(|_| digits && length.is_none());
                    let Some(value) = value else {
                        return Err(Malformed::new("a wrong Content-Length, or two of them", 0).into());
                    };
                    length = usize::try_from(value).ok();
                }
            }
            let Some(length) = length else { return Err(Malformed::new("no Content-Length", 0).into()) };
            let end = start.saturating_add(length);
            if unread.len() < end {
                Err(Step::More { at_least: end })
            } else {
                Ok(Frame { start, end, bytes: end })
            }
        }
    }
}

/// Where in a document we are, as far as its end is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nesting {
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl Nesting {
    /// Goes on at `from`, and returns where the document ends.
    fn scan(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        while let Some(byte) = bytes.get(at) {
            at += 1;
            if self.escaped {
                self.escaped = false;
            } else if self.in_string {
                match byte {
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {
                        let rest = bytes.get(at..).unwrap_or_default();
                        at += memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                    }
                }
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                    b'}' | b']' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            return Some(at);
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }
}

impl Documents {
    pub(crate) fn compile(
        table: &Table,
        signature: &Signature,
        errors: &mut Vec<TableError>,
    ) -> Option<Self> {
        let before = errors.len();
        let correlation = table.correlation();
        let rpc = correlation.as_ref().map(|found| Box::new(Rpc::compile(table, found, signature, errors)));
        let head = match (&rpc, &table.label) {
            (Some(rpc), None) => Pointers::new(rpc.head().iter().map(String::as_str)),
            (Some(_), Some(_)) if table.correlate.is_some() => Err("`correlate` has its own".to_owned()),
            (Some(_), Some(_)) => Err("JSON-RPC has its own".to_owned()),
            (None, label) => Pointers::new([label.as_deref().unwrap_or("/type")]),
        };
        let head = head.map_err(|reason| errors.push(TableError::new(["label"], reason))).ok()?;
        let mut labels = [HashMap::new(), HashMap::new()];
        let mut fields = Vec::new();
        for (id, known) in (0..).map(MessageId).zip(&signature.messages) {
            let entry = table.messages.iter().find(|(name, _)| **name == *known.name).map(|(_, entry)| entry);
            let text = entry
                .and_then(|entry| entry.label.as_deref().or(entry.pattern.as_deref()))
                .unwrap_or(&known.name);
            let side: &mut HashMap<Box<str>, Vec<MessageId>> = match (known.sender, &mut labels) {
                (Sender::Client, [client, _]) => client,
                (Sender::Server, [_, server]) => server,
            };
            if entry.is_none_or(|entry| entry.answers.is_none()) {
                side.entry(text.into()).or_default().push(id);
            }
            let written = field_pointers(entry, known, correlation.as_ref());
            unknown_fields(entry, known, errors);
            // Those of a request are none of the document.
            let of_request = rpc.as_ref().and_then(|rpc| rpc.of_request(id)).unwrap_or_default();
            let own = written
                .iter()
                .enumerate()
                .filter(|(index, _)| of_request.get(*index).is_none_or(Option::is_none));
            match Pointers::new(own.map(|(_, pointer)| without_optional(pointer))) {
                Ok(pointers) => {
                    let may_miss = known.fields.iter().zip(&written).map(|(field, pointer)| {
                        let is_optional = pointer.starts_with(OPTIONAL);
                        if is_optional && !matches!(field.ty, Type::Unit | Type::Opaque(_)) {
                            let message =
                                "a field that may be missing has a type of which any value is one: `type T;`";
                            errors.push(TableError::new(["messages", &*known.name, "fields"], message));
                        }
                        is_optional || field.ty == Type::Unit
                    });
                    fields.push((pointers, may_miss.collect()));
                }
                Err(reason) => errors.push(TableError::new(["messages", &*known.name, "fields"], reason)),
            }
        }
        let aside = signature.messages.iter().map(|known| known.aside).collect();
        let has_batches = table.rpc.unwrap_or(false);
        (errors.len() == before).then_some(Self { head, rpc, labels, fields, aside, has_batches })
    }

    /// The messages that refuse the request `message`.
    pub(crate) fn refusals(&self, message: MessageId) -> &[MessageId] {
        self.rpc.as_ref().map_or(&[], |rpc| rpc.errors_for(message))
    }

    /// How the message of `sender` that was looked at last can be refused. One of several in an array cannot: who waits for them waits
    /// for one answer.
    pub(crate) fn refusal(&self, connection: &Connection, sender: Sender) -> Option<Refusal<'_>> {
        if connection.is_in_batch(sender) {
            return None;
        }
        let (rpc, open) = (self.rpc.as_ref()?, connection.rpc.as_ref()?);
        Some(match (open.meant(sender), open.request(sender)) {
            (Meant::Notification, _) => Refusal::Notification,
            (Meant::Request(_), request) => Refusal::Request(rpc.errors_for(request?)),
            (Meant::Answer(_), request) => Refusal::Answer(rpc.errors_for(request?)),
        })
    }

    /// The document that answers the request with `id` with an error, saying `why`.
    pub(crate) fn error(&self, id: &str, why: &str) -> Option<String> {
        self.rpc.as_ref()?.refusal(id, why)
    }

    /// Whether answers are matched with requests.
    pub(crate) fn correlates(&self) -> bool {
        self.rpc.is_some()
    }

    /// The message that `document`, all of it, is; of an array, the next in it.
    pub(crate) fn message<'b>(
        &self,
        connection: &mut Connection,
        sender: Sender,
        document: &'b [u8],
        reading: Reading<'_>,
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let start = skip_blanks(document, 0);
        let member = match connection.batch_mut(sender) {
            Some(batch) if self.has_batches && document.get(start) == Some(&b'[') => {
                match next_member(batch, document, start) {
                    Ok(member) => member,
                    Err(malformed) => return malformed.into(),
                }
            }
            _ => (0, document.len()),
        };
        let text = document.get(member.0..member.1).unwrap_or_default();
        match self.single(connection, sender, text, reading, scratch, fields) {
            Step::Malformed(wrong) => Step::Malformed(Malformed { at: wrong.at + member.0, ..wrong }),
            step => step,
        }
    }

    /// The message that `document`, all of it, is.
    fn single<'b>(
        &self,
        connection: &mut Connection,
        sender: Sender,
        document: &'b [u8],
        reading: Reading<'_>,
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let text = match std::str::from_utf8(document) {
            Ok(text) => text,
            Err(error) => return Malformed::new("not UTF-8", error.valid_up_to()).into(),
        };
        let (head, start) = match self.whole(text) {
            Ok(whole) => whole,
            Err(flaw) => return Malformed::new(format!("not JSON: {}", flaw.what), flaw.at).into(),
        };
        let found = match &self.rpc {
            Some(rpc) => {
                let place = (text, start, &scratch.bump);
                rpc.find(&self.labels, &head, place, connection, sender, reading)
            }
            None => head
                .first()
                .map_or(Err("no label"), |place| self.label(text, *place, sender, reading, scratch)),
        };
        let (label, after) = match found {
            Ok((Label::Known(id), after)) => {
                if let Some((pointers, units)) = self.fields.get(id.index())
                    && let Ok((places, _)) = pointers.locate(text, start)
                {
                    let of_request = self.rpc.as_ref().and_then(|rpc| rpc.of_request(id)).unwrap_or_default();
                    let mut places = places.iter();
                    let value = |(index, is_unit): (usize, &bool)| match of_request.get(index) {
                        Some(Some(kept)) => {
                            Rpc::value_of_request(connection, sender, *kept, *is_unit, &scratch.bump)
                        }
                        _ => document::value(
                            text,
                            places.next().copied().unwrap_or(MISSING),
                            *is_unit,
                            &scratch.bump,
                        ),
                    };
                    fields.extend(units.iter().enumerate().map(value));
                }
                (Label::Known(id), after)
            }
            Ok(unknown) => unknown,
            Err(reason) => {
                let too_long = rpc::LIMITS.contains(&reason);
                return Malformed { too_long, ..Malformed::new(reason, start) }.into();
            }
        };
        let aside = matches!(label, Label::Known(id) if self.aside.get(id.index()) == Some(&true));
        Step::Message(Message { label, bytes: 0, has_body: false, aside, session: None, after })
    }

    /// Checks the document as a whole.
    fn whole(&self, text: &str) -> Result<(document::Places, usize), document::Flaw> {
        let start = skip_blanks(text.as_bytes(), 0);
        let (places, end) = self.head.locate(text, start)?;
        match skip_blanks(text.as_bytes(), end) {
            end if end == text.len() => Ok((places, start)),
            end => Err(document::Flaw { what: "something after the document", at: end }),
        }
    }

    fn label<'b>(
        &self,
        text: &'b str,
        place: Place,
        sender: Sender,
        reading: Reading<'_>,
        scratch: &'b Scratch,
    ) -> Result<(Label<'b>, After), &'static str> {
        if place == MISSING {
            return Err("the label is missing");
        }
        // A label that is no string is compared as it is written.
        let label = match text.as_bytes().get(place.0) {
            Some(b'"') => document::string(text, place.0, &scratch.bump)
                .0
                .ok_or("half a surrogate pair in the label")?,
            _ => text.get(place.0..place.1).unwrap_or_default(),
        };
        let found = pick(&self.labels, sender, label, reading, |_| true);
        Ok((found.map_or(Label::Unknown(excerpt(label.as_bytes())), Label::Known), After::NOTHING))
    }
}

/// Where the next message is in `document`, an array that begins at `start`.
fn next_member(batch: &mut Batch, document: &[u8], start: usize) -> Result<Place, Malformed> {
    let wrong = |what: &'static str, at: usize| Err(Malformed::new(what, at));
    let Ok(text) = std::str::from_utf8(document) else { return wrong("not UTF-8", 0) };
    let anything = Pointers::new([]).unwrap_or_default();
    let end_of = |at: usize| {
        let flawed = |flaw: document::Flaw| Malformed::new(format!("not JSON: {}", flaw.what), flaw.at);
        anything.locate(text, at).map(|(_, end)| end).map_err(flawed)
    };
    if batch.at == 0 {
        // No message of it is one unless all of it can be read.
        let end = skip_blanks(document, end_of(start)?);
        if end < document.len() {
            return wrong("not JSON: something after the document", end);
        }
        batch.at = start + 1;
    }
    if !batch.is_member {
        batch.count += 1;
    }
    if batch.count > MAX_BATCH {
        return Err(Malformed::unreadable("more than 1000 messages in an array", batch.at));
    }
    batch.is_member = true;
    let at = skip_blanks(document, batch.at);
    if document.get(at) != Some(&b'{') {
        return wrong("an array of something other than messages, or of nothing", at);
    }
    let end = end_of(at)?;
    let next = skip_blanks(document, end);
    batch.next = if document.get(next) == Some(&b',') { next + 1 } else { 0 };
    Ok((at, end))
}

/// The message of `sender` that `label` stands for, among those that it `may_be`: one that the protocol takes, or else the first.
fn pick(
    labels: &[HashMap<Box<str>, Vec<MessageId>>; 2],
    sender: Sender,
    label: &str,
    reading: Reading<'_>,
    may_be: impl Fn(MessageId) -> bool,
) -> Option<MessageId> {
    let found = labels.get(sender.index())?.get(label)?;
    let mut found = found.iter().copied().filter(|id| may_be(*id));
    found.clone().find(|id| reading.takes(*id)).or_else(|| found.next())
}

/// Where the fields of a message are, as pointers.
pub(crate) fn field_pointers(
    entry: Option<&crate::table::MessageTable>,
    known: &crate::signature::Known,
    correlation: Option<&CorrelateTable>,
) -> Vec<String> {
    let prefix = correlation.map_or("", |correlation| Rpc::prefix(correlation, entry));
    let pointer = |(index, field): (usize, &referee_theory::Field)| {
        let name = field.name.as_deref();
        let given = entry.and_then(|entry| entry.fields.iter().find(|(key, _)| Some(&**key) == name));
        match (given, name) {
            (Some((_, pointer)), _) => pointer.clone(),
            // The result or the error as a whole.
            (None, Some(name)) if prefix.strip_prefix('/') == Some(name) => prefix.to_owned(),
            (None, Some(name)) => format!("{prefix}/{}", name.replace('~', "~0").replace('/', "~1")),
            (None, None) => format!("{prefix}/{index}"),
        }
    };
    known.fields.iter().enumerate().map(pointer).collect()
}

/// Reports the entries of `fields` that the protocol does not have.
pub(crate) fn unknown_fields(
    entry: Option<&crate::table::MessageTable>,
    known: &crate::signature::Known,
    errors: &mut Vec<TableError>,
) {
    for (name, _) in entry.map_or(&[][..], |entry| &entry.fields) {
        if !known.fields.iter().any(|field| field.name.as_deref() == Some(name)) {
            let message = crate::text::no_field(name, &known.fields);
            errors.push(TableError::new(["messages", &*known.name, "fields", name], message));
        }
    }
}
