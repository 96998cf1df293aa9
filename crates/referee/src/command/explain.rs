//! `referee explain`: what a diagnostic code means, with an example and its correction.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clap::Args;
use referee::syntax::diagnostics::{self, Code, suggest};

use crate::Outcome;
use crate::output::{self, SOFT, STRONG, styled};

/// Explain a diagnostic code, such as RF0103, or list all codes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The code. Without one, all codes are listed.
    code: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    match &arguments.code {
        None => output::print(&list())?,
        Some(id) => match diagnostics::find(id) {
            Some(code) => output::print(&explain(code))?,
            None => {
                let known = diagnostics::ALL.iter().map(|code| code.id);
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
