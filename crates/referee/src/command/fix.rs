//! `referee fix`: mistakes whose correction is certain, put right.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use referee::syntax::{Corrected, corrected};
use referee::{Diagnostic, Language, Source};

use crate::Outcome;
use crate::input;
use crate::output::{self, BAD, GOOD, STRONG, styled};

/// Put right in place what is certain: misspelt keywords, missing punctuation, words of other languages.
///
/// Every correction is shown, and was read again before it was written: a file is changed only if it has no syntax
/// errors afterwards. What is not certain is only reported, and the exit status is then 2.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Files or folders; `-` corrects standard input to standard output.
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// Change nothing; show what would be changed, and end with status 1 if anything would.
    #[arg(long)]
    dry_run: bool,
    /// The language of the files, where the extension does not tell: scr, nuscr, st, gt, gt.json, kmc, fsm, hml.
    #[arg(long, value_name = "LANGUAGE", value_parser = input::parse_language)]
    language: Option<Language>,
    #[command(flatten)]
    imports: input::Imports,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let files = input::files(&arguments.paths)?;
    let mut corrected = Vec::new();
    for file in &files {
        corrected.push(one(file, arguments)?);
    }
    // Modules may import one another: what is left is looked at once all are corrected.
    let mut outcome = Outcome::Holds;
    for Fixed { source, language, changed } in corrected {
        outcome = outcome.and(left(source, language, arguments)?);
        if arguments.dry_run && changed {
            outcome = outcome.and(Outcome::Violated);
        }
    }
    Ok(outcome)
}

/// A file after its corrections.
struct Fixed {
    source: Source,
    language: Language,
    changed: bool,
}

/// Shows what is wrong with a corrected file.
fn left(source: Source, language: Language, arguments: &Arguments) -> Result<Outcome> {
    let own = source.text().len();
    let parsed = input::parse(source, Some(language), &arguments.imports)?;
    // What is wrong with the modules that it imports is said about those.
    let is_own = |diagnostic: &&Diagnostic| diagnostic.span.start as usize <= own;
    let errors = parsed.document().diagnostics.iter().filter(|found| found.is_error());
    let errors: Vec<Diagnostic> = errors.filter(is_own).cloned().collect();
    if errors.is_empty() {
        return Ok(Outcome::Holds);
    }
    output::show_diagnostics(parsed.source(), &errors)?;
    Ok(Outcome::WrongInput)
}

fn one(file: &Path, arguments: &Arguments) -> Result<Fixed> {
    let source = input::read_to_change(file)?;
    let detected = || Language::detect(source.name(), source.text());
    let Some(language) = arguments.language.or_else(detected) else {
        bail!("cannot tell what language `{}` is written in; say so with --language", source.name());
    };
    let Corrected { text, corrections, withheld } = corrected(source.text(), language);
    let is_standard_input = source.name() == "-";
    if !corrections.is_empty() && !arguments.dry_run && !is_standard_input {
        output::write_safely(file, &text).with_context(|| format!("cannot write `{}`", source.name()))?;
    }
    if withheld {
        let why = "not all of its syntax errors have a certain correction";
        output::remark(&format!("{}: nothing is changed: {why}", source.name()));
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
    let source = Source::new(source.name(), &text);
    arguments.imports.put(file, &text);
    Ok(Fixed { source, language, changed: !corrections.is_empty() })
}
