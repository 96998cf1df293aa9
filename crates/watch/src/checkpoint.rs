//! A checkpoint: what a follower keeps on disk, so that after it was killed another goes on where it was.
//!
//! It is a write-ahead log. Everything that is read is appended before it is judged, with how far its input was read then, and how much
//! was told of it after it was told. What is told, and in which order, is a function of what was read
//! (`run`), so whoever comes next judges the log again, is silent about what was told, and reads on where the log ends. The inputs may
//! have been rotated, truncated and compressed meanwhile: what was read of them is in the log.
//!
//! A process that is killed may leave half an entry at the end, which counts as not written.

mod bytes;
mod observer;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::bytes::{Decoder, Encoder};
pub(crate) use self::observer::resuming;
use crate::input::Chunk;

const MAGIC: &[u8; 8] = b"RFWATCH2";
/// The length of an entry and its checksum stand before it.
const PREFIX: usize = 8;
/// No entry is longer: a chunk has one line more than its size at most, and lines are bounded.
const MAX_ENTRY: usize = 3 << 30;

const SPECIFICATION: u8 = 0;
const FILE: u8 = 1;
const CHUNK: u8 = 2;
const TOLD: u8 = 3;

const OVERSIZE: u8 = 1;
const HAS_NOW: u8 = 2;
const HAS_NUMBERS: u8 = 4;
const IS_BROKEN: u8 = 8;
const HAS_HEADER: u8 = 16;

/// A checkpoint that is open. One process has it at a time.
#[derive(Debug)]
pub struct Checkpoint {
    log: Mutex<Log>,
    told: Told,
}

/// How much was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// How many notices.
    pub notices: u64,
    /// How long the output was then, where that is known.
    pub output: u64,
}

#[derive(Debug)]
struct Log {
    file: File,
    /// What is to be judged again.
    replay: Option<BufReader<File>>,
    /// Where the last whole entry ends.
    end: u64,
    /// Where each input goes on.
    positions: Vec<Position>,
    entry: Encoder,
    _lock: File,
}

/// What was read before.
#[expect(clippy::large_enum_variant, reason = "nearly all are chunks")]
pub(crate) enum Replay {
    /// The next chunk, and the header of its input if it has one.
    Chunk(Chunk, Option<Arc<[u8]>>),
    /// There is no more; the buffer.
    End(Vec<u8>),
}

/// Where an input goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) file: FileIdentity,
    /// How many bytes of it were judged, as they are decompressed.
    pub(crate) offset: u64,
    /// How many lines, or other records, these are.
    pub(crate) lines: u64,
    /// The header of CSV.
    pub(crate) header: Option<Arc<[u8]>>,
}

/// What tells a file from others: its first bytes, and as long as there are none, its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) head: Vec<u8>,
    /// The first bytes of the file that was read before it: several may begin with the same header.
    pub(crate) before: Vec<u8>,
}

impl Checkpoint {
    /// Opens the checkpoint at `path`, or begins one, for `inputs` inputs and what `specification` stands for: another number is
    /// another protocol or other options.
    ///
    /// # Errors
    /// It cannot be read or written, is damaged, is of something else, or another process has it.
    pub fn open(path: &Path, specification: u64, inputs: usize) -> io::Result<Self> {
        let lock = lock(path)?;
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let mut log = Log {
            replay: Some(BufReader::new(File::open(path)?)),
            file: file.try_clone()?,
            end: MAGIC.len() as u64,
            positions: vec![Position::default(); inputs],
            entry: Encoder::default(),
            _lock: lock,
        };
        let mut told = Told::default();
        if file.metadata()?.len() == 0 {
            file.write_all(MAGIC)?;
            log.put(SPECIFICATION, |entry| entry.u64(specification))?;
            log.replay = None;
            return Ok(Self { log: Mutex::new(log), told });
        }
        let mut magic = [0; MAGIC.len()];
        file.read_exact(&mut magic)
            .ok()
            .filter(|()| magic == *MAGIC)
            .ok_or_else(|| bad("is no checkpoint"))?;
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let mut is_ours = false;
        while let Some(entry) = next_entry(&mut reader)? {
            let mut decoder = Decoder::new(&entry);
            match decoder.u8() {
                Some(SPECIFICATION) if decoder.u64() == Some(specification) => is_ours = true,
                Some(SPECIFICATION) => {
                    return Err(bad(
                        "is of another protocol, other options or other inputs; delete it to begin anew",
                    ));
                }
                Some(TOLD) => told = read_told(&mut decoder).ok_or_else(|| bad("is damaged"))?,
                Some(FILE) => log.identify(&mut decoder).ok_or_else(|| bad("is damaged"))?,
                Some(CHUNK) => drop(log.chunk(&mut decoder, Vec::new()).ok_or_else(|| bad("is damaged"))?),
                _ => return Err(bad("is damaged, or of a later version")),
            }
            log.end += (PREFIX + entry.len()) as u64;
        }
        if !is_ours {
            return Err(bad("is no checkpoint"));
        }
        log.file.set_len(log.end)?;
        if let Some(replay) = &mut log.replay {
            replay.seek(SeekFrom::Start(MAGIC.len() as u64))?;
        }
        Ok(Self { log: Mutex::new(log), told })
    }

    /// How much was told when it was opened.
    #[must_use]
    pub fn told(&self) -> Told {
        self.told
    }

    /// Takes note of how much was told.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn record(&self, told: Told) -> io::Result<()> {
        self.log().put(TOLD, |entry| {
            entry.u64(told.notices);
            entry.u64(told.output);
        })
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the input goes on, if anything of it was read.
    pub(crate) fn position(&self, source: usize) -> Option<Position> {
        let log = self.log();
        log.positions.get(source).filter(|position| **position != Position::default()).cloned()
    }

    /// The next chunk that was read before, in `buffer`.
    pub(crate) fn replay(&self, buffer: Vec<u8>) -> io::Result<Replay> {
        let mut log = self.log();
        let log = &mut *log;
        while let Some(reader) = &mut log.replay {
            if reader.stream_position()? >= log.end {
                log.replay = None;
                break;
            }
            let entry = next_entry(reader)?.ok_or_else(|| bad("is damaged"))?;
            let mut decoder = Decoder::new(&entry);
            if decoder.u8() == Some(CHUNK) {
                let (chunk, header) = log.chunk(&mut decoder, buffer).ok_or_else(|| bad("is damaged"))?;
                return Ok(Replay::Chunk(chunk, header));
            }
        }
        Ok(Replay::End(buffer))
    }

    /// Keeps `chunk`, which is about to be judged; its input goes on at `position` then.
    pub(crate) fn append(&self, chunk: &Chunk, position: Position) -> io::Result<()> {
        let mut log = self.log();
        let source = chunk.source as u64;
        let known = log.positions.get(chunk.source).cloned().unwrap_or_default();
        if known.file != position.file {
            let FileIdentity { device, inode, head, before } = &position.file;
            log.put(FILE, |entry| {
                entry.u64(source);
                entry.u64(*device);
                entry.u64(*inode);
                entry.bytes(head);
                entry.bytes(before);
            })?;
        }
        log.put(CHUNK, |entry| {
            let flag = |is: bool, flag: u8| if is { flag } else { 0 };
            entry.u8(flag(chunk.oversize, OVERSIZE)
                | flag(chunk.now.is_some(), HAS_NOW)
                | flag(chunk.numbers.is_some(), HAS_NUMBERS)
                | flag(chunk.broken.is_some(), IS_BROKEN)
                | flag(position.header.is_some(), HAS_HEADER));
            entry.u64(source);
            entry.u64(position.offset);
            entry.u64(position.lines);
            entry.u64(chunk.base.unwrap_or_default() + u64::from(chunk.lines_before));
            entry.u64(chunk.now.unwrap_or_default().cast_unsigned());
            entry.bytes(chunk.broken.as_deref().unwrap_or_default().as_bytes());
            entry.bytes(position.header.as_deref().unwrap_or_default());
            let numbers = chunk.numbers.as_deref().unwrap_or_default();
            entry.u64(numbers.len() as u64);
            numbers.iter().for_each(|number| entry.u64(*number));
            entry.bytes(chunk.text.get(chunk.body..).unwrap_or_default());
        })?;
        if let Some(known) = log.positions.get_mut(chunk.source) {
            *known = position;
        }
        Ok(())
    }
}

impl Log {
    /// Appends an entry.
    fn put(&mut self, tag: u8, write: impl FnOnce(&mut Encoder)) -> io::Result<()> {
        let entry = &mut self.entry;
        entry.bytes.clear();
        entry.bytes.extend([0; PREFIX]);
        entry.u8(tag);
        write(entry);
        let (prefix, body) = entry.bytes.split_at_mut(PREFIX);
        let length = u32::try_from(body.len()).map_err(|_| bad("cannot hold a line of this length"))?;
        prefix[..4].copy_from_slice(&length.to_le_bytes());
        prefix[4..].copy_from_slice(&crc32fast::hash(body).to_le_bytes());
        // One call: a process that is killed has written all of it or a part that does not count.
        self.file.write_all(&entry.bytes)
    }

    fn identify(&mut self, decoder: &mut Decoder<'_>) -> Option<()> {
        let position = self.positions.get_mut(usize::try_from(decoder.u64()?).ok()?)?;
        let (device, inode, head) = (decoder.u64()?, decoder.u64()?, decoder.bytes()?.to_vec());
        let before = decoder.bytes()?.to_vec();
        position.file = FileIdentity { device, inode, head, before };
        Some(())
    }

    /// The chunk of an entry; its input goes on behind it.
    fn chunk(&mut self, decoder: &mut Decoder<'_>, mut text: Vec<u8>) -> Option<(Chunk, Option<Arc<[u8]>>)> {
        let flags = decoder.u8()?;
        let source = usize::try_from(decoder.u64()?).ok()?;
        let position = self.positions.get_mut(source)?;
        (position.offset, position.lines) = (decoder.u64()?, decoder.u64()?);
        let (base, now) = (decoder.u64()?, decoder.u64()?.cast_signed());
        let broken = std::str::from_utf8(decoder.bytes()?).ok()?.to_owned();
        let header = decoder.bytes()?;
        if flags & HAS_HEADER == 0 {
            position.header = None;
        } else if position.header.as_deref() != Some(header) {
            position.header = Some(header.into());
        }
        let header = position.header.clone();
        let count = decoder.u64()?;
        let numbers = (0..count).map(|_| decoder.u64()).collect::<Option<Vec<_>>>()?;
        text.clear();
        text.extend_from_slice(decoder.bytes()?);
        let has = |flag: u8| flags & flag != 0;
        let chunk = Chunk {
            source,
            text,
            oversize: has(OVERSIZE),
            broken: has(IS_BROKEN).then_some(broken),
            numbers: has(HAS_NUMBERS).then_some(numbers),
            now: has(HAS_NOW).then_some(now),
            base: (!has(HAS_NOW)).then_some(base),
            ..Chunk::default()
        };
        Some((chunk, header))
    }
}

/// The lock of the checkpoint at `path`, held as long as it is open.
fn lock(path: &Path) -> io::Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock = OpenOptions::new().create(true).append(true).open(PathBuf::from(name))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process has it"))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The next entry; `None` at the end, or before half an entry.
fn next_entry(reader: &mut BufReader<File>) -> io::Result<Option<Vec<u8>>> {
    let mut prefix = [0; PREFIX];
    let mut filled = 0;
    while filled < PREFIX {
        match reader.read(&mut prefix[filled..])? {
            0 => return Ok(None),
            length => filled += length,
        }
    }
    let [a, b, c, d, crc @ ..] = prefix;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > MAX_ENTRY {
        return Err(bad("is damaged"));
    }
    let mut entry = Vec::new();
    reader.take(length as u64).read_to_end(&mut entry)?;
    if entry.len() < length {
        return Ok(None);
    }
    if crc32fast::hash(&entry) != u32::from_le_bytes(crc) {
        return Err(bad("is damaged"));
    }
    Ok(Some(entry))
}

fn read_told(decoder: &mut Decoder<'_>) -> Option<Told> {
    Some(Told { notices: decoder.u64()?, output: decoder.u64()? })
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the checkpoint {why}"))
}
