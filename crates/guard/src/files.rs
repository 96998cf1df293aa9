//! Reading the files of protocols, with a limit.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use referee_pipeline::{FileText, MAX_MODULE, decoded};

/// What the module in the file at `path` holds; `None` if there is none. Of one that is too large a little more than is allowed.
///
/// # Errors
/// It cannot be read, or is a folder, a pipe or a device, which could keep whoever reads it waiting for ever.
pub fn read_module(path: &Path) -> FileText {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(found) if found.is_dir() => return Err("this is a folder, not a file".to_owned()),
        Ok(_) => return Err("this is a pipe or a device, not a file".to_owned()),
        Err(_) => return Ok(None),
    }
    let mut bytes = Vec::new();
    let opened = fs::File::open(path).map_err(|error| error.to_string())?;
    opened.take(MAX_MODULE as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(Some(decoded(&bytes)?.into()))
}

#[cfg(test)]
mod tests {
    use super::{Path, read_module};

    #[test]
    fn what_is_there_and_no_file_is_not_called_missing() {
        assert_eq!(read_module(Path::new("there/is/no/such/Module.scr")), Ok(None));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(read_module(folder), Err("this is a folder, not a file".to_owned()));
        if cfg!(unix) {
            let zero = Path::new("/dev/zero");
            assert_eq!(read_module(zero), Err("this is a pipe or a device, not a file".to_owned()));
        }
    }
}
