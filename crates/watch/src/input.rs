//! Where events are read from, cut into chunks of whole lines.
//!
//! Memory does not depend on the length of the input: a chunk is read when the pipeline has room for it.

pub(crate) mod compression;
pub(crate) mod feed;
pub(crate) mod line_ends;
pub(crate) mod reorder;
pub(crate) mod tail;
pub(crate) mod time;

use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::decode::csv::Columns;

/// Something to read events from.
pub struct Input {
    /// As the user names it.
    pub(crate) name: Arc<str>,
    pub(crate) kind: InputKind,
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
    /// The file at `path`, opened when its turn comes.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { name: path.display().to_string().into(), kind: InputKind::File(path) }
    }

    /// What `reader` gives, called `name`. Events are judged as they come.
    #[must_use]
    pub fn live(name: &str, reader: impl Read + Send + 'static) -> Self {
        Self { name: name.into(), kind: InputKind::Stream { reader: Box::new(reader), live: true } }
    }

    /// The messages of a stream called `name`. Places are then the numbers of messages, not of lines.
    #[must_use]
    pub fn messages(name: &str, messages: impl Messages + 'static) -> Self {
        Self { name: name.into(), kind: InputKind::Messages(Box::new(messages)) }
    }

    /// What `reader` gives, called `name`. Chunks are filled before events are judged.
    #[must_use]
    pub fn stream(name: &str, reader: impl Read + Send + 'static) -> Self {
        Self { name: name.into(), kind: InputKind::Stream { reader: Box::new(reader), live: false } }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whole lines of one input.
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
    /// The number of each line, where they are not consecutive.
    pub(crate) numbers: Option<Vec<u64>>,
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
