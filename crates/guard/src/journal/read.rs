//! Reading a journal: its records one after the other, and what is wrong with it.

use std::fs::File;
use std::io::{self, BufReader, Read};
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

/// What is wrong with a file from some place on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where the good part of the file ends.
    pub offset: u64,
    /// Whether it is what a writer leaves that was killed: the file ends within the last record.
    pub torn: bool,
    /// What is wrong.
    pub what: String,
}

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
    /// The outer: the file cannot be read. The inner: it is damaged; nothing follows.
    pub fn next_content(&mut self) -> io::Result<Result<Option<Vec<u8>>, Damage>> {
        if self.done || (self.offset > 0 && self.offset >= self.length) {
            return Ok(Ok(None));
        }
        let result = self.read()?;
        self.done = !matches!(result, Ok(Some(_)));
        Ok(result)
    }

    fn read(&mut self) -> io::Result<Result<Option<Vec<u8>>, Damage>> {
        if self.offset == 0 {
            let mut magic = [0; 8];
            let found = fill(&mut self.input, &mut magic)?;
            if found < magic.len() && self.magic.starts_with(&magic[..found]) {
                return Ok(Err(Damage {
                    offset: 0,
                    torn: true,
                    what: "the file's head is incomplete".into(),
                }));
            }
            if magic != *self.magic {
                return Ok(Err(Damage { offset: 0, torn: false, what: "this is no journal".into() }));
            }
            self.offset = magic.len() as u64;
            if self.offset >= self.length {
                return Ok(Ok(None));
            }
        }
        let offset = self.offset;
        let damage = |torn, what: &str| Ok(Err(Damage { offset, torn, what: what.to_owned() }));
        let mut header = [0; HEADER];
        if fill(&mut self.input, &mut header)? < HEADER {
            return damage(true, "the last record is incomplete");
        }
        let [a, b, c, d, e, f, g, h] = header;
        let (length, sum) = (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]));
        let end = self.offset + HEADER as u64 + length as u64;
        if length > MAX_RECORD {
            return damage(false, "a record has an impossible length");
        }
        if end > self.length {
            return damage(true, "the last record is incomplete");
        }
        let mut content = vec![0; length];
        if fill(&mut self.input, &mut content)? < length {
            return damage(true, "the last record is incomplete");
        }
        if length == 0 || checksum(&content) != sum {
            // A file system may have made the file longer before its content was there.
            let torn = end == self.length || (header == [0; HEADER] && self.rest_is_zero()?);
            return damage(torn, "a record's checksum is wrong");
        }
        self.offset = end;
        Ok(Ok(Some(content)))
    }

    fn rest_is_zero(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        loop {
            match fill(&mut self.input, &mut buffer)? {
                0 => return Ok(true),
                found if buffer[..found].iter().any(|byte| *byte != 0) => return Ok(false),
                _ => {}
            }
        }
    }
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

/// Reads all of the journal in `folder`, calls `each` with every good record, and says what is wrong with it:
/// checksums, and running numbers that are not one more than the one before.
///
/// # Errors
/// A file cannot be read, or `each` fails.
pub fn verify(folder: &Path, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<Summary> {
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
            let content = match reader.next_content()? {
                Ok(Some(content)) => content,
                Ok(None) => break,
                Err(damage) => {
                    summary.damages.push((path.clone(), damage));
                    break;
                }
            };
            let mut damage = |what: String| {
                summary.damages.push((path.clone(), Damage { offset, torn: false, what }));
            };
            match serde_json::from_slice::<Numbered>(&content) {
                Ok(Numbered { number }) => {
                    if summary.last > 0 && number != summary.last + 1 {
                        damage(format!("record {number} follows record {}", summary.last));
                    }
                    summary.last = number;
                }
                Err(error) => damage(format!("a record is no JSON object with a number: {error}")),
            }
            summary.records += 1;
            each(&content)?;
        }
    }
    Ok(summary)
}
