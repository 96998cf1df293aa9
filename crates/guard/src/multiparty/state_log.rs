//! The state log: a write-ahead log from which a process goes on with its sessions after a crash.
//!
//! Each event at the runtime is one entry: the new state of the sessions it changed, what goes to components and peers,
//! what was received from peers. An entry is written before any of its effects leaves the process, so whatever others have
//! seen is in the log, and what they have not seen can be sent again. One file, `NAME-FINGERPRINT.rfd`, in the journal's
//! record format; when it has grown it is compacted to a snapshot.

mod change;
mod snapshot;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hyper::body::Bytes;

pub(super) use change::Change;
pub(super) use snapshot::Snapshot;

use crate::journal::{MAX_RECORD, Reader, put_record};
use crate::metrics::lock;

const MAGIC: &[u8; 8] = b"RFDIARY1";
/// The log is compacted when it is longer than this and four times as long as after the last compaction.
const COMPACT_ABOVE_BYTES: u64 = 16 << 20;
/// An entry is split into records of about this size, of which the last is marked.
const RECORD_BYTES: usize = MAX_RECORD / 4;
const TAG_MORE: u8 = 0;
const TAG_LAST: u8 = 1;

/// The state log of one process.
pub(super) struct StateLog(Mutex<Inner>);

struct Inner {
    path: PathBuf,
    /// `None` after a write error.
    file: Option<File>,
    length: u64,
    compact_at: u64,
    /// Whether each entry is synced to disk.
    sync: bool,
    /// Records that are not written yet: the finished ones, and the one in progress.
    records: Vec<u8>,
    record: Vec<u8>,
    snapshot: Snapshot,
    /// The lock file, held as long as the log is open.
    _lock: File,
}

impl StateLog {
    /// Opens the state log `name` in `folder`, which is created if needed.
    ///
    /// # Errors
    /// It cannot be read or written, is corrupt, or is locked by another process.
    pub(super) fn open(folder: &Path, name: &str, sync: bool) -> io::Result<Arc<Self>> {
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
        let snapshot = if path.exists() { read(&path)? } else { Snapshot::default() };
        let mut inner = Inner {
            path,
            file: None,
            length: 0,
            compact_at: 0,
            sync,
            records: Vec::new(),
            record: Vec::new(),
            snapshot,
            _lock: lock,
        };
        inner.compact()?;
        Ok(Arc::new(Self(Mutex::new(inner))))
    }

    /// Reads the snapshot.
    pub(super) fn read<T>(&self, look: impl FnOnce(&Snapshot) -> T) -> T {
        look(&lock(&self.0).snapshot)
    }

    /// Adds `change` to the next entry.
    pub(super) fn append(&self, change: Change) {
        let mut inner = lock(&self.0);
        if inner.file.is_some()
            && let Err(error) = inner.put(&change)
        {
            inner.disable(&error);
        }
        inner.snapshot.apply(change);
    }

    /// A peer acknowledged everything before `expected`, which need not be kept. Not worth an entry.
    pub(super) fn acknowledged(&self, pair: change::RolePair, expected: u64) {
        lock(&self.0).snapshot.acknowledged(pair, expected);
    }

    /// Writes the entry. None of its effects may have left the process before.
    pub(super) fn commit(&self) {
        let mut inner = lock(&self.0);
        if let Err(error) = inner.commit() {
            inner.disable(&error);
        }
    }
}

impl Inner {
    /// Deletes the log: to restart from a stale one would be worse than from none.
    fn disable(&mut self, error: &io::Error) {
        tracing::error!(%error, "the state of sessions cannot be written: they will not survive this process");
        self.file = None;
        let _ = fs::remove_file(&self.path);
    }

    fn put(&mut self, change: &Change) -> io::Result<()> {
        if self.record.len() >= RECORD_BYTES {
            self.finish_record(TAG_MORE)?;
        }
        if self.record.is_empty() {
            self.record.push(TAG_MORE);
        }
        change.write(&mut self.record);
        Ok(())
    }

    /// Finishes the record in progress.
    fn finish_record(&mut self, end: u8) -> io::Result<()> {
        if let Some(first) = self.record.first_mut() {
            *first = end;
            put_record(&mut self.records, &self.record)?;
            self.record.clear();
        }
        Ok(())
    }

    fn commit(&mut self) -> io::Result<()> {
        self.finish_record(TAG_LAST)?;
        let Some(file) = &mut self.file else { return Ok(()) };
        if self.records.is_empty() {
            return Ok(());
        }
        file.write_all(&self.records)?;
        if self.sync {
            file.sync_data()?;
        }
        self.length += self.records.len() as u64;
        self.records.clear();
        self.records.shrink_to(1 << 16);
        if self.length > self.compact_at { self.compact() } else { Ok(()) }
    }

    /// Writes the snapshot into a new file, which replaces the old one.
    fn compact(&mut self) -> io::Result<()> {
        for change in self.snapshot.changes() {
            self.put(&change)?;
        }
        self.finish_record(TAG_LAST)?;
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
        self.compact_at = (self.length * 4).max(COMPACT_ABOVE_BYTES);
        self.records = Vec::new();
        self.file = Some(file);
        Ok(())
    }
}

/// Reads the log at `path`. An incomplete entry at the end, which a crash leaves, has not happened.
fn read(path: &Path) -> io::Result<Snapshot> {
    let damaged = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut reader = Reader::open_other(path, MAGIC)?;
    let (mut snapshot, mut entry) = (Snapshot::default(), Vec::new());
    loop {
        let content = match reader.next_content()? {
            Ok(Some(content)) => content,
            Ok(None) => return Ok(snapshot),
            // A crash may also leave a record without its content.
            Err(damage) if damage.torn || damage.is_last => return Ok(snapshot),
            Err(damage) => return Err(damaged(format!("{} at byte {}", damage.what, damage.offset))),
        };
        let content = Bytes::from(content);
        let mut rest: &[u8] = &content;
        let end = rest.split_off_first().copied();
        while !rest.is_empty() {
            let change = Change::read(&content, &mut rest);
            entry.push(change.ok_or_else(|| damaged("a record that makes no sense".to_owned()))?);
        }
        if end == Some(TAG_LAST) {
            entry.drain(..).for_each(|change| snapshot.apply(change));
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
