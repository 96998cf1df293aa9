//! What makes events of which log: one source for all inputs, or for each its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use referee::watch::{EventReader, Input};

use crate::command::extract::SourceReader;

/// The sources of a run.
#[derive(Default)]
pub(super) struct Sources {
    /// Of inputs that have none of their own.
    pub(super) general: Option<Arc<SourceReader>>,
    own: Vec<(PathBuf, Arc<SourceReader>)>,
}

/// What `--source` says: of which input, if of one, and the name of the source.
fn split<'a>(written: &'a str, inputs: &'a [PathBuf]) -> Result<(Option<&'a Path>, &'a str)> {
    let own = |path: &'a PathBuf| {
        let name = written.strip_prefix(path.to_str()?)?.strip_prefix('=')?;
        Some((Some(path.as_path()), name))
    };
    if let Some(found) = inputs.iter().find_map(own) {
        return Ok(found);
    }
    if let Some((input, _)) = written.split_once('=')
        && !Path::new(written).exists()
    {
        bail!("no input is called `{input}`: --source LOG=FILE is about one of them");
    }
    Ok((None, written))
}

impl Sources {
    /// Loads what is `written`, where the inputs are these.
    pub(super) fn load(written: &[String], inputs: &[PathBuf]) -> Result<Self> {
        let mut sources = Self::default();
        for written in written {
            let (input, name) = split(written, inputs)?;
            let reader = SourceReader::load(name)?;
            let is_twice = match input {
                Some(path) => sources.own.iter().any(|(known, _)| known == path),
                None => sources.general.replace(Arc::clone(&reader)).is_some(),
            };
            if is_twice {
                bail!("`{written}`: a log is read by one source; --source LOG=FILE says by which");
            }
            sources.own.extend(input.map(|path| (path.to_owned(), reader)));
        }
        Ok(sources)
    }

    /// `input`, which is called `path`, read by the source of its own if it has one.
    pub(super) fn apply(&self, path: &Path, input: Input) -> Input {
        match self.own.iter().find(|(known, _)| known == path) {
            Some((_, reader)) => input.read_by(Arc::clone(reader) as Arc<dyn EventReader>),
            None => input,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<SourceReader>> {
        self.general.iter().chain(self.own.iter().map(|(_, reader)| reader))
    }

    /// How many lines match nothing.
    pub(super) fn unmatched(&self) -> u64 {
        self.all().map(|source| source.unmatched()).sum()
    }

    /// Says what was taken for granted of times.
    pub(super) fn remark_on_times(&self) {
        self.all().for_each(|source| source.remark_on_times());
    }

    /// The texts of the sources that are `written`, each with the input it is of.
    pub(super) fn texts(written: &[String], inputs: &[PathBuf]) -> Result<Vec<(Option<PathBuf>, String)>> {
        let text = |written: &String| {
            let (input, name) = split(written, inputs)?;
            Ok((input.map(Path::to_owned), crate::command::extract::text(name)?))
        };
        written.iter().map(text).collect()
    }
}
