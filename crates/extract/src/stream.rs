//! The bytes of a log as they come, cut into the records of its format: lines, rows of CSV, framed messages.

use std::mem;
use std::sync::Arc;

use crate::json::NOT_UTF8;
use crate::line::{Extracted, Extractor, LOST};
use crate::source::{Encoding, Format, Source};

/// What a record became.
#[derive(Debug)]
pub struct Found<'a> {
    /// The number of the record, from 0: of lines, the line.
    pub number: u64,
    /// What became of it.
    pub extracted: Extracted,
    /// The event as one JSON object, without a line end; empty if no rule is about the record.
    pub event: &'a str,
    /// The record as it stands; of a binary format nothing.
    pub record: &'a str,
}

/// The length before each message of a binary file.
const LENGTH_PREFIX: usize = 4;
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Makes events of a log, however it is cut.
#[derive(Debug)]
pub struct EventStream {
    extractor: Extractor,
    framing: Framing,
    max_record: usize,
    /// What has been read and is not a whole record yet.
    pending: Vec<u8>,
    /// How much of `pending` has been searched for the end of the record.
    searched: usize,
    /// Whether the end of `pending`, as far as it was searched, is between quotes.
    in_quotes: bool,
    /// How many bytes are left of a record that is too long; all of them up to its end, of lines.
    skipping: Option<u64>,
    number: u64,
    has_started: bool,
    /// How many bytes were taken, and how many of them are of whole records.
    taken: u64,
    whole: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Lines,
    /// Line ends between quotes do not count.
    QuotedLines,
    /// A length of four bytes, the most significant first, before each message.
    Length,
}

impl EventStream {
    /// A stream by `source`, before its first byte, which is read at `now`, in nanoseconds since 1970. Longer records than `max_record`
    /// bytes are lost events.
    #[must_use]
    pub fn new(source: Arc<Source>, max_record: usize, now: i64) -> Self {
        let framing = match source.format {
            Format::Csv => Framing::QuotedLines,
            Format::Otlp if source.encoding == Encoding::Protobuf => Framing::Length,
            _ => Framing::Lines,
        };
        Self {
            extractor: Extractor::new(source, now),
            framing,
            max_record,
            pending: Vec::new(),
            searched: 0,
            in_quotes: false,
            skipping: None,
            number: 0,
            has_started: false,
            taken: 0,
            whole: 0,
        }
    }

    /// How many records there were: of lines, the lines.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.number
    }

    /// What was taken for granted of times so far: whether some had no year, and whether some had no zone.
    #[must_use]
    pub fn assumed(&self) -> (bool, bool) {
        self.extractor.assumed()
    }

    /// How many bytes were taken of a record that is not whole.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.taken - self.whole
    }

    /// Goes on behind the first `records` records of a log that begins with `beginning`.
    pub fn resume(&mut self, beginning: &[u8], records: u64) {
        if records == 0 {
            return;
        }
        if self.framing == Framing::QuotedLines {
            // Its header says what the cells are.
            let mark = if beginning.starts_with(&BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
            let text = beginning.get(mark..).unwrap_or_default();
            let end = self.line_end(text).unwrap_or(text.len());
            self.in_quotes = false;
            let mut header = text.get(..end).unwrap_or_default().to_vec();
            if self.extractor.wants_header() {
                self.record(&mut header, &mut |_| {});
            }
        }
        (self.number, self.has_started) = (records, true);
    }

    /// Takes the next bytes and gives what the records that end in them became.
    pub fn take(&mut self, bytes: &[u8], give: &mut dyn FnMut(Found<'_>)) {
        self.pending.extend_from_slice(bytes);
        let mut pending = mem::take(&mut self.pending);
        self.taken += bytes.len() as u64;
        let begin = self.taken - pending.len() as u64;
        let mut start = 0;
        if !self.has_started && self.framing != Framing::Length {
            if pending.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(&pending) {
                self.pending = pending;
                return;
            }
            start = if pending.starts_with(&BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
            self.has_started = true;
        }
        while let Some((body, next)) = self.next_record(&pending, start, give) {
            if let Some(record) = pending.get_mut(start + body.0..start + body.1) {
                self.record(record, give);
            }
            start = next;
            if self.skipping.is_none() {
                self.whole = begin + start as u64;
            }
        }
        pending.drain(..start.min(pending.len()));
        self.pending = pending;
    }

    /// The log has ended: what is left is its last line.
    pub fn end(&mut self, give: &mut dyn FnMut(Found<'_>)) {
        let mut pending = mem::take(&mut self.pending);
        let skipped = self.skipping.take().is_some();
        match self.framing {
            _ if skipped => self.lost(give),
            _ if pending.is_empty() => {}
            Framing::Length => self.lost(give),
            Framing::Lines | Framing::QuotedLines => self.record(&mut pending, give),
        }
        (self.searched, self.in_quotes) = (0, false);
    }

    /// Where the record at `start` is, relative to it, and where the next one begins; `None` if it is not whole.
    fn next_record(
        &mut self,
        pending: &[u8],
        start: usize,
        give: &mut dyn FnMut(Found<'_>),
    ) -> Option<((usize, usize), usize)> {
        let rest = pending.get(start..)?;
        if self.framing == Framing::Length {
            return self.framed(rest, start, give);
        }
        let fresh = rest.get(self.searched..).unwrap_or_default();
        let Some(end) = self.line_end(fresh) else {
            self.searched = rest.len();
            if rest.len() > self.max_record {
                self.skipping = Some(u64::MAX);
                self.searched = 0;
                // What was searched is dropped; whether we are between quotes is known.
                return Some(((0, 0), pending.len())).filter(|_| !rest.is_empty());
            }
            return None;
        };
        let length = self.searched + end;
        self.searched = 0;
        let next = start + length + 1;
        if self.skipping.take().is_some() || length > self.max_record {
            self.lost(give);
            return Some(((0, 0), next));
        }
        // An empty line is a record too: lines are counted.
        if length == 0 {
            self.number += 1;
        }
        Some(((0, length), next))
    }

    fn framed(
        &mut self,
        rest: &[u8],
        start: usize,
        give: &mut dyn FnMut(Found<'_>),
    ) -> Option<((usize, usize), usize)> {
        if let Some(left) = &mut self.skipping {
            let here = rest.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= here as u64;
            let whole = *left == 0;
            if whole {
                self.skipping = None;
                self.lost(give);
            }
            return (whole || here > 0).then_some(((0, 0), start + here));
        }
        let (prefix, rest) = rest.split_first_chunk::<LENGTH_PREFIX>()?;
        let length = u32::from_be_bytes(*prefix) as usize;
        if length > self.max_record {
            self.skipping = Some(length as u64);
            return Some(((0, 0), start + LENGTH_PREFIX));
        }
        if rest.len() < length {
            return None;
        }
        Some(((LENGTH_PREFIX, LENGTH_PREFIX + length), start + LENGTH_PREFIX + length))
    }

    /// The first line end in `fresh`.
    fn line_end(&mut self, fresh: &[u8]) -> Option<usize> {
        if self.framing == Framing::Lines {
            return memchr::memchr(b'\n', fresh);
        }
        for at in memchr::memchr2_iter(b'"', b'\n', fresh) {
            match fresh.get(at) {
                Some(b'"') => self.in_quotes = !self.in_quotes,
                _ if !self.in_quotes => return Some(at),
                _ => {}
            }
        }
        None
    }

    fn record(&mut self, bytes: &mut [u8], give: &mut dyn FnMut(Found<'_>)) {
        if bytes.is_empty() {
            return;
        }
        let number = self.number;
        self.number += 1;
        if self.framing == Framing::Length {
            self.extractor.message(bytes, &mut |extracted, event| {
                give(Found { number, extracted, event, record: "" });
            });
            return;
        }
        if self.framing == Framing::QuotedLines {
            self.number += memchr::memchr_iter(b'\n', bytes).count() as u64;
        }
        if std::str::from_utf8(bytes).is_err() {
            mask_invalid(bytes);
        }
        let record = std::str::from_utf8(bytes).unwrap_or_default();
        self.extractor
            .events(record, &mut |extracted, event| give(Found { number, extracted, event, record }));
    }

    fn lost(&mut self, give: &mut dyn FnMut(Found<'_>)) {
        let number = self.number;
        self.number += 1;
        give(Found { number, extracted: Extracted::Lost, event: LOST, record: "" });
    }
}

/// Replaces every byte that is not UTF-8.
fn mask_invalid(bytes: &mut [u8]) {
    let mut from = 0;
    while let Some(rest) = bytes.get_mut(from..) {
        let Err(error) = std::str::from_utf8(rest) else { return };
        let start = error.valid_up_to();
        let length = error.error_len().unwrap_or(rest.len() - start);
        if let Some(invalid) = rest.get_mut(start..start + length) {
            invalid.fill(NOT_UTF8 as u8);
        }
        from += start + length;
    }
}
