//! `text`: lines, replies of several lines, and dot-terminated blocks.
//!
//! Which message a line is, one walk down a trie of all literal beginnings says (`trie`); what it carries, one
//! pass over the rest of the line (`template`). Regular expressions, where a table has any, are one automaton.

mod regexes;
mod shape;
mod template;
mod trie;

use referee_monitor::FieldValue;

use crate::body::{BARE_CR, BARE_LF, Block, LONG_LINE, LineRules, NUL};
use crate::connection::{Body, Connection, Flow};
use crate::error::TableError;
use crate::reading::{Mode, Reading};
use crate::resp::Values;
use crate::signature::{MessageId, Sender, Signature};
use crate::step::{After, Fields, Label, Malformed, Message, Step, excerpt};
use crate::table::{Leniency, LineEnd, Table};
use regexes::Regexes;
use shape::Shape;
use trie::Trie;

pub(crate) use template::{Template, no_field};

/// The codec.
#[derive(Debug)]
pub(crate) struct Text {
    lanes: [Lane; 2],
    rules: LineRules,
    trim: bool,
    ignore_case: bool,
    /// By [`MessageId::index`].
    shapes: Vec<Shape>,
}

/// What one side sends.
#[derive(Debug)]
struct Lane {
    multiline: bool,
    /// How many bytes a line may have, its end included; that of a message that says nothing else, and the most of all.
    max_line: usize,
    longest: usize,
    trie: Trie,
    regexes: Option<Regexes>,
}

impl Text {
    pub(crate) fn compile(
        table: &Table,
        signature: &Signature,
        errors: &mut Vec<TableError>,
    ) -> Option<Self> {
        let ignore_case = table.ignore_case.unwrap_or(false);
        let before = errors.len();
        let mut shapes = Vec::new();
        for known in &signature.messages {
            let entry = table.messages.iter().find(|(name, _)| **name == *known.name);
            let shape = match entry {
                Some((_, message)) => Shape::compile(known, message, errors),
                None => {
                    errors.push(
                        TableError::new(
                            ["messages"],
                            format!("no pattern for the protocol's message `{}`", known.name),
                        )
                        .help(format!("add `messages.{} = \"…\"`", known.name)),
                    );
                    None
                }
            };
            shapes.extend(shape);
        }
        if errors.len() > before {
            return None;
        }
        let mut lanes = Vec::new();
        for sender in Sender::BOTH {
            let mut trie = Trie::new(ignore_case);
            let mut expressions = Vec::new();
            // In the order of the table, in which the first match counts.
            for (name, message) in &table.messages {
                let Some((id, known)) = signature.of(sender).find(|(_, known)| *known.name == **name) else {
                    continue;
                };
                if let Some(template) = shapes.get(id.index()).and_then(|shape| shape.template.as_ref()) {
                    trie.insert(template.prefix(), id);
                }
                if let Some(regex) = &message.regex {
                    expressions.push((id, known, regex.as_str()));
                }
            }
            let multiline = table.multiline.is_some_and(|sides| sides.includes(sender));
            let max_line = table.max_line.of(sender).map_or(usize::MAX, |bytes| bytes as usize);
            let own = signature.of(sender).filter_map(|(id, _)| shapes.get(id.index()));
            let longest = own.filter_map(|shape| shape.max_line).max().unwrap_or(0).max(max_line);
            lanes.push(Lane {
                multiline,
                max_line,
                longest,
                trie,
                regexes: Regexes::compile(&expressions, ignore_case, errors),
            });
        }
        let lanes = lanes.try_into().ok()?;
        let rules = LineRules {
            crlf: table.line_end == Some(LineEnd::Crlf),
            bare_cr: table.lenient.contains(&Leniency::BareCr),
            nul: table.lenient.contains(&Leniency::Nul),
            undoubled_dots: table.lenient.contains(&Leniency::UndoubledDots),
            max_line: 0,
        };
        (errors.len() == before).then_some(Self {
            lanes,
            rules,
            trim: table.trim.unwrap_or(true),
            ignore_case,
            shapes,
        })
    }

    pub(crate) fn mode(&self, possible: &[MessageId], signature: &Signature) -> Result<Mode, TableError> {
        let is_block =
            |id: &&MessageId| self.shapes.get(id.index()).is_some_and(|shape| shape.block.is_some());
        match (possible.iter().find(is_block), possible.len()) {
            (None, _) => Ok(Mode::Usual),
            (Some(&block), 1) => Ok(Mode::Block(block)),
            (Some(&block), _) => {
                let name =
                    |id: MessageId| signature.messages.get(id.index()).map_or("", |known| &*known.name);
                let other = possible.iter().copied().find(|id| *id != block).map_or("", name);
                let message = format!(
                    "the protocol takes `{other}` where this block may come: they cannot be told apart"
                );
                Err(TableError::new(["messages", name(block), "block"], message))
            }
        }
    }

    #[inline]
    pub(crate) fn decode<'b>(
        &self,
        connection: &mut Connection,
        sender: Sender,
        unread: &'b [u8],
        reading: Reading<'_>,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let flow = connection.flow(sender);
        if let Mode::Block(id) = reading.mode {
            return self.block(flow, unread, id, fields);
        }
        let [client, server] = &self.lanes;
        let lane = if sender == Sender::Client { client } else { server };
        match self.lines(flow, unread, lane) {
            Ok((line, bytes)) => {
                let step = self.message(lane, unread, line, bytes, reading, fields);
                self.checked(lane, line, step)
            }
            Err(step) => step,
        }
    }

    /// What a line is that came in a frame of its own. The frame's length is the caller's business.
    pub(crate) fn line<'b>(
        &self,
        sender: Sender,
        line: &'b [u8],
        reading: Reading<'_>,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let [client, server] = &self.lanes;
        let lane = if sender == Sender::Client { client } else { server };
        self.message(lane, line, line, line.len(), reading, fields)
    }

    /// The last line of the message that `unread` begins with, and where the message ends.
    #[inline]
    fn lines<'b>(
        &self,
        flow: &mut Flow,
        unread: &'b [u8],
        lane: &Lane,
    ) -> Result<(&'b [u8], usize), Step<'b>> {
        loop {
            let Some(found) = unread.get(flow.scanned..).and_then(|rest| memchr::memchr(b'\n', rest)) else {
                flow.scanned = unread.len();
                if unread.len() - flow.anchor.min(unread.len()) >= lane.longest {
                    return Err(Malformed::new(LONG_LINE, flow.anchor).into());
                }
                return Err(Step::More { at_least: unread.len() + 1 });
            };
            let feed = flow.scanned + found;
            let line = unread.get(flow.anchor..feed).unwrap_or_default();
            if line.len() >= lane.longest {
                return Err(Malformed::new(LONG_LINE, flow.anchor).into());
            }
            let line = match line.split_last() {
                Some((b'\r', line)) => line,
                _ if self.rules.crlf => return Err(Malformed::new(BARE_LF, feed).into()),
                _ => line,
            };
            // Readers differ about the rest of a line after one of these.
            let stray = |at: &usize| match line.get(*at) {
                Some(0) => !self.rules.nul,
                _ => !self.rules.bare_cr,
            };
            if let Some(at) = memchr::memchr2_iter(b'\r', 0, line).find(stray) {
                let what = if line.get(at) == Some(&0) { NUL } else { BARE_CR };
                return Err(Malformed::new(what, flow.anchor + at).into());
            }
            if !lane.multiline {
                return Ok((line, feed + 1));
            }
            if flow.anchor > 0 && line.get(..3) != unread.get(..3) {
                let reason = "a line of a reply that begins with another code than the first";
                return Err(Malformed::new(reason, flow.anchor).into());
            }
            let goes_on = line.get(3) == Some(&b'-') && line.iter().take(3).all(u8::is_ascii_digit);
            if !goes_on {
                return Ok((line, feed + 1));
            }
            // INVARIANT: everything before `anchor` is whole lines that say that more will come.
            flow.anchor = feed + 1;
            flow.scanned = feed + 1;
        }
    }

    /// `step`, unless its line is longer than a line of its message may be.
    fn checked<'b>(&self, lane: &Lane, line: &[u8], step: Step<'b>) -> Step<'b> {
        let Step::Message(Message { label, .. }) = &step else { return step };
        let own = match label {
            Label::Known(id) => self.shapes.get(id.index()).and_then(|shape| shape.max_line),
            Label::Unknown(_) => None,
        };
        // With the CR LF that was taken off.
        if line.len().saturating_add(2) > own.unwrap_or(lane.max_line) {
            return Malformed::new(LONG_LINE, 0).into();
        }
        step
    }

    #[inline]
    fn message<'b>(
        &self,
        lane: &Lane,
        unread: &'b [u8],
        line: &'b [u8],
        bytes: usize,
        reading: Reading<'_>,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let line = if self.trim { line.trim_ascii_end() } else { line };
        let Some(id) = self.find(lane, line, reading, fields) else {
            let label = Label::Unknown(excerpt(line));
            fields.clear();
            return Step::Message(Message {
                label,
                bytes,
                has_body: false,
                aside: false,
                session: None,
                after: After::NOTHING,
            });
        };
        let Some(shape) = self.shapes.get(id.index()) else { return Step::Wait };
        if let Some((field, scalar)) = shape.whole
            && let Some(slot) = fields.get_mut(field)
        {
            *slot = scalar.read(unread.get(..bytes).unwrap_or_default());
        }
        let mut body = Body::None;
        if let Some(field) = shape.body {
            match fields.get(field) {
                Some(FieldValue::Int(length)) if *length >= 0 && shape.body_line_end => {
                    body = Body::Resp(Values::of_text(length.unsigned_abs()));
                }
                Some(FieldValue::Int(0)) => {}
                Some(FieldValue::Int(length)) if *length > 0 => body = Body::Exactly(length.unsigned_abs()),
                _ => return Malformed::new("a length that is no number of bytes", 0).into(),
            }
        }
        Step::Message(Message {
            label: Label::Known(id),
            bytes,
            has_body: body != Body::None,
            aside: shape.aside,
            session: None,
            after: After { body, effect: shape.effect },
        })
    }

    /// Which message `line` is: one that the protocol takes if there is any, else the one with the longest literal
    /// beginning.
    #[inline]
    fn find<'b>(
        &self,
        lane: &Lane,
        line: &'b [u8],
        reading: Reading<'_>,
        fields: &mut Fields<'b>,
    ) -> Option<MessageId> {
        let mut other = None;
        for id in lane.trie.matches(line) {
            if other.is_some() && !reading.takes(id) {
                continue;
            }
            let Some(shape) = self.shapes.get(id.index()) else { continue };
            let Some(template) = &shape.template else { continue };
            if self.read(template, shape, line, fields) {
                if reading.takes(id) {
                    return Some(id);
                }
                // What matches anything says nothing where it is not expected.
                if !template.prefix().is_empty() {
                    other = Some(id);
                }
            }
        }
        if let Some(regexes) = &lane.regexes {
            match regexes.find(line, reading) {
                Some(found) if other.is_none() || reading.takes(found) => {
                    let count = self.shapes.get(found.index()).map_or(0, |shape| shape.fields);
                    regexes.read(found, line, count, fields);
                    return Some(found);
                }
                _ => {}
            }
        }
        let shape = self.shapes.get(other?.index())?;
        self.read(shape.template.as_ref()?, shape, line, fields);
        other
    }

    #[inline]
    fn read<'b>(&self, template: &Template, shape: &Shape, line: &'b [u8], fields: &mut Fields<'b>) -> bool {
        fields.clear();
        fields.resize(shape.fields, FieldValue::Unit);
        template.read(line, self.ignore_case, fields)
    }

    /// A block: as it comes, unless the protocol wants to see it.
    fn block<'b>(
        &self,
        flow: &mut Flow,
        unread: &'b [u8],
        id: MessageId,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let Some(shape) = self.shapes.get(id.index()) else { return Step::Wait };
        let message = |bytes, body| {
            let after = After { body, effect: shape.effect };
            let label = Label::Known(id);
            Step::Message(Message {
                label,
                bytes,
                has_body: body != Body::None,
                aside: false,
                session: None,
                after,
            })
        };
        let max_line = shape.max_line.map_or(0, |bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        let rules = LineRules { max_line, ..self.rules };
        let Some(Some((field, scalar))) = shape.block else {
            return message(0, Body::Dotted(Block::new(rules)));
        };
        let block = flow.block.get_or_insert(Block::new(rules));
        match block.scan(unread.get(flow.scanned..).unwrap_or_default()) {
            Err(malformed) => Malformed::new(malformed.reason, malformed.at + flow.scanned).into(),
            Ok((length, false)) => {
                flow.scanned += length;
                Step::More { at_least: unread.len() + 1 }
            }
            Ok((length, true)) => {
                let bytes = flow.scanned + length;
                // To be found again if it is not taken yet.
                (flow.scanned, flow.block) = (0, None);
                fields.resize(shape.fields, FieldValue::Unit);
                if let Some(slot) = fields.get_mut(field) {
                    // Without the dot and its CR LF.
                    *slot = scalar.read(unread.get(..bytes.saturating_sub(3)).unwrap_or_default());
                }
                message(bytes, Body::None)
            }
        }
    }
}
