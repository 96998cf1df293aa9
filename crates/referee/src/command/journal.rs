//! `referee journal`: what a guard has written down.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use referee::guard::journal::{Entry, Found, Summary, verify};
use referee::guard::report::Report;

use crate::Outcome;
use crate::output::{self, BAD, SOFT, WARN, styled};

/// Read the journal that a guard has written.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print what happened, for people.
    Show(Arguments),
    /// Check every record: exit status 1 if the journal is damaged.
    Verify(Arguments),
    /// Print every record as a line of JSON.
    Export(Arguments),
}

#[derive(Args)]
pub(crate) struct Arguments {
    /// The folder of the journal.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

pub(crate) fn run(command: &Command) -> Result<Outcome> {
    let mut out = io::BufWriter::new(output::stdout());
    let summary = match command {
        Command::Show(arguments) => read(&arguments.folder, &mut out, show)?,
        Command::Verify(arguments) => {
            let summary = read(&arguments.folder, &mut out, |_, _| Ok(()))?;
            writeln!(out, "{} records in {} files", summary.records, summary.files)?;
            summary
        }
        Command::Export(arguments) => read(&arguments.folder, &mut out, |out, content| {
            out.write_all(content)?;
            out.write_all(b"\n")
        })?,
    };
    out.flush()?;
    let is_damaged = summary.damages.iter().any(|(_, damage)| !damage.torn);
    Ok(if is_damaged { Outcome::Violated } else { Outcome::Holds })
}

/// Writes every good record, and says of what is wrong with the journal where it is.
fn read<O: Write>(
    folder: &Path,
    out: &mut O,
    write: impl Fn(&mut O, &[u8]) -> io::Result<()>,
) -> Result<Summary> {
    let each = &mut |found: Found<'_>| match found {
        Found::Record(content) => write(out, content),
        Found::Damage(path, damage) => {
            out.flush()?;
            // A torn record is what a guard that was killed leaves; the next one cuts it off.
            let kind = if damage.torn { styled(WARN, "torn") } else { styled(BAD, "damaged") };
            output::remark(&format!("{kind}: {} at byte {}: {}", path.display(), damage.offset, damage.what));
            Ok(())
        }
    };
    verify(folder, each).with_context(|| format!("cannot read the journal in `{}`", folder.display()))
}

fn show(out: &mut impl Write, content: &[u8]) -> io::Result<()> {
    let Ok(entry) = Entry::read(content) else {
        return writeln!(out, "{}", String::from_utf8_lossy(content));
    };
    let time = styled(SOFT, entry.report.time());
    match &entry.report {
        Report::Verdict(verdict) => {
            let record = &verdict.record;
            let (kind, session) = (styled(BAD, &record.kind), record.session.as_deref().unwrap_or("?"));
            writeln!(out, "{time} {} session {session} {kind}: {}", verdict.listener, record.message)?;
            for line in &verdict.recent {
                writeln!(out, "    {}", styled(SOFT, line))?;
            }
            Ok(())
        }
        Report::Message(message) => {
            let refused = if message.forwarded { "" } else { ", which did not go on" };
            let (from, to, label, session) = (&message.from, &message.to, &message.label, &message.session);
            writeln!(out, "{time} {} session {session} {from} -> {to}: {label}{refused}", message.listener)
        }
        Report::SessionEnd(end) => writeln!(
            out,
            "{time} {} session {} ended: {}{}, {} messages, {} violations",
            end.listener,
            end.session.as_deref().unwrap_or("?"),
            end.why,
            end.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default(),
            end.messages,
            end.violations
        ),
    }
}
