//! A chart as a Mermaid sequence diagram.

use std::fmt::{self, Write as _};

use super::blocks::range;
use super::{MessageStyle, Sequence, Step};
use crate::mermaid::Escaped;

pub(super) fn sequence_diagram(chart: &Sequence) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let _ = write_diagram(&mut out, chart);
    out
}

fn write_diagram(out: &mut String, chart: &Sequence) -> fmt::Result {
    writeln!(out, "sequenceDiagram")?;
    if !chart.title.trim().is_empty() {
        writeln!(out, "  title {}", Escaped(&chart.title))?;
    }
    for (index, participant) in chart.participants().iter().enumerate() {
        writeln!(out, "  participant p{index} as {}", Escaped(&participant.name))?;
    }
    let last = chart.participants().len().saturating_sub(1);
    let everyone = if last == 0 { "p0".to_owned() } else { format!("p0,p{last}") };
    let mut depth = 1;
    // What separates the parts of the blocks that are open.
    let mut words = Vec::new();
    for step in chart.steps() {
        if matches!(step, Step::Close | Step::Branch { .. }) {
            depth -= 1;
        }
        let indent = "  ".repeat(depth);
        match step {
            Step::Message(message) => {
                let arrow = match message.style {
                    MessageStyle::Normal | MessageStyle::Highlight => "->>",
                    MessageStyle::Dashed | MessageStyle::Late => "-->>",
                    MessageStyle::Failed => "-x",
                    MessageStyle::Pending => "--x",
                };
                let (from, to) = (message.from.0, message.to.0);
                let line = format!("p{from}{arrow}p{to}: {}", Escaped(&message.label));
                if message.style == MessageStyle::Highlight {
                    writeln!(out, "{indent}rect rgba(0, 114, 178, 0.15)\n{indent}  {line}\n{indent}end")?;
                } else {
                    writeln!(out, "{indent}{line}")?;
                }
                if let Some(note) = &message.note {
                    let over = over(range(step).unwrap_or_default());
                    writeln!(out, "{indent}Note over {over}: {}", Escaped(note))?;
                }
            }
            Step::Note { text, .. } => {
                if let Some(range) = range(step) {
                    writeln!(out, "{indent}Note over {}: {}", over(range), Escaped(text))?;
                }
            }
            Step::OpenLoop { title } => {
                writeln!(out, "{indent}loop {}", Escaped(title))?;
                depth += 1;
                words.push("else");
            }
            Step::OpenPar { title } => {
                writeln!(out, "{indent}par {}", Escaped(title))?;
                depth += 1;
                words.push("and");
            }
            Step::OpenAlt { title, branch } => {
                let separator = if title.is_empty() || branch.is_empty() { "" } else { ": " };
                writeln!(out, "{indent}alt {}", Escaped(&format!("{title}{separator}{branch}")))?;
                depth += 1;
                words.push("else");
            }
            Step::Branch { title } => {
                let word = words.last().copied().unwrap_or("else");
                writeln!(out, "{indent}{word} {}", Escaped(title))?;
                depth += 1;
            }
            Step::Close => {
                words.pop();
                writeln!(out, "{indent}end")?;
            }
            Step::Jump { text } | Step::Divider { text } if !chart.participants().is_empty() => {
                writeln!(out, "{indent}Note over {everyone}: {}", Escaped(text))?;
            }
            Step::Jump { .. } | Step::Divider { .. } => {}
        }
    }
    for (index, participant) in chart.participants().iter().enumerate() {
        if let Some(footer) = &participant.footer {
            writeln!(out, "  Note over p{index}: {}", Escaped(footer))?;
        }
    }
    Ok(())
}

fn over((first, last): (usize, usize)) -> String {
    if first == last { format!("p{first}") } else { format!("p{first},p{last}") }
}
