//! `referee fmt`: protocols in canonical form.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use referee::syntax::{hml, scr};
use referee::{Language, Source};

use crate::Outcome;
use crate::input;
use crate::output::{self, BAD, styled};

/// Format `.scr` protocols and `.hml` properties in place; comments are kept.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Files or folders; `-` formats standard input to standard output.
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// Change nothing; tell which files are not in canonical form, and end with status 1 if any.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let mut outcome = Outcome::Holds;
    for file in input::files(&arguments.paths)? {
        let from_folder = !arguments.paths.contains(&file);
        let source = input::read_to_change(&file)?;
        let language = match source.name() {
            "-" => Language::Scr,
            name => Language::detect(name, source.text())
                .with_context(|| format!("cannot tell what language `{name}` is written in"))?,
        };
        if !matches!(language, Language::Scr | Language::Hml) {
            if from_folder {
                continue;
            }
            bail!(
                "`{}` is written in `{language}`; only `.scr` and `.hml` files are formatted",
                source.name()
            );
        }
        outcome = outcome.and(one(&file, &source, language, arguments.check)?);
    }
    Ok(outcome)
}

fn one(file: &Path, source: &Source, language: Language, check: bool) -> Result<Outcome> {
    let formatted = match language {
        Language::Hml => hml::format(source.text()),
        _ => scr::format(source.text()),
    };
    let formatted = match formatted {
        Ok(formatted) => formatted,
        Err(diagnostics) => {
            output::show_diagnostics(source, &diagnostics)?;
            return Ok(Outcome::WrongInput);
        }
    };
    if check {
        if formatted == source.text() {
            return Ok(Outcome::Holds);
        }
        output::print(&format!("{} is not in canonical form\n", styled(BAD, source.name())))?;
        return Ok(Outcome::Violated);
    }
    if source.name() == "-" {
        output::print(&formatted)?;
    } else if formatted != source.text() {
        output::write_safely(file, &formatted)
            .with_context(|| format!("cannot write `{}`", source.name()))?;
    }
    Ok(Outcome::Holds)
}
