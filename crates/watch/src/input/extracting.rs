//! Lines of a log of another kind, read as events: each line becomes one line, so that places stay what they are.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use crate::decode::salvage::mask_invalid;

/// Makes events of the lines of a log. A byte that is not UTF-8 has become U+001A.
pub trait LineReader: Send + Sync + fmt::Debug {
    /// Appends the event in `line` to `out` as one JSON object without a line end; nothing if the line is none.
    fn read_line(&self, line: &str, out: &mut String);
}

/// An event that could not be read, of any session.
const LOST: &str = "{\"session\":[],\"label\":[]}";
/// How much is read at a time.
const BLOCK: usize = 64 * 1024;

/// What a reader gives, as lines of JSON.
pub(crate) struct Extracting {
    inner: Box<dyn Read + Send>,
    lines: Arc<dyn LineReader>,
    /// Whether more may come after the end.
    tail: bool,
    max_line: usize,
    block: Vec<u8>,
    /// What has been read and not been given on: less than a line.
    pending: Vec<u8>,
    /// Whether the line that we are in is too long.
    too_long: bool,
    out: String,
    at: usize,
}

impl Extracting {
    pub(crate) fn new(
        inner: Box<dyn Read + Send>,
        lines: Arc<dyn LineReader>,
        tail: bool,
        max_line: usize,
    ) -> Self {
        let (block, pending, out) = (vec![0; BLOCK], Vec::new(), String::new());
        Self { inner, lines, tail, max_line, block, pending, too_long: false, out, at: 0 }
    }

    /// The lines of `pending` that are whole; at the end the last one need not be.
    fn take_lines(&mut self, last: bool) {
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', self.pending.get(start..).unwrap_or_default()) {
            self.line(start, start + length);
            start += length + 1;
        }
        if last && start < self.pending.len() {
            self.line(start, self.pending.len());
            start = self.pending.len();
        }
        self.pending.drain(..start);
        if self.pending.len() > self.max_line {
            self.pending.clear();
            self.too_long = true;
        }
    }

    fn line(&mut self, start: usize, end: usize) {
        let Some(line) = self.pending.get_mut(start..end) else { return };
        if std::mem::take(&mut self.too_long) || line.len() > self.max_line {
            self.out.push_str(LOST);
        } else {
            if std::str::from_utf8(line).is_err() {
                mask_invalid(line);
            }
            self.lines.read_line(std::str::from_utf8(line).unwrap_or_default(), &mut self.out);
        }
        self.out.push('\n');
    }
}

impl Read for Extracting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.out.len() {
            self.out.clear();
            self.at = 0;
            let length = self.inner.read(&mut self.block)?;
            let ended = length == 0;
            self.pending.extend_from_slice(self.block.get(..length).unwrap_or_default());
            self.take_lines(ended && !self.tail);
            if ended && self.out.is_empty() {
                return Ok(0);
            }
        }
        let rest = self.out.as_bytes().get(self.at..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        Ok(length)
    }
}
