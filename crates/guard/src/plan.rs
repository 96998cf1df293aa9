//! A plan: a listener of the configuration, checked and compiled. Sessions keep the plan they began with.

mod reader;
mod side;
mod warnings;
mod words;

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use referee_functions::Limits as FunctionLimits;
use referee_monitor::{KeyLimits, Policy};
use referee_pipeline::Source;
use referee_session::{Deadlines, Options, Properties, Redaction, Refusals, TwoPartyRules};
use referee_syntax::Diagnostic;
use referee_wire::{Framing, Kind, locate};
use rustls_pki_types::ServerName;

use crate::config::{
    Address, AtLimit, Config, DeadlinesName, Limits, Listener, Network, Pipelining, PolicyName, Problem,
    ProxyIn, ProxyOut, Scrutiny, Time, clashes,
};
use crate::driver::DriverOptions;
use crate::http_answer;
use crate::multiparty::MultipartyPlan;
use crate::protocol::{Protocol, Unusable, Wanted};
use crate::tls;
pub(crate) use reader::PlanReader;
use reader::ProtocolText;
pub use side::ListenerSides;
use warnings::{fit_connections, unwritable};

/// A listener, ready to be used.
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    /// What its sessions go by.
    pub(crate) rules: Arc<TwoPartyRules>,
    /// What the codec of the rules was compiled from.
    table: referee_wire::Table,
    pub(crate) at_limit: AtLimit,
    pub(crate) limits: Limits,
    pub(crate) allow: Option<Vec<Network>>,
    pub(crate) proxy_in: ProxyIn,
    pub(crate) proxy_out: ProxyOut,
    pub(crate) upstream: Upstream,
    pub(crate) tls: Option<tokio_rustls::TlsAcceptor>,
    pub(crate) upstream_tls: Option<(tokio_rustls::TlsConnector, ServerName<'static>)>,
    scrutiny: Scrutiny,
    tolerance: Time,
    listen: String,
    has_client_ca: bool,
}

/// Where the server is.
#[derive(Clone, Debug)]
pub(crate) enum Upstream {
    Address(Address),
    Command(Vec<String>),
}

/// A configuration, checked and compiled.
pub struct Plans {
    pub(crate) config: Config,
    pub(crate) plans: Vec<Arc<Plan>>,
    pub(crate) multiparty: Option<Arc<MultipartyPlan>>,
    /// A number that is another when `[multiparty]`, or a file that it names and that holds no certificate, is.
    pub(crate) digest: u64,
    /// Every file it was made from.
    pub(crate) files: Vec<PathBuf>,
}

/// Why a configuration cannot be used.
#[derive(Debug, Default)]
pub struct Refusal {
    /// What is wrong with the configuration itself.
    pub problems: Vec<Problem>,
    /// Protocols with errors, and what is wrong with them.
    pub protocols: Vec<(Source, Vec<Diagnostic>)>,
}

impl From<Vec<Problem>> for Refusal {
    fn from(problems: Vec<Problem>) -> Self {
        Self { problems, protocols: Vec::new() }
    }
}

impl Refusal {
    /// How many things are wrong.
    pub(crate) fn count(&self) -> usize {
        self.problems.len() + self.protocols.len()
    }

    /// In one line, for logs.
    #[must_use]
    pub fn summary(&self) -> String {
        let first = self.problems.first().map(|problem| problem.message.clone());
        let broken = self.protocols.first().map(|(source, _)| format!("`{}` has errors", source.name()));
        first.or(broken).unwrap_or_default()
    }
}

impl Plans {
    /// Reads and checks the configuration `text`; paths in it are relative to `folder`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(
        text: &str,
        folder: &Path,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Refusal> {
        let config = Config::read(text, environment).map_err(Refusal::from)?;
        let stdio = config.listeners.iter().find(|listener| listener.get_ref().is_stdio());
        if let Some(listener) = stdio {
            let problem = Problem::new(
                "standard input can be listened to by `--stdio` only",
                listener.get_ref().listen.span(),
            );
            let help = "start it as `referee guard --stdio CONFIG -- COMMAND…`";
            return Err(vec![problem.with_help(help)].into());
        }
        Self::of(config, text, folder)
    }

    /// Reads and checks the configuration `text` of a guard on standard input and output. If there is a `command`, it is the server.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read_stdio(
        text: &str,
        folder: &Path,
        environment: &dyn Fn(&str) -> Option<String>,
        command: &[String],
    ) -> Result<Self, Refusal> {
        let mut config = Config::read(text, environment).map_err(Refusal::from)?;
        config.put_on_stdio(text, command)?;
        Self::of(config, text, folder)
    }

    /// The plans of `config`, which was read from `text`.
    fn of(mut config: Config, text: &str, folder: &Path) -> Result<Self, Refusal> {
        fit_connections(&mut config, text);
        let mut reader = PlanReader::new(folder);
        let mut plans: Vec<Arc<Plan>> = Vec::new();
        for (index, listener) in config.listeners.iter().enumerate() {
            let mut maker = Maker { text, index, listener: listener.get_ref(), reader: &mut reader };
            let Some(plan) = maker.plan() else { continue };
            if listener.get_ref().record && config.journal.is_none() {
                let place = locate(text, ["listener", "record"]).unwrap_or(listener.span());
                let problem = Problem::new("messages are recorded in the journal, and there is none", place);
                reader
                    .refusal
                    .problems
                    .push(problem.with_help("add `[journal]` with a `folder`, or leave `record` out"));
            }
            if plans.iter().any(|other| other.name == plan.name) {
                let span = listener.get_ref().name.as_ref().map_or(listener.span(), toml::Spanned::span);
                let message = format!("two listeners are called `{}`", plan.name);
                let problem = Problem::new(message, span).with_help("give each a `name` of its own");
                reader.refusal.problems.push(problem);
            }
            plans.push(Arc::new(plan));
        }
        let (mut multiparty, mut digest) = (None, 0);
        if let Some(table) = &config.multiparty {
            let mut network = PlanReader::new(folder);
            multiparty = MultipartyPlan::make(table.get_ref(), &mut network).map(Arc::new);
            network.refusal.problems.append(&mut table.get_ref().limits.problems(text));
            digest = digest_of(text, &network.files);
            reader.append(network);
        }
        let PlanReader { mut files, mut certificates, mut refusal, mut warnings, .. } = reader;
        config.warnings.append(&mut warnings);
        files.append(&mut certificates);
        if let Some(admin) = &config.admin
            && !admin.listen.get_ref().is_local()
            && admin.token.as_deref().is_none_or(str::is_empty)
        {
            refusal.problems.push(
                Problem::new("others than this machine can reach the admin listener", admin.listen.span())
                    .with_help("set `token`, or listen on 127.0.0.1"),
            );
        }
        refusal.problems.append(&mut clashes(&config));
        config.log.file = config.log.file.map(|file| folder.join(file));
        if let Some(journal) = &mut config.journal {
            journal.folder = folder.join(&journal.folder);
            if let Some(problem) = unwritable(&journal.folder) {
                let place = locate(text, ["journal", "folder"]).unwrap_or(0..0);
                refusal.problems.push(Problem::new(problem, place));
            }
        }
        if let Some(threads) = &config.threads
            && !(1..=1024).contains(threads.get_ref())
        {
            refusal.problems.push(Problem::new("from 1 to 1024 threads", threads.span()));
        }
        if let Some(otlp) = &mut config.otlp {
            otlp.tls = otlp.tls.as_ref().map(|tls| tls.resolved(|path| folder.join(path)));
            let problem = crate::otlp::problem(otlp);
            refusal.problems.extend(problem.map(|message| Problem::new(message, otlp.endpoint.span())));
        }
        if refusal.problems.is_empty() && refusal.protocols.is_empty() {
            Ok(Self { config, plans, multiparty, digest, files })
        } else {
            Err(refusal)
        }
    }

    /// What is guarded, in plain words: one line for each listener.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        let multiparty = self.multiparty.iter().flat_map(|plan| plan.in_words());
        self.plans.iter().map(|plan| plan.in_words()).chain(multiparty).collect()
    }

    /// The configuration it was made from.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }
}

/// A number for `[multiparty]` in `text` and the contents of `files`, which it names.
fn digest_of(text: &str, files: &[PathBuf]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let whole: Option<toml::Table> = toml::from_str(text).ok();
    format!("{:?}", whole.as_ref().and_then(|table| table.get("multiparty"))).hash(&mut hasher);
    for file in files {
        fs::read(file).ok().hash(&mut hasher);
    }
    hasher.finish()
}

struct Maker<'a, 'f> {
    text: &'a str,
    index: usize,
    listener: &'a Listener,
    reader: &'a mut PlanReader<'f>,
}

impl Maker<'_, '_> {
    /// The place of the value at `path` in this listener's table.
    fn place(&self, path: &[&str]) -> std::ops::Range<usize> {
        let index = self.index.to_string();
        let path = ["listener", &index].into_iter().chain(path.iter().copied());
        locate(self.text, path).unwrap_or(0..0)
    }

    fn complain(&mut self, key: &str, message: impl Into<String>) {
        let place = self.place(&[key]);
        self.reader.problem(place, message);
    }

    fn protocol(&mut self) -> Option<(Protocol, Option<referee_wire::Table>)> {
        let listener = self.listener;
        let preset = listener.protocol.get_ref().strip_prefix("preset:");
        let timed = listener.deadlines.is_some_and(|chosen| chosen != DeadlinesName::Off);
        let (text, table) = match preset.map(|name| (name, crate::preset::find(name, timed))) {
            None => (self.reader.protocol_text(&listener.protocol)?, None),
            Some((name, Ok((text, table)))) => {
                (ProtocolText { text, file: format!("{name}.scr") }, Some(table))
            }
            Some((_, Err(message))) => {
                self.complain("protocol", message);
                return None;
            }
        };
        let limits = FunctionLimits { fuel: listener.functions_fuel, memory: listener.functions_memory.0 };
        let modules = self.reader.modules(listener.functions.as_ref(), limits)?;
        let wanted = Wanted {
            modules: &modules,
            name: listener.protocol_name.as_ref().map(|name| name.get_ref().as_str()),
            client: listener.client_role.as_ref().map(|name| name.get_ref().as_str()),
            scrutiny: listener.scrutiny,
            table: listener.codec.as_ref().map(|table| table.get_ref()).or(table.as_ref()),
            calls: KeyLimits { inflight: listener.limits.inflight, ended: listener.limits.ended },
        };
        let parsed = self.reader.parse(&text, &listener.import_path, listener.protocol.span())?;
        match Protocol::read(parsed, &wanted) {
            Ok(protocol) => Some((protocol, table)),
            Err(Unusable::Errors(source, diagnostics)) => {
                self.reader.refusal.protocols.push((source, diagnostics));
                None
            }
            Err(Unusable::Other(key, message)) => {
                self.complain(key, message);
                None
            }
        }
    }

    /// The listener's properties, if it has any.
    fn properties(&mut self, spans: bool) -> Option<Properties> {
        let files = self.listener.properties.as_ref()?;
        if spans {
            let message = "properties are observed on a connection, but sessions of this codec span several";
            self.complain("properties", message);
        }
        self.reader.properties(files, self.listener.limits.instances)
    }

    fn rules(
        &mut self,
        protocol: &Protocol,
        preset: Option<referee_wire::Table>,
    ) -> Option<(TwoPartyRules, referee_wire::Table)> {
        let written = self.listener.codec.as_ref().map(|table| table.get_ref().clone());
        let Some(table) = written.or(preset) else {
            let message = "there is no codec: nobody knows which bytes are which message";
            let problem = Problem::new(message, self.listener.protocol.span());
            self.reader
                .refusal
                .problems
                .push(problem.with_help("add a table `[listener.codec]`, or use a preset"));
            return None;
        };
        match TwoPartyRules::compile(Arc::clone(&protocol.monitor), protocol.client, &table) {
            Ok(rules) => match &protocol.calls {
                Some(calls) => Some((rules.with_calls(Arc::clone(calls)), table)),
                None => Some((rules, table)),
            },
            Err(errors) => {
                for error in errors {
                    let path: Vec<&str> =
                        ["codec"].into_iter().chain(error.path().iter().map(String::as_str)).collect();
                    let message = format!("`{}`: {}", path.join("."), error.message());
                    let mut problem = Problem::new(message, self.place(&path));
                    problem.help = error.advice().map(str::to_owned);
                    self.reader.refusal.problems.push(problem);
                }
                None
            }
        }
    }

    /// What can be chosen for sessions of `rules`.
    fn options(&mut self, rules: &TwoPartyRules, table: &referee_wire::Table) -> Options {
        let listener = self.listener;
        let messages = rules.codec().messages();
        for index in Redaction::idle(&listener.redact, messages) {
            let rule = listener.redact.get(index).map_or("", String::as_str);
            let place = self.place(&["redact", &index.to_string()]);
            let problem = Problem::new(format!("`{rule}` hides nothing: no message has such a field"), place);
            let help = "a field, `pwd`; a field of one message, `Auth.pwd`; all of one, `Auth.*`; or `*`";
            self.reader.refusal.problems.push(problem.with_help(help));
        }
        let close_message = |text: &Option<String>| text.clone().unwrap_or_default().into_bytes();
        Options {
            policy: listener.policy.into(),
            refusals: self.refusals(rules),
            pipelining: match listener.pipelining {
                Pipelining::None => [false, false],
                Pipelining::Client => [true, false],
                Pipelining::Both => [true, true],
            },
            max_message: listener.limits.message.0,
            pass_beyond_limit: listener.at_limit == AtLimit::Open,
            close_messages: [&listener.close_message.client, &listener.close_message.server]
                .map(close_message),
            redaction: Redaction::new(&listener.redact, messages),
            properties: self.properties(rules.spans_connections()),
            record: listener.record,
            deadlines: self.deadlines(rules),
            tolerance: listener.tolerance.nanoseconds(),
            timeout_answers: [timeout_answer(listener, table), Vec::new()],
            max_waiting: listener.limits.buffer.0,
        }
    }

    /// What can be refused, if that is the policy.
    fn refusals(&mut self, rules: &TwoPartyRules) -> Option<Refusals> {
        if self.listener.policy != PolicyName::Reject {
            return None;
        }
        let refusals = Refusals::new(rules);
        if refusals.is_empty() {
            let message = "nothing can be rejected: the codec names no message that refuses another";
            let problem = Problem::new(message, self.place(&["policy"]));
            let help = "that is for JSON-RPC (`rpc = true`), with messages that answer with an `error`";
            self.reader.refusal.problems.push(problem.with_help(help));
        }
        Some(refusals)
    }

    /// What cannot be had where a session has several connections at once.
    fn check_shared(&mut self, protocol: &Protocol, options: &Options) {
        if options.policy == Policy::Drop {
            self.complain(
                "policy",
                "with `drop` a client would wait for an answer for ever: `reject` tells it why there is none",
            );
        }
        if protocol.calls.is_some() || protocol.monitor.machine().state_count() > 1 {
            let message = "messages of one session come on several connections, in any order: its protocol has one state, and order is \
                           for properties to demand";
            self.complain("protocol", message);
        }
        if let Some(name) = options.properties.as_ref().and_then(Properties::with_deadline) {
            let message = format!(
                "`{name}` says what has to happen, or must not, for some time: over several connections that is not judged"
            );
            self.complain("properties", message);
        }
    }

    /// What is done about the times of the protocol.
    fn deadlines(&mut self, rules: &TwoPartyRules) -> Deadlines {
        let listener = self.listener;
        // A preset has no times unless it is asked for them.
        let chosen = listener.deadlines.map_or(Deadlines::Report, Deadlines::from);
        if chosen != Deadlines::Off && rules.monitor().is_timed() && rules.spans_connections() {
            let message = "the times of the protocol are not judged: sessions of this codec span connections";
            let problem = Problem::new(message, listener.protocol.span());
            self.reader.warnings.push(problem.with_help("`deadlines = \"off\"` says so too"));
        }
        if !rules.monitor().is_timed() && matches!(chosen, Deadlines::Enforce) {
            let problem = Problem::new(
                "the protocol has no times (`within`, `after`) to enforce",
                self.place(&["deadlines"]),
            );
            self.reader.warnings.push(problem);
        }
        chosen
    }

    fn upstream(&mut self) -> Option<Upstream> {
        match (&self.listener.upstream, &self.listener.command) {
            (Some(address), None) => Some(Upstream::Address(address.get_ref().clone())),
            (None, Some(command)) if !command.get_ref().is_empty() => {
                Some(Upstream::Command(command.get_ref().clone()))
            }
            (None, Some(_)) => {
                self.complain("command", "the command is empty");
                None
            }
            (Some(_), Some(_)) => {
                self.complain("command", "either `upstream` or `command`, not both");
                None
            }
            (None, None) => {
                let message = "where is the server? Say so with `upstream` or `command`";
                self.complain("listen", message);
                None
            }
        }
    }

    fn plan(&mut self) -> Option<Plan> {
        let listener = self.listener;
        let problems = self.reader.refusal.count();
        let upstream = self.upstream();
        if let Err(message) = crate::listen::Place::parse(listener.listen.get_ref()) {
            self.complain("listen", message);
        }
        let tls = listener.tls.as_ref().map(|tls| {
            let config = tls.get_ref().resolved(|path| self.reader.certificate(path));
            tls::server(&config).map_err(|message| self.complain("tls", message))
        });
        let upstream_tls = listener.upstream_tls.as_ref().map(|tls| {
            let config = tls.get_ref().resolved(|path| self.reader.certificate(path));
            let address = listener.upstream.as_ref().map(toml::Spanned::get_ref);
            tls::client(&config, address).map_err(|message| self.complain("upstream-tls", message))
        });
        if listener.limits.inflight == 0 {
            self.complain("limits", "with `inflight = 0` no call could begin");
        }
        if listener.limits.message.0 == 0 || listener.limits.buffer.0 == 0 {
            self.complain("limits", "a limit of 0 bytes lets nothing through");
        }
        let (protocol, preset) = self.protocol()?;
        let (rules, table) = self.rules(&protocol, preset)?;
        let options = self.options(&rules, &table);
        if protocol.calls.is_some() && options.properties.is_some() && options.policy == Policy::Drop {
            self.complain(
                "policy",
                "`drop` with properties cannot be used where the protocol opens sub-sessions",
            );
        }
        if rules.shares_sessions() {
            self.check_shared(&protocol, &options);
        }
        if self.reader.refusal.count() > problems {
            return None;
        }
        Some(Plan {
            name: listener.name.as_ref().map_or_else(|| protocol.name.clone(), |name| name.get_ref().clone()),
            rules: Arc::new(rules.with_options(options)),
            table,
            at_limit: listener.at_limit,
            limits: listener.limits,
            allow: listener.allow.clone(),
            proxy_in: listener.proxy_in,
            proxy_out: listener.proxy_out,
            upstream: upstream?,
            has_client_ca: listener.tls.as_ref().is_some_and(|tls| tls.get_ref().client_ca.is_some()),
            tls: tls.and_then(Result::ok).map(tokio_rustls::TlsAcceptor::from),
            upstream_tls: upstream_tls.and_then(Result::ok).map(|(config, name)| (config.into(), name)),
            scrutiny: listener.scrutiny,
            tolerance: listener.tolerance,
            listen: listener.listen.get_ref().clone(),
            protocol,
        })
    }
}

/// What a client is sent whose server did not answer in time, where the protocol has something for that.
fn timeout_answer(listener: &Listener, table: &referee_wire::Table) -> Vec<u8> {
    const WHY: &str = "the server did not answer in time";
    let preset = listener.protocol.get_ref().strip_prefix("preset:");
    let answer = match (table.kind, preset) {
        (Kind::Http | Kind::JsonHttp, _) => http_answer::text("504 Gateway Timeout", WHY),
        (_, Some("smtp")) => format!("421 4.4.2 {WHY}\r\n"),
        (Kind::Json, _) if table.rpc == Some(true) => {
            // Which call it was, the guard does not say: there may be several.
            let error =
                format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32000,"message":"{WHY}"}}}}"#);
            match table.framing.unwrap_or_default() {
                Framing::Lines => error + "\n",
                Framing::Stream => error,
                Framing::Headers => format!("Content-Length: {}\r\n\r\n{error}", error.len()),
                Framing::Length(_) => String::new(),
            }
        }
        _ => String::new(),
    };
    answer.into_bytes()
}

impl Plan {
    /// What the driver of its sessions is told.
    pub(crate) fn driver_options(&self) -> DriverOptions {
        DriverOptions {
            salvage: false,
            // Where a session has several connections, what one brings must be judged before anybody can answer it on another.
            observe: self.rules.options().policy == Policy::Observe && !self.rules.shares_sessions(),
            max_buffer: self.limits.buffer.0,
            max_message: self.limits.message.0,
            idle: self.limits.idle.0,
            total: self.limits.total.0,
        }
    }
}
