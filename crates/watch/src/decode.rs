//! From the lines of a chunk to records: who, to whom, which label, which session, and where the payload is.
//!
//! This is the first of two stages, and the one that any thread can do for any chunk. It knows no session.

pub(crate) mod csv;
pub(crate) mod event;
pub(crate) mod fields;

use std::hash::Hasher as _;

use referee_monitor::{Channel, Party};
use rustc_hash::FxHasher;

use self::event::{Found, What};
use self::fields::{Scanner, Span, line_end};
use crate::input::Chunk;
use crate::input::line_ends;
use crate::options::Options;
use crate::plan::Plan;

/// An event whose names are resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// Of the session's key, keyed at random.
    pub(crate) hash: u64,
    /// The session's key, in `text` or in `keys`.
    pub(crate) key: Span,
    pub(crate) key_is_unescaped: bool,
    pub(crate) shard: u16,
    pub(crate) what: What,
    pub(crate) from: Party,
    pub(crate) channel: Channel,
    pub(crate) label: u32,
    /// A JSON value, or the whole row of a CSV input.
    pub(crate) payload: Span,
    pub(crate) line: u32,
    pub(crate) place: Span,
}

/// A chunk, decoded into records of some kind.
#[derive(Debug)]
pub(crate) struct Decoded<R = Record> {
    pub(crate) chunk: Chunk,
    // INVARIANT: the chunk's text, which is empty meanwhile.
    pub(crate) text: String,
    /// Session keys that were written with escapes.
    pub(crate) keys: String,
    /// The records of each lane, in order.
    pub(crate) lanes: Vec<Vec<R>>,
    /// How many lines there are.
    pub(crate) lines: u32,
    pub(crate) malformed: Vec<(u32, String)>,
    /// Events that concern nobody.
    pub(crate) ignored: u64,
}

impl<R> Default for Decoded<R> {
    fn default() -> Self {
        Self {
            chunk: Chunk::default(),
            text: String::new(),
            keys: String::new(),
            lanes: Vec::new(),
            lines: 0,
            malformed: Vec::new(),
            ignored: 0,
        }
    }
}

impl Decoded {
    pub(crate) fn key(&self, record: &Record) -> &[u8] {
        record.key.of(if record.key_is_unescaped { &self.keys } else { &self.text }).as_bytes()
    }

    /// The line of `record`, without its line end.
    pub(crate) fn line(&self, record: &Record) -> &str {
        record.place.of(&self.text)
    }
}

impl<R> Decoded<R> {
    /// Takes over `chunk`, before its lines are decoded; where they start. The chunk's text is ours now.
    pub(crate) fn take(&mut self, mut chunk: Chunk, lanes: usize, max_line: usize) -> usize {
        self.lanes.resize_with(lanes, Vec::new);
        self.lines = chunk.lines_before;
        if chunk.oversize {
            self.malformed.push((self.lines, too_long(max_line)));
            self.lines += 1;
        }
        let body = chunk.body;
        self.text = match String::from_utf8(std::mem::take(&mut chunk.text)) {
            Ok(text) => text,
            Err(error) => blank_out(error.into_bytes(), body, chunk.columns.is_some()),
        };
        self.chunk = chunk;
        body
    }

    /// Makes it a place for the next chunk; gives back the chunk's buffer.
    pub(crate) fn recycle(&mut self) -> Vec<u8> {
        self.keys.clear();
        self.lanes.iter_mut().for_each(Vec::clear);
        self.malformed.clear();
        self.ignored = 0;
        self.lines = 0;
        self.chunk = Chunk::default();
        std::mem::take(&mut self.text).into_bytes()
    }
}

/// Decodes `chunk` into `decoded`, which is empty.
pub(crate) fn decode(plan: &Plan, chunk: Chunk, decoded: &mut Decoded) {
    let mut body = decoded.take(chunk, plan.lanes, plan.options.max_line);
    let text = std::mem::take(&mut decoded.text);
    if let Some(columns) = decoded.chunk.columns.clone() {
        rows(plan, &columns, &text, body, decoded);
        body = text.len();
    }
    lines(plan, &text, body, decoded);
    decoded.text = text;
}

/// In a line that is not UTF-8 the first byte after blanks becomes this, so that it is still a line, of the
/// same length, and malformed. The byte may not stand outside of strings in JSON, nor alone in CSV.
pub(crate) const NOT_UTF8: u8 = 0x1a;

/// Replaces lines that are not UTF-8.
#[cold]
fn blank_out(mut bytes: Vec<u8>, body: usize, csv: bool) -> String {
    let mut at = body.min(bytes.len());
    // What stands before the body was read before.
    bytes[..at].fill(b' ');
    while at < bytes.len() {
        let next = at + line_ends::first(&bytes[at..], csv);
        let end = if bytes[..next].ends_with(b"\n") { next - 1 } else { next };
        if std::str::from_utf8(&bytes[at..end]).is_err() {
            bytes[at..end].fill(NOT_UTF8);
        }
        at = next;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

fn lines(plan: &Plan, text: &str, body: usize, decoded: &mut Decoded) {
    let bytes = text.as_bytes();
    let mut scanner = Scanner::new(&plan.tree);
    let mut at = body;
    while at < bytes.len() {
        let line = decoded.lines;
        decoded.lines += 1;
        let (found, end) = match scanner.line(bytes, at) {
            Ok((fields, end)) => (plan.event(text, &fields), end),
            Err(flaw) => {
                let end = line_end(bytes, at);
                at = skip_bad_line(plan, bytes, (at, end), flaw, decoded);
                continue;
            }
        };
        let place = Span::new(at, end);
        at = end + 1;
        if (place.end - place.start) as usize > plan.options.max_line {
            decoded.malformed.push((line, plan.too_long()));
            continue;
        }
        match found {
            Ok(found) => push(plan, text, decoded, found, line, place),
            Err(why) => decoded.malformed.push((line, why)),
        }
    }
}

/// Notes a malformed line, unless it is blank; where the next one starts.
#[cold]
fn skip_bad_line(
    plan: &Plan,
    bytes: &[u8],
    (start, end): (usize, usize),
    flaw: crate::scan::Flaw,
    decoded: &mut Decoded,
) -> usize {
    let content = bytes.get(start..end).unwrap_or_default();
    let line = decoded.lines - 1;
    if content.len() > plan.options.max_line {
        decoded.malformed.push((line, plan.too_long()));
    } else if content.first() == Some(&NOT_UTF8) {
        decoded.malformed.push((line, "not UTF-8".to_owned()));
    } else if !content.trim_ascii().is_empty() {
        let column = flaw.at.saturating_sub(start) + 1;
        decoded.malformed.push((line, format!("{} at column {column}", flaw.what)));
    }
    end + 1
}

fn rows(plan: &Plan, columns: &csv::Columns, text: &str, body: usize, decoded: &mut Decoded) {
    let mut at = body;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = line_ends::first(rest.as_bytes(), true);
        let row = rest.get(..length).unwrap_or_default();
        let row = row.strip_suffix('\n').unwrap_or(row);
        let place = Span::new(at, at + row.len());
        at += length;
        let line = decoded.lines;
        decoded.lines += 1;
        let too_long = row.len() > plan.options.max_line;
        if row.trim().is_empty() && !too_long {
            continue;
        }
        let found = if too_long {
            Err(plan.too_long())
        } else if row.as_bytes().first() == Some(&NOT_UTF8) {
            Err("not UTF-8".to_owned())
        } else {
            columns.parts(row).map_err(str::to_owned).and_then(|parts| plan.row(&parts, place))
        };
        match found {
            Ok(found) => push(plan, text, decoded, found, line, place),
            Err(why) => decoded.malformed.push((line, why)),
        }
    }
}

// Keys are kept for every session, so they may not be as long as lines.
pub(crate) use referee_monitor::property::MAX_KEY;

#[inline]
fn push(plan: &Plan, text: &str, decoded: &mut Decoded, found: Found<'_>, line: u32, place: Span) {
    let (key, key_is_unescaped) = match &found.key {
        event::Key::At(span) => (*span, false),
        event::Key::Text(key) => {
            let start = decoded.keys.len();
            decoded.keys.push_str(key);
            (Span::new(start, decoded.keys.len()), true)
        }
    };
    let bytes = key.of(if key_is_unescaped { &decoded.keys } else { text }).as_bytes();
    if bytes.len() > MAX_KEY {
        return decoded.malformed.push((line, format!("its session key is longer than {MAX_KEY} bytes")));
    }
    let Some(shard) = plan.options.shard(plan.shards, bytes) else { return };
    let record = Record {
        hash: plan.hasher.hash_one(bytes),
        key,
        key_is_unescaped,
        shard,
        what: found.what,
        from: found.from,
        channel: found.channel,
        label: found.label,
        payload: found.payload,
        line,
        place,
    };
    if let Some(lane) = decoded.lanes.get_mut(plan.lane(shard)) {
        lane.push(record);
    }
}

impl Options {
    /// Which of `shards`, a power of two, the key belongs to: the same in every run, because what is forgotten when
    /// depends on it. `None` if another process looks at it.
    #[inline]
    pub(crate) fn shard(&self, shards: usize, key: &[u8]) -> Option<u16> {
        match &self.partitions {
            None => Some(shard(shards, key)),
            Some(partitions) => Some(partitions.of(key)).filter(|partition| partitions.takes(*partition)),
        }
    }

    /// Whether the shard is looked at here.
    pub(crate) fn takes(&self, shard: usize) -> bool {
        self.partitions.as_ref().is_none_or(|partitions| partitions.takes(shard as u16))
    }
}

impl Plan {
    /// Which lane does the work of `shard`.
    #[inline]
    pub(crate) fn lane(&self, shard: u16) -> usize {
        usize::from(shard) & self.lanes.wrapping_sub(1)
    }

    pub(crate) fn too_long(&self) -> String {
        too_long(self.options.max_line)
    }
}

#[inline]
fn shard(shards: usize, key: &[u8]) -> u16 {
    if shards == 1 {
        return 0;
    }
    let mut hasher = FxHasher::default();
    hasher.write(key);
    (hasher.finish() >> 32) as u16 & (shards as u16).wrapping_sub(1)
}

pub(crate) fn too_long(max_line: usize) -> String {
    format!("longer than {max_line} bytes")
}
