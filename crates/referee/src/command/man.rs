//! `referee man`: manual pages, for packages.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, CommandFactory as _};

use crate::output;
use crate::{Cli, Outcome};

/// Print the manual page, or write those of all commands into a folder.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Write `referee.1` and a page for each command into this folder.
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let command = Cli::command();
    let Some(folder) = &arguments.output else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        output::print(&String::from_utf8_lossy(&page))?;
        return Ok(Outcome::Holds);
    };
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
    written.with_context(|| format!("cannot write into `{}`", folder.display()))?;
    Ok(Outcome::Holds)
}
