//! The files that a log became when it was rotated: renamed, copied and truncated, compressed.
//!
//! A file is known by its first bytes, which no way of rotating changes; its number tells while it has none.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::compression;
use super::tail::{HEAD, number};
use crate::checkpoint::Position;

/// So much of the beginning of a file is looked at for a header.
const BEGINNING: usize = 64 << 10;

/// Where reading goes on.
#[derive(Default)]
pub(super) struct Found {
    /// The file that was read, behind what was read of it, and how it begins; none if it is gone.
    pub(super) contents: Option<(Contents, Vec<u8>)>,
    /// Those that came after it and are rotated as well, the oldest first.
    pub(super) newer: Vec<PathBuf>,
}

pub(super) enum Contents {
    /// It has the name still.
    Named(File),
    Old(Box<dyn Read + Send>),
}

/// How a file is recognised.
#[derive(Clone, Copy, PartialEq)]
enum By {
    /// It was only renamed.
    Number,
    /// It was copied or compressed.
    Beginning,
}

/// Looks for the file that had the name `path` at `position`.
pub(super) fn find(path: &Path, position: &Position) -> io::Result<Found> {
    let siblings = siblings(path)?;
    for by in [By::Number, By::Beginning] {
        if let Some(found) = named(path, position, by)? {
            return Ok(Found { contents: Some(found), newer: Vec::new() });
        }
        for (at, (_, sibling)) in siblings.iter().enumerate() {
            // A file that cannot be read may be one that is being compressed just now.
            let Ok(Some(found)) = old(sibling, position, by) else { continue };
            let newer = newer(siblings.get(at + 1..).unwrap_or_default(), &found.1);
            return Ok(Found { contents: Some(found), newer });
        }
    }
    Ok(Found::default())
}

fn is_same(position: &Position, metadata: &Metadata, beginning: &[u8], by: By) -> bool {
    let head = &position.file.head;
    let is_named_so = number(metadata) == (position.file.device, position.file.inode);
    beginning.starts_with(head) && if by == By::Number { is_named_so } else { !head.is_empty() }
}

/// The file that has the name now, if it is the one that was read.
fn named(path: &Path, position: &Position, by: By) -> io::Result<Option<(Contents, Vec<u8>)>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    let mut beginning = Vec::new();
    (&mut file).take(BEGINNING as u64).read_to_end(&mut beginning)?;
    if !is_same(position, &metadata, &beginning, by) || metadata.len() < position.offset {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(position.offset))?;
    Ok(Some((Contents::Named(file), beginning)))
}

/// The file at `path`, if it is the one that was read.
fn old(path: &Path, position: &Position, by: By) -> io::Result<Option<(Contents, Vec<u8>)>> {
    let metadata = std::fs::metadata(path)?;
    let (mut reader, beginning) = open_with(path, BEGINNING)?;
    if !is_same(position, &metadata, &beginning, by) {
        return Ok(None);
    }
    let skipped = io::copy(&mut (&mut reader).take(position.offset), &mut io::sink())?;
    Ok((skipped == position.offset).then_some((Contents::Old(reader), beginning)))
}

/// The file at `path`, decompressed, and its first bytes, which will be read again.
pub(super) fn open(path: &Path) -> io::Result<(Box<dyn Read + Send>, Vec<u8>)> {
    open_with(path, HEAD)
}

fn open_with(path: &Path, length: usize) -> io::Result<(Box<dyn Read + Send>, Vec<u8>)> {
    let (mut reader, _) = compression::open(Box::new(File::open(path)?))?;
    let mut head = Vec::new();
    (&mut reader).take(length as u64).read_to_end(&mut head)?;
    Ok((Box::new(io::Cursor::new(head.clone()).chain(reader)), head))
}

/// The rotated files of the log at `path`, by when they were last written.
fn siblings(path: &Path) -> io::Result<Vec<(SystemTime, PathBuf)>> {
    let (Some(name), Some(folder)) = (path.file_name().and_then(|name| name.to_str()), path.parent()) else {
        return Ok(Vec::new());
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let candidate = entry.file_name();
        let Some(suffix) = candidate.to_str().and_then(|other| other.strip_prefix(name)) else { continue };
        let metadata = entry.metadata()?;
        if is_rotation(suffix) && metadata.is_file() {
            found.push((metadata.modified()?, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// `.1`, `.2.gz`, `-20261118`, `.2026-11-18_10.zst`.
fn is_rotation(suffix: &str) -> bool {
    let plain = suffix.strip_suffix(".gz").or_else(|| suffix.strip_suffix(".zst")).unwrap_or(suffix);
    plain.starts_with(['.', '-', '_'])
        && plain.contains(|c: char| c.is_ascii_digit())
        && plain.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '_' | 'T' | ':'))
}

/// Of `siblings` those that are neither copies of the file that begins with `beginning` nor of each other.
fn newer(siblings: &[(SystemTime, PathBuf)], beginning: &[u8]) -> Vec<PathBuf> {
    let mut heads = vec![beginning.get(..HEAD).unwrap_or(beginning).to_vec()];
    let mut newer = Vec::new();
    for (_, sibling) in siblings {
        match open(sibling) {
            Ok((_, head)) if head.is_empty() || heads.contains(&head) => {}
            Ok((_, head)) => {
                heads.push(head);
                newer.push(sibling.clone());
            }
            // What is in it will be said to be missing.
            Err(_) => newer.push(sibling.clone()),
        }
    }
    newer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_are_told_from_other_files() {
        for yes in [".1", ".2.gz", "-20261118", ".2026-11-18_10.zst", "-2026-11-18T10:00"] {
            assert!(is_rotation(yes), "{yes}");
        }
        for no in ["", ".bak", ".gz", "-errors", ".1.swp", "2", ".old1"] {
            assert!(!is_rotation(no), "{no}");
        }
    }
}
