//! `referee fmt`: protocols in canonical form.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use referee::Language;
use referee::syntax::{hml, scr};

use crate::Outcome;
use crate::input::{self, Input};
use crate::output::{self, BAD, Renderer, styled};

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
        let input = Input::read(&file)?;
        let language = if input.name == "-" { Language::Scr } else { input.language(None)? };
        if !matches!(language, Language::Scr | Language::Hml) {
            if from_folder {
                continue;
            }
            bail!("`{}` is written in `{language}`; only `.scr` and `.hml` files are formatted", input.name);
        }
        outcome = outcome.and(one(&file, &input, language, arguments.check)?);
    }
    Ok(outcome)
}

fn one(file: &Path, input: &Input, language: Language, check: bool) -> Result<Outcome> {
    let formatted = match language {
        Language::Hml => hml::format(&input.text),
        _ => scr::format(&input.text),
    };
    let formatted = match formatted {
        Ok(formatted) => formatted,
        Err(diagnostics) => {
            let renderer = Renderer::new(&io::stderr());
            let text = renderer.render(&input.name, &input.text, &diagnostics);
            anstream::stderr().write_all(text.as_bytes())?;
            return Ok(Outcome::WrongInput);
        }
    };
    if check {
        if formatted == input.text {
            return Ok(Outcome::Holds);
        }
        output::print(&format!("{} is not in canonical form\n", styled(BAD, &input.name)))?;
        return Ok(Outcome::Violated);
    }
    if input.name == "-" {
        output::print(&formatted)?;
    } else if formatted != input.text {
        write_safely(file, &formatted).with_context(|| format!("cannot write `{}`", input.name))?;
    }
    Ok(Outcome::Holds)
}

/// Replaces a file as a whole: whatever happens, either the old or the new text is there.
fn write_safely(file: &Path, text: &str) -> io::Result<()> {
    // Through a link, the file it leads to is replaced, not the link.
    let file = file.canonicalize()?;
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = file.with_file_name(name);
    let result = std::fs::write(&temporary, text)
        .and_then(|()| std::fs::set_permissions(&temporary, std::fs::metadata(&file)?.permissions()))
        .and_then(|()| std::fs::rename(&temporary, &file));
    if result.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    result
}
