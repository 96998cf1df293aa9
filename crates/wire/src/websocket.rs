//! `websocket`: the messages of a WebSocket (RFC 6455), after its handshake.
//!
//! The handshake and control frames are passed on as they are. A message of several fragments is one message, with
//! whatever control frames come between them; a client's message is unmasked in a copy to be read, and goes on as it
//! came. Messages that are compressed are inflated to be read (`deflate`), and go on as they came, too. Where another
//! speaks WebSocket with the peer and
//! puts its messages together ([`Codec::endpoint`](crate::Codec::endpoint)), frames have no masks.

mod deflate;

use crate::connection::{Connection, Effect, Flow};
use crate::error::TableError;
use crate::http::head::HeadRules;
use crate::http::{RequestKind, read_head};
use crate::json::Documents;
use crate::reading::Reading;
use crate::signature::{Sender, Signature};
use crate::step::{After, Fields, Label, Malformed, Message, Scratch, Step, excerpt};
use crate::table::{Carries, Table};
use crate::text::Text;

pub(crate) use deflate::Deflate;

/// The codec.
#[derive(Debug)]
pub(crate) enum WebSocket {
    Json(Documents),
    Text(Text),
}

/// A frame's header, read.
struct Frame {
    last: bool,
    opcode: u8,
    compressed: bool,
    mask: Option<[u8; 4]>,
    start: usize,
    end: usize,
}

impl WebSocket {
    pub(crate) fn compile(
        table: &Table,
        signature: &Signature,
        errors: &mut Vec<TableError>,
    ) -> Option<Self> {
        match table.carries.unwrap_or_default() {
            Carries::Json => Documents::compile(table, signature, errors).map(Self::Json),
            Carries::Text => Text::compile(table, signature, errors).map(Self::Text),
        }
    }

    pub(crate) fn decode<'b>(
        &self,
        connection: &mut Connection,
        sender: Sender,
        unread: &'b [u8],
        reading: Reading<'_>,
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        if !connection.upgraded {
            return handshake(connection, sender, unread);
        }
        let masked = sender == Sender::Client && !connection.unmasked;
        let compresses = connection.deflate.is_some();
        let (bytes, opcode, compressed) = match whole(connection.flow(sender), masked, compresses, unread) {
            Ok(whole) => whole,
            Err(step) => return step,
        };
        if opcode >= 8 {
            return aside(
                ["a close", "a ping", "a pong"].get(usize::from(opcode) - 8).unwrap_or(&"control"),
                bytes,
            );
        }
        let mut content = content(unread.get(..bytes).unwrap_or_default(), masked, scratch);
        let limit = connection.limit;
        if let Some(deflate) = connection.deflate.as_mut().filter(|_| compressed) {
            content = match deflate.inflate(sender, content, limit) {
                Ok(inflated) => scratch.bump.alloc_slice_copy(inflated),
                Err(malformed) => return malformed.into(),
            };
        }
        let step = match self {
            Self::Json(documents) => documents.message(connection, sender, content, reading, scratch, fields),
            Self::Text(text) => text.line(sender, content, reading, fields),
        };
        match step {
            Step::Message(message) => {
                Step::Message(Message { bytes: connection.bytes_of(sender, bytes), ..message })
            }
            step => step,
        }
    }
}

/// A request to become a WebSocket, or the answer.
fn handshake<'b>(connection: &mut Connection, sender: Sender, unread: &'b [u8]) -> Step<'b> {
    if sender == Sender::Client && !connection.unanswered.is_open() {
        return Step::Wait;
    }
    let head = match read_head(connection.flow(sender), sender, unread, HeadRules::default()) {
        Ok(head) => head,
        Err(step) => return step,
    };
    let effect = match (sender, head.line[1]) {
        (Sender::Client, _)
            if head.upgrade && !head.chunked && head.length.is_none_or(|length| length == 0) =>
        {
            Effect::Request(RequestKind::Upgrade, true)
        }
        (Sender::Client, _) => {
            return Malformed::new("a request that does not ask for a WebSocket", 0).into();
        }
        (Sender::Server, _) if connection.unanswered.is_open() => {
            return Malformed::new("a response to no request", 0).into();
        }
        (Sender::Server, b"101") => {
            connection.deflate = match head.extensions.map(Deflate::agreed).transpose() {
                Ok(agreed) => agreed.map(Box::new),
                Err(malformed) => return malformed.into(),
            };
            Effect::Switch
        }
        // Refused: whatever this is, it is no WebSocket.
        (Sender::Server, _) => Effect::Transparent,
    };
    let label = Label::Unknown(excerpt(if sender == Sender::Client { head.line[0] } else { head.line[1] }));
    let after = After { effect, ..After::NOTHING };
    Step::Message(Message { label, bytes: head.bytes, has_body: false, aside: true, session: None, after })
}

fn aside<'b>(label: &'b str, bytes: usize) -> Step<'b> {
    let label = Label::Unknown(label);
    Step::Message(Message {
        label,
        bytes,
        has_body: false,
        aside: true,
        session: None,
        after: After::NOTHING,
    })
}

/// The length of the message or control frame that `unread` begins with, and its opcode.
fn whole<'b>(
    flow: &mut Flow,
    masked: bool,
    compresses: bool,
    unread: &[u8],
) -> Result<(usize, u8, bool), Step<'b>> {
    loop {
        let at = flow.anchor;
        let frame = frame(unread, at, masked)?;
        // The message that frames before this one have begun.
        let first = unread.first().copied().unwrap_or(0);
        let begun = (at > 0).then_some(first & 15);
        if frame.compressed && (!compresses || begun.is_some() || frame.opcode >= 8) {
            return Err(Malformed::new("a frame with reserved bits that nobody agreed on", at).into());
        }
        match (frame.opcode, begun) {
            (8.., None) => return Ok((frame.end, frame.opcode, false)),
            (8.., Some(_)) => {}
            (0, None) => return Err(Malformed::new("a continuation of nothing", at).into()),
            (1 | 2, Some(_)) => return Err(Malformed::new("a message within another", at).into()),
            (opcode, begun) if frame.last => {
                // To be found again if it is not taken yet: this frame is the last.
                return Ok((frame.end, begun.unwrap_or(opcode), first & 0x40 != 0));
            }
            _ => {}
        }
        flow.anchor = frame.end;
    }
}

/// The frame at `at`, if it is whole and in order; `must_mask` says whether its sender masks what it sends.
fn frame<'b>(unread: &[u8], at: usize, must_mask: bool) -> Result<Frame, Step<'b>> {
    let wrong = |reason: &'static str| Err(Malformed::new(reason, at).into());
    let rest = unread.get(at..).unwrap_or_default();
    let &[first, second, ref rest @ ..] = rest else { return Err(Step::More { at_least: at + 2 }) };
    let (last, opcode, masked, short) = (first & 0x80 != 0, first & 15, second & 0x80 != 0, second & 0x7f);
    if first & 0x30 != 0 {
        return wrong("a frame with reserved bits that nobody agreed on");
    }
    if !matches!(opcode, 0..=2 | 8..=10) {
        return wrong("a frame of an unknown kind");
    }
    if opcode >= 8 && (!last || short > 125) {
        return wrong("a control frame that is fragmented or too long");
    }
    if masked != must_mask {
        return wrong("a client masks its frames, and a server does not");
    }
    let wide = match short {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let header = at + 2 + wide + if masked { 4 } else { 0 };
    let Some(extended) = rest.get(..wide) else { return Err(Step::More { at_least: header }) };
    let length = match wide {
        0 => u64::from(short),
        _ => extended.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
    };
    if (wide == 2 && length < 126) || (wide == 8 && length < 1 << 16) {
        return wrong("a length that is written longer than it has to be");
    }
    let mask = match (masked, unread.get(header.saturating_sub(4)..header)) {
        (false, _) => None,
        (true, Some(&[a, b, c, d])) => Some([a, b, c, d]),
        (true, _) => return Err(Step::More { at_least: header }),
    };
    let end = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(header);
    if end > unread.len() {
        return Err(Step::More { at_least: end });
    }
    Ok(Frame { last, opcode, compressed: first & 0x40 != 0, mask, start: header, end })
}

/// What the frames of `message` carry, put together.
fn content<'b>(message: &'b [u8], masked: bool, scratch: &'b Scratch) -> &'b [u8] {
    let mut at = 0;
    let mut whole = bumpalo::collections::Vec::new_in(&scratch.bump);
    while let Ok(frame) = frame(message, at, masked) {
        let payload = message.get(frame.start..frame.end).unwrap_or_default();
        match frame.mask {
            None if at == 0 && frame.end == message.len() => return payload,
            _ if frame.opcode >= 8 => {}
            None => whole.extend_from_slice(payload),
            Some(mask) => {
                whole.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask))
            }
        }
        at = frame.end;
        if at == message.len() {
            break;
        }
    }
    whole.into_bump_slice()
}
