//! Reading protocols from files, folders and standard input.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use referee::guard::read_module;
use referee::syntax::source::MAX_SOURCE;
use referee::wire::preset;
use referee::{FileText, Language, Packages, Parsed, ReadOnce, Source, WellFormed, decoded};

use crate::output;

/// Reads the file at `path`; `-` is standard input, and `preset:NAME` a protocol that comes with Referee.
pub(crate) fn read(path: &Path) -> Result<Source> {
    let name = path.display().to_string();
    if let Some(preset) = name.strip_prefix("preset:") {
        let Some(found) = preset::find(preset) else {
            let known: Vec<_> = preset::ALL.iter().map(|preset| preset.name).collect();
            bail!("there is no preset `{preset}`: {}", known.join(", "));
        };
        return Ok(Source::new(&format!("{name}.scr"), found.protocol));
    }
    let bytes = bytes(path, &name)?;
    let text = decoded(&bytes).map_err(|error| anyhow!("cannot read `{name}`: {error}"))?;
    Ok(Source::new(&name, &text))
}

/// As [`read`], for a file that is written again: what cannot be read exactly would be lost.
pub(crate) fn read_to_change(path: &Path) -> Result<Source> {
    let source = read(path)?;
    if source.text().contains(char::REPLACEMENT_CHARACTER) {
        bail!("`{}` is not UTF-8: nothing is changed", source.name());
    }
    Ok(source)
}

fn bytes(path: &Path, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = MAX_SOURCE as u64 + 1;
    if name == "-" {
        io::stdin().lock().take(limit).read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        let file = fs::File::open(path).with_context(|| format!("cannot open `{name}`"))?;
        file.take(limit).read_to_end(&mut bytes).with_context(|| format!("cannot read `{name}`"))?;
    }
    if bytes.len() > MAX_SOURCE {
        bail!("`{name}` is larger than 1 GiB: this is not a protocol");
    }
    Ok(bytes)
}

/// Where imported modules are.
#[derive(Args, Debug, Default)]
pub(crate) struct Imports {
    /// A folder below which the packages of imported modules are; may be repeated. Beside it, modules are looked for where
    /// the importing file's own `module` declaration says that its packages begin.
    #[arg(long, value_name = "DIR")]
    import_path: Vec<PathBuf>,
    /// Modules that were read.
    #[arg(skip)]
    known: Mutex<ReadOnce>,
}

impl Imports {
    /// The module in the file at `path`, read once.
    fn read(&self, path: &Path) -> FileText {
        self.known().read(path, read_module)
    }

    fn known(&self) -> MutexGuard<'_, ReadOnce> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps that the file at `path` holds `text`, which may not have been written.
    pub(crate) fn put(&self, path: &Path, text: &str) {
        self.known().put(path, text);
    }

    /// As [`read`], but not again what was read as a module, or will be.
    pub(crate) fn read_file(&self, path: &Path) -> Result<Source> {
        if let Some(text) = self.known().get(path) {
            return Ok(Source::new(&path.display().to_string(), &text));
        }
        let source = read(path)?;
        self.known().put(path, source.text());
        Ok(source)
    }
}

/// Parses `source` as what `requested` names, or else as what it seems to be written in.
pub(crate) fn parse(source: Source, requested: Option<Language>, imports: &Imports) -> Result<Parsed> {
    let known: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
    let mut read = |path: &Path| imports.read(path);
    let own = source.clone();
    let mut packages = Packages::new(Path::new(own.name()), own.text(), &imports.import_path, &mut read);
    Parsed::load(source, requested, &mut packages)
        .map_err(|error| anyhow!("{error}; say so with --language ({})", known.join(", ")))
}

/// The file at `path`, if there are no errors in it; `None`: there are, and they have been shown.
pub(crate) fn well_formed(
    path: &Path,
    requested: Option<Language>,
    imports: &Imports,
) -> Result<Option<WellFormed>> {
    match parse(read(path)?, requested, imports)?.well_formed() {
        Ok(well_formed) => Ok(Some(well_formed)),
        Err(ill_formed) => {
            let analysed = ill_formed.analysed();
            output::show_diagnostics(analysed.source(), analysed.diagnostics())?;
            Ok(None)
        }
    }
}

/// For clap: the language called `name`.
pub(crate) fn parse_language(name: &str) -> Result<Language, String> {
    Language::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
        format!(
            "there is no language `{name}`; known are {}",
            known.join(", ").replacen("scr", "scr, nuscr", 1)
        )
    })
}

const EXTENSIONS: [&str; 8] = ["scr", "nuscr", "st", "gt", "kmc", "fsm", "gt.json", "hml"];

/// The files that `paths` name: folders stand for all files of protocols and properties in them, however deep, sorted.
pub(crate) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        let mut folders = vec![path.clone()];
        while let Some(folder) = folders.pop() {
            let entries =
                fs::read_dir(&folder).with_context(|| format!("cannot open `{}`", folder.display()))?;
            for entry in entries {
                let entry = entry.with_context(|| format!("cannot read `{}`", folder.display()))?;
                // Links are not followed, so that a folder cannot contain itself.
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if is_protocol(&entry.path()) && may_be_read(&entry.path()) {
                    found.push(entry.path());
                }
            }
        }
        if found.is_empty() {
            bail!(
                "`{}` contains no protocols and no properties (.{})",
                path.display(),
                EXTENSIONS.join(", .")
            );
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

/// Whether reading `path`, which a folder contains, comes to an end: pipes and devices may wait or go on for ever. What a link
/// leads to counts. What cannot be looked at is told when it is read.
fn may_be_read(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |found| found.is_file())
}

fn is_protocol(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    EXTENSIONS.iter().any(|extension| name.ends_with(&format!(".{extension}")))
}
