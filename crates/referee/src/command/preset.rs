//! `referee preset`: the protocols that are shipped with their codecs.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use referee::syntax::diagnostics::suggest;
use referee::wire::preset;

use crate::Outcome;
use crate::output::{self, STRONG, styled};

/// Show the protocols that a guard can use as `preset:NAME`.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the presets.
    List,
    /// Print a preset, to be read or copied.
    Show(Show),
}

#[derive(Args)]
pub(crate) struct Show {
    /// The preset.
    name: String,
    /// What of it.
    #[arg(long, value_enum, default_value_t)]
    part: Part,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The protocol, then the codec table, then the rules if there are any.
    #[default]
    Both,
    /// The protocol alone: `referee preset show smtp --part protocol > smtp.scr`.
    Protocol,
    /// The codec table alone, in TOML.
    Codec,
    /// The rules alone: `--rules preset:mcp` is the same.
    Rules,
}

pub(crate) fn run(command: &Command) -> Result<Outcome> {
    match command {
        Command::List => {
            let mut text = String::new();
            for preset in &preset::ALL {
                let _ =
                    writeln!(text, "{}  {}", styled(STRONG, format!("{:14}", preset.name)), preset.summary);
            }
            output::print(&text)?;
        }
        Command::Show(Show { name, part }) => {
            let Some(preset) = preset::find(name) else {
                match suggest::closest(name, preset::ALL.iter().map(|preset| preset.name)) {
                    Some(close) => bail!("there is no preset `{name}`; did you mean `{close}`?"),
                    None => bail!("there is no preset `{name}`; `referee preset list` lists all"),
                }
            };
            let text = match part {
                Part::Protocol => preset.protocol.to_owned(),
                Part::Codec => preset.table.to_owned(),
                Part::Rules => preset.rules.to_owned(),
                Part::Both if preset.rules.is_empty() => format!("{}\n{}", preset.protocol, preset.table),
                Part::Both => format!("{}\n{}\n{}", preset.protocol, preset.table, preset.rules),
            };
            output::print(&text)?;
        }
    }
    Ok(Outcome::Holds)
}
