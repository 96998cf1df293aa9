//! What is read from disk: files that are not open, and the protocols of the workspace's folders.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use referee_pipeline::{FileText, MAX_MODULE};

/// So many files of the workspace's folders are read.
const MAX_FILES: usize = 2_000;

/// So many entries of folders are looked at.
const MAX_ENTRIES: usize = 100_000;

/// What names of files protocols have. `.json` files are of many kinds: only those that are open are read.
const EXTENSIONS: [&str; 7] = ["scr", "nuscr", "st", "gt", "kmc", "fsm", "hml"];

/// What the file at `path` holds; `None` if there is none.
pub(crate) fn read(path: &Path) -> FileText {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
        Ok(found) if !found.is_file() => return Ok(None),
        Ok(found) if found.len() > MAX_MODULE as u64 => return Err("it is larger than 64 MiB".to_owned()),
        Ok(_) => {}
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    Ok(Some(String::from_utf8_lossy(&bytes).into()))
}

/// Whether the name of a file says that it holds a protocol.
pub(crate) fn is_protocol(path: &Path) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|found| EXTENSIONS.contains(&found))
}

/// The protocols below `folders`, up to a limit. Hidden folders and those of build tools are left out.
pub(crate) fn scan(folders: Vec<PathBuf>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = folders;
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            looked_at += 1;
            if looked_at > MAX_ENTRIES || found.len() == MAX_FILES {
                return found;
            }
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            // Links are not followed: they may lead in circles.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
                folders.push(path);
            } else if kind.is_file()
                && is_protocol(&path)
                && let Some(path) = path.to_str()
                && let Ok(Some(text)) = read(Path::new(path))
            {
                found.push((path.to_owned(), text.to_string()));
            }
        }
    }
    found
}
