//! `--journal FOLDER`: the records of a guard's journal as events, or those of a folder of journals.

use std::io::{self, PipeReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use referee::guard::journal::{Found, files, verify};
use referee::watch::Input;

/// The records of the journal in `folder`, each as one event; what is damaged is an event that was lost. Where `folder` holds journals,
/// one for each run, theirs: run after run, and the sessions of each are its own.
pub(super) fn input(folder: &Path) -> Result<Input> {
    let failed = || format!("cannot read the journal in `{}`", folder.display());
    let runs = match files(folder).with_context(failed)?.is_empty() {
        true => runs(folder).with_context(failed)?,
        false => vec![(folder.to_owned(), None)],
    };
    if runs.is_empty() {
        bail!("there is no journal in `{}`", folder.display());
    }
    let (reader, writer): (PipeReader, _) = io::pipe().with_context(failed)?;
    std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
        let mut out = io::BufWriter::new(writer);
        for (folder, run) in &runs {
            // An end without a line end is a record that was cut: whoever reads says so.
            if let Err(error) = copy(folder, run.as_deref(), &mut out) {
                if error.kind() != io::ErrorKind::BrokenPipe {
                    let _ = write!(out, "cannot be read: {error}");
                }
                break;
            }
        }
        let _ = out.flush();
    })?;
    Ok(Input::stream(&folder.display().to_string(), reader))
}

/// The journals in `folder`, each with the name of its run.
fn runs(folder: &Path) -> io::Result<Vec<(PathBuf, Option<String>)>> {
    let mut runs = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !files(&path)?.is_empty() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            runs.push((path, Some(name)));
        }
    }
    runs.sort_unstable();
    Ok(runs)
}

/// Writes the records of the journal in `folder`; sessions are called `RUN/SESSION` where there are several runs.
fn copy(folder: &Path, run: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    // No text that a record carries has these quotes: within a text they are escaped.
    const SESSION: &[u8] = b"\"session\":\"";
    let run = run.map(|run| serde_json::to_string(&format!("{run}/"))).transpose()?;
    let run = run.as_deref().and_then(|run| run.get(1..run.len() - 1));
    verify(folder, &mut |found: Found<'_>| match found {
        Found::Record(content) => {
            let at = content.windows(SESSION.len()).position(|window| window == SESSION);
            let (head, tail) = content.split_at(at.map_or(0, |at| at + SESSION.len()));
            out.write_all(head)?;
            out.write_all(run.filter(|_| at.is_some()).unwrap_or_default().as_bytes())?;
            out.write_all(tail)?;
            out.write_all(b"\n")
        }
        // What a guard that was killed was just writing is no event yet.
        Found::Damage(_, damage) if damage.torn => Ok(()),
        Found::Damage(file, damage) => {
            writeln!(out, "damaged: {} at byte {}: {}", file.display(), damage.offset, damage.what)
        }
    })?;
    Ok(())
}
