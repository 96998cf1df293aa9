//! Files that grow: what is appended, after truncation from the start, after rotation from the new file.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::compression;

/// A file that may grow. Reading gives 0 when there is nothing new for now.
pub(crate) struct Tail {
    path: PathBuf,
    file: Option<File>,
    position: u64,
    /// Whether what was read so far ends with a line feed.
    complete: bool,
    count: Arc<AtomicU64>,
}

impl Tail {
    pub(crate) fn open(path: PathBuf, count: Arc<AtomicU64>) -> io::Result<Self> {
        let mut file = File::open(&path)?;
        let mut head = Vec::new();
        (&mut file).take(4).read_to_end(&mut head)?;
        if compression::is_compressed(&head) {
            let why = "it is compressed, and a compressed file cannot be followed: watch it without --follow, or \
                       decompress it into a pipe";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        file.seek(SeekFrom::Start(0))?;
        Ok(Self { path, file: Some(file), position: 0, complete: true, count })
    }

    /// There is nothing more in the file: it may have been truncated, or another may have taken its name.
    /// Whether there may be more now.
    fn renew(&mut self) -> io::Result<bool> {
        let named = match std::fs::metadata(&self.path) {
            Ok(named) => named,
            // Between the two steps of a rotation nothing has the name.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let Some(file) = &mut self.file else {
            self.file = Some(File::open(&self.path)?);
            return Ok(true);
        };
        let current = file.metadata()?;
        if !is_same(&current, &named) {
            self.file = Some(File::open(&self.path)?);
        } else if current.len() < self.position {
            file.seek(SeekFrom::Start(0))?;
        } else {
            return Ok(false);
        }
        self.position = 0;
        Ok(true)
    }
}

impl Read for Tail {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(file) = &mut self.file {
                let length = file.read(buffer)?;
                if let Some(last) = buffer.get(..length).and_then(<[u8]>::last) {
                    self.position += length as u64;
                    self.complete = *last == b'\n';
                    self.count.fetch_add(length as u64, Ordering::Relaxed);
                    return Ok(length);
                }
            }
            if !self.renew()? {
                return Ok(0);
            }
            if !self.complete {
                // Half a line of the old contents must not become the start of a line of the new.
                self.complete = true;
                buffer[0] = b'\n';
                return Ok(1);
            }
        }
    }
}

#[cfg(unix)]
fn is_same(left: &Metadata, right: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (left.dev(), left.ino()) == (right.dev(), right.ino())
}

#[cfg(not(unix))]
fn is_same(left: &Metadata, right: &Metadata) -> bool {
    left.created().ok() == right.created().ok()
}
