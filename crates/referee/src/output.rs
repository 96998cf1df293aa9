//! What people see: diagnostics with their place in the text, colours only where they help.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource};
use referee::guard::config::Problem;
use referee::{Diagnostic, Severity, Source};

pub(crate) mod json;

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
            let report = miette::Report::new(report).with_source_code(source.clone());
            if self.handler.render_report(&mut out, report.as_ref()).is_err() {
                let _ = writeln!(out, "{name}: {}", problem.message);
            }
        }
        out
    }

    /// `diagnostics` about the text called `name`.
    pub(crate) fn render(&self, name: &str, text: &str, diagnostics: &[Diagnostic]) -> String {
        let source = NamedSource::new(name, text.to_owned());
        let mut out = String::new();
        for diagnostic in diagnostics {
            let report = miette::Report::new(report(diagnostic)).with_source_code(source.clone());
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

fn report(diagnostic: &Diagnostic) -> MietteDiagnostic {
    let label = |span: referee::syntax::Span, text: Option<String>, primary: bool| {
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
    report.help = diagnostic.help.clone();
    report
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
    let text = Renderer::new(&io::stderr()).render(source.name(), source.text(), diagnostics);
    anstream::stderr().write_all(text.as_bytes())
}
