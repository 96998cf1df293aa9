//! `referee explain`: what a diagnostic code means, with an example and its correction; and the words in which `check --explain`
//! speaks.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clap::Args;
use referee::syntax::diagnostics::{self, Code, suggest};

use crate::Outcome;
use crate::output::{self, SOFT, STRONG, styled};

/// Explain a diagnostic code, such as RF0103, or a word of `check --explain`, such as CIBI; or list all.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The code or the word. Without one, all are listed.
    code: Vec<String>,
}

/// The words of `check --explain`, the kinds of violations, the reasons why there is no answer, and the grounds of those there are.
const TOPICS: [(&str, &str); 32] = [
    ("k", include_str!("explain/k.md")),
    ("OBI", include_str!("explain/obi.md")),
    ("SIBI", include_str!("explain/sibi.md")),
    ("CIBI", include_str!("explain/cibi.md")),
    ("exhaustive", include_str!("explain/exhaustive.md")),
    ("CSA", include_str!("explain/csa.md")),
    ("mailbox", include_str!("explain/mailbox.md")),
    ("sound-reduction", include_str!("explain/sound-reduction.md")),
    ("unexpected-message", include_str!("explain/unexpected-message.md")),
    ("wait-cycle", include_str!("explain/wait-cycle.md")),
    ("never-sent", include_str!("explain/never-sent.md")),
    ("orphan-message", include_str!("explain/orphan-message.md")),
    ("starved", include_str!("explain/starved.md")),
    ("blocked-send", include_str!("explain/blocked-send.md")),
    ("mixed-state", include_str!("explain/mixed-state.md")),
    ("nondeterministic", include_str!("explain/nondeterministic.md")),
    ("no-bound", include_str!("explain/no-bound.md")),
    ("bound", include_str!("explain/bound.md")),
    ("limit", include_str!("explain/limit.md")),
    ("cibi-undecided", include_str!("explain/cibi-undecided.md")),
    ("paper-reduction", include_str!("explain/paper-reduction.md")),
    ("complete", include_str!("explain/complete.md")),
    ("premises", include_str!("explain/premises.md")),
    ("nothing-blocked", include_str!("explain/nothing-blocked.md")),
    ("nothing-helps", include_str!("explain/nothing-helps.md")),
    ("repeated", include_str!("explain/repeated.md")),
    ("fairness", include_str!("explain/fairness.md")),
    ("faults", include_str!("explain/faults.md")),
    ("property", include_str!("explain/property.md")),
    ("values", include_str!("explain/values.md")),
    ("may-wait", include_str!("explain/may-wait.md")),
    ("stable", include_str!("explain/stable.md")),
];

/// The text about the word `name`.
fn topic(name: &str) -> Option<&'static str> {
    let wanted = name.replace([' ', '_'], "-");
    TOPICS.iter().find(|(known, _)| known.eq_ignore_ascii_case(&wanted)).map(|(_, text)| *text)
}

/// What the word `name` means, in a line.
pub(crate) fn title(name: &str) -> Option<&'static str> {
    topic(name)?.lines().next()?.split_once(": ").map(|(_, title)| title)
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    match arguments.code.join(" ").as_str() {
        "" => output::print(&list())?,
        id => match (diagnostics::find(id), topic(id)) {
            (Some(code), _) => output::print(&explain(code))?,
            (None, Some(text)) => output::print(text)?,
            (None, None) => {
                let words = TOPICS.iter().map(|(name, _)| *name);
                let known = diagnostics::ALL.iter().map(|code| code.id).chain(words);
                match suggest::closest(&id.to_ascii_uppercase(), known) {
                    Some(close) => bail!("there is no code `{id}`; did you mean `{close}`?"),
                    None => bail!("there is no code `{id}`; `referee explain` lists all"),
                }
            }
        },
    }
    Ok(Outcome::Holds)
}

fn list() -> String {
    let mut text = String::new();
    for code in diagnostics::ALL {
        let _ = writeln!(
            text,
            "{}  {}  {}",
            styled(STRONG, code.id),
            styled(SOFT, format!("{:7}", code.severity.name())),
            code.title
        );
    }
    for (name, about) in TOPICS {
        let title = about.lines().next().unwrap_or_default().trim_start_matches("# ");
        let _ = writeln!(text, "{}  {}  {title}", styled(STRONG, name), styled(SOFT, "check"));
    }
    text
}

fn explain(code: &Code) -> String {
    const LONGEST_EXAMPLE: usize = 1500;
    let mut text =
        format!("{} ({})\n\n", styled(STRONG, format!("{}: {}", code.id, code.title)), code.severity.name());
    let _ = writeln!(text, "{}\n", code.explanation().trim());
    let language = code.example().language;
    for (title, example) in [("Wrong", code.example().wrong), ("Right", code.example().right)] {
        let _ = writeln!(text, "{} {}\n", styled(STRONG, title), styled(SOFT, format!("(.{language})")));
        for line in example.trim_end().lines() {
            if line.len() > LONGEST_EXAMPLE {
                let cut: String = line.chars().take(100).collect();
                let _ = writeln!(text, "    {cut}…");
            } else {
                let _ = writeln!(text, "    {line}");
            }
        }
        text.push('\n');
    }
    text
}
