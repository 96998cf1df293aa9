//! What people see: diagnostics with their place in the text, colours only where they help.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource};
use referee::guard::config::Problem;
use referee::syntax::{Lines, Span};
use referee::{Diagnostic, Severity, Source};

pub(crate) mod json;
pub(crate) mod sarif;

/// Standard output, with colours if it is a terminal.
pub(crate) fn stdout() -> impl io::Write {
    anstream::stdout().lock()
}

pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const SOFT: Style = Style::new().dimmed();
pub(crate) const STRONG: Style = Style::new().bold();

/// Writes `text` in `style`.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Tells of an error that is not about a place in a text.
pub(crate) fn complain(error: &anyhow::Error) {
    let mut text = styled(BAD, "error");
    for (i, cause) in error.chain().enumerate() {
        let _ = write!(text, ": {cause}");
        if i == 3 {
            break;
        }
    }
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Says something that is not an answer.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// How many characters fit a line of the terminal: 100 where there is none.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0))
}

/// Diagnostics of one text, rendered with the lines they are about.
pub(crate) struct Renderer {
    handler: GraphicalReportHandler,
}

impl Renderer {
    /// For a terminal if `stream` is one, otherwise plain.
    pub(crate) fn new(stream: &impl io::IsTerminal) -> Self {
        let theme = match (stream.is_terminal(), colours_wanted()) {
            (true, true) => GraphicalTheme::unicode(),
            _ => GraphicalTheme::unicode_nocolor(),
        };
        let width = width().clamp(60, 120);
        let handler = GraphicalReportHandler::new_themed(theme).with_width(width).with_links(false);
        Self { handler }
    }

    /// Problems of the configuration `text` called `name`.
    pub(crate) fn render_problems(&self, name: &str, text: &str, problems: &[Problem]) -> String {
        let source = NamedSource::new(name, text.to_owned());
        let mut out = String::new();
        for problem in problems {
            let mut report = MietteDiagnostic::new(&problem.message).with_severity(miette::Severity::Error);
            if !problem.span.is_empty() {
                report = report.with_label(LabeledSpan::new_primary_with_span(None, problem.span.clone()));
            }
            report.help.clone_from(&problem.help);
            let report = with_readable_lines(report, name, text);
            let report = miette::Report::new(report).with_source_code(source.clone());
            if self.handler.render_report(&mut out, report.as_ref()).is_err() {
                let _ = writeln!(out, "{name}: {}", problem.message);
            }
        }
        out
    }

    /// `diagnostics` about `source`, each with the file that it is about; so many as somebody may read, errors first where
    /// there are more.
    pub(crate) fn render_source(&self, source: &Source, diagnostics: &[Diagnostic]) -> String {
        let mut out = String::new();
        let mut shown: Vec<&Diagnostic> = diagnostics.iter().collect();
        if shown.len() > MOST_SHOWN {
            shown.sort_by_key(|diagnostic| !diagnostic.is_error());
            shown.truncate(MOST_SHOWN);
        }
        let more = diagnostics.len() - shown.len();
        for diagnostic in shown {
            let file = source.file(diagnostic.span.start);
            let shift = |span: Span| Span { start: span.start - file.start, end: span.end - file.start };
            let is_here = |span: Span| source.file(span.start).start == file.start;
            let mut own = diagnostic.clone();
            own.span = shift(own.span);
            own.related.retain(|(span, _)| is_here(*span));
            own.related.iter_mut().for_each(|(span, _)| *span = shift(*span));
            if let Some(fix) = &mut own.fix {
                fix.edits.iter_mut().for_each(|edit| edit.span = shift(edit.span));
            }
            for (span, text) in diagnostic.related.iter().filter(|(span, _)| !is_here(*span)) {
                let elsewhere = format!("{}: {text}", source.location(span.start));
                own.help =
                    Some(own.help.map_or_else(|| elsewhere.clone(), |help| format!("{help}\n{elsewhere}")));
            }
            out += &self.render(file.name, file.text, &[own]);
        }
        if more > 0 {
            let _ = writeln!(out, "… and {more} more; `--format json` has them all\n");
        }
        out
    }

    /// `diagnostics` about the text called `name`.
    pub(crate) fn render(&self, name: &str, text: &str, diagnostics: &[Diagnostic]) -> String {
        let source = NamedSource::new(name, text.to_owned());
        let mut out = String::new();
        for diagnostic in diagnostics {
            let report = with_readable_lines(report(diagnostic, text), name, text);
            let report = miette::Report::new(report).with_source_code(source.clone());
            if self.handler.render_report(&mut out, report.as_ref()).is_err() {
                let _ = writeln!(out, "{}: {}", diagnostic.code.id, diagnostic.message);
            }
        }
        out
    }
}

fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn report(diagnostic: &Diagnostic, text: &str) -> MietteDiagnostic {
    let label = |span: Span, text: Option<String>, primary: bool| {
        let (start, length) = (span.start as usize, (span.end - span.start) as usize);
        if primary {
            LabeledSpan::new_primary_with_span(text, (start, length))
        } else {
            LabeledSpan::new_with_span(text, (start, length))
        }
    };
    let mut labels = vec![label(diagnostic.span, diagnostic.label.clone(), true)];
    labels.extend(diagnostic.related.iter().map(|(span, text)| label(*span, Some(text.clone()), false)));
    let severity = match diagnostic.code.severity {
        Severity::Error => miette::Severity::Error,
        Severity::Warning => miette::Severity::Warning,
        Severity::Note => miette::Severity::Advice,
    };
    let mut report = MietteDiagnostic::new(&diagnostic.message)
        .with_code(diagnostic.code.id)
        .with_severity(severity)
        .with_labels(labels);
    report.help = help(diagnostic, text);
    report
}

/// Nobody reads a longer line in a terminal, and the handler cannot count its columns.
const MAX_LINE: usize = 4096;

/// More diagnostics than these nobody reads, and each costs a look at the whole text.
const MOST_SHOWN: usize = 200;

/// `report` about `text` without the lines it is about, if one of them is too long to be shown: then it only says where.
fn with_readable_lines(mut report: MietteDiagnostic, name: &str, text: &str) -> MietteDiagnostic {
    let labels = report.labels.as_deref().unwrap_or_default();
    let lines = |label: &LabeledSpan| {
        let (before, rest) = text.split_at_checked(label.offset())?;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end =
            rest.get(label.len()..)?.find('\n').map_or(text.len(), |at| label.offset() + label.len() + at);
        text.get(start..end)
    };
    let too_long =
        |label: &LabeledSpan| lines(label).is_some_and(|text| text.lines().any(|line| line.len() > MAX_LINE));
    if labels.iter().any(too_long) {
        let first = labels.first().map_or(0, LabeledSpan::offset);
        let place = Lines::new(text).position(u32::try_from(first).unwrap_or(u32::MAX));
        report.message = format!("{name}:{}:{}: {}", place.line, place.column, report.message);
        report.labels = None;
    }
    report
}

/// What to do, and the lines that change as they should be.
fn help(diagnostic: &Diagnostic, text: &str) -> Option<String> {
    /// Longer corrections are not read.
    const MOST_LINES: usize = 6;
    let mut help = diagnostic.help.clone();
    let corrected = diagnostic.fix.as_ref().map(|fix| fix.corrected_lines(text)).unwrap_or_default();
    let lines: Vec<&str> = corrected.lines().filter(|line| !line.trim().is_empty()).collect();
    let readable = lines.len() <= MOST_LINES && lines.iter().all(|line| line.len() <= MAX_LINE);
    if !lines.is_empty() && readable {
        let help = help.get_or_insert_with(|| String::from("write"));
        lines.iter().for_each(|line| *help += &format!("\n+ {line}"));
    }
    help
}

/// Writes all of `text` to standard output.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a document for scripts to standard output: large ones in large pieces.
pub(crate) fn print_json(document: &serde_json::Value) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout());
    serde_json::to_writer_pretty(&mut out, document)?;
    writeln!(out)?;
    out.flush()
}

/// Shows `diagnostics` about `source` on standard error.
pub(crate) fn show_diagnostics(source: &Source, diagnostics: &[Diagnostic]) -> io::Result<()> {
    let text = Renderer::new(&io::stderr()).render_source(source, diagnostics);
    anstream::stderr().write_all(text.as_bytes())
}

/// Replaces a file as a whole: whatever happens, either the old or the new text is there.
pub(crate) fn write_safely(file: &Path, text: &str) -> io::Result<()> {
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
