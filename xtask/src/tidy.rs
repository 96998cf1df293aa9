//! `cargo xtask tidy`: the rules of this repository that no compiler knows.
//!
//! Every check is a pure function from the [`tree::Tree`] of files, or from the packages, to findings, so
//! that its tests can show it failing on made-up input. All findings are reported, not only the first.

mod docs;
pub(crate) mod edges;
mod embedding;
mod laws;
mod rust_files;
mod size;
mod source;
mod tree;

use std::fmt;

use anyhow::{Result, bail};

use crate::workspace;
use tree::Tree;

/// Something that a check found.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// The file, relative to the root.
    path: String,
    /// Counted from 1; 0 if the finding concerns the whole file.
    line: usize,
    message: String,
    /// Whether tidy fails because of it.
    severity: Severity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Severity {
    Error,
    Warning,
}

impl Finding {
    fn error(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into(), severity: Severity::Error }
    }

    fn warning(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(path, line, message) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        match self.line {
            0 => write!(f, "{severity}: {}: {}", self.path, self.message),
            line => write!(f, "{severity}: {}:{line}: {}", self.path, self.message),
        }
    }
}

/// Runs every check on this repository.
pub(crate) fn run() -> Result<()> {
    let packages = workspace::packages()?;
    let tree = Tree::read(&workspace::root())?;
    let mut findings = edges::check(&packages, &tree);
    findings.extend(embedding::check()?);
    findings.extend(rust_files::check(&tree));
    findings.extend(size::check(&tree));
    findings.extend(docs::check(&tree, &packages));
    findings.extend(laws::check(&tree));
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    if errors > 0 {
        bail!("tidy found {errors} {}", if errors == 1 { "error" } else { "errors" });
    }
    println!(
        "tidy: {} packages, {} Rust files, {} documents",
        packages.len(),
        tree.count(".rs"),
        tree.count(".md")
    );
    Ok(())
}
