//! Reading the files of protocols, with a limit.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use referee_pipeline::{FileText, MAX_MODULE, decoded};

/// What the module in the file at `path` holds; `None` if that is no file. Of one that is too large a little more than is allowed.
///
/// # Errors
/// It cannot be read.
pub fn read_module(path: &Path) -> FileText {
    if !path.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let opened = fs::File::open(path).map_err(|error| error.to_string())?;
    opened.take(MAX_MODULE as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(Some(decoded(&bytes)?.into()))
}
