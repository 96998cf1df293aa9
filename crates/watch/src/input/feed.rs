//! The chunks of all inputs: one input after the other, or, when following, whichever has something new.

use std::io::{self, Read as _};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::extracting::{EventBatch, Extracting, Fill};
use super::interrupt::Interruptible;
use super::line_ends::{self, LineEnds};
use super::tail::Tail;
use super::{Chunk, Counted, Input, InputKind, Messages, compression};
use crate::checkpoint::{Checkpoint, Position};
use crate::decode::csv::Columns;
use crate::error::WatchError;
use crate::options::{EventReader, EventsFormat, Options};

/// How long to wait before looking again whether a followed file has grown.
pub(crate) const POLL: Duration = Duration::from_millis(100);
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Cuts inputs into chunks.
pub(crate) struct Feed {
    sources: Vec<Source>,
    size: usize,
    max_line: usize,
    csv: bool,
    /// Whether events are messages of a protocol.
    messages: bool,
    shape: crate::shape::Shape,
    follow: bool,
    /// Whether somebody wants to know what time it is while nothing comes.
    clock: bool,
    /// Whether it has been said since something came or was waited for.
    told: bool,
    stop: Arc<AtomicBool>,
    /// The columns of a header that was read before.
    known: Option<Arc<Columns>>,
}

struct Source {
    name: Arc<str>,
    state: State,
    /// The start of a line whose end has not been read.
    carry: Vec<u8>,
    /// The line that we are in, if it is too long.
    discarding: Option<LineEnds>,
    started: bool,
    columns: Option<Arc<Columns>>,
    /// Why the rest of it cannot be read.
    broken: Option<String>,
    /// What makes events of its bytes, where they are no events as they stand; and when that has begun.
    reader: Option<Arc<dyn EventReader>>,
    extracting: Option<Extracting>,
    /// How many lines of a file that is followed were given.
    lines: u64,
    /// Where it goes on, if it was read before.
    resume: Option<Position>,
    /// How a log begins that goes on, and how many of its records were read.
    beginning: Option<(Vec<u8>, u64)>,
}

enum State {
    Waiting(InputKind),
    Open { reader: Reader, live: bool, compressed: bool },
    Messages(Box<dyn Messages>),
    Done,
}

enum Reader {
    Stream(Box<dyn io::Read + Send>),
    /// A file that is followed.
    Tail(Box<Tail>),
}

impl Reader {
    /// Whether it gives more when it has given nothing.
    fn grows(&self) -> bool {
        matches!(self, Self::Tail(tail) if !tail.is_at_boundary())
    }
}

impl io::Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stream(reader) => reader.read(buffer),
            Self::Tail(tail) => tail.read(buffer),
        }
    }
}

/// What came of reading a source.
#[expect(clippy::large_enum_variant, reason = "nearly all are chunks")]
enum Filled {
    Chunk(Chunk),
    /// Nothing for now; what was to be filled.
    Idle(Vec<u8>),
}

/// What came of looking at an input that is followed.
#[expect(clippy::large_enum_variant, reason = "what is short is rare")]
pub(crate) enum Polled {
    Chunk(Chunk),
    /// Nothing for now; the buffer.
    Idle(Vec<u8>),
    End,
}

impl Feed {
    pub(crate) fn new(inputs: Vec<Input>, options: &Options) -> Self {
        let source = |input: Input| Source {
            name: input.name,
            state: State::Waiting(input.kind),
            carry: Vec::new(),
            discarding: None,
            started: false,
            columns: None,
            broken: None,
            reader: input.reader.or_else(|| options.source.clone()),
            extracting: None,
            lines: 0,
            resume: None,
            beginning: None,
        };
        Self {
            sources: inputs.into_iter().map(source).collect(),
            size: options.chunk.max(1),
            max_line: options.max_line,
            csv: options.format == EventsFormat::Csv,
            messages: options.messages,
            shape: options.shape.clone(),
            follow: options.follow,
            clock: options.follow && options.clock,
            told: false,
            stop: Arc::clone(&options.stop),
            known: None,
        }
    }

    /// The next chunk, in `buffer`; `None` at the end of all inputs.
    pub(crate) fn next(
        &mut self,
        mut buffer: Vec<u8>,
        count: &Arc<AtomicU64>,
    ) -> Result<Option<Chunk>, WatchError> {
        loop {
            // Before the inputs are looked at: what they hold then is all that was written by now.
            let now = if self.clock { clock() } else { None };
            let mut done = true;
            for index in 0..self.sources.len() {
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                if matches!(self.sources[index].state, State::Done) {
                    continue;
                }
                match self.fill(index, buffer, count) {
                    Ok(Filled::Chunk(chunk)) => {
                        self.told = false;
                        return Ok(Some(chunk));
                    }
                    Ok(Filled::Idle(unused)) => buffer = unused,
                    Err(error) => {
                        let name = self.sources[index].name.to_string();
                        return Err(WatchError::Read { name, error });
                    }
                }
                done &= matches!(self.sources[index].state, State::Done);
                if !self.follow && !done {
                    break;
                }
            }
            if done {
                return Ok(None);
            }
            if now.is_some() && !mem::replace(&mut self.told, true) {
                buffer.clear();
                return Ok(Some(Chunk { text: buffer, now, ..Chunk::default() }));
            }
            if self.follow {
                std::thread::sleep(POLL);
                self.told = false;
            }
        }
    }

    /// The next chunk of the only input, in `buffer`, without waiting for what is not there.
    pub(crate) fn poll(&mut self, buffer: Vec<u8>, count: &Arc<AtomicU64>) -> Result<Polled, WatchError> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(Polled::End);
        }
        match self.fill(0, buffer, count) {
            Ok(Filled::Chunk(chunk)) => Ok(Polled::Chunk(chunk)),
            Ok(Filled::Idle(_)) if matches!(self.sources[0].state, State::Done) => Ok(Polled::End),
            Ok(Filled::Idle(unused)) => Ok(Polled::Idle(unused)),
            Err(error) => Err(WatchError::Read { name: self.sources[0].name.to_string(), error }),
        }
    }

    /// Goes on where `checkpoint` says.
    pub(crate) fn resume(&mut self, checkpoint: &Checkpoint) {
        for (index, source) in self.sources.iter_mut().enumerate() {
            source.resume = checkpoint.position(index);
        }
    }

    /// Where the input at `index` goes on behind what was given of it.
    pub(crate) fn position(&self, index: usize) -> Position {
        let Some(source) = self.sources.get(index) else { return Position::default() };
        let (file, read) = match &source.state {
            State::Open { reader: Reader::Tail(tail), .. } => tail.position(),
            _ => return source.resume.clone().unwrap_or_default(),
        };
        let (pending, lines) = match &source.extracting {
            Some(extracting) => extracting.position(),
            None => (source.carry.len() as u64, source.lines),
        };
        let header = source.columns.as_ref().map(|columns| Arc::clone(&columns.header));
        Position { file, offset: read.saturating_sub(pending), lines, header }
    }

    /// The columns that `header` names.
    pub(crate) fn columns(&mut self, header: &Arc<[u8]>) -> Result<Arc<Columns>, WatchError> {
        if let Some(known) = self.known.as_ref().filter(|known| known.header == *header) {
            return Ok(Arc::clone(known));
        }
        let parsed = Columns::parse(header, &self.shape, self.messages)
            .map_err(|why| WatchError::Checkpoint(io::Error::new(io::ErrorKind::InvalidData, why)))?;
        Ok(Arc::clone(self.known.insert(Arc::new(parsed))))
    }

    fn fill(&mut self, index: usize, mut buffer: Vec<u8>, count: &Arc<AtomicU64>) -> io::Result<Filled> {
        let follow = self.follow;
        let source = &mut self.sources[index];
        if let Some(broken) = source.broken.take() {
            source.state = State::Done;
            buffer.clear();
            let (broken, columns) = (Some(broken), source.columns.clone());
            return Ok(Filled::Chunk(Chunk {
                source: index,
                text: buffer,
                broken,
                columns,
                ..Chunk::default()
            }));
        }
        let (shape, messages) = (&self.shape, self.messages);
        let columns = |header: &[u8]| Columns::parse(header, shape, messages);
        source.open(follow, self.clock, &self.stop, count, columns)?;
        if let Some(why) = source.gap() {
            buffer.clear();
            let (broken, base) = (Some(why), Some(source.lines));
            return Ok(Filled::Chunk(Chunk {
                source: index,
                text: buffer,
                broken,
                base,
                ..Chunk::default()
            }));
        }
        if let Some(events) = &source.reader
            && !matches!(source.state, State::Messages(_))
        {
            let beginning = source.beginning.take();
            let start = || Extracting::new(events.start(self.max_line), beginning);
            let mut extracting = source.extracting.take().unwrap_or_else(start);
            let filled = source.extract(index, buffer, &mut extracting, self.size, &self.stop);
            source.extracting = Some(extracting);
            source.cross()?;
            return filled;
        }
        if let State::Messages(messages) = &mut source.state {
            let mut numbers = Vec::new();
            buffer.clear();
            if !messages.next(&mut buffer, &mut numbers)? {
                source.state = State::Done;
                return Ok(Filled::Idle(buffer));
            }
            count.fetch_add(buffer.len() as u64, Ordering::Relaxed);
            // A place counts from one.
            numbers.iter_mut().for_each(|number| *number = number.saturating_sub(1));
            let (through, numbers) = (numbers.last().copied(), Some(numbers));
            return Ok(Filled::Chunk(Chunk {
                source: index,
                text: buffer,
                numbers,
                through,
                ..Chunk::default()
            }));
        }
        self.fill_lines(index, buffer)
    }

    /// Whole lines of an input that is open.
    fn fill_lines(&mut self, index: usize, mut buffer: Vec<u8>) -> io::Result<Filled> {
        let source = &mut self.sources[index];
        let State::Open { reader, live, compressed } = &mut source.state else {
            return Ok(Filled::Idle(buffer));
        };
        let (live, compressed) = (*live, *compressed);
        buffer.resize(self.size.max(source.carry.len() + 1), 0);
        buffer[..source.carry.len()].copy_from_slice(&source.carry);
        let mut filled = mem::take(&mut source.carry).len();
        let mut ends = LineEnds::new(self.csv);
        let mut cut = ends.last(&buffer[..filled]);
        let mut exhausted = false;
        loop {
            if filled == buffer.len() {
                if cut > 0 {
                    break;
                }
                if filled > self.max_line {
                    source.discarding = Some(mem::replace(&mut ends, LineEnds::new(self.csv)));
                    filled = 0;
                } else {
                    let grown = (filled * 2).clamp(1024, self.max_line.saturating_add(1).max(1024));
                    buffer.resize(grown.max(filled + 1), 0);
                }
            }
            let length = match reader.read(&mut buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // All that could be decompressed is judged.
                Err(error) if compressed && is_damage(&error) => {
                    source.broken = Some(format!("the rest of the input cannot be decompressed: {error}"));
                    0
                }
                read => read?,
            };
            if length == 0 {
                exhausted = true;
                break;
            }
            if let Some(line) = &mut source.discarding {
                if let Some(end) = line.skip(&buffer[filled..filled + length]) {
                    source.carry = buffer[filled + end..filled + length].to_vec();
                    source.discarding = None;
                    return source.oversize(index, buffer, self.csv).map(Filled::Chunk);
                }
                continue;
            }
            filled += length;
            cut = ends.last(&buffer[..filled]);
            if live && cut > 0 {
                break;
            }
        }
        let has_ended = exhausted && !reader.grows();
        if has_ended {
            if source.broken.is_none() {
                cut = filled;
            } else {
                // Half a line is part of what is missing.
                filled = cut;
            }
        }
        source.carry = buffer[cut..filled].to_vec();
        let filled = if has_ended && source.discarding.take().is_some() {
            Filled::Chunk(source.oversize(index, buffer, self.csv)?)
        } else if cut == 0 {
            Filled::Idle(buffer)
        } else {
            buffer.truncate(cut);
            let mut chunk = Chunk { source: index, text: buffer, ..Chunk::default() };
            source.start(&mut chunk, self.csv, &self.shape, self.messages, self.max_line)?;
            source.number(&mut chunk, self.csv);
            Filled::Chunk(chunk)
        };
        if has_ended && source.broken.is_none() {
            source.end()?;
        }
        Ok(filled)
    }
}

impl Source {
    fn open(
        &mut self,
        follow: bool,
        clock: bool,
        stop: &Arc<AtomicBool>,
        count: &Arc<AtomicU64>,
        columns: impl Fn(&[u8]) -> Result<Columns, String>,
    ) -> io::Result<()> {
        let kind = match mem::replace(&mut self.state, State::Done) {
            State::Waiting(kind) => kind,
            opened => {
                self.state = opened;
                return Ok(());
            }
        };
        let counted = |inner| Box::new(Counted { inner, count: Arc::clone(count) });
        self.state = match kind {
            InputKind::File(path) if follow && self.resume.is_some() => {
                let position = self.resume.take().unwrap_or_default();
                let (tail, beginning) = Tail::resume(path, &position, Arc::clone(count))?;
                (self.lines, self.started) = (position.lines, position.offset > 0);
                if let Some(header) = &position.header {
                    self.columns = columns(header).ok().map(Arc::new);
                }
                self.beginning = Some((beginning, position.lines));
                State::Open { reader: Reader::Tail(Box::new(tail)), live: true, compressed: false }
            }
            InputKind::File(path) if follow && path.is_file() => {
                let tail = Tail::open(path, Arc::clone(count))?;
                State::Open { reader: Reader::Tail(Box::new(tail)), live: true, compressed: false }
            }
            InputKind::File(path) => {
                let file = std::fs::File::open(&path)?;
                // A pipe or device is read as it comes.
                let live = !file.metadata()?.is_file();
                let mut file: Box<dyn io::Read + Send> = Box::new(file);
                if live {
                    file = Box::new(Interruptible::new(file, Arc::clone(stop), clock));
                }
                let (reader, compressed) = compression::open(counted(file))?;
                State::Open { reader: Reader::Stream(reader), live, compressed }
            }
            InputKind::Messages(messages) => State::Messages(messages),
            InputKind::Stream { reader, live } => {
                let reader = match live {
                    true => Box::new(Interruptible::new(reader, Arc::clone(stop), clock)),
                    false => reader,
                };
                let (reader, compressed) = compression::open(counted(reader))?;
                State::Open { reader: Reader::Stream(reader), live, compressed }
            }
        };
        Ok(())
    }

    /// Why something that was written to a file that is followed will not be read.
    fn gap(&mut self) -> Option<String> {
        let State::Open { reader: Reader::Tail(tail), .. } = &mut self.state else { return None };
        tail.take_gap()
    }

    /// There is nothing more: of a file that is followed, until its name is another's.
    fn end(&mut self) -> io::Result<()> {
        if let State::Open { reader: Reader::Tail(_), .. } = &self.state {
            return self.cross();
        }
        self.state = State::Done;
        Ok(())
    }

    /// Goes on with the next file, if this one will give nothing more.
    fn cross(&mut self) -> io::Result<()> {
        if let State::Open { reader: Reader::Tail(tail), .. } = &mut self.state
            && tail.is_at_boundary()
        {
            tail.cross()?;
            (self.started, self.lines) = (false, 0);
            (self.columns, self.extracting) = (None, None);
        }
        Ok(())
    }

    /// Numbers the lines of a file that is followed, which is not always the same one.
    fn number(&mut self, chunk: &mut Chunk, csv: bool) {
        if !matches!(&self.state, State::Open { reader: Reader::Tail(_), .. }) {
            return;
        }
        chunk.base = Some(self.lines);
        let mut rest = chunk.text.as_slice();
        if csv {
            while !rest.is_empty() {
                rest = rest.get(line_ends::first(rest, true)..).unwrap_or_default();
                self.lines += 1;
            }
        } else {
            let open = !rest.is_empty() && !rest.ends_with(b"\n");
            self.lines += memchr::memchr_iter(b'\n', rest).count() as u64 + u64::from(open);
        }
    }

    /// The events in what comes next.
    fn extract(
        &mut self,
        index: usize,
        mut buffer: Vec<u8>,
        extracting: &mut Extracting,
        size: usize,
        stop: &AtomicBool,
    ) -> io::Result<Filled> {
        let State::Open { reader, live, compressed } = &mut self.state else {
            return Ok(Filled::Idle(buffer));
        };
        buffer.clear();
        let mut events = EventBatch { text: buffer, numbers: Vec::new() };
        let ended = match extracting.fill(reader, &mut events, (size, *live), stop) {
            Ok(Fill::Paused) => false,
            Ok(Fill::Ended) => !reader.grows(),
            // All that could be decompressed is judged; half a record is part of what is missing.
            Err(error) if *compressed && is_damage(&error) => {
                self.broken = Some(format!("the rest of the input cannot be decompressed: {error}"));
                false
            }
            Err(error) => return Err(error),
        };
        if ended {
            extracting.end(&mut events);
            if !matches!(reader, Reader::Tail(_)) {
                self.state = State::Done;
            }
        }
        let EventBatch { text, numbers } = events;
        if text.is_empty() {
            return Ok(Filled::Idle(text));
        }
        Ok(Filled::Chunk(Chunk { source: index, text, numbers: Some(numbers), ..Chunk::default() }))
    }

    /// A chunk that stands for a line that was too long.
    fn oversize(&mut self, index: usize, mut buffer: Vec<u8>, csv: bool) -> io::Result<Chunk> {
        if csv && self.columns.is_none() {
            return Err(long_header());
        }
        buffer.clear();
        self.started = true;
        let columns = self.columns.clone();
        let base = matches!(&self.state, State::Open { reader: Reader::Tail(_), .. }).then_some(self.lines);
        self.lines += 1;
        Ok(Chunk { source: index, text: buffer, oversize: true, columns, base, ..Chunk::default() })
    }

    /// Skips what stands before the first event.
    fn start(
        &mut self,
        chunk: &mut Chunk,
        csv: bool,
        shape: &crate::shape::Shape,
        messages: bool,
        max_line: usize,
    ) -> io::Result<()> {
        if !mem::replace(&mut self.started, true) && chunk.text.starts_with(&BYTE_ORDER_MARK) {
            chunk.body = BYTE_ORDER_MARK.len();
        }
        if csv && self.columns.is_none() {
            let rest = &chunk.text[chunk.body..];
            let end = chunk.body + line_ends::first(rest, true);
            let header = rest.get(..end - chunk.body).unwrap_or_default();
            if header.strip_suffix(b"\n").unwrap_or(header).len() > max_line {
                return Err(long_header());
            }
            let columns = Columns::parse(&chunk.text[chunk.body..end], shape, messages)
                .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
            self.columns = Some(Arc::new(columns));
            chunk.body = end;
            chunk.lines_before = 1;
        }
        chunk.columns.clone_from(&self.columns);
        Ok(())
    }
}

/// What time it is.
pub(crate) fn clock() -> Option<i64> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}

/// Whether the data are wrong, not the way to them.
fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | InvalidData | InvalidInput)
}

/// Without its header a file cannot be read.
fn long_header() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the header is longer than lines may be (--max-line)")
}
