//! `referee mcp`: a guard before a Model Context Protocol server, with rules over its calls.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use referee::guard::{Plans, log};

use super::guard::{complain, on_stdio};
use crate::Outcome;

/// Guard a Model Context Protocol server: be started in its place, and refuse calls that break a rule.
///
/// COMMAND is the server, which talks on standard input and output. Rules are properties of its calls; what is refused is answered with an
/// error that says which rule and why, so that the agent can do something else. See docs/mcp.md.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Rules: properties (.hml) of calls and their results; several times for several files.
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// Leave out the rules of MCP's own revisions (`referee preset show mcp --part rules`).
    #[arg(long)]
    no_lifecycle: bool,
    /// What happens to what is wrong.
    #[arg(long, value_enum, default_value_t = Policy::Reject)]
    policy: Policy,
    /// A folder for a durable record of messages and verdicts; each run has a folder of its own in it. What calls carry is written there:
    /// `referee watch --journal FOLDER --rules FILE` tries rules on it.
    #[arg(long, value_name = "FOLDER")]
    journal: Option<PathBuf>,
    /// A file for log lines. Without it nothing is logged.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// The server program, with its arguments.
    #[arg(last = true, value_name = "COMMAND", required = true)]
    command: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Policy {
    /// It does not go on, and who asks is told why.
    Reject,
    /// It does not go on, and the session ends.
    Halt,
    /// It does not go on.
    Drop,
    /// Everything goes on, and what is wrong is reported.
    Observe,
}

impl Arguments {
    /// The configuration that says the same.
    fn config(&self) -> Result<String> {
        // A text of JSON is one of TOML, too.
        let text = |path: &PathBuf| -> Result<String> {
            let path = std::path::absolute(path).with_context(|| format!("`{}`", path.display()))?;
            // `${NAME}` would be a variable there.
            Ok(serde_json::to_string(&path)?.replace("${", "$${"))
        };
        let policy = match self.policy {
            Policy::Reject => "reject",
            Policy::Halt => "halt",
            Policy::Drop => "drop",
            Policy::Observe => "observe",
        };
        let mut config = String::new();
        if let Some(folder) = &self.journal {
            writeln!(config, "[journal]\nfolder = {}", text(folder)?)?;
        }
        if let Some(file) = &self.log {
            writeln!(config, "[log]\nsessions = true\nfile = {}", text(file)?)?;
        }
        writeln!(config, "[[listener]]\nname = \"mcp\"\nlisten = \"stdio\"\nprotocol = \"preset:mcp\"")?;
        writeln!(
            config,
            "policy = \"{policy}\"\npipelining = \"both\"\nrecord = {}",
            self.journal.is_some()
        )?;
        // Images and files are text in these messages.
        writeln!(config, "limits = {{ message = \"64MiB\", instances = 100000 }}")?;
        let own = self.rules.iter().map(|rules| match rules.to_str() {
            Some(preset) if preset.starts_with("preset:") => Ok(serde_json::to_string(preset)?),
            _ => text(rules),
        });
        let lifecycle = (!self.no_lifecycle).then(|| Ok("\"preset:mcp\"".to_owned()));
        let rules: Vec<String> = lifecycle.into_iter().chain(own).collect::<Result<_>>()?;
        if !rules.is_empty() {
            writeln!(config, "properties = [{}]", rules.join(", "))?;
        }
        Ok(config)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let text = arguments.config()?;
    let environment = |variable: &str| std::env::var(variable).ok();
    let here = std::env::current_dir().context("there is no current folder")?;
    let plans = match Plans::read_stdio(&text, &here, &environment, &arguments.command) {
        Ok(plans) => plans,
        Err(refusal) => {
            complain("referee mcp", &text, &refusal)?;
            return Ok(Outcome::WrongInput);
        }
    };
    if arguments.log.is_some()
        && let Err(problem) = log::start(&plans.config().log)
    {
        anyhow::bail!("{}", problem.message);
    }
    on_stdio(&plans)
}
