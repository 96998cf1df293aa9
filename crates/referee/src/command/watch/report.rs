//! What people and programs are told while events are watched.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use referee::draw::Charset;
use referee::monitor::Rejection;
use referee::studio::{self, Trace};
use referee::theory::Origin;
use referee::view;
use referee::watch::{
    Checkpoint, Notice, Observer, Progress, PropertyReport, Report, Summary, Unanswered, visible,
};

use serde_json::Value;

use super::continuing::{self, Continuing};
use super::scrutiny::Scrutiny;
use super::{Arguments, Format, documents, summary};
use crate::output::{self, BAD, SOFT, STRONG, WARN, sarif, styled};

/// How many lines that are no events are shown; the others are counted.
const MALFORMED_SHOWN: u64 = 20;

/// So many violations a page has.
const MAX_TRACES: usize = 1_000;

/// Tells of violations on standard output, of everything else on standard error.
pub(super) struct Reporter<'a> {
    /// The protocol, unless properties are watched.
    scrutiny: Option<&'a Scrutiny>,
    arguments: &'a Arguments,
    out: io::BufWriter<Box<dyn Write + Send>>,
    written: bool,
    /// Results for a SARIF document.
    results: Vec<Value>,
    /// Violations for a page.
    traces: Vec<Trace>,
    malformed: u64,
    unanswered: u64,
    bar: Option<ProgressBar>,
    started: Instant,
}

/// What `--format json` prints of `notice`.
pub(super) fn json(notice: &Notice, scrutiny: Option<&Scrutiny>) -> Option<Value> {
    match notice {
        Notice::Violation(report) => {
            let place = scrutiny.and_then(|scrutiny| scrutiny.place(report.origin));
            Some(output::json::violation(report, place, scrutiny.map(Scrutiny::role)))
        }
        Notice::Property(report) => Some(output::json::property(report)),
        Notice::Malformed(..) | Notice::Unanswered(_) => None,
    }
}

impl<'a> Reporter<'a> {
    pub(super) fn new(
        arguments: &'a Arguments,
        scrutiny: Option<&'a Scrutiny>,
        checkpoint: Option<&Checkpoint>,
    ) -> Self {
        let out: Box<dyn Write + Send> = match arguments.format {
            // Colours are taken out before what stands in a file is compared.
            Format::Text if checkpoint.is_some() => {
                let choice = anstream::AutoStream::choice(&io::stdout());
                let out: Box<dyn Write + Send> = Box::new(Continuing::new(io::stdout(), checkpoint));
                Box::new(anstream::AutoStream::new(out, choice))
            }
            Format::Text => Box::new(anstream::stdout()),
            Format::Json | Format::Sarif => Box::new(Continuing::new(io::stdout(), checkpoint)),
        };
        Self {
            scrutiny,
            arguments,
            out: io::BufWriter::with_capacity(1 << 16, out),
            written: false,
            results: Vec::new(),
            traces: Vec::new(),
            malformed: 0,
            unanswered: 0,
            bar: arguments.wants_progress().then(|| progress_bar(arguments.size())),
            started: Instant::now(),
        }
    }

    /// Tells what it all came to.
    pub(super) fn finish(mut self, summary: Result<Summary>) -> Result<Summary> {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.malformed > MALFORMED_SHOWN {
            let more = HumanCount(self.malformed - MALFORMED_SHOWN);
            output::remark(&styled(WARN, format!("{more} more lines are no events")));
        }
        let summary = match summary {
            Ok(summary) => summary,
            Err(error) => {
                self.out.flush()?;
                return Err(error);
            }
        };
        if summary.counts.unanswered > 0 {
            let sessions = HumanCount(summary.counts.unanswered);
            output::remark(&format!(
                "{}: in {sessions} of the sessions a function gave no answer, so they were not judged from there on; \
                 correct the function, or give it more with --functions-fuel or --functions-memory",
                styled(BAD, "error")
            ));
        }
        for warning in summary::warnings(&summary, self.arguments.idle_sessions) {
            output::remark(&format!("{}: {warning}", styled(WARN, "warning")));
        }
        if self.arguments.format == Format::Text {
            let text = match self.scrutiny {
                Some(_) => summary::text(&summary),
                None => summary::of_properties(&summary),
            };
            self.out.write_all(text.as_bytes())?;
        }
        if self.arguments.format == Format::Sarif {
            writeln!(self.out, "{}", sarif::document(std::mem::take(&mut self.results)))?;
        }
        self.out.flush()?;
        self.export()?;
        Ok(summary)
    }

    /// Writes the page with the violations, if one was asked for.
    fn export(&self) -> Result<()> {
        let Some(file) = &self.arguments.export_html else { return Ok(()) };
        if self.traces.is_empty() {
            output::remark(&format!("there is no violation: `{}` was not written", file.display()));
            return Ok(());
        }
        let title = self.traces.iter().find_map(|trace| Some(trace.source.as_ref()?.name.clone()));
        std::fs::write(file, studio::export(&title.unwrap_or_default(), &self.traces, &[]))
            .with_context(|| format!("cannot write `{}`", file.display()))
    }

    fn violation(&mut self, report: &Report) -> io::Result<()> {
        if self.arguments.export_html.is_some()
            && self.traces.len() < MAX_TRACES
            && let Some(scrutiny) = self.scrutiny
        {
            let called = |name: &str| scrutiny.role_called(name).to_owned();
            self.traces.push(view::trace::stepping(report, scrutiny.protocol(), &called));
        }
        match self.arguments.format {
            Format::Json => {
                let place = self.place(report.origin);
                let role = self.scrutiny.map(Scrutiny::role);
                writeln!(self.out, "{}", output::json::violation(report, place, role))
            }
            Format::Sarif => self.result(documents::violation(report)),
            Format::Text => {
                let text = self.text(report);
                self.out.write_all(text.as_bytes())
            }
        }
    }

    /// Keeps a result for the document at the end.
    fn result(&mut self, result: Value) -> io::Result<()> {
        if self.results.len() < documents::MAX_RESULTS {
            self.results.push(result);
        }
        Ok(())
    }

    fn place(&self, origin: Origin) -> Option<String> {
        self.scrutiny?.place(origin)
    }

    /// A remark on standard error, beside the bar.
    fn remark(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::remark(text)),
            None => output::remark(text),
        }
    }

    fn unanswered_text(&self, unanswered: &Unanswered) -> String {
        format!(
            "{}:{}: {}, {}: {}{}",
            unanswered.place.file,
            unanswered.place.line,
            styled(BAD, "not judged"),
            event_of(unanswered.session.as_deref(), unanswered.event),
            visible(&unanswered.sentence),
            self.place(unanswered.origin).map(|place| format!(" ({place})")).unwrap_or_default()
        )
    }

    fn property(&mut self, report: &PropertyReport) -> io::Result<()> {
        match self.arguments.format {
            Format::Json => writeln!(self.out, "{}", output::json::property(report)),
            Format::Sarif => self.result(documents::property(report)),
            Format::Text => self.out.write_all(super::property::text(report).as_bytes()),
        }
    }

    fn text(&self, report: &Report) -> String {
        let mut session = event_of(report.session.as_deref(), report.event);
        if let Some(key) = &report.key {
            session += &format!(", key {}", key.escape_debug());
        }
        let place = format!("{}:{}", report.place.file, report.place.line);
        let mut text = format!(
            "{}: {} {}, {}{}\n  {}\n",
            styled(STRONG, place),
            styled(BAD, report.kind),
            styled(SOFT, format!("({})", report.rejection.map_or("nobody is blamed", Rejection::name))),
            session,
            if report.consequence { " (a consequence, perhaps)" } else { "" },
            visible(&report.sentence),
        );
        let rule = self.place(report.origin).map(|place| format!(", {place}")).unwrap_or_default();
        if let Some(state) = &report.state {
            text += &format!("  {}\n", styled(SOFT, format!("in state {state}{rule}")));
        }
        if self.arguments.explain && !report.history.is_empty() {
            let roles = self.scrutiny.map(Scrutiny::roles).unwrap_or_default();
            let called =
                |name: &str| self.scrutiny.map_or(name, |scrutiny| scrutiny.role_called(name)).to_owned();
            let chart = view::trace::chart(report, &roles, &called);
            match chart.to_text(Charset::Unicode) {
                Ok(chart) => {
                    for line in chart.lines() {
                        text += &format!("    {}\n", line.trim_end());
                    }
                }
                Err(error) => text += &format!("    (no diagram: {error})\n"),
            }
        }
        text
    }
}

impl Observer for Reporter<'_> {
    fn notice(&mut self, notice: Notice) -> io::Result<()> {
        match notice {
            Notice::Violation(report) => {
                self.written = true;
                self.violation(&report)
            }
            Notice::Property(report) => {
                self.written = true;
                self.property(&report)
            }
            Notice::Malformed(place, why) => {
                let why = visible(&why);
                self.malformed += 1;
                if self.arguments.format == Format::Sarif {
                    self.result(documents::unreadable(&place, &why))?;
                }
                if self.malformed <= MALFORMED_SHOWN {
                    self.remark(&format!(
                        "{}:{}: {}: {why}",
                        place.file,
                        place.line,
                        styled(WARN, "not an event")
                    ));
                }
                Ok(())
            }
            Notice::Unanswered(unanswered) => {
                self.unanswered += 1;
                if self.unanswered <= MALFORMED_SHOWN {
                    self.remark(&self.unanswered_text(&unanswered));
                }
                Ok(())
            }
        }
    }

    fn written(&mut self) -> io::Result<u64> {
        continuing::written()
    }

    fn progress(&mut self, progress: &Progress) -> io::Result<()> {
        if std::mem::take(&mut self.written) {
            let out = &mut self.out;
            match &self.bar {
                Some(bar) => bar.suspend(|| out.flush())?,
                None => out.flush()?,
            }
        }
        if let Some(bar) = &self.bar {
            let elapsed = self.started.elapsed().as_secs_f64().max(1e-3);
            let counts = progress.counts;
            bar.set_position(progress.bytes);
            bar.set_message(format!(
                "{} events, {}/s, {} violations",
                HumanCount(counts.events),
                HumanCount((counts.events as f64 / elapsed) as u64),
                HumanCount(counts.violations())
            ));
        }
        Ok(())
    }
}

/// `session 42, event 7`.
fn event_of(session: Option<&str>, event: u64) -> String {
    match session {
        Some(session) => format!("session {}, event {event}", session.escape_debug()),
        None => format!("event {event}"),
    }
}

/// A bar over bytes where the size is known, else a spinner.
fn progress_bar(size: Option<u64>) -> ProgressBar {
    let (bar, template) = match size {
        Some(size) => (ProgressBar::new(size), "{bar:30} {bytes}/{total_bytes} {msg}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} {msg}"),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
