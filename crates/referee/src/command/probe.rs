//! `referee probe`: play a role against a running peer, and say whether the peer plays its own.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use referee::probe::{Finding, Options, Prober, Report, Script};
use referee::wire::Sender;
use serde_json::{Value, json};

use super::play::{Link, Side, Subject, TlsTable};
use super::watch::parse_duration;
use crate::Outcome;
use crate::output::{self, sarif};

/// Play a role against a running peer, and check that the peer plays its own.
///
/// Goes over the role's machine until every transition was taken or cannot be; every answer is judged by the monitor. Prints
/// what was covered, what was not and why, and the first deviation with a trace that is as short as can be. Exit status: 1
/// for a deviation; 3 if there is none but something was not judged, or a limit ended the tours. See docs/probe.md.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    subject: Subject,
    /// Where the peer listens: HOST:PORT, or unix:/path. Without it: the configuration's `upstream`.
    #[arg(long, value_name = "ADDRESS")]
    connect: Option<String>,
    /// A program to start instead, which talks on its standard input and output: `-- npx mcp-server-filesystem /tmp/shared`. It is
    /// started anew for each session.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "connect")]
    command: Vec<String>,
    /// Connect by TLS.
    #[arg(long)]
    tls: bool,
    /// Authorities that the server's certificate is checked against, PEM. Without it: those of the system.
    #[arg(long, value_name = "FILE", requires = "tls")]
    tls_ca: Option<PathBuf>,
    /// The name that the server's certificate must bear. Without it: the host of --connect.
    #[arg(long, value_name = "NAME", requires = "tls")]
    tls_name: Option<String>,
    /// Which WebSocket is asked for, where the codec is of that kind.
    #[arg(long, value_name = "TARGET", default_value = "/")]
    target: String,
    /// Allow HOST, which is not this machine, to be tested; as in --connect. A probe sends what it likes, and wrong messages
    /// with --mutate: ask whose machine it is first.
    #[arg(long, value_name = "HOST")]
    yes_i_may_test: Vec<String>,
    /// Send up to N wrong messages, and check that the peer refuses them: it closes, or answers with a --refusal.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "100")]
    mutate: Option<usize>,
    /// A message with which the peer refuses what is wrong; may be repeated.
    #[arg(long, value_name = "LABEL")]
    refusal: Vec<String>,
    /// Do again what this script says, and nothing else.
    #[arg(long, value_name = "SCRIPT")]
    replay: Option<PathBuf>,
    /// Where to write the script of a deviation, for --replay.
    #[arg(long, value_name = "SCRIPT")]
    save: Option<PathBuf>,
    /// How many connections are made at most.
    #[arg(long, value_name = "N", default_value_t = Options::default().sessions)]
    sessions: usize,
    /// How many messages are sent at most.
    #[arg(long, value_name = "N", default_value_t = Options::default().messages)]
    messages: usize,
    /// How long the tours take at most.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration)]
    time: Duration,
    /// How long an answer is waited for.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration)]
    timeout: Duration,
    /// How long something is waited for that need not come.
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = parse_duration)]
    quiet: Duration,
    /// How often a transition is aimed at before it is given up.
    #[arg(long, value_name = "N", default_value_t = Options::default().attempts)]
    attempts: u32,
    /// How many sessions choose their messages at random, after the tours.
    #[arg(long, value_name = "N", default_value_t = Options::default().walks)]
    walks: usize,
    /// Decides what they choose.
    #[arg(long, value_name = "N", default_value_t = Options::default().seed)]
    seed: u64,
    /// How many messages are sent in a second at most; 0 for no bound.
    #[arg(long, value_name = "N", default_value_t = 200)]
    rate: u32,
    /// What is printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// JUnit XML: a test case for each transition and each wrong message.
    Junit,
    /// SARIF 2.1.0, with the place in the protocol that says otherwise.
    Sarif,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let tls = arguments.tls()?;
    let Some(side) = arguments.subject.side(Sender::Client, &arguments.refusal, tls.as_ref())? else {
        return Ok(Outcome::WrongInput);
    };
    let address = match arguments.command.first() {
        Some(command) => command.clone(),
        None => match arguments.connect.clone().or_else(|| side.upstream()) {
            Some(address) => address,
            None => bail!("where is the peer? Say so with --connect, or with `-- COMMAND`"),
        },
    };
    let script = arguments.replay.as_ref().map(|path| {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{name}`"))?;
        let script = Script::parse(&text).with_context(|| format!("`{name}`"))?;
        if script.role != side.player.role() {
            bail!("`{name}` is for the role `{}`", script.role);
        }
        Ok(script)
    });
    let script = script.transpose()?;
    let link = match arguments.command.as_slice() {
        [] => Link::to(&address, &arguments.yes_i_may_test, arguments.rate)?.with_tls(side.tls()),
        command => Link::program(command, arguments.rate),
    };
    let link = link.with_websocket(side.is_websocket().then(|| arguments.target.clone()));
    let prober = Prober::new(&side.player, link, arguments.options());
    let report = match &script {
        Some(script) => prober.replay(script),
        None => prober.run(),
    };
    let mut report = report.with_context(|| format!("cannot connect to `{address}`"))?;
    if let Some(finding) = &mut report.finding {
        finding.verdict.rule = side.location(finding.origin);
        finding.verdict.source = Some(address);
    }
    if let (Some(path), Some(finding)) = (&arguments.save, &report.finding) {
        let text = serde_json::to_string_pretty(&finding.script)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    output::print(&arguments.shown(&report, &side)?)?;
    Ok(match (&report.finding, report.is_conclusive()) {
        (Some(_), _) => Outcome::Violated,
        (None, true) => Outcome::Holds,
        (None, false) => Outcome::NoAnswer,
    })
}

impl Arguments {
    /// How the server is recognised, if it is to be reached by TLS and no configuration says how.
    fn tls(&self) -> Result<Option<TlsTable>> {
        if !self.tls {
            return Ok(None);
        }
        let host = self.connect.as_deref().and_then(|address| Some(address.rsplit_once(':')?.0));
        let host = host.map(|host| host.trim_start_matches('[').trim_end_matches(']').to_owned());
        let Some(server_name) = self.tls_name.clone().or(host) else {
            bail!("--tls wants --connect HOST:PORT or --tls-name");
        };
        Ok(Some(TlsTable { server_name, ca: self.tls_ca.clone() }))
    }

    fn options(&self) -> Options {
        Options {
            sessions: self.sessions,
            messages: self.messages,
            time: self.time,
            timeout: self.timeout,
            quiet: self.quiet,
            attempts: self.attempts,
            walks: self.walks,
            seed: self.seed,
            mutations: self.mutate.unwrap_or(0),
            ..Options::default()
        }
    }

    fn shown(&self, report: &Report, side: &Side) -> Result<String> {
        Ok(match self.format {
            Format::Text => report.to_string(),
            Format::Json => serde_json::to_string(report)? + "\n",
            Format::Junit => report.to_junit(&self.subject.name()),
            Format::Sarif => {
                let results: Vec<Value> = report
                    .finding
                    .iter()
                    .map(|finding| result(finding, &self.subject.name(), side))
                    .collect();
                format!("{}\n", sarif::document(results))
            }
        })
    }
}

/// A deviation as a result of SARIF.
fn result(finding: &Finding, file: &str, side: &Side) -> Value {
    let place = side.location(finding.origin).and_then(|place| {
        let mut parts = place.rsplitn(3, ':');
        let (column, line) = (parts.next()?.parse::<u32>().ok()?, parts.next()?.parse::<u32>().ok()?);
        Some((parts.next()?.to_owned(), line, column))
    });
    let physical = match place {
        Some((file, line, column)) => json!({
            "artifactLocation": sarif::artifact_location(&file),
            "region": {"startLine": line, "startColumn": column},
        }),
        None => json!({"artifactLocation": sarif::artifact_location(file)}),
    };
    let steps: Vec<Value> =
        finding.trace.iter().map(|line| json!({"location": {"message": {"text": line}}})).collect();
    json!({
        "ruleId": format!("protocol/{}", finding.verdict.kind),
        "level": "error",
        "message": {"text": finding.verdict.message},
        "locations": [{"physicalLocation": physical}],
        "codeFlows": [{"threadFlows": [{"locations": steps}]}],
    })
}
