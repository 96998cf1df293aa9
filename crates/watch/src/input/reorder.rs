//! Events in the order of their times, as far as a window allows.
//!
//! A line is held back until a line has been read whose time is later by more than the window; then it goes
//! on, the earliest first, equal times in the order of the input. A line that comes later than that goes on
//! at once, is counted, and not judged. Where events of several inputs may have come in any order that their times allow, the times go on with the
//! lines. Messages wait for a later message, never for the clock: which line goes on with which message is a function of the stream, so that whoever
//! reads it again gives the same. When nothing comes for a while, the clock takes the place of the latest line. A line without a time, or too long to be looked at, has that of the latest line before it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use referee_theory::time;

use super::line_ends::first;
use super::merge::UNKNOWN;
use super::{Chunk, LinesIn};
use crate::decode::csv::Columns;
use crate::decode::fields::{Fields, Scanner, scalar};
use crate::decode::salvage::{Reads, mask_invalid, salvage};
use crate::error::WatchError;
use crate::options::Options;
use crate::shape::{Part, Tree};

/// Lines in order of time.
pub(crate) struct Reorder {
    pub(crate) lines_in: LinesIn,
    tree: Tree,
    window: i64,
    newest: i64,
    released: i64,
    held: BinaryHeap<Reverse<Held>>,
    /// Lines that need not wait any longer.
    ready: VecDeque<Held>,
    taken: u64,
    /// The number of the next line of each source.
    lines: Vec<u64>,
    size: usize,
    max_line: usize,
    ended: bool,
    /// Whether what is held at the end is kept for whoever goes on.
    keeps: bool,
    /// The last message that was read, and the one being read.
    through: Option<u64>,
    message: u64,
    /// Whether the first line was seen, which must have a time; and where it is from.
    has_started: bool,
    first_input: Arc<str>,
    /// What says the time, after the lines that need not wait.
    quiet: Option<Chunk>,
    /// What stands for the rest of inputs that cannot be read.
    broken: Vec<Chunk>,
    /// Lines that came too late to be put in order.
    pub(crate) late: u64,
    /// How far clocks may differ, if times are handed on.
    skew: Option<i64>,
    /// Until when events may come before one that was given, by those times.
    open_until: i64,
    /// All events before this time have been given, or are too late.
    closed: i64,
    /// The time and the input of the last line that was given.
    last: (i64, usize),
    /// Lines that have the time of the one before, which is of another input, where no order but this one is looked at.
    pub(crate) ties: u64,
}

/// A line that waits. Ordered by time, then by input.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    time: i64,
    order: u64,
    source: usize,
    number: u64,
    resolution: i64,
    /// Whether it came when later lines had gone on.
    is_late: bool,
    /// The message with which it goes on.
    given_with: u64,
    /// With its line end; empty if it is too long.
    text: Box<[u8]>,
    columns: ByAddress,
}

/// Columns do not take part in the order.
struct ByAddress(Option<Arc<Columns>>);

impl PartialEq for ByAddress {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ByAddress {}

impl PartialOrd for ByAddress {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByAddress {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Held {
    /// Whether a quote is open at the end, as it may be at the end of a file: no row may be put behind it.
    fn is_open(&self) -> bool {
        self.columns.0.is_some() && memchr::memchr_iter(b'"', &self.text).count() % 2 == 1
    }
}

impl Reorder {
    pub(crate) fn new(
        lines_in: LinesIn,
        tree: Tree,
        window: Duration,
        files: &[Arc<str>],
        options: &Options,
    ) -> Self {
        let first_input = files.first().cloned().unwrap_or_else(|| "-".into());
        Self {
            lines_in,
            tree,
            window: i64::try_from(window.as_nanos()).unwrap_or(i64::MAX),
            newest: i64::MIN,
            released: i64::MIN,
            held: BinaryHeap::new(),
            ready: VecDeque::new(),
            taken: 0,
            lines: vec![0; files.len()],
            size: options.chunk,
            max_line: options.max_line,
            ended: false,
            keeps: options.checkpoint.is_some(),
            through: None,
            message: 0,
            has_started: false,
            first_input,
            quiet: None,
            broken: Vec::new(),
            late: 0,
            skew: options.skew.map(|skew| i64::try_from(skew.as_nanos()).unwrap_or(i64::MAX)),
            open_until: i64::MIN,
            closed: i64::MIN,
            last: (i64::MIN, 0),
            ties: 0,
        }
    }

    /// How many messages wait at the end for later ones.
    pub(crate) fn waiting(&self) -> u64 {
        if self.through.is_some() { self.held.len() as u64 } else { 0 }
    }

    /// The next chunk of lines that need not wait; `None` at the end.
    pub(crate) fn next(
        &mut self,
        mut buffer: Vec<u8>,
        count: &Arc<AtomicU64>,
    ) -> Result<Option<Chunk>, WatchError> {
        loop {
            if let Some(chunk) = self.release(&mut buffer) {
                return Ok(Some(chunk));
            }
            if let Some(chunk) = self.quiet.take() {
                return Ok(Some(chunk));
            }
            if self.ended {
                return Ok(self.broken.pop());
            }
            let chunk = self.lines_in.next(std::mem::take(&mut buffer), count)?;
            if let Some(chunk) = &chunk
                && let (Some(base), Some(next)) = (chunk.base, self.lines.get_mut(chunk.source))
            {
                *next = base;
            }
            match chunk {
                // Whoever goes on later puts what is held in order with what comes then.
                None if self.keeps || self.through.is_some() => return Ok(None),
                None => {
                    self.ended = true;
                    self.ready_before(i64::MAX);
                }
                // Part of an input is missing, which goes on behind it: what is held came before it.
                Some(chunk) if chunk.broken.is_some() && self.keeps => {
                    self.ready_before(i64::MAX);
                    self.quiet = Some(chunk);
                }
                // After all lines before it.
                Some(chunk) if chunk.broken.is_some() => {
                    self.broken.push(chunk);
                }
                Some(chunk) if chunk.now.is_some() => {
                    let due = chunk.now.unwrap_or(i64::MIN).saturating_sub(self.window);
                    self.ready_before(due);
                    let settled = due.min(self.open_until.saturating_add(1));
                    let is_later = self.skew.is_some() && settled > self.closed;
                    self.closed = if is_later { settled } else { self.closed };
                    self.quiet = Some(Chunk { settled: is_later.then_some(settled), ..chunk });
                }
                Some(chunk) if chunk.oversize => self.hold_line(&chunk, 0, None, Box::default()),
                Some(chunk) => {
                    self.hold(&chunk)?;
                    buffer = chunk.text;
                    self.through = chunk.through.or(self.through);
                    // Where nothing goes on, that is to be known as well.
                    if let (true, Some(through)) = (self.ready.is_empty(), chunk.through) {
                        buffer.clear();
                        let through = Some(through);
                        return Ok(Some(Chunk { text: buffer, through, ..Chunk::default() }));
                    }
                }
            }
        }
    }

    fn number(&mut self, source: usize) -> u64 {
        let Some(next) = self.lines.get_mut(source) else { return 0 };
        *next += 1;
        *next - 1
    }

    fn hold(&mut self, chunk: &Chunk) -> Result<(), WatchError> {
        for _ in 0..chunk.lines_before {
            self.number(chunk.source);
        }
        let mut at = chunk.body;
        let mut index = 0;
        let tree = self.tree.clone();
        let mut scanner = Scanner::new(&tree);
        while let Some(rest) = chunk.text.get(at..).filter(|rest| !rest.is_empty()) {
            let end = first(rest, chunk.columns.is_some());
            let line = rest.get(..end).unwrap_or_default();
            at += end;
            index += 1;
            let number = chunk.numbers.as_ref().and_then(|numbers| numbers.get(index - 1));
            self.message = number.copied().unwrap_or_default();
            if chunk.through.is_some() && line.trim_ascii().is_empty() {
                continue;
            }
            // A message is in memory anyway: who decodes it says that it is too long.
            let is_too_long = line.strip_suffix(b"\n").unwrap_or(line).len() > self.max_line;
            if is_too_long && chunk.through.is_none() {
                self.hold_line(chunk, index - 1, None, Box::default());
                continue;
            }
            let time = with_time(&mut scanner, chunk.columns.as_deref(), line, time::read_with_resolution);
            if !self.has_started && time == Some(None) {
                return Err(WatchError::NoTime(self.first_input.to_string()));
            }
            self.has_started |= time.is_some();
            let time = time.flatten();
            let mut text = line.to_vec();
            if text.last() != Some(&b'\n') {
                text.push(b'\n');
            }
            self.hold_line(chunk, index - 1, time, text.into());
        }
        Ok(())
    }

    /// Holds the line at `index` of the chunk.
    fn hold_line(&mut self, chunk: &Chunk, index: usize, time: Option<(i64, i64)>, text: Box<[u8]>) {
        let source = chunk.source_of(index);
        let counted = self.number(source);
        let given = chunk.numbers.as_ref().and_then(|numbers| numbers.get(index).copied());
        let (number, order) = (given.unwrap_or(counted), self.taken);
        let (time, resolution) = time.unwrap_or((self.newest, UNKNOWN));
        self.newest = self.newest.max(time);
        let is_late = time < self.released.max(self.closed);
        self.late += u64::from(is_late);
        let columns = ByAddress(chunk.columns.clone());
        let given_with = 0;
        self.held.push(Reverse(Held {
            time,
            order,
            source,
            number,
            resolution,
            is_late,
            given_with,
            text,
            columns,
        }));
        self.taken += 1;
        // Strictly before: a line exactly one window late is still in time. Decided after every line, so that it
        // does not matter how the input was cut.
        self.ready_before(self.newest.saturating_sub(self.window));
    }

    fn ready_before(&mut self, due: i64) {
        while self.held.peek().is_some_and(|Reverse(earliest)| earliest.time < due || self.ended) {
            let Some(Reverse(line)) = self.held.pop() else { break };
            self.released = self.released.max(line.time);
            if let Some(skew) = self.skew {
                let until = self.released.saturating_add(line.resolution).saturating_add(skew);
                self.open_until = self.open_until.max(until);
            }
            self.ready.push_back(Held { given_with: self.message, ..line });
        }
    }

    /// A chunk of lines that need not wait.
    fn release(&mut self, buffer: &mut Vec<u8>) -> Option<Chunk> {
        let first = self.ready.pop_front()?;
        let mut text = std::mem::take(buffer);
        text.clear();
        let (source, oversize) = (first.source, first.text.is_empty());
        let columns = first.columns.0.clone();
        let (mut numbers, mut late, mut sources, mut times) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let is_of_messages = self.through.is_some();
        let mut given_with = Vec::new();
        let mut next = Some(first);
        while let Some(line) = next {
            text.extend_from_slice(&line.text);
            late.extend(line.is_late.then_some(numbers.len() as u32));
            numbers.push(line.number);
            given_with.extend(is_of_messages.then_some(line.given_with));
            sources.push(line.source as u32);
            let place = (line.time.max(self.last.0), line.source);
            let (before, input) = std::mem::replace(&mut self.last, place);
            self.ties += u64::from(self.skew.is_none() && before == line.time && input != line.source);
            if self.skew.is_some() {
                times.push((self.last.0, line.resolution));
            }
            let is_full = oversize || line.is_open() || text.len() >= self.size;
            // What goes on with one message is told at once.
            let is_full = is_full && !is_of_messages;
            // The columns of one input are not those of another.
            let fits = |line: &Held| !line.text.is_empty() && (columns.is_none() || line.source == source);
            next = match self.ready.front() {
                Some(line) if !is_full && fits(line) => self.ready.pop_front(),
                _ => None,
            };
        }
        let times = (self.skew.is_some() && !oversize).then_some(times);
        let (numbers, sources) = (Some(numbers), Some(sources));
        let through = self.through;
        Some(Chunk {
            source,
            text,
            columns,
            oversize,
            numbers,
            sources,
            times,
            late,
            through,
            given_with,
            ..Chunk::default()
        })
    }
}

/// When the event in `line` was; `None` if the line cannot be read, nothing inside if it has no time.
pub(crate) fn time_of(
    scanner: &mut Scanner<'_>,
    columns: Option<&Columns>,
    line: &[u8],
) -> Option<Option<i64>> {
    with_time(scanner, columns, line, time::read)
}

/// What `read` makes of the time of the event in `line`; `None` if the line cannot be read, nothing inside if it has no time.
pub(crate) fn with_time<T>(
    scanner: &mut Scanner<'_>,
    columns: Option<&Columns>,
    line: &[u8],
    read: impl FnOnce(&str) -> Option<T>,
) -> Option<Option<T>> {
    if let Some(columns) = columns {
        return columns.time(line, read);
    }
    let Ok((fields, _)) = scanner.line(line, 0) else { return time_in_spoiled(scanner, line, read) };
    written_time(line, &fields, read)
}

/// What `read` makes of the time of the event whose parts were found in `text`; `None` if it cannot be read, nothing inside if it has no time.
pub(crate) fn written_time<T>(
    text: &[u8],
    fields: &Fields,
    read: impl FnOnce(&str) -> Option<T>,
) -> Option<Option<T>> {
    // The rest of the line need not be text.
    let span = fields.get(Part::Time);
    let raw = std::str::from_utf8(text.get(span.start as usize..span.end as usize)?).ok()?;
    let mut scratch = String::new();
    Some(scalar(raw, &mut scratch).ok().flatten().and_then(read))
}

/// The time of the event in `line`, as it is written.
pub(crate) fn time_text(scanner: &mut Scanner<'_>, columns: Option<&Columns>, line: &str) -> Option<String> {
    if let Some(columns) = columns {
        let mut parts = columns.parts(line).ok()?;
        return parts[Part::Time as usize].take().map(std::borrow::Cow::into_owned);
    }
    let (fields, _) = scanner.line(line.as_bytes(), 0).ok()?;
    let mut scratch = String::new();
    scalar(fields.get(Part::Time).of(line), &mut scratch).ok().flatten().map(str::to_owned)
}

/// The time of a line that is no JSON as it stands: perhaps nobody reads what is wrong with it.
#[cold]
fn time_in_spoiled<T>(
    scanner: &mut Scanner<'_>,
    line: &[u8],
    read: impl FnOnce(&str) -> Option<T>,
) -> Option<Option<T>> {
    let mut masked = line.strip_suffix(b"\n").unwrap_or(line).to_vec();
    mask_invalid(&mut masked);
    let nothing = BTreeSet::new();
    let reads = Reads { members: &nothing, time: true };
    let clean = salvage(std::str::from_utf8(&masked).ok()?, scanner.tree(), reads).line;
    let (fields, _) = scanner.line(clean.as_bytes(), 0).ok()?;
    let mut scratch = String::new();
    Some(scalar(fields.get(Part::Time).of(&clean), &mut scratch).ok().flatten().and_then(read))
}
