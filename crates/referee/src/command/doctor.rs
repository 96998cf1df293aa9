//! `referee doctor`: what a guard's configuration needs of its surroundings, and what of that is missing.
//!
//! It looks and connects; it changes nothing. Read next: `examine`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use referee::guard::config::{Config, Listener, Multiparty};
use referee::guard::{Service, raise_descriptor_limit};
use serde_json::json;

use super::guard::complain;
use crate::Outcome;
use crate::output::{self, BAD, GOOD, WARN, styled};

mod examine;

/// Say what a guard's configuration needs of this machine, and what of it is missing.
///
/// Ports, servers, file descriptors, certificates and their dates, the journal's folder, the broker, WebAssembly modules.
/// Exit status: 0 nothing is missing; 1 something is; 2 the configuration itself is wrong.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The configuration, TOML.
    #[arg(value_name = "CONFIG")]
    config: PathBuf,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
}

/// How one need is met.
enum State {
    Met,
    /// It works today.
    Doubtful(Remedy),
    Missing(Remedy),
}

/// Why, and what to do.
struct Remedy {
    why: String,
    what_to_do: String,
}

impl Remedy {
    fn new(why: impl Into<String>, what_to_do: impl Into<String>) -> Self {
        Self { why: why.into(), what_to_do: what_to_do.into() }
    }
}

struct Need {
    what: String,
    state: State,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let path = &arguments.config;
    let name = path.display().to_string();
    let environment = |variable: &str| std::env::var(variable).ok();
    raise_descriptor_limit();
    let service = Service { path, environment: &environment, stdio: None, started: &|_| {} };
    let plans = match service.read().with_context(|| format!("cannot read `{name}`"))? {
        Ok(plans) => plans,
        Err((text, refusal)) => {
            complain(&name, &text, &refusal)?;
            return Ok(Outcome::WrongInput);
        }
    };
    let mut needs = needs(plans.config(), path.parent().unwrap_or(Path::new(".")));
    needs.extend(plans.warnings().into_iter().map(|warning| {
        let remedy = Remedy::new(warning.message, warning.help.unwrap_or_default());
        Need { what: "the configuration asks for nothing more".to_owned(), state: State::Doubtful(remedy) }
    }));
    match arguments.format {
        Format::Text => output::print(&text(&name, &needs))?,
        Format::Json => output::print_json(&document(&needs))?,
    }
    let is_missing = needs.iter().any(|need| matches!(need.state, State::Missing(_)));
    Ok(if is_missing { Outcome::Violated } else { Outcome::Holds })
}

/// What `config`, whose paths are relative to `folder`, needs. Its protocols, properties and modules have been read,
/// and its journal can be written: otherwise it would have been refused.
fn needs(config: &Config, folder: &Path) -> Vec<Need> {
    let mut needs = Vec::new();
    let mut add = |what: String, state: State| needs.push(Need { what, state });
    for (index, listener) in config.listeners.iter().enumerate() {
        let listener = listener.get_ref();
        let name = listener.name.as_ref().map_or_else(|| index.to_string(), |name| name.get_ref().clone());
        of_listener(&name, listener, folder, &mut add);
    }
    if let Some(multiparty) = &config.multiparty {
        of_network(multiparty.get_ref(), folder, &mut add);
    }
    if let Some(admin) = &config.admin {
        let address = admin.listen.get_ref();
        add(format!("admin: {address} is free to listen on"), examine::listening(address));
    }
    if let Some(journal) = &config.journal {
        add(format!("journal: `{}` can be written", journal.folder.display()), State::Met);
    }
    if let Some(otlp) = &config.otlp {
        let endpoint = otlp.endpoint.get_ref();
        add(format!("otlp: {endpoint} answers"), examine::url(endpoint, 4318));
    }
    needs
}

fn of_listener(name: &str, listener: &Listener, folder: &Path, add: &mut dyn FnMut(String, State)) {
    let listen = listener.listen.get_ref();
    match referee::guard::config::Address::try_from(listen.clone()) {
        Ok(address) => add(format!("{name}: {address} is free to listen on"), examine::listening(&address)),
        // The manager of services gives it, at the start.
        Err(_) => add(format!("{name}: {listen} is given at the start"), State::Met),
    }
    if let Some(upstream) = &listener.upstream {
        let address = upstream.get_ref();
        add(format!("{name}: the server {address} answers"), examine::connecting(address));
    }
    if let Some(program) = listener.command.as_ref().and_then(|command| command.get_ref().first()) {
        add(format!("{name}: the program `{program}` is there"), examine::program(program));
    }
    if listener.functions.is_some() {
        add(format!("{name}: its WebAssembly modules are there and right"), State::Met);
    }
    let tls = listener.tls.as_ref().map(|tls| tls.get_ref());
    let upstream = listener.upstream_tls.as_ref().map(|tls| tls.get_ref());
    let files = tls.map(|tls| &tls.certificate).into_iter();
    let files = files.chain(tls.and_then(|tls| tls.client_ca.as_ref()));
    let files = files.chain(upstream.into_iter().flat_map(|tls| tls.ca.iter().chain(&tls.certificate)));
    for file in files {
        add(format!("{name}: `{}` is valid", file.display()), examine::certificates(&folder.join(file)));
    }
}

fn of_network(network: &Multiparty, folder: &Path, add: &mut dyn FnMut(String, State)) {
    for role in &network.roles {
        let role = role.get_ref();
        let name = role.name.get_ref();
        if let Some(address) = &role.listen {
            let address = address.get_ref();
            add(format!("{name}: {address} is free to listen on"), examine::listening(address));
        }
        if let Some(address) = &role.upstream {
            let address = address.get_ref();
            add(format!("{name}: the component {address} answers"), examine::connecting(address));
        }
        if let Some(tls) = &role.tls {
            let file = &tls.get_ref().certificate;
            add(format!("{name}: `{}` is valid", file.display()), examine::certificates(&folder.join(file)));
        }
    }
    if let Some(address) = &network.listen {
        let address = address.get_ref();
        add(format!("monitors: {address} is free to listen on"), examine::listening(address));
    }
    for (peer, table) in &network.peers {
        // It may start later: monitors wait for each other.
        let address = table.address.get_ref();
        let state = match examine::connecting(address) {
            State::Missing(remedy) => State::Doubtful(remedy),
            other => other,
        };
        add(format!("monitors: that of {peer}, {address}, answers"), state);
    }
    if let Some(broker) = &network.broker {
        let broker = broker.get_ref();
        add(format!("monitors: the broker {broker} answers"), examine::url(broker, 4222));
    }
    if let Some(tls) = &network.tls {
        for file in [&tls.get_ref().certificate, &tls.get_ref().ca] {
            add(
                format!("monitors: `{}` is valid", file.display()),
                examine::certificates(&folder.join(file)),
            );
        }
    }
}

fn text(name: &str, needs: &[Need]) -> String {
    let mut text = String::new();
    let mut missing = 0;
    for need in needs {
        let (mark, remedy) = match &need.state {
            State::Met => (styled(GOOD, "✓"), None),
            State::Doubtful(remedy) => (styled(WARN, "!"), Some(remedy)),
            State::Missing(remedy) => {
                missing += 1;
                (styled(BAD, "✗"), Some(remedy))
            }
        };
        let _ = writeln!(text, "{mark} {}", need.what);
        if let Some(Remedy { why, what_to_do }) = remedy {
            let _ = writeln!(text, "  {why}\n  help: {what_to_do}");
        }
    }
    let _ = match missing {
        0 => writeln!(text, "nothing is missing; `referee guard {name}` can start"),
        _ => writeln!(text, "{missing} of {} needs are not met", needs.len()),
    };
    text
}

fn document(needs: &[Need]) -> serde_json::Value {
    let one = |need: &Need| {
        let (state, remedy) = match &need.state {
            State::Met => ("met", None),
            State::Doubtful(remedy) => ("doubtful", Some(remedy)),
            State::Missing(remedy) => ("missing", Some(remedy)),
        };
        json!({
            "need": need.what,
            "state": state,
            "why": remedy.map(|remedy| &remedy.why),
            "help": remedy.map(|remedy| &remedy.what_to_do),
        })
    };
    json!({ "needs": needs.iter().map(one).collect::<Vec<_>>() })
}
