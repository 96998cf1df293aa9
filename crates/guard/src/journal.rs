//! The journal: an append-only record of verdicts and ends of sessions that survives a kill.
//!
//! A folder of files `journal-NNNNNNNN.rfj`, numbered from 1. A file is the magic `RFJRNL1\n` and records; a
//! record is its length, its checksum (both 32 bits, little endian, the checksum over length and content) and
//! its content, one JSON object with a running number. Whoever is killed while writing leaves a torn record at
//! the very end; opening the journal again cuts it off. Anything else is damage, which is never repaired, only reported:
//! reading goes on with the next record that has the right checksum, and writing in a new file.

mod read;
mod write;

use std::io;
use std::path::{Path, PathBuf};

pub use read::{Damage, Entry, Found, Reader, Summary, verify};
pub use write::Writer;

const MAGIC: &[u8; 8] = b"RFJRNL1\n";
const HEADER: usize = 8;
/// No record is longer: a length beyond this is damage.
pub(crate) const MAX_RECORD: usize = 16 << 20;

/// The checksum of a record.
fn checksum(content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
    hasher.update(content);
    hasher.finalize()
}

/// Appends `content` to `buffer` as a record.
///
/// # Errors
/// It is longer than any record may be.
pub(crate) fn put_record(buffer: &mut Vec<u8>, content: &[u8]) -> io::Result<()> {
    if content.len() > MAX_RECORD {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the record is too long"));
    }
    buffer.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
    buffer.extend(checksum(content).to_le_bytes());
    buffer.extend(content);
    Ok(())
}

/// The files of the journal in `folder`, in order.
///
/// # Errors
/// The folder cannot be read.
pub fn files(folder: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let number = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_prefix("journal-")?.strip_suffix(".rfj")?.parse().ok());
        if let Some(number) = number {
            files.push((number, path));
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn path_of(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("journal-{number:08}.rfj"))
}

#[cfg(test)]
mod tests;
