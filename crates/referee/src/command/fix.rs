//! `referee fix`: mistakes whose correction is certain, put right.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use referee::syntax::{Corrected, corrected, parse};
use referee::{Diagnostic, Language, Source};

use crate::Outcome;
use crate::input;
use crate::output::{self, BAD, GOOD, STRONG, styled};

/// Put right in place what is certain: misspelt keywords, missing punctuation, words of other languages.
///
/// Every correction is shown, and was read again before it was written. What is not certain is only reported, and
/// the exit status is then 2.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Files or folders; `-` corrects standard input to standard output.
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// Change nothing; show what would be changed, and end with status 1 if anything would.
    #[arg(long)]
    dry_run: bool,
    /// The language of the files, where the extension does not tell: scr, st, gt, gt.json, kmc, fsm, hml.
    #[arg(long, value_name = "LANGUAGE", value_parser = input::parse_language)]
    language: Option<Language>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let mut outcome = Outcome::Holds;
    for file in input::files(&arguments.paths)? {
        outcome = outcome.and(one(&file, arguments)?);
    }
    Ok(outcome)
}

fn one(file: &Path, arguments: &Arguments) -> Result<Outcome> {
    let source = input::read(file)?;
    if source.text().contains(char::REPLACEMENT_CHARACTER) {
        bail!("`{}` is not UTF-8: nothing is changed", source.name());
    }
    let detected = || Language::detect(source.name(), source.text());
    let Some(language) = arguments.language.or_else(detected) else {
        bail!("cannot tell what language `{}` is written in; say so with --language", source.name());
    };
    let Corrected { text, corrections } = corrected(source.text(), language);
    let is_standard_input = source.name() == "-";
    if !corrections.is_empty() && !arguments.dry_run && !is_standard_input {
        output::write_safely(file, &text).with_context(|| format!("cannot write `{}`", source.name()))?;
    }
    let mut shown = String::new();
    for correction in &corrections {
        let place = format!("{}:{}", source.name(), correction.line);
        let _ = writeln!(shown, "{}: {}", styled(STRONG, place), correction.diagnostic.message);
        let lines = |text: &str, sign, style| {
            text.lines()
                .map(|line| format!("{}\n", styled(style, format!("{sign} {line}"))))
                .collect::<String>()
        };
        shown += &lines(&correction.before, '-', BAD);
        shown += &lines(&correction.after, '+', GOOD);
    }
    if is_standard_input && !arguments.dry_run {
        output::remark(shown.trim_end());
        output::print(&text)?;
    } else {
        output::print(&shown)?;
    }
    let left: Vec<Diagnostic> =
        parse(&text, language).diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    if !left.is_empty() {
        output::show_diagnostics(&Source::new(source.name(), &text), &left)?;
        return Ok(Outcome::WrongInput);
    }
    Ok(if arguments.dry_run && !corrections.is_empty() { Outcome::Violated } else { Outcome::Holds })
}
