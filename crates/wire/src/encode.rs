//! Codecs write what they can read: the bytes of a message, from its label and its fields.
//!
//! **Laws.** Decoding what was encoded gives the same message: `decode(encode(m)) = m`. Where a value has no form that reads back
//! as itself (text with a line end in a line, a word with a blank), [`Encoder::encode`] refuses it instead of writing something
//! else: it reads what it has written before it gives it away. What a codec itself has written is canonical:
//! `encode(decode(bytes)) = bytes` for such bytes, and for those of others that are written the same way.
//!
//! Values that nobody named (`{_}` of a pattern, `_: u32` of a layout) are empty or zero.

mod frames;
mod http;
mod json;
mod resp;
mod text;

use std::fmt;

use referee_monitor::FieldValue;

use crate::codec::{Codec, Limits};
use crate::reading::Expected;
use crate::signature::{Known, MessageId, Sender};
use crate::step::{Fields, Label, Scratch, Step};
use crate::table::{Carries, Kind, Table};

/// How messages become bytes, for one codec.
#[derive(Debug)]
pub struct Encoder {
    /// By [`MessageId::index`].
    writers: Vec<Result<Writer, String>>,
    socket: bool,
    rpc: bool,
    http: bool,
}

/// How one message is written.
#[derive(Debug)]
enum Writer {
    Text(text::Writer),
    Json(json::Writer),
    Http(Box<http::Writer>),
    Frames(Box<frames::Writer>),
    Resp(resp::Writer),
}

/// What a message is made of, besides its label.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts<'a> {
    /// The values of its fields, in the order of the protocol's declaration.
    pub fields: &'a [FieldValue<'a>],
    /// What follows it that no field is read from.
    pub body: &'a [u8],
    /// JSON-RPC: its `id`, as JSON.
    pub rpc_id: Option<&'a str>,
}

/// Why a message cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// Its table does not say how: a regular expression, for instance, only tells what it may look like.
    NoForm(String),
    /// A field has a value that cannot stand where it would have to.
    Field(String),
    /// It would be read as something else.
    Differs,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoForm(reason) | Self::Field(reason) => f.write_str(reason),
            Self::Differs => f.write_str("it would be read as something else"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// A value that does not fit where it is to stand.
fn misfit(what: &str) -> EncodeError {
    EncodeError::Field(what.to_owned())
}

impl Encoder {
    /// How the messages of `codec`, which was compiled from `table`, are written.
    #[must_use]
    pub fn new(table: &Table, codec: &Codec) -> Self {
        let socket = table.kind == Kind::WebSocket;
        let carries_text = socket && table.carries.unwrap_or_default() == Carries::Text;
        let writer = |known: &Known| {
            let entry = table.messages.iter().find(|(name, _)| **name == *known.name).map(|(_, entry)| entry);
            match table.kind {
                Kind::Text => text::Writer::new(entry, known, true).map(Writer::Text),
                Kind::WebSocket if carries_text => text::Writer::new(entry, known, false).map(Writer::Text),
                Kind::Json | Kind::WebSocket => Ok(Writer::Json(json::Writer::new(table, entry, known))),
                Kind::JsonHttp => Err("messages within HTTP are not written".to_owned()),
                Kind::Http => http::Writer::new(entry, known).map(Box::new).map(Writer::Http),
                Kind::Frames => frames::Writer::new(table, entry, known).map(Box::new).map(Writer::Frames),
                Kind::Resp => resp::Writer::new(entry, known).map(Writer::Resp),
            }
        };
        Self {
            writers: codec.messages().iter().map(writer).collect(),
            socket,
            rpc: table.correlation().is_some(),
            http: table.kind == Kind::Http,
        }
    }

    /// Why `message` cannot be written, whatever its fields are.
    #[must_use]
    pub fn obstacle(&self, message: MessageId) -> Option<&str> {
        self.writers.get(message.index())?.as_ref().err().map(String::as_str)
    }

    /// Appends the bytes of `message` to `out`. `codec` is the one that this was made for.
    ///
    /// # Errors
    /// If it has no form, or none that is read as the same message. Then nothing is appended.
    pub fn encode(
        &self,
        codec: &Codec,
        message: MessageId,
        parts: Parts<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let known = codec.messages().get(message.index());
        let (Some(known), Some(writer)) = (known, self.writers.get(message.index())) else {
            return Err(EncodeError::NoForm("the codec has no such message".to_owned()));
        };
        let writer = writer.as_ref().map_err(|reason| EncodeError::NoForm(reason.clone()))?;
        let mut bytes = Vec::new();
        match writer {
            Writer::Text(writer) => writer.write(&parts, &mut bytes)?,
            Writer::Json(writer) => writer.write(&parts, &mut bytes)?,
            Writer::Http(writer) => writer.write(&parts, &mut bytes)?,
            Writer::Frames(writer) => writer.write(&parts, &mut bytes)?,
            Writer::Resp(writer) => writer.write(&parts, &mut bytes)?,
        }
        if self.socket {
            bytes = socket_frame(known.sender, &bytes);
        }
        // What an answer of JSON-RPC means its question says, which is not known here.
        if !self.rpc && !self.is_read_as(codec, message, known.sender, &parts, &bytes) {
            return Err(EncodeError::Differs);
        }
        out.extend_from_slice(&bytes);
        Ok(())
    }

    /// Whether `bytes` are read as `message` with these parts, and nothing else.
    fn is_read_as(
        &self,
        codec: &Codec,
        message: MessageId,
        sender: Sender,
        parts: &Parts<'_>,
        bytes: &[u8],
    ) -> bool {
        let mut connection = codec.connection(Limits { message: bytes.len().saturating_add(1) });
        if self.http && sender == Sender::Server {
            connection.unanswered.push(crate::http::RequestKind::Plain, false);
        }
        connection.upgraded = self.socket;
        let Ok(expected) = Expected::new(codec, &[message]) else { return false };
        let reading = expected.reading();
        let (scratch, mut fields) = (Scratch::new(), Fields::new());
        let step = codec.decode(&mut connection, sender, bytes, reading, &scratch, &mut fields);
        let Step::Message(found) = step else { return false };
        if found.label != Label::Known(message) || *fields != *parts.fields {
            return false;
        }
        codec.take(&mut connection, sender, found.after, true);
        let (mut at, mut more) = (found.bytes, found.has_body);
        let nothing = Scratch::new();
        while more {
            let rest = bytes.get(at..).unwrap_or_default();
            match codec.decode(&mut connection, sender, rest, reading, &nothing, &mut Fields::new()) {
                Step::Body { bytes, last } if bytes > 0 || last => {
                    at = at.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
                    more = !last;
                }
                _ => return false,
            }
        }
        at == bytes.len()
    }
}

/// One frame of a WebSocket. A client's has a mask, of zeros: who relays it need not hide it from proxies.
fn socket_frame(sender: Sender, content: &[u8]) -> Vec<u8> {
    let mask = if sender == Sender::Client { 0x80 } else { 0 };
    let mut frame = vec![0x81];
    match (u8::try_from(content.len()), u16::try_from(content.len())) {
        (Ok(short @ 0..=125), _) => frame.push(mask | short),
        (_, Ok(length)) => {
            frame.push(mask | 126);
            frame.extend(length.to_be_bytes());
        }
        _ => {
            frame.push(mask | 127);
            frame.extend((content.len() as u64).to_be_bytes());
        }
    }
    if mask != 0 {
        frame.extend([0; 4]);
    }
    frame.extend_from_slice(content);
    frame
}

/// A value as one piece of text.
fn scalar(value: &FieldValue<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match value {
        FieldValue::Unit => {}
        FieldValue::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
        FieldValue::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
        FieldValue::Float(value) => out.extend_from_slice(format!("{value:?}").as_bytes()),
        FieldValue::Str(text) => out.extend_from_slice(text.as_bytes()),
        FieldValue::Bytes(bytes) => out.extend_from_slice(bytes),
        FieldValue::List(_) | FieldValue::Record(_) | FieldValue::Malformed(_) => {
            return Err(misfit("lists and records are no single piece of text"));
        }
    }
    Ok(())
}

/// The field at `index`.
fn field<'a>(parts: &Parts<'a>, index: usize) -> Result<&'a FieldValue<'a>, EncodeError> {
    parts.fields.get(index).ok_or_else(|| misfit("a field is missing"))
}
