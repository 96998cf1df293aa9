//! `referee guard`: stand between a client and a server, and let only what follows the protocol pass.

use std::cell::Cell;
use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use referee::Source;
use referee::guard::config::{Config, Log, LogFormat, Problem};
use referee::guard::{Ended, Plans, Refusal, Service, log, multiparty, raise_descriptor_limit, stdio};
use referee::monitor;

use super::dependencies::Dependencies;
use crate::Outcome;
use crate::output::{self, Renderer};

/// Guard connections: pass on what follows the protocol, stop and report what does not.
///
/// CONFIG names, for each listener, a protocol, how bytes become messages, where clients connect and where the
/// server is. SIGHUP, or a change to a file, loads it again; SIGTERM lets running sessions end. See docs/guard.md.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The configuration, TOML.
    #[arg(value_name = "CONFIG", required_unless_present_any = ["schema", "relamon"])]
    config: Option<PathBuf>,
    /// Monitor a role of a multiparty protocol, as this configuration of RelaMon's says; several times for several
    /// roles in one process. See docs/multiparty.md.
    #[arg(long, value_name = "JSON", conflicts_with = "config")]
    relamon: Vec<PathBuf>,
    /// With `--relamon`: what happens to what is wrong.
    #[arg(long, value_enum, default_value_t = Policy::Halt, requires = "relamon")]
    policy: Policy,
    /// With `--relamon`: what components see of the labels that monitors tell each other.
    #[arg(long, value_enum, default_value_t, requires = "relamon")]
    dependencies: Dependencies,
    /// With `--relamon`: the address to listen on, `::` for all. Nobody can prove who it is on that wire, so without this only
    /// this machine is listened to.
    #[arg(long, value_name = "ADDRESS", requires = "relamon")]
    bind: Option<std::net::IpAddr>,
    /// Be started instead of a server program: the client's side is standard input and output, the server is COMMAND. Its exit status is
    /// the guard's, 1 where the guard has ended the session.
    #[arg(long, conflicts_with = "relamon")]
    stdio: bool,
    /// With `--stdio`: the server program, with its arguments.
    #[arg(last = true, value_name = "COMMAND", requires = "stdio")]
    command: Vec<String>,
    /// Check the configuration and what it refers to, say what it guards, and do nothing.
    #[arg(long)]
    check_config: bool,
    /// Print the JSON Schema of configurations.
    #[arg(long)]
    schema: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Policy {
    /// It is not passed on, and the session ends.
    Halt,
    /// It is not passed on, and the session goes on.
    Drop,
    /// Everything is passed on, and what is wrong is reported.
    Observe,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.schema {
        output::print(&format!("{:#}\n", Config::schema()))?;
        return Ok(Outcome::Holds);
    }
    if !arguments.relamon.is_empty() {
        return multiparty_guard(arguments);
    }
    let Some(path) = &arguments.config else { bail!("which configuration?") };
    let name = path.display().to_string();
    let environment = |variable: &str| std::env::var(variable).ok();
    // Where the log is for machines, every line is one of it.
    let is_json = Cell::new(false);
    let remark = |line: &str| if is_json.get() { log::remark(line) } else { output::remark(line) };
    let started = |words: &[String]| words.iter().for_each(|line| remark(line));
    raise_descriptor_limit();
    let stdio = arguments.stdio.then_some(arguments.command.as_slice());
    let service = Service { path, environment: &environment, stdio, started: &started };
    let plans = match service.read().with_context(|| format!("cannot read `{name}`"))? {
        Ok(plans) => plans,
        Err((text, refusal)) => {
            complain(&name, &text, &refusal)?;
            return Ok(Outcome::WrongInput);
        }
    };
    if arguments.check_config {
        let warnings = warnings(&name, path, &plans);
        warnings.iter().for_each(|line| output::remark(&format!("warning: {line}")));
        for line in plans.in_words() {
            output::print(&format!("{line}\n"))?;
        }
        return Ok(Outcome::Holds);
    }
    // Without a file for it there is nowhere to log to: standard error is the program's.
    let is_logged = !arguments.stdio || plans.config().log.file.is_some();
    if is_logged && let Err(problem) = log::start(&plans.config().log) {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        complain(&name, &text, &Refusal { problems: vec![problem], protocols: Vec::new() })?;
        return Ok(Outcome::WrongInput);
    }
    if arguments.stdio {
        return on_stdio(&plans);
    }
    is_json.set(plans.config().log.format == LogFormat::Json);
    for line in warnings(&name, path, &plans) {
        if is_json.get() { log::warn(&line) } else { output::remark(&format!("warning: {line}")) }
    }
    match service.run(&plans) {
        Ok(Ended::Drained) => remark("all sessions have ended"),
        Ok(Ended::Cut(count)) => remark(&format!("{count} sessions were cut off")),
        Err(error) if is_json.get() => {
            log::error(&error.to_string());
            return Ok(Outcome::WrongInput);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(Outcome::Holds)
}

/// Guards the session between standard input and output and a program. Unless that ends by itself, this ends the process as the program
/// ended.
pub(crate) fn on_stdio(plans: &Plans) -> Result<Outcome> {
    let outcome = stdio::run(plans)?;
    if outcome.is_by_guard() {
        let reason = || format!("the session was ended ({})", outcome.why.name());
        output::remark(&format!("referee: {}", outcome.message.clone().unwrap_or_else(reason)));
        return Ok(Outcome::Violated);
    }
    if let Some(signal) = outcome.status.and_then(|status| status.signal()) {
        // Whoever waits for this process sees what they would have seen of the program.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
    match outcome.status.and_then(|status| status.code()) {
        Some(code) => std::process::exit(code),
        None => Ok(Outcome::Holds),
    }
}

/// What is not wrong with the configuration at `path`, but should be changed or known, each in a line.
fn warnings(name: &str, path: &Path, plans: &Plans) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = |offset: usize| text.get(..offset).unwrap_or_default().matches('\n').count() + 1;
    let sentence = |problem: Problem| {
        let help = problem.help.map(|help| format!("; {help}")).unwrap_or_default();
        format!("{name}:{}: {}{help}", line(problem.span.start), problem.message)
    };
    plans.warnings().into_iter().map(sentence).collect()
}

/// Runs the monitors that RelaMon's files describe.
fn multiparty_guard(arguments: &Arguments) -> Result<Outcome> {
    let options = multiparty::RelamonOptions {
        policy: match arguments.policy {
            Policy::Halt => monitor::Policy::Halt,
            Policy::Drop => monitor::Policy::Drop,
            Policy::Observe => monitor::Policy::Observe,
        },
        dependencies: arguments.dependencies.into(),
        bind: arguments.bind,
    };
    let mut configs = Vec::new();
    for path in &arguments.relamon {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{name}`"))?;
        match multiparty::read_relamon(&text, options) {
            Ok(member) => configs.push(member),
            Err(multiparty::ProtocolError::Other(message)) => bail!("`{name}`: {message}"),
            Err(multiparty::ProtocolError::Errors(_, diagnostics)) => {
                let source = Source::new(&name, &text);
                let refusal = Refusal { problems: Vec::new(), protocols: vec![(source, diagnostics)] };
                complain(&name, "", &refusal)?;
                return Ok(Outcome::WrongInput);
            }
        }
    }
    if arguments.check_config {
        for member in &configs {
            output::print(&format!("{}\n", member.in_words()))?;
        }
        return Ok(Outcome::Holds);
    }
    // The defaults are a log level that there is.
    let _ = log::start(&Log::default());
    let started = |words: &[String]| words.iter().for_each(|line| output::remark(line));
    Ok(match multiparty::run(configs, &started)? {
        multiparty::SessionOutcome::Violated => Outcome::Violated,
        multiparty::SessionOutcome::Over | multiparty::SessionOutcome::Stopped => Outcome::Holds,
    })
}

/// Shows what is wrong with the configuration and with the protocols it names.
pub(crate) fn complain(name: &str, text: &str, refusal: &Refusal) -> io::Result<()> {
    let renderer = Renderer::new(&io::stderr());
    let mut out = renderer.render_problems(name, text, &refusal.problems);
    for (source, diagnostics) in &refusal.protocols {
        out += &renderer.render_source(source, diagnostics);
    }
    anstream::stderr().write_all(out.as_bytes())
}
