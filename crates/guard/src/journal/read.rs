//! Reading a journal: its records one after the other, and what is wrong with it.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{HEADER, MAGIC, MAX_RECORD, checksum, files};
use crate::report::Report;

/// A record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Its running number, from 1.
    pub number: u64,
    /// What it says.
    #[serde(flatten)]
    pub report: Report,
}

impl Entry {
    /// The record in `content`. One of version 0.1 is made one of today.
    ///
    /// # Errors
    /// It is no record that a guard has written.
    pub fn read(content: &[u8]) -> serde_json::Result<Self> {
        let mut entry: Self = serde_json::from_slice(content)?;
        if let Report::Verdict(report) = &mut entry.report {
            report.record.modernise();
        }
        Ok(entry)
    }
}

/// What is wrong with a file at some place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where the good part before it ends.
    pub offset: u64,
    /// Whether it is what a writer leaves that was killed: the file, or what is not zero of it, ends within a record.
    pub torn: bool,
    /// Whether it is one record, the last, with a wrong checksum.
    pub is_last: bool,
    /// What is wrong.
    pub what: String,
}

/// How many bytes are looked at together in the search for a record: a record that begins in the first half ends here.
const WINDOW: usize = 2 * (MAX_RECORD + HEADER);
/// How many bytes the search may add up, so that no content of a file makes it take for ever.
const PATIENCE: u64 = 4 << 30;

/// Reads the records of one file.
pub struct Reader {
    input: BufReader<File>,
    offset: u64,
    length: u64,
    done: bool,
    magic: &'static [u8; 8],
}

impl Reader {
    /// The file at `path`.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_other(path, MAGIC)
    }

    /// The file at `path`, whose records are not a journal's: it begins with `magic`.
    pub(crate) fn open_other(path: &Path, magic: &'static [u8; 8]) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { input: BufReader::new(file), offset: 0, length, done: false, magic })
    }

    /// Where the next record begins.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The content of the next record; `None` at the end.
    ///
    /// # Errors
    /// The outer: the file cannot be read. The inner: it is damaged; the next call goes on with the next good record.
    pub fn next_content(&mut self) -> io::Result<Result<Option<Vec<u8>>, Damage>> {
        if self.done || (self.offset > 0 && self.offset >= self.length) {
            return Ok(Ok(None));
        }
        let flaw = match self.read()? {
            Ok(content) => {
                self.done = content.is_none();
                return Ok(Ok(content));
            }
            Err(flaw) => flaw,
        };
        let offset = self.offset;
        let next = self.find_record(offset + 1)?;
        let ends = next == Search::None;
        let (torn, is_last, what) = match flaw {
            Flaw::Cut(what) if ends && !self.is_whole(offset)? => (true, false, what),
            Flaw::Cut(_) => (false, false, "a record has a wrong length"),
            Flaw::Wrong(end, what) => (ends && self.written(offset)? < end, ends && end == self.length, what),
            Flaw::Foreign(what) => (false, false, what),
        };
        match next {
            Search::Found(next) => {
                self.offset = next;
                self.input.seek(SeekFrom::Start(next))?;
            }
            Search::None | Search::GivenUp => self.done = true,
        }
        Ok(Err(Damage { offset, torn, is_last, what: what.to_owned() }))
    }

    fn read(&mut self) -> io::Result<Result<Option<Vec<u8>>, Flaw>> {
        if self.offset == 0 {
            let mut magic = [0; 8];
            let found = fill(&mut self.input, &mut magic)?;
            if found < magic.len() && self.magic.starts_with(&magic[..found]) {
                return Ok(Err(Flaw::Cut("the file's head is incomplete")));
            }
            if magic != *self.magic {
                return Ok(Err(Flaw::Foreign("this is no journal, or its head is damaged")));
            }
            self.offset = magic.len() as u64;
            if self.offset >= self.length {
                return Ok(Ok(None));
            }
        }
        let mut header = [0; HEADER];
        if fill(&mut self.input, &mut header)? < HEADER {
            return Ok(Err(Flaw::Cut("the last record is incomplete")));
        }
        let (length, sum) = split(header);
        if length > MAX_RECORD {
            return Ok(Err(Flaw::Foreign("a record has an impossible length")));
        }
        let end = self.offset + HEADER as u64 + length as u64;
        if end > self.length {
            return Ok(Err(Flaw::Cut("the last record is incomplete")));
        }
        let mut content = vec![0; length];
        if fill(&mut self.input, &mut content)? < length {
            return Ok(Err(Flaw::Cut("the last record is incomplete")));
        }
        if length == 0 || checksum(&content) != sum {
            return Ok(Err(Flaw::Wrong(end, "a record's checksum is wrong")));
        }
        self.offset = end;
        Ok(Ok(Some(content)))
    }

    /// The first place from `start` on at which there is a record with the right checksum.
    fn find_record(&mut self, mut start: u64) -> io::Result<Search> {
        let mut patience = PATIENCE;
        let mut window = Vec::new();
        while start + HEADER as u64 <= self.length {
            self.input.seek(SeekFrom::Start(start))?;
            window.clear();
            (&mut self.input).take(WINDOW as u64).read_to_end(&mut window)?;
            let is_last = window.len() < WINDOW;
            let places = if is_last { window.len() } else { WINDOW / 2 };
            for place in 0..places {
                let Some((header, rest)) = window.get(place..).and_then(<[u8]>::split_first_chunk) else {
                    break;
                };
                let (length, sum) = split(*header);
                let Some(content) = rest.get(..length).filter(|content| !content.is_empty()) else {
                    continue;
                };
                if length > MAX_RECORD {
                    continue;
                }
                patience = match patience.checked_sub(length as u64) {
                    Some(patience) => patience,
                    None => return Ok(Search::GivenUp),
                };
                if checksum(content) == sum {
                    return Ok(Search::Found(start + place as u64));
                }
            }
            if is_last {
                break;
            }
            start += places as u64;
        }
        Ok(Search::None)
    }

    /// Whether what there is from `offset` on is a whole record of which only the length is wrong.
    fn is_whole(&mut self, offset: u64) -> io::Result<bool> {
        let size = self.length.saturating_sub(offset + HEADER as u64);
        if offset < self.magic.len() as u64 || size == 0 || size > MAX_RECORD as u64 {
            return Ok(false);
        }
        self.input.seek(SeekFrom::Start(offset))?;
        let mut rest = Vec::new();
        self.input.read_to_end(&mut rest)?;
        let Some((header, content)) = rest.split_first_chunk() else { return Ok(false) };
        Ok(checksum(content) == split(*header).1)
    }

    /// Where the zeroes begin with which the file ends: a file system may have made it longer before its content was there.
    fn written(&mut self, offset: u64) -> io::Result<u64> {
        self.input.seek(SeekFrom::Start(offset))?;
        let mut buffer = [0; 4096];
        let (mut at, mut written) = (offset, offset);
        loop {
            let found = fill(&mut self.input, &mut buffer)?;
            if found == 0 {
                return Ok(written);
            }
            if let Some(last) = buffer[..found].iter().rposition(|byte| *byte != 0) {
                written = at + last as u64 + 1;
            }
            at += found as u64;
        }
    }
}

/// What is wrong where a record should be.
enum Flaw {
    /// The file ends within it.
    Cut(&'static str),
    /// It would end here, and its checksum is wrong.
    Wrong(u64, &'static str),
    /// Nothing that a writer writes.
    Foreign(&'static str),
}

/// What a search for the next record has found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    Found(u64),
    None,
    /// Perhaps there is one.
    GivenUp,
}

/// The length and the checksum of a record.
fn split(header: [u8; HEADER]) -> (usize, u32) {
    let [a, b, c, d, e, f, g, h] = header;
    (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]))
}

/// Reads until `buffer` is full or the input ends.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut found = 0;
    while found < buffer.len() {
        match input.read(&mut buffer[found..]) {
            Ok(0) => break,
            Ok(more) => found += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// What is found in a journal, in the order in which it is there.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// The content of a good record.
    Record(&'a [u8]),
    /// Something is wrong with this file.
    Damage(&'a Path, &'a Damage),
}

/// What a journal holds.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Files looked at.
    pub files: usize,
    /// Good records.
    pub records: u64,
    /// The number of the last one.
    pub last: u64,
    /// What is wrong, and in which file.
    pub damages: Vec<(PathBuf, Damage)>,
}

/// Reads all of the journal in `folder`, calls `each` with every good record and with whatever is wrong: checksums, and
/// running numbers that are not one more than the one before.
///
/// # Errors
/// A file cannot be read, or `each` fails.
pub fn verify(folder: &Path, each: &mut dyn FnMut(Found<'_>) -> io::Result<()>) -> io::Result<Summary> {
    #[derive(Deserialize)]
    struct Numbered {
        number: u64,
    }
    let mut summary = Summary::default();
    for (_, path) in files(folder)? {
        summary.files += 1;
        let mut reader = Reader::open(&path)?;
        loop {
            let offset = reader.offset();
            let wrong = |what| Damage { offset, torn: false, is_last: false, what };
            let (content, damage) = match reader.next_content()? {
                Ok(None) => break,
                Err(damage) => (None, Some(damage)),
                Ok(Some(content)) => match serde_json::from_slice::<Numbered>(&content) {
                    Ok(Numbered { number }) => {
                        let last = std::mem::replace(&mut summary.last, number);
                        let follows = last == 0 || number == last + 1;
                        let gap = || wrong(format!("record {number} follows record {last}"));
                        (Some(content), (!follows).then(gap))
                    }
                    Err(error) => (
                        Some(content),
                        Some(wrong(format!("a record is no JSON object with a number: {error}"))),
                    ),
                },
            };
            if let Some(damage) = damage {
                each(Found::Damage(&path, &damage))?;
                summary.damages.push((path.clone(), damage));
            }
            if let Some(content) = content {
                summary.records += 1;
                each(Found::Record(&content))?;
            }
        }
    }
    Ok(summary)
}
