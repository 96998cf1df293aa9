//! Several inputs as one, in the order of their times: a k-way merge that holds one chunk of each.
//!
//! Events of one input keep their order: one whose time lies before that of the event before it has that one's place, and
//! so has a line without a time. Of equal times the input that was named first comes first.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use referee_theory::time;

use super::feed::Feed;
use super::line_ends::first;
use super::reorder::with_time;
use super::{Chunk, Input};
use crate::decode::fields::Scanner;
use crate::error::WatchError;
use crate::options::Options;
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
const UNKNOWN: i64 = 1_000_000_000;

/// Inputs that are merged.
pub(crate) struct Merge {
    streams: Vec<Stream>,
    tree: Tree,
    size: usize,
    /// Chunks that stand for something that was not read, after what came before it.
    gap: Option<Chunk>,
    is_csv: bool,
    /// Whether clocks may differ, so that times are handed on.
    keeps_times: bool,
    by_time: bool,
    /// What was asked for, until the first lines are read.
    mode: Option<MergeMode>,
    /// The time and the input of the last line.
    last: (i64, usize),
    /// Lines that have the time of the one before, which is of another input, where no order but this one is looked at.
    pub(crate) ties: u64,
}

/// A line that waits for its turn: its time, for how long that may be, and where it is.
#[derive(Clone, Copy)]
struct MergedLine {
    time: i64,
    resolution: i64,
    start: usize,
    end: usize,
}

struct Stream {
    feed: Feed,
    name: String,
    chunk: Chunk,
    /// The lines of `chunk` that have not been given.
    lines: VecDeque<MergedLine>,
    /// The number of the next line.
    number: u64,
    /// How many lines of `chunk` have been given.
    given: usize,
    /// No line has an earlier place than this.
    latest: i64,
    /// Whether the first line that can be read has a time.
    is_timed: Option<bool>,
    /// A chunk without lines that is next.
    gap: Option<Chunk>,
    is_done: bool,
}

impl Merge {
    pub(crate) fn new(inputs: Vec<Input>, options: &Options) -> Self {
        let stream = |input: Input| Stream {
            name: input.name.to_string(),
            feed: Feed::new(vec![input], options),
            chunk: Chunk::default(),
            lines: VecDeque::new(),
            number: 0,
            given: 0,
            latest: i64::MIN,
            is_timed: None,
            gap: None,
            is_done: false,
        };
        Self {
            streams: inputs.into_iter().map(stream).collect(),
            tree: Tree::new(&options.shape),
            size: options.chunk.max(1),
            gap: None,
            is_csv: options.format == crate::options::EventsFormat::Csv,
            keeps_times: options.skew.is_some(),
            by_time: true,
            mode: Some(options.merge),
            last: (i64::MIN, 0),
            ties: 0,
        }
    }

    /// Reads the first lines of all inputs and decides whether they are merged.
    fn start(&mut self, mode: MergeMode, count: &Arc<AtomicU64>) -> Result<(), WatchError> {
        let tree = self.tree.clone();
        for (index, stream) in self.streams.iter_mut().enumerate() {
            stream.refill(index, &tree, self.keeps_times, count)?;
            if stream.is_timed != Some(false) {
                continue;
            }
            self.by_time = false;
            if mode == MergeMode::Always {
                return Err(WatchError::NoTime(stream.name.clone()));
            }
        }
        Ok(())
    }

    /// The next lines, in `buffer`; `None` at the end of all inputs.
    pub(crate) fn next(
        &mut self,
        mut buffer: Vec<u8>,
        count: &Arc<AtomicU64>,
    ) -> Result<Option<Chunk>, WatchError> {
        if let Some(mode) = self.mode.take() {
            self.start(mode, count)?;
        }
        if let Some(gap) = self.gap.take() {
            return Ok(Some(gap));
        }
        buffer.clear();
        let mut merged = Chunk { text: buffer, ..Chunk::default() };
        let (mut numbers, mut sources, mut times) = (Vec::new(), Vec::new(), Vec::new());
        let tree = self.tree.clone();
        while merged.text.len() < self.size {
            for (index, stream) in self.streams.iter_mut().enumerate() {
                stream.refill(index, &tree, self.keeps_times, count)?;
            }
            let Some((index, until)) = self.earliest() else { break };
            let Some(stream) = self.streams.get_mut(index) else { break };
            if stream.lines.is_empty() {
                // What could not be read has the place of the line before it.
                let number = stream.number;
                stream.number += 1;
                let gap = stream.gap.take().map(|gap| Chunk { numbers: Some(vec![number]), ..gap });
                if numbers.is_empty() {
                    return Ok(gap);
                }
                self.gap = gap;
                break;
            }
            // The columns of one input are not those of another.
            if self.is_csv && sources.first().is_some_and(|source| *source != index as u32) {
                break;
            }
            if self.is_csv {
                merged.columns.clone_from(&stream.chunk.columns);
            }
            while let Some(&MergedLine { time, resolution, start, end }) = stream.lines.front() {
                if time > until || merged.text.len() >= self.size {
                    break;
                }
                stream.lines.pop_front();
                let (before, other) = std::mem::replace(&mut self.last, (time, index));
                let counts = self.by_time && !self.keeps_times;
                self.ties += u64::from(counts && before == time && other != index && time > i64::MIN);
                merged.text.extend_from_slice(stream.chunk.text.get(start..end).unwrap_or_default());
                if merged.text.last() != Some(&b'\n') {
                    merged.text.push(b'\n');
                }
                numbers.push(stream.next_number());
                sources.push(index as u32);
                if self.keeps_times {
                    times.push((time, resolution));
                }
            }
        }
        if numbers.is_empty() {
            return Ok(None);
        }
        merged.source = sources.first().map_or(0, |source| *source as usize);
        merged.times = (self.keeps_times && self.by_time).then_some(times);
        (merged.numbers, merged.sources) = (Some(numbers), Some(sources));
        Ok(Some(merged))
    }

    /// The input whose next line is the earliest, and the time up to which it may go on.
    fn earliest(&self) -> Option<(usize, i64)> {
        let heads = self.streams.iter().enumerate().filter(|(_, stream)| stream.has_next());
        let head = |stream: &Stream| stream.lines.front().map_or(stream.latest, |line| line.time);
        if !self.by_time {
            return heads.map(|(index, _)| (index, i64::MAX)).next();
        }
        let mut best: Option<(i64, usize)> = None;
        let mut second = best;
        for (index, stream) in heads {
            let candidate = Some((head(stream), index));
            if best.is_none() || candidate < best {
                (best, second) = (candidate, best);
            } else if second.is_none() || candidate < second {
                second = candidate;
            }
        }
        let (_, index) = best?;
        // Of equal times the input that was named first comes first.
        let until = second
            .map_or(i64::MAX, |(time, other)| if index < other { time } else { time.saturating_sub(1) });
        Some((index, until))
    }
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

    fn has_next(&self) -> bool {
        !self.lines.is_empty() || self.gap.is_some()
    }

    /// Reads on if there is no line left.
    fn refill(
        &mut self,
        index: usize,
        tree: &Tree,
        keeps_times: bool,
        count: &Arc<AtomicU64>,
    ) -> Result<(), WatchError> {
        while !self.is_done && !self.has_next() {
            let buffer = std::mem::take(&mut self.chunk.text);
            let Some(chunk) = self.feed.next(buffer, count)? else {
                self.is_done = true;
                return Ok(());
            };
            let chunk = Chunk { source: index, ..chunk };
            if chunk.is_gap() {
                self.gap = Some(chunk);
                return Ok(());
            }
            self.number += u64::from(chunk.lines_before);
            self.cut(&chunk, tree, keeps_times);
            (self.chunk, self.given) = (chunk, 0);
        }
        Ok(())
    }

    fn cut(&mut self, chunk: &Chunk, tree: &Tree, keeps_times: bool) {
        let mut scanner = Scanner::new(tree);
        let mut at = chunk.body;
        while let Some(rest) = chunk.text.get(at..).filter(|rest| !rest.is_empty()) {
            let length = first(rest, chunk.columns.is_some());
            let line = rest.get(..length).unwrap_or_default();
            let read =
                |text: &str| Some((time::read(text)?, if keeps_times { time::resolution(text) } else { 1 }));
            let time = with_time(&mut scanner, chunk.columns.as_deref(), line, read);
            self.is_timed = self.is_timed.or(time.map(|time| time.is_some()));
            // A line without a time has the place of the line before it.
            let (time, resolution) = time.flatten().unwrap_or((self.latest, UNKNOWN));
            self.latest = self.latest.max(time);
            let (start, end) = (at, at + length);
            self.lines.push_back(MergedLine { time: self.latest, resolution, start, end });
            at += length;
        }
    }
}
