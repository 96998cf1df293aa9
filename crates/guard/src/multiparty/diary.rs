//! The diary: what a process must not forget of its sessions when it is killed.
//!
//! Whatever happens at the office is one entry: how each session that it concerned stands afterwards, what went to
//! components and other monitors, what was taken from these. An entry is written before anything of it leaves the
//! process, so whatever others have seen of it is in the diary, and whatever they have not can be done again. One file,
//! `NAME-FINGERPRINT.rfd`, in the form of the journal's; when it has grown it is written anew from what is known.

mod change;
mod memory;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hyper::body::Bytes;

pub(super) use change::Change;
pub(super) use memory::Memory;

use crate::journal::{MAX_RECORD, Reader, put_record};
use crate::metrics::lock;

const MAGIC: &[u8; 8] = b"RFDIARY1";
/// A diary is written anew when it is longer than this and four times as long as it was when it was new.
const WORTHWHILE: u64 = 16 << 20;
/// An entry is cut into records of about this size; its last says so.
const RECORD: usize = MAX_RECORD / 4;
const MORE: u8 = 0;
const LAST: u8 = 1;

/// The diary of one process.
pub(super) struct Diary(Mutex<Inner>);

struct Inner {
    path: PathBuf,
    /// `None` once it could not be written.
    file: Option<File>,
    length: u64,
    rewrite_at: u64,
    /// Whether an entry is forced onto the disk.
    force: bool,
    /// Records that are not written yet: the finished ones, and the one that is being made.
    records: Vec<u8>,
    record: Vec<u8>,
    memory: Memory,
    /// Held for as long as this process has the diary.
    _lock: File,
}

impl Diary {
    /// The diary called `name` in `folder`, which is made if it does not exist.
    ///
    /// # Errors
    /// It cannot be read or written, is damaged, or another process has it.
    pub(super) fn open(folder: &Path, name: &str, force: bool) -> io::Result<Arc<Self>> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{name}.rfd"));
        let lock = OpenOptions::new().create(true).append(true).open(path.with_extension("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process has it"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let memory = if path.exists() { read(&path)? } else { Memory::default() };
        let mut inner = Inner {
            path,
            file: None,
            length: 0,
            rewrite_at: 0,
            force,
            records: Vec::new(),
            record: Vec::new(),
            memory,
            _lock: lock,
        };
        inner.write_anew()?;
        Ok(Arc::new(Self(Mutex::new(inner))))
    }

    /// Looks at what is known.
    pub(super) fn recall<T>(&self, look: impl FnOnce(&Memory) -> T) -> T {
        look(&lock(&self.0).memory)
    }

    /// `change` belongs to the next entry.
    pub(super) fn note(&self, change: Change) {
        let mut inner = lock(&self.0);
        if inner.file.is_some()
            && let Err(error) = inner.put(&change)
        {
            inner.give_up(&error);
        }
        inner.memory.apply(change);
    }

    /// The receiver has everything before `expected`: it need not be known any more. Not worth an entry.
    pub(super) fn acknowledged(&self, link: change::Link, expected: u64) {
        lock(&self.0).memory.acknowledged(link, expected);
    }

    /// Writes what was noted. Nothing of it may have left the process before.
    pub(super) fn commit(&self) {
        let mut inner = lock(&self.0);
        if let Err(error) = inner.commit() {
            inner.give_up(&error);
        }
    }
}

impl Inner {
    /// To go on with an old diary would be worse than to have none.
    fn give_up(&mut self, error: &io::Error) {
        tracing::error!(%error, "the state of sessions cannot be written: they will not survive this process");
        self.file = None;
        let _ = fs::remove_file(&self.path);
    }

    fn put(&mut self, change: &Change) -> io::Result<()> {
        if self.record.len() >= RECORD {
            self.seal(MORE)?;
        }
        if self.record.is_empty() {
            self.record.push(MORE);
        }
        change.write(&mut self.record);
        Ok(())
    }

    /// Ends a record.
    fn seal(&mut self, end: u8) -> io::Result<()> {
        if let Some(first) = self.record.first_mut() {
            *first = end;
            put_record(&mut self.records, &self.record)?;
            self.record.clear();
        }
        Ok(())
    }

    fn commit(&mut self) -> io::Result<()> {
        self.seal(LAST)?;
        let Some(file) = &mut self.file else { return Ok(()) };
        if self.records.is_empty() {
            return Ok(());
        }
        file.write_all(&self.records)?;
        if self.force {
            file.sync_data()?;
        }
        self.length += self.records.len() as u64;
        self.records.clear();
        self.records.shrink_to(1 << 16);
        if self.length > self.rewrite_at { self.write_anew() } else { Ok(()) }
    }

    /// Writes what is known into a new file, which then takes the place of the old one.
    fn write_anew(&mut self) -> io::Result<()> {
        for change in self.memory.changes() {
            self.put(&change)?;
        }
        self.seal(LAST)?;
        let path = self.path.with_extension("new");
        let mut file = File::create(&path)?;
        file.write_all(MAGIC)?;
        file.write_all(&self.records)?;
        file.sync_all()?;
        fs::rename(&path, &self.path)?;
        if let Some(folder) = self.path.parent() {
            File::open(folder)?.sync_all()?;
        }
        self.length = (MAGIC.len() + self.records.len()) as u64;
        self.rewrite_at = (self.length * 4).max(WORTHWHILE);
        self.records = Vec::new();
        self.file = Some(file);
        Ok(())
    }
}

/// What the diary at `path` says. An entry that is not whole is what a killed process leaves: nothing of it has happened.
fn read(path: &Path) -> io::Result<Memory> {
    let damaged = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut reader = Reader::open_other(path, MAGIC)?;
    let (mut memory, mut entry) = (Memory::default(), Vec::new());
    loop {
        let content = match reader.next_content()? {
            Ok(Some(content)) => content,
            Ok(None) => return Ok(memory),
            // A process that is killed may have had no time for the content of a record either.
            Err(damage) if damage.torn || damage.is_last => return Ok(memory),
            Err(damage) => return Err(damaged(format!("{} at byte {}", damage.what, damage.offset))),
        };
        let content = Bytes::from(content);
        let mut rest: &[u8] = &content;
        let end = rest.split_off_first().copied();
        while !rest.is_empty() {
            let change = Change::read(&content, &mut rest);
            entry.push(change.ok_or_else(|| damaged("a record that makes no sense".to_owned()))?);
        }
        if end == Some(LAST) {
            entry.drain(..).for_each(|change| memory.apply(change));
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
