//! `--journal FOLDER`: the records of a guard's journal as events.

use std::io::{self, PipeReader, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use referee::guard::journal::{Found, verify};
use referee::watch::Input;

/// The records of the journal in `folder`, each as one event; what is damaged is an event that was lost.
pub(super) fn input(folder: &Path) -> Result<Input> {
    let failed = || format!("cannot read the journal in `{}`", folder.display());
    referee::guard::journal::files(folder).with_context(failed)?;
    let (reader, writer): (PipeReader, _) = io::pipe().with_context(failed)?;
    let path = folder.to_owned();
    std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
        let mut out = io::BufWriter::new(writer);
        let mut each = |found: Found<'_>| match found {
            Found::Record(content) => {
                out.write_all(content)?;
                out.write_all(b"\n")
            }
            // What a guard that was killed was just writing is no event yet.
            Found::Damage(_, damage) if damage.torn => Ok(()),
            Found::Damage(file, damage) => {
                writeln!(out, "damaged: {} at byte {}: {}", file.display(), damage.offset, damage.what)
            }
        };
        // An end without a line end is a record that was cut: whoever reads says so.
        let result = verify(&path, &mut each);
        if let Err(error) = result
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            let _ = write!(out, "cannot be read: {error}");
        }
        let _ = out.flush();
    })?;
    Ok(Input::stream(&folder.display().to_string(), reader))
}
