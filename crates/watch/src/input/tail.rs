//! Files that grow: what is appended, after truncation from the start, after rotation from the new file.
//!
//! Where one file ends and the next begins, reading stops ([`Tail::is_at_boundary`]) until [`Tail::cross`]: a record does not go from
//! one file into the next, and each has its own header.

use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::compression;
use super::rotated;
use crate::checkpoint::{FileIdentity, Position};

/// So many of its first bytes tell a file from others.
pub(crate) const HEAD: usize = 512;

/// A file that may grow. Reading gives 0 when there is nothing new for now.
pub(crate) struct Tail {
    path: PathBuf,
    current: Option<Current>,
    /// Files between where reading went on and the one that has the name now, the oldest first.
    older: VecDeque<PathBuf>,
    /// How the file that was read before begins.
    before: Vec<u8>,
    /// Whether another file has the name; what was written to this one until then is still read.
    is_replaced: bool,
    is_at_boundary: bool,
    /// What was written, perhaps, and cannot be found.
    gap: Option<String>,
    count: Arc<AtomicU64>,
}

/// The file that is read.
struct Current {
    contents: Contents,
    identity: FileIdentity,
    position: u64,
}

enum Contents {
    /// It has the name, or had it when it was opened.
    Growing(File),
    /// It will not grow any more, and may be compressed.
    Whole(Box<dyn Read + Send>),
}

impl Tail {
    /// The file at `path`, from its beginning.
    pub(crate) fn open(path: PathBuf, count: Arc<AtomicU64>) -> io::Result<Self> {
        let current = Some(Current::growing(File::open(&path)?)?);
        Ok(Self {
            path,
            current,
            older: VecDeque::new(),
            before: Vec::new(),
            is_replaced: false,
            is_at_boundary: false,
            gap: None,
            count,
        })
    }

    /// The file at `path`, of which what is before `position` was read: it may have another name by now, or be compressed.
    /// And the first bytes of what is read, if there are any.
    pub(crate) fn resume(
        path: PathBuf,
        position: &Position,
        count: Arc<AtomicU64>,
    ) -> io::Result<(Self, Vec<u8>)> {
        let found = rotated::find(&path, position)?;
        let mut tail = Self {
            path,
            current: None,
            older: found.newer.into(),
            before: position.file.before.clone(),
            is_replaced: false,
            is_at_boundary: false,
            gap: None,
            count,
        };
        let mut beginning = Vec::new();
        match found.contents {
            Some((contents, first)) => {
                let contents = match contents {
                    rotated::Contents::Named(file) => Contents::Growing(file),
                    rotated::Contents::Old(reader) => Contents::Whole(reader),
                };
                tail.current =
                    Some(Current { contents, identity: position.file.clone(), position: position.offset });
                beginning = first;
            }
            None => {
                tail.gap = Some(format!(
                    "what was written to it after byte {} cannot be found: it was rotated or truncated, and no file beside it begins like it",
                    position.offset
                ));
                tail.is_at_boundary = true;
            }
        }
        Ok((tail, beginning))
    }

    /// Why something that was written will not be read, once.
    pub(crate) fn take_gap(&mut self) -> Option<String> {
        self.gap.take()
    }

    /// Whether this file will give nothing more, and the next can be read.
    pub(crate) fn is_at_boundary(&self) -> bool {
        self.is_at_boundary
    }

    /// Goes on to the next file.
    pub(crate) fn cross(&mut self) -> io::Result<()> {
        (self.is_at_boundary, self.is_replaced) = (false, false);
        if let Some(Current { identity, position, .. }) = self.current.take() {
            // Since the older files were found they may have been rotated once more, and have other names.
            let before = std::mem::replace(&mut self.before, identity.head.clone());
            let file = FileIdentity { before, ..identity };
            let position = Position { file, offset: position, ..Position::default() };
            if let Ok(rotated::Found { contents: Some(_), newer }) = rotated::find(&self.path, &position) {
                self.older = newer.into();
            }
        }
        match self.older.pop_front() {
            Some(older) => match rotated::open(&older) {
                Ok((reader, head)) => {
                    let identity = FileIdentity { head, ..FileIdentity::default() };
                    self.current = Some(Current { contents: Contents::Whole(reader), identity, position: 0 });
                }
                Err(error) => {
                    self.gap = Some(format!("`{}` cannot be read: {error}", older.display()));
                    self.is_at_boundary = true;
                }
            },
            None => self.open_named()?,
        }
        Ok(())
    }

    /// What tells the present file from others, and how many bytes of it were read.
    pub(crate) fn position(&self) -> (FileIdentity, u64) {
        match &self.current {
            Some(current) => {
                (FileIdentity { before: self.before.clone(), ..current.identity.clone() }, current.position)
            }
            None => (FileIdentity::default(), 0),
        }
    }

    /// Opens the file that has the name, if one has: between the two steps of a rotation none has.
    fn open_named(&mut self) -> io::Result<()> {
        match File::open(&self.path) {
            Ok(file) => self.current = Some(Current::growing(file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// There is nothing more in the file: looks whether another has its name, or it was truncated.
    fn look(&mut self) -> io::Result<()> {
        let Some(current) = &self.current else { return Ok(()) };
        let Contents::Growing(file) = &current.contents else {
            (self.is_replaced, self.is_at_boundary) = (true, true);
            return Ok(());
        };
        let identity = FileIdentity { before: self.before.clone(), ..current.identity.clone() };
        let position = Position { file: identity, offset: current.position, ..Position::default() };
        if current.is_rewritten()? {
            // Perhaps it was copied before it was truncated: the rest of it is in the copy.
            match rotated::find(&self.path, &position)? {
                rotated::Found { contents: Some((rotated::Contents::Old(reader), _)), newer } => {
                    self.older = newer.into();
                    if let Some(current) = &mut self.current {
                        current.contents = Contents::Whole(reader);
                    }
                }
                _ => self.is_at_boundary = true,
            }
            return Ok(());
        }
        let named = match std::fs::metadata(&self.path) {
            Ok(named) => named,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        // Whoever writes goes on with the old file until it opens the new one.
        if !is_same(&file.metadata()?, &named) && named.len() > 0 {
            self.is_replaced = true;
            self.older = rotated::find(&self.path, &position)?.newer.into();
        }
        Ok(())
    }
}

impl Current {
    fn growing(mut file: File) -> io::Result<Self> {
        let mut head = Vec::new();
        (&mut file).take(HEAD as u64).read_to_end(&mut head)?;
        if compression::is_compressed(&head) {
            let why = "it is compressed, and a compressed file cannot be followed: watch it without --follow, or \
                       decompress it into a pipe";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        file.seek(SeekFrom::Start(0))?;
        let (device, inode) = number(&file.metadata()?);
        let identity = FileIdentity { device, inode, head, before: Vec::new() };
        Ok(Self { contents: Contents::Growing(file), identity, position: 0 })
    }

    /// Whether what was read is not what stands there any more: it was truncated.
    fn is_rewritten(&self) -> io::Result<bool> {
        let Contents::Growing(file) = &self.contents else { return Ok(false) };
        if file.metadata()?.len() < self.position {
            return Ok(true);
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileExt as _;
            let mut there = [0; HEAD];
            let there = there.get_mut(..self.identity.head.len()).unwrap_or_default();
            Ok(file.read_exact_at(there, 0).is_err() || !self.identity.head.starts_with(there))
        }
        #[cfg(not(unix))]
        Ok(false)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = match &mut self.contents {
            Contents::Growing(file) => file.read(buffer)?,
            Contents::Whole(reader) => reader.read(buffer)?,
        };
        let head = &mut self.identity.head;
        if head.len() < HEAD && self.position + length as u64 > head.len() as u64 {
            let known =
                usize::try_from(head.len() as u64 - self.position.min(head.len() as u64)).unwrap_or(0);
            let fresh = buffer.get(known..length).unwrap_or_default();
            head.extend_from_slice(fresh.get(..fresh.len().min(HEAD - head.len())).unwrap_or_default());
        }
        self.position += length as u64;
        Ok(length)
    }
}

impl Read for Tail {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.is_at_boundary {
            return Ok(0);
        }
        if self.current.is_none() {
            self.open_named()?;
        }
        let Some(current) = &mut self.current else { return Ok(0) };
        let mut length = match current.is_rewritten()? {
            true => 0,
            false => current.read(buffer)?,
        };
        if length == 0 && !self.is_replaced {
            self.look()?;
            // What was written before it was replaced, or is in the copy.
            if !self.is_at_boundary
                && let Some(current) = &mut self.current
            {
                length = current.read(buffer)?;
            }
        }
        if length == 0 && self.is_replaced {
            self.is_at_boundary = true;
        }
        self.count.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

#[cfg(unix)]
pub(crate) fn number(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
pub(crate) fn number(metadata: &Metadata) -> (u64, u64) {
    let since = |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH).ok();
    (0, metadata.created().ok().and_then(since).map_or(0, |age| age.as_nanos() as u64))
}

fn is_same(left: &Metadata, right: &Metadata) -> bool {
    number(left) == number(right)
}
