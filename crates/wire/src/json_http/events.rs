//! Streams of server-sent events: where one ends among the bytes of a body, and what it carries.
//!
//! Read as the HTML standard says, and refused where readers in use differ: a CR alone, a byte order mark, a field that some take
//! for `data`. What was read of an event that is not whole is kept, without the chunks around it.

use crate::http::chunked::{Chunked, Next};
use crate::step::Malformed;

/// How the end of a body is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodyFraming {
    Chunked(Chunked),
    Length(u64),
    UntilEnd,
}

impl BodyFraming {
    fn until_data(&mut self, bytes: &[u8]) -> Result<(usize, Next), Malformed> {
        match self {
            Self::Chunked(chunked) => chunked.until_data(bytes),
            Self::Length(0) => Ok((0, Next::End)),
            Self::Length(left) => Ok((0, Next::Data(*left))),
            Self::UntilEnd => Ok((0, Next::Data(u64::MAX))),
        }
    }

    fn take_data(&mut self, count: usize) {
        match self {
            Self::Chunked(chunked) => chunked.take_data(count as u64),
            Self::Length(left) => *left = left.saturating_sub(count as u64),
            Self::UntilEnd => {}
        }
    }

    fn is_after_data(&self) -> bool {
        matches!(self, Self::Chunked(chunked) if chunked.is_after_data())
    }

    /// Whether something else may stand here in place of what does.
    fn is_free(&self) -> bool {
        match self {
            Self::Chunked(chunked) => chunked.is_at_chunk(),
            Self::Length(_) => false,
            Self::UntilEnd => true,
        }
    }
}

/// Where in a stream we are.
#[derive(Clone, Debug)]
pub(crate) struct EventStream {
    /// At the beginning of the next event.
    framing: BodyFraming,
    is_first: bool,
    look: Look,
}

/// How far an event was looked at.
#[derive(Clone, Debug)]
struct Look {
    framing: BodyFraming,
    /// How many bytes.
    raw: usize,
    /// What is in them.
    text: Vec<u8>,
    /// Where in the text the line begins that is not whole.
    line: usize,
    is_whole: bool,
    /// The stream has ended.
    has_ended: bool,
}

impl Look {
    fn new(framing: BodyFraming) -> Self {
        Self { framing, raw: 0, text: Vec::new(), line: 0, is_whole: false, has_ended: false }
    }
}

/// An event, or a comment between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// How many bytes it has, with the chunks around it.
    pub(crate) bytes: usize,
    /// Whether the stream ends with it.
    pub(crate) is_last: bool,
}

impl EventStream {
    pub(crate) fn new(framing: BodyFraming) -> Self {
        Self { framing, is_first: true, look: Look::new(framing) }
    }

    /// The event that `unread` begins with, if it is whole.
    pub(crate) fn next(&mut self, unread: &[u8]) -> Result<Option<Unit>, Malformed> {
        loop {
            let Look { framing, raw, is_whole, has_ended, .. } = &mut self.look;
            if *has_ended {
                return Ok(Some(Unit { bytes: *raw, is_last: true }));
            }
            let rest = unread.get(*raw..).unwrap_or_default();
            // The line end of a chunk belongs to what is in it.
            if *is_whole && !framing.is_after_data() {
                return Ok(Some(Unit { bytes: *raw, is_last: matches!(framing, BodyFraming::Length(0)) }));
            }
            let rest = match (*is_whole, rest.get(..2)) {
                (false, _) => rest,
                (true, Some(line_end)) => line_end,
                (true, None) => return Ok(None),
            };
            let shift = |wrong: Malformed| Malformed { at: wrong.at + *raw, ..wrong };
            let (length, next) = framing.until_data(rest).map_err(shift)?;
            *raw += length;
            match next {
                Next::More if *is_whole && !framing.is_after_data() => {}
                Next::More => return Ok(None),
                Next::End => *has_ended = true,
                Next::Data(size) => {
                    let rest = unread.get(*raw..).unwrap_or_default();
                    let here = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
                    if here == 0 {
                        return Ok(None);
                    }
                    self.look.take(rest.get(..here).unwrap_or_default())?;
                    self.check_start()?;
                }
            }
        }
    }

    fn check_start(&self) -> Result<(), Malformed> {
        if self.is_first && self.look.text.starts_with(b"\xef\xbb\xbf") {
            return Err(Malformed::new("a byte order mark in a stream of events", 0));
        }
        Ok(())
    }

    /// What the event carries that was found last.
    pub(crate) fn event(&self) -> Result<Event, Malformed> {
        Event::parse(&self.look.text)
    }

    /// Whether something else may stand in place of the event that was found last.
    pub(crate) fn is_replaceable(&self) -> bool {
        self.framing.is_free() && self.look.is_whole && self.look.framing.is_free()
    }

    /// `text` as it stands in this stream.
    pub(crate) fn framed(&self, text: &str) -> Vec<u8> {
        match self.framing {
            BodyFraming::Chunked(_) => format!("{:x}\r\n{text}\r\n", text.len()).into_bytes(),
            _ => text.as_bytes().to_vec(),
        }
    }

    /// Goes on behind the event that was found last.
    pub(crate) fn advance(&mut self) {
        self.framing = self.look.framing;
        self.is_first = false;
        self.look = Look::new(self.framing);
    }
}

impl Look {
    /// Reads `piece` of the data, up to the end of the event.
    fn take(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        const BARE_CR: &str = "a CR that no LF follows, in a stream of events";
        if self.text.last() == Some(&b'\r') && piece.first() != Some(&b'\n') {
            return Err(Malformed::new(BARE_CR, self.raw));
        }
        let mut taken = 0;
        while let Some(found) = memchr::memchr2(b'\r', b'\n', piece.get(taken..).unwrap_or_default()) {
            let at = taken + found;
            if piece.get(at) == Some(&b'\r') {
                match piece.get(at + 1) {
                    Some(b'\n') => {}
                    Some(_) => return Err(Malformed::new(BARE_CR, self.raw + at)),
                    None => break,
                }
            }
            let end = if piece.get(at) == Some(&b'\r') { at + 2 } else { at + 1 };
            self.text.extend_from_slice(piece.get(taken..end).unwrap_or_default());
            taken = end;
            let line = self.text.get(self.line..).unwrap_or_default();
            let is_empty = matches!(line, b"\n" | b"\r\n");
            if is_empty || (self.line == 0 && line.first() == Some(&b':')) {
                self.is_whole = true;
                break;
            }
            self.line = self.text.len();
        }
        if !self.is_whole {
            self.text.extend_from_slice(piece.get(taken..).unwrap_or_default());
            taken = piece.len();
        }
        self.raw += taken;
        self.framing.take_data(taken);
        Ok(())
    }
}

/// What an event carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its lines of data, with line feeds between them.
    pub(crate) data: Vec<u8>,
    /// Whether it is of a type other than `message`.
    pub(crate) is_other: bool,
    /// Whether a stream can be resumed behind it.
    pub(crate) has_id: bool,
}

impl Event {
    fn parse(text: &[u8]) -> Result<Self, Malformed> {
        let mut event = Self::default();
        let mut has_data = false;
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let at = memchr::memchr(b':', line).unwrap_or(line.len());
            let (name, value) = line.split_at(at);
            let value = value.strip_prefix(b":").unwrap_or(value);
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match name {
                b"data" => {
                    if std::mem::replace(&mut has_data, true) {
                        event.data.push(b'\n');
                    }
                    event.data.extend_from_slice(value);
                }
                b"event" => event.is_other = !matches!(value, b"" | b"message"),
                b"id" => event.has_id = !value.is_empty(),
                _ if name.trim_ascii().eq_ignore_ascii_case(b"data") => {
                    return Err(Malformed::new("a field that some take for `data` and others do not", 0));
                }
                _ => {}
            }
        }
        Ok(event)
    }
}

#[cfg(test)]
mod tests;
