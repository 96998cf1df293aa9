//! `referee completions`: a completion script for a shell.

use anyhow::Result;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::output;
use crate::{Cli, Outcome};

/// Print a completion script for a shell.
///
/// For bash: `referee completions bash > ~/.local/share/bash-completion/completions/referee`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "referee", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Holds)
}
