//! The repository's files as the checks see them: relative paths, and the text of Rust and Markdown files.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

/// Directories that hold what tools write.
const GENERATED: &[&str] = &["target", "fuzz/target", "fuzz/corpus", "fuzz/artifacts"];

/// Paths (with `/`, relative to the root) and texts.
#[derive(Debug, Default)]
pub(super) struct Tree {
    // The text is empty for files that no check reads.
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the repository at `root`; hidden and generated directories are left out.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        let mut pending = vec![String::new()];
        while let Some(directory) = pending.pop() {
            let path = root.join(&directory);
            let entries = path.read_dir().with_context(|| format!("cannot list `{}`", path.display()))?;
            for entry in entries {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let relative =
                    if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    if !name.starts_with('.') && !GENERATED.contains(&relative.as_str()) {
                        pending.push(relative);
                    }
                } else if kind.is_file() {
                    let is_read = [".rs", ".md", "clippy.toml"].iter().any(|end| name.ends_with(end));
                    let text = if is_read {
                        std::fs::read_to_string(entry.path())
                            .with_context(|| format!("cannot read `{relative}`"))?
                    } else {
                        String::new()
                    };
                    tree.files.insert(relative, text);
                }
            }
        }
        Ok(tree)
    }

    /// The text of the file at `path`.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether there is a file or a directory at `path`.
    pub(super) fn contains(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let inside = format!("{path}/");
        self.files.contains_key(path)
            || self.files.range(inside.clone()..).next().is_some_and(|(file, _)| file.starts_with(&inside))
    }

    /// Paths and texts of the files whose path ends with `end`.
    pub(super) fn with_end<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .filter(move |(path, _)| path.ends_with(end))
    }

    /// How many files have a path that ends with `end`.
    pub(super) fn count(&self, end: &str) -> usize {
        self.with_end(end).count()
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Self {
        Self { files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_exist_through_their_files() {
        let tree = Tree::from([("docs/limits.md", ""), ("docs-old/x", "")]);
        assert!(tree.contains("docs/limits.md"));
        assert!(tree.contains("docs") && tree.contains("docs/"));
        assert!(!tree.contains("docs/lim"));
        assert!(!tree.contains("doc"));
    }

    #[test]
    fn this_repository_is_read_without_what_tools_wrote() {
        let tree = Tree::read(&crate::workspace::root()).unwrap();
        assert!(tree.text("xtask/src/tidy/tree.rs").unwrap().starts_with("//!"));
        assert!(!tree.contains("target"));
    }
}
