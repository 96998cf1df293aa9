//! Several inputs as one, in the order of their times: a k-way merge that holds one chunk of each.
//!
//! Events of one input keep their order: one whose time lies before that of the event before it has that one's place, and
//! so has a line without a time. Of equal times the input that was named first comes first. Each line is scanned once: what was found
//! when its time was looked for goes on with it.
//!
//! Inputs that are followed are merged as well. One that has nothing new holds the others back, but not longer than a line may be written after its
//! time (`--reorder`): after that, what it still gives of an earlier time is too late.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use referee_theory::time;

use super::feed::{Feed, POLL, Polled, clock};
use super::line_ends::first;
use super::reorder::{with_time, written_time};
use super::{Chunk, Input, Scanned};
use crate::decode::csv::Columns;
use crate::decode::fields::Scanner;
use crate::error::WatchError;
use crate::options::{EventsFormat, Options};
use crate::shape::Tree;

/// Whether several inputs are merged by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeMode {
    /// If the first event of every input has a time.
    #[default]
    IfTimed,
    /// Always: a first event without a time is an error.
    Always,
    /// Never: one input after the other.
    Never,
}

/// How exact the place of a line without a time is, in nanoseconds.
pub(crate) const UNKNOWN: i64 = 1_000_000_000;

/// Inputs that are merged.
pub(crate) struct Merge {
    streams: Vec<Stream>,
    /// The time of the next line of each stream that has one, or, where times do not matter, always the same.
    heads: BinaryHeap<Reverse<(i64, usize)>>,
    tree: Tree,
    size: usize,
    /// How many lines the last chunk had.
    expected: usize,
    /// Chunks that stand for something that was not read, after what came before it.
    gap: Option<Chunk>,
    is_csv: bool,
    /// Whether clocks may differ, so that times are handed on.
    keeps_times: bool,
    /// Whether what was found in a line is handed on.
    keeps_scans: bool,
    by_time: bool,
    mode: MergeMode,
    /// Whether the first lines have been read.
    has_started: bool,
    /// The time and the input of the last line.
    last: (i64, usize),
    following: Option<Following>,
    /// Lines that have the time of the one before, which is of another input, where no order but this one is looked at.
    pub(crate) ties: u64,
}

/// What is kept of inputs that are followed.
struct Following {
    /// How much later than its time a line may be written.
    delay: i64,
    skew: i64,
    /// Until when events may come before one that was given.
    open_until: i64,
    /// Lines of an earlier time are too late.
    closed: i64,
    /// Whether it has been said what time it is since something came or was waited for.
    is_told: bool,
    /// What comes before the next lines.
    quiet: Option<Chunk>,
}

/// How much later than its time a line may be written, where `--reorder` does not say.
const DELAY: i64 = 1_000_000_000;

impl Following {
    fn new(options: &Options) -> Self {
        let nanoseconds =
            |duration: std::time::Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        Self {
            delay: options.reorder.map_or(DELAY, nanoseconds),
            skew: options.skew.map_or(0, nanoseconds),
            open_until: i64::MIN,
            closed: i64::MIN,
            is_told: false,
            quiet: None,
        }
    }

    /// The place of a line, which is later than its time if it is too late; `last` is that of the line before.
    fn place(&mut self, line: &MergedLine, last: i64) -> i64 {
        let place = line.time.max(self.closed).max(last);
        let until = place.saturating_add(line.resolution).saturating_add(self.skew);
        self.open_until = self.open_until.max(until);
        place
    }
}

/// A line that waits for its turn: its time, for how long that may be, and where it is.
#[derive(Clone, Copy)]
struct MergedLine {
    time: i64,
    resolution: i64,
    start: usize,
    end: usize,
    scanned: Scanned,
}

struct Stream {
    feed: Feed,
    name: String,
    chunk: Chunk,
    lines: Vec<MergedLine>,
    /// How many of `lines` have been given.
    given: usize,
    /// The number of the next line.
    number: u64,
    /// No line has an earlier place than this.
    latest: i64,
    /// Whether the first line that can be read has a time.
    is_timed: Option<bool>,
    /// A chunk without lines that is next.
    gap: Option<Chunk>,
    /// When it was found to have nothing new, if it is followed.
    idle_at: Option<i64>,
    is_done: bool,
}

impl Merge {
    pub(crate) fn new(inputs: Vec<Input>, options: &Options) -> Self {
        // None of several may make the others wait.
        let impatient = Options { clock: true, ..options.clone() };
        let stream = |input: Input| Stream {
            name: input.name.to_string(),
            feed: Feed::new(vec![input], if options.follow { &impatient } else { options }),
            chunk: Chunk::default(),
            lines: Vec::new(),
            number: 0,
            given: 0,
            latest: i64::MIN,
            is_timed: None,
            gap: None,
            idle_at: None,
            is_done: false,
        };
        Self {
            streams: inputs.into_iter().map(stream).collect(),
            heads: BinaryHeap::new(),
            tree: Tree::new(&options.shape),
            size: options.chunk.max(1),
            expected: 0,
            gap: None,
            is_csv: options.format == EventsFormat::Csv,
            keeps_times: options.skew.is_some(),
            // Properties look for more parts.
            keeps_scans: options.messages && options.format == EventsFormat::JsonLines,
            by_time: true,
            mode: options.merge,
            has_started: false,
            last: (i64::MIN, 0),
            following: options.follow.then(|| Following::new(options)),
            ties: 0,
        }
    }

    /// Reads the first lines of all inputs and decides whether they are merged.
    fn start(&mut self, count: &Arc<AtomicU64>) -> Result<(), WatchError> {
        for index in 0..self.streams.len() {
            self.refill(index, count)?;
        }
        self.decide()
    }

    /// Whether inputs are merged, by their first lines.
    fn decide(&mut self) -> Result<(), WatchError> {
        let untimed = self.streams.iter().find(|stream| stream.is_timed == Some(false));
        if let Some(stream) = untimed.filter(|_| self.by_time) {
            self.by_time = false;
            if self.mode == MergeMode::Always {
                return Err(WatchError::NoTime(stream.name.clone()));
            }
            if let Some(following) = &mut self.following {
                // What was given so far had an order.
                following.quiet = Some(Chunk { settled: Some(i64::MAX), ..Chunk::default() });
            }
        }
        let heads = self.streams.iter().enumerate();
        let heads = heads.filter_map(|(index, stream)| Some(Reverse((stream.head(self.by_time)?, index))));
        self.heads = heads.collect();
        Ok(())
    }

    /// Reads on where no line is left.
    fn refill(&mut self, index: usize, count: &Arc<AtomicU64>) -> Result<(), WatchError> {
        match self.streams.get_mut(index) {
            Some(stream) => stream.refill(index, &self.tree, self.following.is_some(), count),
            None => Ok(()),
        }
    }

    /// The next lines, in `buffer`; `None` at the end of all inputs.
    pub(crate) fn next(
        &mut self,
        mut buffer: Vec<u8>,
        count: &Arc<AtomicU64>,
    ) -> Result<Option<Chunk>, WatchError> {
        if !std::mem::replace(&mut self.has_started, true) {
            self.start(count)?;
        }
        if let Some(gap) = self.gap.take() {
            return Ok(Some(gap));
        }
        loop {
            if let Some(quiet) = self.following.as_mut().and_then(|following| following.quiet.take()) {
                return Ok(Some(quiet));
            }
            buffer = match self.take(buffer, count)? {
                Taken::Lines(chunk) => return Ok(Some(chunk)),
                Taken::Nothing(unused) => unused,
            };
            if self.streams.iter().all(|stream| stream.is_done && stream.head(true).is_none()) {
                return Ok(None);
            }
            if let Some(chunk) = self.wait(count)? {
                return Ok(Some(chunk));
            }
        }
    }

    /// The lines that need not wait for an input that has nothing new.
    fn take(&mut self, buffer: Vec<u8>, count: &Arc<AtomicU64>) -> Result<Taken, WatchError> {
        let mut lines = Collected::new(buffer, self.expected);
        let (by_time, mut due) = (self.by_time, self.due());
        while lines.text.len() < self.size {
            let Some(mut head) = self.heads.peek_mut() else { break };
            let Reverse((place, index)) = *head;
            if place >= due && by_time {
                break;
            }
            let Some(stream) = self.streams.get_mut(index) else { break };
            if let Some(line) = stream.lines.get(stream.given).copied() {
                // The columns of one input are not those of another.
                if self.is_csv && lines.sources.first().is_some_and(|source| *source != index as u32) {
                    break;
                }
                let place = match self.following.as_mut().filter(|_| by_time) {
                    Some(following) => following.place(&line, self.last.0),
                    None => line.time,
                };
                lines.late.extend((place > line.time).then_some(lines.numbers.len() as u32));
                let (before, other) = std::mem::replace(&mut self.last, (place, index));
                let counts = by_time && !self.keeps_times;
                self.ties += u64::from(counts && before == place && other != index && place > i64::MIN);
                lines.push(stream, &line, index, self.keeps_times.then_some(place), self.keeps_scans);
            } else {
                // What could not be read has the place of the line before it.
                let number = stream.number;
                stream.number += 1;
                self.gap = stream.gap.take().map(|gap| Chunk { numbers: Some(vec![number]), ..gap });
            }
            let is_undecided = stream.is_timed.is_none();
            stream.refill(index, &self.tree, self.following.is_some(), count)?;
            match stream.head(by_time) {
                Some(time) => {
                    *head = Reverse((time, index));
                    drop(head);
                }
                None => {
                    PeekMut::pop(head);
                    due = self.due();
                }
            }
            if self.gap.is_some() {
                break;
            }
            if is_undecided && self.following.is_some() {
                self.decide()?;
                break;
            }
        }
        if lines.numbers.is_empty() {
            return Ok(self.gap.take().map_or(Taken::Nothing(lines.text), Taken::Lines));
        }
        self.expected = lines.numbers.len();
        Ok(Taken::Lines(lines.into_chunk(self.keeps_times && by_time)))
    }

    /// Lines of an earlier time need not wait any longer.
    fn due(&self) -> i64 {
        let Some(following) = &self.following else { return i64::MAX };
        let idle = self.streams.iter().filter(|stream| !stream.is_done && stream.head(true).is_none());
        idle.map(|stream| stream.idle_at.unwrap_or(i64::MIN).saturating_sub(following.delay))
            .min()
            .unwrap_or(i64::MAX)
    }

    /// Looks whether inputs that had nothing have something now. If none has, what time it is, or a while later nothing.
    fn wait(&mut self, count: &Arc<AtomicU64>) -> Result<Option<Chunk>, WatchError> {
        // Before the inputs are looked at: what they hold then is all that was written by now.
        let now = clock().unwrap_or(i64::MIN);
        let before = self.due();
        let mut is_news = false;
        for index in 0..self.streams.len() {
            let is_idle = |stream: &Stream| !stream.is_done && stream.head(true).is_none();
            if self.streams.get(index).is_some_and(is_idle) {
                self.refill(index, count)?;
                is_news |= self.streams.get(index).is_some_and(|stream| !is_idle(stream));
            }
        }
        self.decide()?;
        let due = self.due();
        let can_go_on = self.heads.peek().is_some_and(|Reverse((time, _))| *time < due || !self.by_time);
        let Some(following) = self.following.as_mut().filter(|_| !is_news && !can_go_on && before < i64::MAX)
        else {
            return Ok(None);
        };
        if std::mem::replace(&mut following.is_told, true) {
            following.is_told = false;
            std::thread::sleep(POLL);
            return Ok(None);
        }
        let settled = now.saturating_sub(following.delay).min(following.open_until.saturating_add(1));
        let is_later = settled > following.closed && self.by_time;
        following.closed = if is_later { settled } else { following.closed };
        Ok(Some(Chunk { now: Some(now), settled: is_later.then_some(settled), ..Chunk::default() }))
    }
}

/// Lines in the order of their times.
struct Collected {
    text: Vec<u8>,
    numbers: Vec<u64>,
    sources: Vec<u32>,
    times: Vec<(i64, i64)>,
    scanned: Vec<Scanned>,
    late: Vec<u32>,
    columns: Option<Arc<Columns>>,
}

impl Collected {
    fn new(mut text: Vec<u8>, expected: usize) -> Self {
        text.clear();
        Self {
            text,
            numbers: Vec::with_capacity(expected),
            sources: Vec::with_capacity(expected),
            times: Vec::new(),
            scanned: Vec::new(),
            late: Vec::new(),
            columns: None,
        }
    }

    /// Adds the next line of `stream`, with its time and what was found in it if these are asked for.
    #[inline]
    fn push(
        &mut self,
        stream: &mut Stream,
        line: &MergedLine,
        index: usize,
        time: Option<i64>,
        keeps_scan: bool,
    ) {
        if self.numbers.is_empty() {
            self.columns.clone_from(&stream.chunk.columns);
            let expected = self.numbers.capacity();
            self.times.reserve(if time.is_some() { expected } else { 0 });
            self.scanned.reserve(if keeps_scan { expected } else { 0 });
        }
        self.text.extend_from_slice(stream.chunk.text.get(line.start..line.end).unwrap_or_default());
        if self.text.last() != Some(&b'\n') {
            self.text.push(b'\n');
        }
        self.numbers.push(stream.next_number());
        self.sources.push(index as u32);
        self.times.extend(time.map(|time| (time, line.resolution)));
        self.scanned.extend(keeps_scan.then_some(line.scanned));
    }

    fn into_chunk(self, has_times: bool) -> Chunk {
        let Self { text, numbers, sources, times, scanned, late, columns } = self;
        let source = sources.first().map_or(0, |source| *source as usize);
        let times = has_times.then_some(times);
        let (numbers, sources) = (Some(numbers), Some(sources));
        Chunk { source, text, columns, numbers, sources, times, scanned, late, ..Chunk::default() }
    }
}

/// What came of looking for lines.
#[expect(clippy::large_enum_variant, reason = "nearly all are lines")]
enum Taken {
    Lines(Chunk),
    /// All have to wait; the buffer.
    Nothing(Vec<u8>),
}

impl Stream {
    /// The number of the line that is given next.
    fn next_number(&mut self) -> u64 {
        let numbers = self.chunk.numbers.as_ref();
        let number = numbers.and_then(|numbers| numbers.get(self.given)).copied().unwrap_or(self.number);
        self.given += 1;
        self.number = number + 1;
        number
    }

    /// The time of what is next, if anything is; always the same where times do not matter.
    fn head(&self, by_time: bool) -> Option<i64> {
        let next = self.lines.get(self.given).map(|line| line.time);
        let next = next.or(self.gap.as_ref().map(|_| self.latest));
        next.map(|time| if by_time { time } else { 0 })
    }

    /// Reads on if there is no line left.
    fn refill(
        &mut self,
        index: usize,
        tree: &Tree,
        is_followed: bool,
        count: &Arc<AtomicU64>,
    ) -> Result<(), WatchError> {
        while !self.is_done && self.given == self.lines.len() && self.gap.is_none() {
            let buffer = std::mem::take(&mut self.chunk.text);
            let polled = match is_followed {
                true => {
                    // Before it is looked at: what it holds then is all that was written by now.
                    self.idle_at = clock();
                    self.feed.poll(buffer, count)?
                }
                false => self.feed.next(buffer, count)?.map_or(Polled::End, Polled::Chunk),
            };
            let chunk = match polled {
                Polled::Chunk(chunk) => Chunk { source: index, ..chunk },
                Polled::Idle(unused) => {
                    self.chunk.text = unused;
                    return Ok(());
                }
                Polled::End => {
                    self.is_done = true;
                    return Ok(());
                }
            };
            self.number = chunk.base.unwrap_or(self.number);
            if chunk.is_gap() {
                self.gap = Some(chunk);
                return Ok(());
            }
            self.number += u64::from(chunk.lines_before);
            self.cut(&chunk, tree);
            self.chunk = chunk;
        }
        Ok(())
    }

    fn cut(&mut self, chunk: &Chunk, tree: &Tree) {
        let mut scanner = Scanner::new(tree);
        let read = |text: &str| time::read_with_resolution(text);
        self.given = 0;
        self.lines.clear();
        let mut start = chunk.body;
        while start < chunk.text.len() {
            let scan = match chunk.columns {
                Some(_) => None,
                None => scanner.line(&chunk.text, start).ok(),
            };
            let (time, end, scanned) = match scan {
                Some((fields, end)) => {
                    let scanned = Scanned { fields, start: start as u32, end: end as u32 };
                    (written_time(&chunk.text, &fields, read), end + 1, scanned)
                }
                None => {
                    let rest = chunk.text.get(start..).unwrap_or_default();
                    let length = first(rest, chunk.columns.is_some());
                    let line = rest.get(..length).unwrap_or_default();
                    let time = with_time(&mut scanner, chunk.columns.as_deref(), line, read);
                    (time, start + length, Scanned::UNREAD)
                }
            };
            let end = end.min(chunk.text.len());
            self.is_timed = self.is_timed.or(time.map(|time| time.is_some()));
            // A line without a time has the place of the line before it.
            let (time, resolution) = time.flatten().unwrap_or((self.latest, UNKNOWN));
            self.latest = self.latest.max(time);
            self.lines.push(MergedLine { time: self.latest, resolution, start, end, scanned });
            start = end;
        }
    }
}
