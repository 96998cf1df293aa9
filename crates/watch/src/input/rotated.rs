//! The files that a log became when it was rotated: renamed, copied and truncated, compressed.
//!
//! A file is known by its first bytes, which no way of rotating changes; its number tells while it has none.

use std::cmp::Reverse;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

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
    // It is the one that follows the file that was read before it, if that is known: several may begin with the same header, and a
    // copy has another number.
    let before = &position.file.before;
    let begins = |path: &PathBuf| open(path).is_ok_and(|(_, head)| head.starts_with(before));
    let follows = |at: usize| {
        let previous = at.checked_sub(1).and_then(|at| siblings.get(at));
        !before.is_empty() && previous.is_some_and(|(_, path)| begins(path))
    };
    for is_next in [true, false] {
        for by in [By::Number, By::Beginning] {
            if (!is_next || follows(siblings.len()))
                && let Some(found) = named(path, position, by)?
            {
                return Ok(Found { contents: Some(found), newer: Vec::new() });
            }
            for (at, (_, sibling)) in siblings.iter().enumerate() {
                if is_next && !follows(at) {
                    continue;
                }
                // A file that cannot be read may be one that is being compressed just now.
                let Ok(Some(found)) = old(sibling, position, by) else { continue };
                let newer = newer(siblings.get(at + 1..).unwrap_or_default(), &found.1);
                return Ok(Found { contents: Some(found), newer });
            }
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

/// The rotated files of the log at `path`, the oldest first.
fn siblings(path: &Path) -> io::Result<Vec<(Age, PathBuf)>> {
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
            let is_compressed = uncompressed(suffix) != suffix;
            found.push((Age::of(suffix), entry.path(), is_compressed, metadata.modified()?));
        }
    }
    found.sort();
    // Whoever compresses a file may write it anew; of the others the times tell whether numbers go up. If they tell nothing, 1 is the newest.
    let mut votes = 0;
    for pair in found.windows(2) {
        if let [(Age::Numbered(_), _, false, before), (Age::Numbered(_), _, false, after)] = pair {
            votes += after.cmp(before) as i32;
        }
    }
    if votes < 0 {
        let numbered = found.iter().position(|(age, ..)| matches!(age, Age::Numbered(_)));
        found.get_mut(numbered.unwrap_or_default()..).unwrap_or_default().reverse();
    }
    Ok(found.into_iter().map(|(age, path, ..)| (age, path)).collect())
}

/// How old a rotated file is, by its name. When it was last written does not tell by itself: whoever compresses it writes it anew.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Age {
    /// `-20261118`, `.2026-11-18.1`: a date, whose first digits are the year; and what follows it. Earlier ones are older.
    Dated(Vec<u64>),
    /// `.3`: mostly the newest has the smallest number.
    Numbered(Reverse<u64>),
}

impl Age {
    fn of(suffix: &str) -> Self {
        let plain = uncompressed(suffix);
        let numbers = plain.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
        let read = |digits: &str| digits.parse().unwrap_or(u64::MAX);
        match numbers.map(read).collect::<Vec<u64>>()[..] {
            [number] if number < FIRST_YEAR => Self::Numbered(Reverse(number)),
            ref date => Self::Dated(date.to_vec()),
        }
    }
}

/// Numbers from here on begin with a year.
const FIRST_YEAR: u64 = 1970;

/// `.1`, `.2.gz`, `-20261118`, `.2026-11-18_10.zst`.
fn is_rotation(suffix: &str) -> bool {
    let plain = uncompressed(suffix);
    plain.starts_with(['.', '-', '_'])
        && plain.contains(|c: char| c.is_ascii_digit())
        && plain.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '_' | 'T' | ':'))
}

fn uncompressed(suffix: &str) -> &str {
    suffix.strip_suffix(".gz").or_else(|| suffix.strip_suffix(".zst")).unwrap_or(suffix)
}

/// Of `siblings` those that are neither copies of the file that begins with `beginning` nor of each other.
fn newer(siblings: &[(Age, PathBuf)], beginning: &[u8]) -> Vec<PathBuf> {
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

    /// Whoever compresses a file anew need not keep when it was written.
    #[test]
    fn names_tell_the_order_of_rotations() {
        let folder = std::env::temp_dir().join(format!("referee-rotated-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let log = folder.join("l");
        for names in [
            ["l.12.gz", "l.9", "l.1.gz"],
            ["l-20251231.gz", "l-20260101", "l-20261118.gz"],
            ["l.2026-11-17_23.zst", "l.2026-11-18_1.zst", "l.2026-11-18_10"],
            ["l-20261118", "l-20261118.1", "l-20261118.2"],
        ] {
            // Written in all orders.
            for first in 0..3 {
                for step in [1, 2] {
                    let order = (0..3).map(|at| (first + at * step) % 3);
                    order.for_each(|at| std::fs::write(folder.join(names[at]), [at as u8]).unwrap());
                    let found = siblings(&log).unwrap();
                    let found: Vec<_> =
                        found.iter().filter_map(|(_, path)| path.file_name()?.to_str()).collect();
                    assert_eq!(found, names);
                    names.iter().for_each(|name| std::fs::remove_file(folder.join(name)).unwrap());
                }
            }
        }
        // Whoever counts up has written the last ones later.
        for names in [["l.3.gz", "l.2", "l.1"], ["l.7", "l.8", "l.9"]] {
            for name in names {
                std::fs::write(folder.join(name), b"x").unwrap();
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            let found = siblings(&log).unwrap();
            let found: Vec<_> = found.iter().filter_map(|(_, path)| path.file_name()?.to_str()).collect();
            assert_eq!(found, names);
            names.iter().for_each(|name| std::fs::remove_file(folder.join(name)).unwrap());
        }
        std::fs::remove_dir(&folder).unwrap();
    }
}
