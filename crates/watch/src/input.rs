//! Where events are read from, cut into chunks of whole lines.
//!
//! Memory does not depend on the length of the input: a chunk is read when the pipeline has room for it.

pub(crate) mod compression;
pub(crate) mod extracting;
pub(crate) mod feed;
mod interrupt;
pub(crate) mod line_ends;
pub(crate) mod merge;
pub(crate) mod reorder;
mod rotated;
pub(crate) mod tail;

use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use self::feed::Feed;
use self::merge::{Merge, MergeMode};
use crate::checkpoint::{Checkpoint, Replay};
use crate::decode::csv::Columns;
use crate::decode::fields::Fields;
use crate::error::WatchError;
use crate::options::{EventReader, Options};

/// Something to read events from.
pub struct Input {
    /// As the user names it.
    pub(crate) name: Arc<str>,
    pub(crate) kind: InputKind,
    /// What makes events of it, where that is not what makes events of all inputs.
    pub(crate) reader: Option<Arc<dyn EventReader>>,
}

pub(crate) enum InputKind {
    File(PathBuf),
    /// A stream. It is `live` if what has come so far should not wait for more.
    Stream {
        reader: Box<dyn Read + Send>,
        live: bool,
    },
    /// Messages, each of which is an event.
    Messages(Box<dyn Messages>),
}

/// Where messages come from that are an event each.
pub trait Messages: Send {
    /// Waits for messages and appends them to `text`, each as one line, and the number of each to `numbers`. False
    /// when there will be no more.
    ///
    /// # Errors
    /// If they cannot be had.
    fn next(&mut self, text: &mut Vec<u8>, numbers: &mut Vec<u64>) -> io::Result<bool>;
}

impl Input {
    fn new(name: &str, kind: InputKind) -> Self {
        Self { name: name.into(), kind, reader: None }
    }

    /// The same, of whose lines `reader` makes events.
    #[must_use]
    pub fn read_by(self, reader: Arc<dyn EventReader>) -> Self {
        Self { reader: Some(reader), ..self }
    }

    /// The file at `path`, opened when its turn comes.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self::new(&path.display().to_string(), InputKind::File(path))
    }

    /// What `reader` gives, called `name`. Events are judged as they come.
    #[must_use]
    pub fn live(name: &str, reader: impl Read + Send + 'static) -> Self {
        Self::new(name, InputKind::Stream { reader: Box::new(reader), live: true })
    }

    /// The messages of a stream called `name`. Places are then the numbers of messages, not of lines.
    #[must_use]
    pub fn messages(name: &str, messages: impl Messages + 'static) -> Self {
        Self::new(name, InputKind::Messages(Box::new(messages)))
    }

    /// What `reader` gives, called `name`. Chunks are filled before events are judged.
    #[must_use]
    pub fn stream(name: &str, reader: impl Read + Send + 'static) -> Self {
        Self::new(name, InputKind::Stream { reader: Box::new(reader), live: false })
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The lines of all inputs, as they are read.
pub(crate) enum LinesIn {
    /// One input after the other, or, when following, whichever has something new.
    InTurn(Box<Feed>),
    /// By time.
    Merged(Box<Merge>),
    /// As they were read before, then as they are read, each kept before it is judged.
    Kept(Box<Kept>),
}

/// What is read with a checkpoint.
pub(crate) struct Kept {
    feed: Feed,
    checkpoint: Arc<Checkpoint>,
    is_replaying: bool,
}

impl Kept {
    fn next(&mut self, buffer: Vec<u8>, count: &Arc<AtomicU64>) -> Result<Option<Chunk>, WatchError> {
        let mut buffer = buffer;
        if self.is_replaying {
            match self.checkpoint.replay(buffer).map_err(WatchError::Checkpoint)? {
                Replay::Chunk(mut chunk, header) => {
                    chunk.columns = header.map(|header| self.feed.columns(&header)).transpose()?;
                    count.fetch_add(chunk.text.len() as u64, Ordering::Relaxed);
                    return Ok(Some(chunk));
                }
                Replay::End(unused) => buffer = unused,
            }
            self.is_replaying = false;
            self.feed.resume(&self.checkpoint);
        }
        let Some(chunk) = self.feed.next(buffer, count)? else { return Ok(None) };
        let position = self.feed.position(chunk.source);
        self.checkpoint.append(&chunk, position).map_err(WatchError::Checkpoint)?;
        Ok(Some(chunk))
    }
}

impl LinesIn {
    /// How many lines have the time of the one before, which is of another input.
    pub(crate) fn ties(&self) -> u64 {
        match self {
            Self::InTurn(_) | Self::Kept(_) => 0,
            Self::Merged(merge) => merge.ties,
        }
    }

    pub(crate) fn new(inputs: Vec<Input>, options: &Options) -> Self {
        let messages = |input: &Input| matches!(input.kind, InputKind::Messages(_));
        let alone = inputs.len() < 2 || inputs.iter().any(messages);
        if let Some(checkpoint) = &options.checkpoint {
            let (feed, checkpoint) = (Feed::new(inputs, options), Arc::clone(checkpoint));
            return Self::Kept(Box::new(Kept { feed, checkpoint, is_replaying: true }));
        }
        if alone && options.merge != MergeMode::Always || options.merge == MergeMode::Never {
            Self::InTurn(Box::new(Feed::new(inputs, options)))
        } else {
            Self::Merged(Box::new(Merge::new(inputs, options)))
        }
    }

    /// The next chunk, in `buffer`; `None` at the end.
    pub(crate) fn next(
        &mut self,
        buffer: Vec<u8>,
        count: &Arc<AtomicU64>,
    ) -> Result<Option<Chunk>, WatchError> {
        match self {
            Self::InTurn(feed) => feed.next(buffer, count),
            Self::Merged(merge) => merge.next(buffer, count),
            Self::Kept(kept) => kept.next(buffer, count),
        }
    }
}

/// Whole lines of one input, or of several that were merged.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// Which input, by its position.
    pub(crate) source: usize,
    pub(crate) text: Vec<u8>,
    /// Where the first event starts: after a byte-order mark or a header.
    pub(crate) body: usize,
    /// How many lines end before `body`.
    pub(crate) lines_before: u32,
    /// The columns, if it is CSV.
    pub(crate) columns: Option<Arc<Columns>>,
    /// Instead of lines, one that was too long.
    pub(crate) oversize: bool,
    /// After the lines, why the rest of the input cannot be read.
    pub(crate) broken: Option<String>,
    /// How many lines of the input come before it, where these are not all that were read.
    pub(crate) base: Option<u64>,
    /// The number of each line, where they are not consecutive.
    pub(crate) numbers: Option<Vec<u64>>,
    /// Of messages: the number of the last that has been read. All that it and those before it led to is here, or was given before.
    pub(crate) through: Option<u64>,
    /// The number of the message with which each line was given, if lines wait for later ones.
    pub(crate) given_with: Vec<u64>,
    /// Instead of lines: nothing is to be read, and it is this late.
    pub(crate) now: Option<i64>,
    /// After the lines: all events before this time have been read, and at [`i64::MAX`] all that have an order.
    pub(crate) settled: Option<i64>,
    /// Where inputs were merged by time and clocks may differ: when each line was, and for how long that may be.
    pub(crate) times: Option<Vec<(i64, i64)>>,
    /// The input of each line, where they are not all of one.
    pub(crate) sources: Option<Vec<u32>>,
    /// The lines that came too late to be put in the order of their times.
    pub(crate) late: Vec<u32>,
    /// What was found in each line when its time was looked for, if anybody goes on with that.
    pub(crate) scanned: Vec<Scanned>,
}

/// Where the parts of a line are, and where it ends, in a text in which it begins at `start`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanned {
    pub(crate) fields: Fields,
    pub(crate) start: u32,
    /// Without its line end; 0 of a line that could not be read.
    pub(crate) end: u32,
}

impl Scanned {
    /// A line that could not be read.
    pub(crate) const UNREAD: Self = Self { fields: Fields::NONE, start: 0, end: 0 };

    /// The parts, and the end of the line, where it begins at `at`.
    #[inline]
    pub(crate) fn at(&self, at: usize) -> Option<(Fields, usize)> {
        if self.end == 0 {
            return None;
        }
        let end = at + (self.end - self.start) as usize;
        // INVARIANT: chunks are shorter than 4 GiB.
        Some((self.fields.moved((at as u32).wrapping_sub(self.start)), end))
    }
}

/// Why a line is not judged that came too late to be put in order.
pub(crate) const TOO_LATE: &str = "too late to be judged: later events were judged before it came (--reorder); what its session says from here on is not certain";

impl Chunk {
    /// Which input the line at `index` is from.
    pub(crate) fn source_of(&self, index: usize) -> usize {
        let merged = self.sources.as_ref().and_then(|sources| sources.get(index));
        merged.map_or(self.source, |source| *source as usize)
    }

    /// Of messages: the number of that with which what is said of the line at `row` was found.
    pub(crate) fn found_with(&self, row: u32) -> Option<u64> {
        self.through?;
        let numbers = if self.given_with.is_empty() { self.numbers.as_deref()? } else { &self.given_with };
        numbers.get(row as usize).or(numbers.last()).copied()
    }

    /// Whether `line` came too late to be put in order.
    #[inline]
    pub(crate) fn is_late(&self, line: u32) -> bool {
        !self.late.is_empty() && self.late.binary_search(&line).is_ok()
    }

    /// Whether it stands for something that was not read.
    pub(crate) fn is_gap(&self) -> bool {
        self.oversize || self.broken.is_some()
    }
}

/// Counts the bytes that are read, for progress.
pub(crate) struct Counted<R> {
    pub(crate) inner: R,
    pub(crate) count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.count.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}
