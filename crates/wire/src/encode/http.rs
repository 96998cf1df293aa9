//! Requests and responses of HTTP/1.1, with a length.

use referee_monitor::FieldValue;
use serde_json::Value;

use super::json::{json, put};
use super::{EncodeError, Parts, field, misfit, scalar};
use crate::http::{Route, Segment, Source};
use crate::signature::{Known, Sender};
use crate::table::MessageTable;

/// How one message is written.
#[derive(Debug)]
pub(super) struct Writer {
    start: Start,
    /// Where each field goes.
    sources: Vec<Source>,
}

#[derive(Debug)]
enum Start {
    Request(Route),
    Response(u16),
}

/// The pieces of a message.
#[derive(Default)]
struct Pieces {
    method: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    status: Option<Vec<u8>>,
    query: Vec<u8>,
    headers: Vec<u8>,
    cookies: Vec<u8>,
    content: Option<Vec<u8>>,
    document: Option<Value>,
}

impl Writer {
    pub(super) fn new(entry: Option<&MessageTable>, known: &Known) -> Result<Self, String> {
        let entry = entry.ok_or("the table has no such message")?;
        let pattern = entry.pattern.as_deref().unwrap_or_default();
        let start = if known.sender == Sender::Client {
            Start::Request(Route::parse(pattern)?)
        } else {
            Start::Response(match pattern {
                "*" => 200,
                _ => pattern.replace('x', "0").parse().map_err(|_| format!("`{pattern}` is no status"))?,
            })
        };
        let mut sources = Vec::new();
        for of in &*known.fields {
            let name = of.name.as_deref().unwrap_or("_");
            let given = entry.fields.iter().find(|(key, _)| key == name);
            sources.push(match given {
                Some((_, text)) => Source::parse(text)?,
                None => Source::Path(name.into()),
            });
        }
        Ok(Self { start, sources })
    }

    pub(super) fn write(&self, parts: &Parts<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut pieces = Pieces::default();
        for (index, source) in self.sources.iter().enumerate() {
            pieces.add(source, field(parts, index)?)?;
        }
        let is_request = match &self.start {
            Start::Request(route) => {
                let any = || route.method.as_deref().unwrap_or("GET").as_bytes().to_vec();
                out.extend_from_slice(&pieces.method.take().unwrap_or_else(any));
                out.push(b' ');
                match pieces.target.take() {
                    Some(target) => out.extend_from_slice(&target),
                    None => self.path(route, parts, out)?,
                }
                if !pieces.query.is_empty() {
                    out.push(b'?');
                    out.extend_from_slice(&pieces.query);
                }
                out.extend_from_slice(b" HTTP/1.1\r\nHost: localhost\r\n");
                true
            }
            Start::Response(status) => {
                out.extend_from_slice(b"HTTP/1.1 ");
                let status = pieces.status.take().unwrap_or_else(|| status.to_string().into_bytes());
                out.extend_from_slice(&status);
                out.extend_from_slice(b" \r\n");
                false
            }
        };
        if !pieces.cookies.is_empty() {
            out.extend_from_slice(if is_request { b"Cookie: " } else { b"Set-Cookie: " });
            out.extend_from_slice(&pieces.cookies);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(&pieces.headers);
        let document = pieces.document.map(|document| document.to_string().into_bytes());
        let content = document.or(pieces.content).unwrap_or_else(|| parts.body.to_vec());
        if !is_request || !content.is_empty() {
            out.extend_from_slice(format!("Content-Length: {}\r\n", content.len()).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&content);
        Ok(())
    }

    /// The path of a request, with its captures.
    fn path(&self, route: &Route, parts: &Parts<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        for segment in &route.segments {
            out.push(b'/');
            let (name, keeps) = match segment {
                Segment::Literal(text) => {
                    escape(text.as_bytes(), b"", out);
                    continue;
                }
                Segment::Capture(name) => (name, &b""[..]),
                Segment::Tail(name) => (name, &b"/"[..]),
            };
            let is_it = |source: &Source| matches!(source, Source::Path(other) if other == name);
            if let Some(index) = self.sources.iter().position(is_it) {
                let mut text = Vec::new();
                scalar(field(parts, index)?, &mut text)?;
                escape(&text, keeps, out);
            } else if keeps.is_empty() {
                out.push(b'-');
            }
        }
        Ok(())
    }
}

impl Pieces {
    fn add(&mut self, source: &Source, value: &FieldValue<'_>) -> Result<(), EncodeError> {
        if let Source::Pointer(pointer) = source {
            let document = self.document.get_or_insert(Value::Null);
            return put(document, pointer, json(value)?);
        }
        let mut text = Vec::new();
        scalar(value, &mut text)?;
        match source {
            Source::Query(name) => {
                if !self.query.is_empty() {
                    self.query.push(b'&');
                }
                escape(name.as_bytes(), b"", &mut self.query);
                self.query.push(b'=');
                escape(&text, b"", &mut self.query);
            }
            Source::Header(name) => {
                if text.iter().any(|byte| *byte < 0x20 || *byte == 0x7f) {
                    return Err(misfit("a control character in a header"));
                }
                self.headers.extend_from_slice(name.as_bytes());
                self.headers.extend_from_slice(b": ");
                self.headers.extend_from_slice(&text);
                self.headers.extend_from_slice(b"\r\n");
            }
            Source::Cookie(name) => {
                if text.iter().any(|byte| *byte <= 0x20 || matches!(byte, b';' | b',' | 0x7f)) {
                    return Err(misfit("a character that no cookie has"));
                }
                if !self.cookies.is_empty() {
                    self.cookies.extend_from_slice(b"; ");
                }
                self.cookies.extend_from_slice(name.as_bytes());
                self.cookies.push(b'=');
                self.cookies.extend_from_slice(&text);
            }
            Source::Body => self.content = Some(text),
            Source::Method => self.method = Some(text),
            Source::Target => self.target = Some(text),
            Source::Status => self.status = Some(text),
            Source::Path(_) | Source::Segment(..) | Source::Json(_) | Source::Pointer(_) => {}
        }
        Ok(())
    }
}

/// `text` with everything escaped but what is plain everywhere, and `keeps`.
fn escape(text: &[u8], keeps: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) || keeps.contains(byte) {
            out.push(*byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
}
