//! Writing a journal: repair, append, force onto the disk, rotate.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Damage, MAGIC, Reader, files, path_of, put_record, verify};
use crate::report::Report;

/// The end of a journal.
pub struct Writer {
    folder: PathBuf,
    file: File,
    number: u32,
    length: u64,
    rotate_at: u64,
    keep: u32,
    last: u64,
    buffer: Vec<u8>,
    repaired: Option<u64>,
    damages: Vec<(PathBuf, Damage)>,
}

impl Writer {
    /// Opens the journal in `folder`, which is made if it does not exist, and cuts off a torn record at its end.
    ///
    /// # Errors
    /// The folder or its files cannot be read or written.
    pub fn open(folder: &Path, rotate_at: usize, keep: u32) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let summary = verify(folder, &mut |_| Ok(()))?;
        let mut number = files(folder)?.last().map_or(0, |(number, _)| *number);
        let mut repaired = None;
        let mut usable = false;
        if number > 0 {
            let path = path_of(folder, number);
            let mut reader = Reader::open(&path)?;
            let end = loop {
                match reader.next_content()? {
                    Ok(Some(_)) => {}
                    Ok(None) => break Some(reader.offset()),
                    Err(damage) if damage.torn => break Some(damage.offset),
                    // Not ours to repair: go on in a new file.
                    Err(_) => break None,
                }
            };
            if let Some(end) = end {
                let file = OpenOptions::new().write(true).open(&path)?;
                let length = file.metadata()?.len();
                if end < length {
                    file.set_len(end)?;
                    file.sync_all()?;
                    repaired = Some(length - end);
                }
                usable = true;
            }
        }
        if !usable {
            number += 1;
        }
        let (file, length) = open_file(folder, number)?;
        let rotate_at = rotate_at as u64;
        Ok(Self {
            folder: folder.to_owned(),
            file,
            number,
            length,
            rotate_at,
            keep,
            last: summary.last,
            buffer: Vec::new(),
            repaired,
            damages: summary.damages.into_iter().filter(|(_, damage)| !damage.torn).collect(),
        })
    }

    /// How many bytes of a torn record were cut off.
    #[must_use]
    pub fn repaired(&self) -> Option<u64> {
        self.repaired
    }

    /// What was wrong with the journal when it was opened, and is left as it was.
    #[must_use]
    pub fn damages(&self) -> &[(PathBuf, Damage)] {
        &self.damages
    }

    /// Adds a record to what [`commit`](Self::commit) will write; gives its number.
    ///
    /// # Errors
    /// The record is longer than any may be.
    pub fn append(&mut self, report: &Report) -> io::Result<u64> {
        #[derive(Serialize)]
        struct Entry<'a> {
            number: u64,
            #[serde(flatten)]
            report: &'a Report,
        }
        let number = self.last + 1;
        put_record(&mut self.buffer, &serde_json::to_vec(&Entry { number, report })?)?;
        self.last = number;
        Ok(number)
    }

    /// Hands what was appended to the system, and with `force` waits until it is on the disk.
    ///
    /// # Errors
    /// It cannot be written. What was appended is written by the next call that succeeds.
    pub fn commit(&mut self, force: bool) -> io::Result<()> {
        if !self.buffer.is_empty() {
            if self.length > MAGIC.len() as u64 && self.length + self.buffer.len() as u64 > self.rotate_at {
                self.rotate()?;
            }
            if let Err(error) = self.file.write_all(&self.buffer) {
                // A part may be in the file: cut it off, so that the next attempt does not follow a torn record.
                let _ = self.file.set_len(self.length);
                return Err(error);
            }
            self.length += self.buffer.len() as u64;
            self.buffer.clear();
            self.buffer.shrink_to(1 << 16);
        }
        if force { self.file.sync_data() } else { Ok(()) }
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let (file, length) = open_file(&self.folder, self.number + 1)?;
        (self.file, self.length) = (file, length);
        self.number += 1;
        let files = files(&self.folder)?;
        let surplus = files.len().saturating_sub(self.keep as usize + 1);
        for (_, path) in &files[..surplus] {
            fs::remove_file(path)?;
        }
        Ok(())
    }
}

/// The file `number`, at its end; its head and its name are on the disk.
fn open_file(folder: &Path, number: u32) -> io::Result<(File, u64)> {
    let path = path_of(folder, number);
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let mut length = file.metadata()?.len();
    if length < MAGIC.len() as u64 {
        file.set_len(0)?;
        file.write_all(MAGIC)?;
        file.sync_all()?;
        File::open(folder)?.sync_all()?;
        length = MAGIC.len() as u64;
    }
    Ok((file, length))
}
