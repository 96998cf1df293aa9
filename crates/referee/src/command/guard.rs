//! `referee guard`: stand between a client and a server, and let only what follows the protocol pass.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use referee::guard::config::Config;
use referee::guard::{Ended, Refusal, Service, log};

use crate::Outcome;
use crate::output::{self, Renderer};

/// Guard connections: pass on what follows the protocol, stop and report what does not.
///
/// CONFIG names, for each listener, a protocol, how bytes become messages, where clients connect and where the
/// server is. SIGHUP, or a change to a file, loads it again; SIGTERM lets running sessions end. See docs/guard.md.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The configuration, TOML.
    #[arg(value_name = "CONFIG", required_unless_present = "schema")]
    config: Option<PathBuf>,
    /// Check the configuration and what it refers to, say what it guards, and do nothing.
    #[arg(long)]
    check_config: bool,
    /// Print the JSON Schema of configurations.
    #[arg(long)]
    schema: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.schema {
        output::print(&format!("{:#}\n", Config::schema()))?;
        return Ok(Outcome::Holds);
    }
    let Some(path) = &arguments.config else { bail!("which configuration?") };
    let name = path.display().to_string();
    let environment = |variable: &str| std::env::var(variable).ok();
    let started = |words: &[String]| {
        for line in words {
            output::remark(line);
        }
    };
    let service = Service { path, environment: &environment, started: &started };
    let plans = match service.read().with_context(|| format!("cannot read `{name}`"))? {
        Ok(plans) => plans,
        Err((text, refusal)) => {
            complain(&name, &text, &refusal)?;
            return Ok(Outcome::WrongInput);
        }
    };
    if arguments.check_config {
        for line in plans.in_words() {
            output::print(&format!("{line}\n"))?;
        }
        return Ok(Outcome::Holds);
    }
    if let Err(problem) = log::start(&plans.config().log) {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        complain(&name, &text, &Refusal { problems: vec![problem], protocols: Vec::new() })?;
        return Ok(Outcome::WrongInput);
    }
    match service.run(&plans)? {
        Ended::Drained => output::remark("all sessions have ended"),
        Ended::Cut(count) => output::remark(&format!("{count} sessions were cut off")),
    }
    Ok(Outcome::Holds)
}

/// Shows what is wrong with the configuration and with the protocols it names.
fn complain(name: &str, text: &str, refusal: &Refusal) -> io::Result<()> {
    let renderer = Renderer::new(&io::stderr());
    let mut out = renderer.render_problems(name, text, &refusal.problems);
    for (file, source, diagnostics) in &refusal.protocols {
        out += &renderer.render(file, source, diagnostics);
    }
    anstream::stderr().write_all(out.as_bytes())
}
