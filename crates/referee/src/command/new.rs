//! `referee new`: a small project that runs at once, to be changed into one's own.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use crate::Outcome;
use crate::output;

/// Write a small, commented project that runs at once.
///
/// Its README.md says what to type. Nothing that exists is overwritten.
#[derive(Args)]
pub(crate) struct Arguments {
    /// What it is about.
    kind: Kind,
    /// The folder to write into; by default one with the name of the kind.
    folder: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// A protocol to check, and two components that disagree.
    Protocol,
    /// A log, with the protocol and the property that it is judged by.
    Watch,
    /// A guard before a web server.
    HttpGuard,
    /// A guard before a mail server.
    SmtpGuard,
    /// Three services, each with a monitor beside it.
    Multiparty,
}

/// The files of a project: their names, and what is in them.
type Files = &'static [(&'static str, &'static str)];

macro_rules! files {
    ($folder:literal: $($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../templates/", $folder, "/", $name)))),*]
    };
}

impl Kind {
    fn files(self) -> Files {
        match self {
            Self::Protocol => files!("protocol": "README.md", "order.scr", "components.kmc"),
            Self::Watch => files!("watch": "README.md", "login.scr", "once.hml", "events.jsonl"),
            Self::HttpGuard => files!("http-guard": "README.md", "guard.toml"),
            Self::SmtpGuard => files!("smtp-guard": "README.md", "guard.toml"),
            Self::Multiparty => files!("multiparty": "README.md", "order.scr", "order.toml"),
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let files = arguments.kind.files();
    let folder = arguments.folder.clone().unwrap_or_else(|| {
        PathBuf::from(
            arguments.kind.to_possible_value().map_or_else(String::new, |kind| kind.get_name().to_owned()),
        )
    });
    // Before anything is written, so that a project is never half there.
    if let Some((name, _)) = files.iter().find(|(name, _)| folder.join(name).symlink_metadata().is_ok()) {
        bail!("`{}` exists; name another folder", folder.join(name).display());
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let mut said = String::new();
    for (name, text) in files {
        let path = folder.join(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        let _ = writeln!(said, "{}", path.display());
    }
    let _ = writeln!(said, "\nNext, in `{}`:", folder.display());
    for line in commands(files) {
        let _ = writeln!(said, "  {line}");
    }
    output::print(&said)?;
    Ok(Outcome::Holds)
}

/// What the project's README says to type.
fn commands(files: Files) -> impl Iterator<Item = &'static str> {
    files
        .iter()
        .find(|(name, _)| *name == "README.md")
        .into_iter()
        .flat_map(|(_, text)| text.lines())
        .filter_map(|line| line.strip_prefix("$ "))
}
