//! `referee check`: is it well formed, and what can be said about it before anything runs?

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use referee::syntax::{Analysis, GlobalProtocol, ProjectedProtocol};
use referee::theory::Vocabulary;
use referee::theory::calls::SubProtocol;
use referee::{Analysed, Content, Followers, Language, Severity, view};

mod ci;
mod compatibility;

pub(crate) use compatibility::Answers;

use self::ci::FileFindings;
use crate::Outcome;
use crate::input;
use crate::output::{self, BAD, GOOD, Renderer, SOFT, STRONG, WARN, sarif, styled};

/// Check protocols and properties before anything runs.
///
/// Reports everything that is wrong with each file, with its place and what to do about it. For what is well
/// formed: are the components that follow it free of deadlocks, orphan messages and unexpected receptions when
/// messages travel asynchronously? For every channel size where theory allows it, with a counterexample where
/// not, and with the reason where the answer is not known.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Files or folders; `-` is standard input.
    #[arg(required_unless_present = "schema", value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// The language of the files, where the extension does not tell: scr, nuscr, st, gt, gt.json, kmc, fsm, hml.
    #[arg(long, value_name = "LANGUAGE", value_parser = input::parse_language)]
    language: Option<Language>,
    /// Text for people, or one document for programs.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The protocol will run with Referee's monitors, which pass on outcomes of choices: roles of `.scr` files need no
    /// projection then, as those of `.gt` files do not.
    #[arg(long, conflicts_with = "require_projection")]
    with_monitors: bool,
    /// Refuse a protocol without a projection for every role, also where its language (`.gt`) means it to be run with monitors.
    #[arg(long)]
    require_projection: bool,
    /// Print the JSON Schema of `--format json` and nothing else.
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    imports: input::Imports,
    #[command(flatten)]
    compatibility: compatibility::CompatibilityArguments,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    Text,
    Json,
    /// SARIF 2.1.0, for tools that show problems beside the code.
    Sarif,
    /// Annotations of GitHub's workflows, one line per problem.
    Github,
}

/// What `--format json` prints.
const SCHEMA: &str = include_str!("check/schema.json");

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.schema {
        output::print(SCHEMA)?;
        return Ok(Outcome::Holds);
    }
    let files = input::files(&arguments.paths)?;
    let one = files.len() == 1 && arguments.paths.len() == 1 && !arguments.paths[0].is_dir();
    let renderer = Renderer::new(&io::stdout());
    compatibility::handle_ctrl_c();
    arguments.compatibility.once_each()?;
    arguments.compatibility.start_clock();
    let Some(properties) = arguments.compatibility.properties()? else { return Ok(Outcome::WrongInput) };
    let mut diagrams = arguments.compatibility.diagrams();
    let mut summary = Summary::new();
    let mut documents = Vec::new();
    let mut findings = Vec::new();
    let mut out = output::stdout();
    for file in &files {
        let checked = compatibility::while_reading(file, || {
            let source = arguments.imports.read_file(file)?;
            let parsed = input::parse(source, arguments.language, &arguments.imports)?;
            let followers = arguments.followers(parsed.document().language);
            Ok(parsed.well_formed_for(followers))
        });
        let answered = checked.and_then(|checked| {
            let answers = match &checked {
                Ok(text) => {
                    let named = |error: anyhow::Error| {
                        if one { error } else { error.context(file.display().to_string()) }
                    };
                    compatibility::of_file(text, &properties, &arguments.compatibility, &mut diagrams)
                        .map_err(named)?
                }
                Err(_) => Answers::default(),
            };
            Ok((checked, answers))
        });
        let (checked, answers) = match answered {
            Ok(answered) => answered,
            Err(error) if one => return Err(error),
            Err(error) => {
                // One bad file among many, or one that lacks what an option names, must not hide what is known about the others.
                summary.unchecked += 1;
                summary.outcome = Outcome::WrongInput;
                output::complain(&error);
                continue;
            }
        };
        let read = match &checked {
            Ok(well_formed) => well_formed.analysed(),
            Err(ill_formed) => ill_formed.analysed(),
        };
        summary.count(read, &answers);
        match arguments.format {
            Format::Json => documents.push(output::json::checked(read, &answers)),
            Format::Sarif | Format::Github => findings.push(FileFindings::of(read, &answers)),
            Format::Text => out.write_all(report(read, &answers, &renderer).as_bytes())?,
        }
    }
    match arguments.format {
        Format::Json if one => output::print_json(&documents.pop().unwrap_or_default())?,
        Format::Json => output::print_json(&serde_json::Value::Array(documents))?,
        Format::Sarif => output::print_json(&sarif::document(ci::results(&findings)))?,
        Format::Github => out.write_all(ci::annotations(&findings).as_bytes())?,
        Format::Text if one => {}
        Format::Text => writeln!(out, "{summary}")?,
    }
    out.flush()?;
    diagrams.finish()?;
    Ok(summary.outcome)
}

impl Arguments {
    /// Who follows protocols written in `language`.
    fn followers(&self, language: Language) -> Followers {
        match language {
            _ if self.require_projection => Followers::Components,
            Language::Scr if !self.with_monitors => Followers::Components,
            _ => Followers::Monitors,
        }
    }
}

struct Summary {
    outcome: Outcome,
    files: usize,
    with_errors: usize,
    unchecked: usize,
    errors: usize,
    warnings: usize,
    is_unsafe: usize,
    unknown: usize,
}

impl Summary {
    fn new() -> Self {
        Self {
            outcome: Outcome::Holds,
            files: 0,
            with_errors: 0,
            unchecked: 0,
            errors: 0,
            warnings: 0,
            is_unsafe: 0,
            unknown: 0,
        }
    }

    fn count(&mut self, read: &Analysed, answers: &Answers) {
        self.files += 1;
        let analysis = read.analysis();
        let usable = analysis.is_well_formed();
        let outcome = if usable { answers.outcome() } else { Outcome::WrongInput };
        self.outcome = self.outcome.and(outcome);
        self.is_unsafe += usize::from(outcome == Outcome::Violated);
        self.unknown += usize::from(outcome == Outcome::NoAnswer);
        self.with_errors += usize::from(!analysis.is_well_formed());
        self.errors += analysis.count(Severity::Error);
        self.warnings += analysis.count(Severity::Warning);
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let good = self.files - self.with_errors;
        write!(f, "{} checked: {} well formed", plural(self.files, "file"), good)?;
        if self.with_errors > 0 {
            write!(f, ", {}", styled(BAD, format!("{} not", self.with_errors)))?;
        }
        if self.unchecked > 0 {
            write!(f, ", {}", styled(BAD, format!("{} could not be checked", self.unchecked)))?;
        }
        if self.is_unsafe > 0 {
            write!(f, ", {}", styled(BAD, format!("{} unsafe", self.is_unsafe)))?;
        }
        if self.unknown > 0 {
            write!(f, ", {} unknown", self.unknown)?;
        }
        write!(f, "; {}, {}", plural(self.errors, "error"), plural(self.warnings, "warning"))
    }
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What people read about one file.
fn report(read: &Analysed, answers: &Answers, renderer: &Renderer) -> String {
    let (analysis, source) = (read.analysis(), read.source());
    let mut text = renderer.render_source(source, &analysis.diagnostics);
    let name = styled(STRONG, source.name());
    if !analysis.is_well_formed() {
        let errors = plural(analysis.count(Severity::Error), "error");
        return text + &format!("{} {name}: {}\n", styled(BAD, "✗"), styled(BAD, errors));
    }
    let mark = |name: Option<&str>| match answers.outcome_of(name) {
        Outcome::Violated => styled(BAD, "✗"),
        Outcome::NoAnswer => styled(WARN, "?"),
        Outcome::Holds | Outcome::WrongInput => styled(GOOD, "✓"),
    };
    match &analysis.document.content {
        Content::Global(protocols) => {
            let checked: Vec<&GlobalProtocol> = protocols.iter().filter(|p| !p.auxiliary).collect();
            if checked.is_empty() {
                text += &format!("{} {name}: no protocols\n", mark(None));
            }
            let projected = by_name(analysis);
            for protocol in checked {
                let found = projected.get(&protocol.name.as_deref());
                let title = protocol.name.as_deref().map_or(String::new(), |n| format!(": protocol {n}"));
                let title = title + &format!(" ({})", roles(&protocol.vocabulary));
                text += &format!("{} {name}{title}\n", mark(protocol.name.as_deref()));
                text += &found.map(|projected| projections(projected, protocol)).unwrap_or_default();
                text += &answers.text(protocol.name.as_deref());
            }
        }
        Content::Binary(binary) => {
            text += &format!("{} {name}: session type {} of `process`\n", mark(None), binary.name);
            text += &answers.text(None);
        }
        Content::System(system) => {
            text += &format!("{} {name}: system ({})\n", mark(None), roles(&system.vocabulary));
            text += &answers.text(None);
        }
        Content::Properties(file) => {
            for property in &file.properties {
                text += &format!("{} {name}: property {}\n", mark(None), property.name());
                text += &format!("  {}\n", styled(SOFT, view::property::summary(property)));
            }
        }
    }
    text
}

/// The projected protocols by their names; the first where several have one.
pub(crate) fn by_name(analysis: &Analysis) -> HashMap<Option<&str>, &ProjectedProtocol> {
    // Of equal keys the last stays.
    analysis.protocols.iter().rev().map(|projected| (projected.name.as_deref(), projected)).collect()
}

fn roles(vocabulary: &Vocabulary) -> String {
    vocabulary.roles().map(|role| vocabulary.role_name(role)).collect::<Vec<_>>().join(", ")
}

/// Under which condition an answer about a protocol, and about each of its sub-sessions by itself, holds for any number of calls.
pub(crate) fn condition_on_roles(nothing_is_kept: bool) -> &'static str {
    if nothing_is_kept {
        "each is checked by itself, and what is found holds for any number of calls if no role waits for one call while it leaves \
         others unread"
    } else {
        "each is checked by itself, and what is found holds for any number of calls if every role reads whatever comes and keeps it for \
         the call it belongs to"
    }
}

fn projections(projected: &ProjectedProtocol, protocol: &GlobalProtocol) -> String {
    let local = match &projected.local {
        Ok(system) => {
            let states: usize = system.machines().iter().map(|machine| machine.state_count()).sum();
            format!("every role has a projection ({} in all)", plural(states, "state"))
        }
        Err(errors) => format!("no projection for {}", plural(errors.len(), "role")),
    };
    let relative = match &projected.relative {
        Ok(types) => format!("relative types for {}", plural(types.len(), "pair")),
        Err(errors) => format!("no relative type for {}", plural(errors.len(), "pair")),
    };
    let mut text = format!("  {}\n", styled(SOFT, format!("{local}; {relative}")));
    if let Some(calls) = projected.global.calls() {
        let opened: Vec<String> = calls.subs.iter().map(SubProtocol::signature).collect();
        let condition = condition_on_roles(calls.nothing_is_kept(&projected.global));
        text += &format!("  {}\n", styled(SOFT, format!("opens {}: {condition}", opened.join(", "))));
    }
    if !protocol.enforcement.is_empty() {
        let vocabulary = &protocol.vocabulary;
        for enforced in &protocol.enforcement {
            let roles: Vec<&str> = enforced.roles.iter().map(|role| vocabulary.role_name(*role)).collect();
            let what =
                format!("{}: {} — checked at {}", enforced.label, enforced.assertion, roles.join(" and "));
            text += &format!("  {}\n", styled(SOFT, what));
        }
    }
    text
}
