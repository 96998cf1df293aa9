//! From the lines of a chunk to records: who, to whom, which label, which session, and where the payload is.
//!
//! This is the first of two stages, and the one that any thread can do for any chunk. It knows no session.

pub(crate) mod csv;
pub(crate) mod event;
pub(crate) mod fields;
pub(crate) mod salvage;

use std::hash::Hasher as _;

use referee_monitor::{Channel, Party};
use rustc_hash::FxHasher;

use self::event::{Found, What};
use self::fields::{Scanner, Span, line_end};
use self::salvage::{NOT_UTF8, Reads, Session, mask_invalid, salvage};
use crate::input::Chunk;
use crate::input::line_ends;
use crate::lane::clock;
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
    /// Where lines have the members that are asked for by number, one line after the other.
    pub(crate) members: Vec<Span>,
    /// The records of each lane, in order.
    pub(crate) lanes: Vec<Vec<R>>,
    /// How many lines there are.
    pub(crate) lines: u32,
    pub(crate) malformed: Vec<(u32, String)>,
    /// Lines that are an event of a session that cannot be told.
    pub(crate) lost_anywhere: Vec<u32>,
    /// Events that concern nobody.
    pub(crate) ignored: u64,
    /// Lines whose events are later than all before them in the chunk, and their times; only where somebody asks.
    pub(crate) times: Vec<(u32, i64)>,
}

impl<R> Default for Decoded<R> {
    fn default() -> Self {
        Self {
            chunk: Chunk::default(),
            text: String::new(),
            keys: String::new(),
            members: Vec::new(),
            lanes: Vec::new(),
            lines: 0,
            malformed: Vec::new(),
            lost_anywhere: Vec::new(),
            ignored: 0,
            times: Vec::new(),
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
        if let Some(why) = chunk.broken.take() {
            self.malformed.push((self.lines, why));
            self.lines += 1;
        }
        let body = chunk.body;
        self.text = match String::from_utf8(std::mem::take(&mut chunk.text)) {
            Ok(text) => text,
            Err(error) => {
                chunk.scanned.clear();
                masked(error.into_bytes(), body)
            }
        };
        self.chunk = chunk;
        body
    }

    /// Makes it a place for the next chunk; gives back the chunk's buffer.
    pub(crate) fn recycle(&mut self) -> Vec<u8> {
        self.keys.clear();
        self.members.clear();
        self.lanes.iter_mut().for_each(Vec::clear);
        self.malformed.clear();
        self.lost_anywhere.clear();
        self.ignored = 0;
        self.times.clear();
        self.lines = 0;
        self.chunk = Chunk::default();
        std::mem::take(&mut self.text).into_bytes()
    }
}

/// Decodes `chunk` into `decoded`, which is empty.
pub(crate) fn decode(plan: &Plan, chunk: Chunk, decoded: &mut Decoded) {
    let is_gap = chunk.is_gap();
    let body = decoded.take(chunk, plan.lanes, plan.options.max_line);
    if is_gap {
        lose(plan, Session::Unknown, decoded.lines - 1, decoded);
    }
    let mut text = std::mem::take(&mut decoded.text);
    match decoded.chunk.columns.clone() {
        Some(columns) => rows(plan, &columns, &text, body, decoded),
        None => lines(plan, &mut text, body, decoded),
    }
    decoded.text = text;
}

/// Text in which bytes that are not UTF-8 are masked: who reads them will notice.
#[cold]
fn masked(mut bytes: Vec<u8>, body: usize) -> String {
    let body = body.min(bytes.len());
    // What stands before the body was read before.
    bytes[..body].fill(b' ');
    mask_invalid(&mut bytes);
    String::from_utf8(bytes).unwrap_or_default()
}

fn lines(plan: &Plan, text: &mut String, body: usize, decoded: &mut Decoded) {
    let mut scanner = Scanner::new(&plan.tree);
    let mut at = body;
    let scanned = std::mem::take(&mut decoded.chunk.scanned);
    let mut scanned = scanned.iter();
    while at < text.len() {
        let line = decoded.lines;
        decoded.lines += 1;
        let known = scanned.next().and_then(|scanned| scanned.at(at));
        let (found, end) = match known.map_or_else(|| scanner.line(text.as_bytes(), at), Ok) {
            Ok((fields, end)) => (plan.event(text, &fields), end),
            Err(flaw) => {
                let end = line_end(text.as_bytes(), at);
                let why = format!("{} at column {}", flaw.what, flaw.at.saturating_sub(at) + 1);
                spoiled(plan, text, Span::new(at, end), why, &mut scanner, decoded);
                at = end + 1;
                continue;
            }
        };
        let place = Span::new(at, end);
        at = end + 1;
        if (place.end - place.start) as usize > plan.options.max_line {
            decoded.malformed.push((line, plan.too_long()));
            lose(plan, Session::Unknown, line, decoded);
            continue;
        }
        match found {
            Ok(found) => push(plan, text, decoded, found, line, place),
            Err(why) => unreadable(plan, place.of(text), why, decoded),
        }
    }
}

/// A line that is not JSON as it stands: an event all the same if nobody reads what is wrong with it.
#[cold]
fn spoiled(
    plan: &Plan,
    text: &mut String,
    place: Span,
    why: String,
    scanner: &mut Scanner<'_>,
    decoded: &mut Decoded,
) {
    let (start, end, line) = (place.start as usize, place.end as usize, decoded.lines - 1);
    let content = place.of(text);
    if content.len() > plan.options.max_line {
        decoded.malformed.push((line, plan.too_long()));
        return lose(plan, Session::Unknown, line, decoded);
    }
    if content.trim_ascii().is_empty() {
        return;
    }
    let salvaged = salvage(content, &plan.tree, plan.reads());
    text.replace_range(start..end, &salvaged.line);
    match scanner.line(text.as_bytes(), start) {
        Ok((fields, _)) => match plan.event(text, &fields) {
            Ok(found) => push(plan, text, decoded, found, line, place),
            Err(why) => unreadable(plan, place.of(text), why, decoded),
        },
        Err(_) => {
            let masked = place.of(text).as_bytes().contains(&NOT_UTF8);
            decoded
                .malformed
                .push((line, if masked { "not UTF-8 where it is read".to_owned() } else { why }));
            lose(plan, salvaged.session, line, decoded);
        }
    }
}

/// The line that was read last is JSON, and no event that could be judged.
#[cold]
fn unreadable(plan: &Plan, content: &str, why: String, decoded: &mut Decoded) {
    let line = decoded.lines - 1;
    let salvaged = salvage(content, &plan.tree, plan.reads());
    // Whoever makes events of other logs says so that one was lost.
    let is_made = plan.options.source.is_some() && content.ends_with("\"label\":[]}");
    decoded.malformed.push((line, if is_made { "what it says could not be read".to_owned() } else { why }));
    // A line that has nothing of an event is another line of the log.
    if salvaged.has_parts {
        lose(plan, salvaged.session, line, decoded);
    }
}

/// An event of `session` could not be read.
#[cold]
fn lose(plan: &Plan, session: Session, line: u32, decoded: &mut Decoded) {
    let nobody = Party::Stranger;
    let (channel, label) = (plan.monitor.channel(nobody, nobody), crate::names::UNKNOWN);
    let lost = |what, key| Found { what, key, from: nobody, channel, label, payload: Span::default() };
    match session {
        Session::Key(key) if key.len() > MAX_KEY => {}
        Session::Key(key) => {
            let key = event::Key::Text(key.into());
            push(plan, "", decoded, lost(What::Lost, key), line, Span::default());
        }
        Session::Unknown => {
            decoded.lost_anywhere.push(line);
            let key = event::Key::At(Span::default());
            let Found { what, from, payload, .. } = lost(What::LostAnywhere, key);
            for (shard, lane) in (0..).zip(&mut decoded.lanes) {
                let (key, place) = (Span::default(), Span::default());
                let (hash, key_is_unescaped) = (0, false);
                lane.push(Record {
                    hash,
                    key,
                    key_is_unescaped,
                    shard,
                    what,
                    from,
                    channel,
                    label,
                    payload,
                    line,
                    place,
                });
            }
        }
    }
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
        let (why, session) = if too_long {
            (plan.too_long(), Session::Unknown)
        } else {
            match columns.parts(row).map_err(str::to_owned) {
                // Every cell is read: what is not a part is a field.
                Ok(parts) if row.as_bytes().contains(&NOT_UTF8) => {
                    ("not UTF-8".to_owned(), session_of(&parts))
                }
                Ok(parts) => match plan.row(&parts, place) {
                    Ok(found) => {
                        push(plan, text, decoded, found, line, place);
                        continue;
                    }
                    Err(why) => (why, session_of(&parts)),
                },
                Err(why) => (why, Session::Unknown),
            }
        };
        decoded.malformed.push((line, why));
        lose(plan, session, line, decoded);
    }
}

/// Whose row it is.
pub(crate) fn session_of(parts: &csv::Parts<'_>) -> Session {
    let key = parts[crate::shape::Part::Session as usize].as_deref().unwrap_or_default();
    if key.as_bytes().contains(&NOT_UTF8) { Session::Unknown } else { Session::Key(key.to_owned()) }
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
    if plan.timed
        && let Some(time) = clock::mark(plan, decoded.chunk.columns.as_deref(), place.of(text))
        && decoded.times.last().is_none_or(|(_, latest)| *latest < time)
    {
        decoded.times.push((line, time));
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
    /// What is read of a line besides the parts of an event: with a flat payload, the fields that messages declare.
    fn reads(&self) -> Reads<'_> {
        Reads { members: &self.flat_fields, time: self.timed || self.options.reorder.is_some() }
    }

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
