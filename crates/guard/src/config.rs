//! The configuration as it is written: one TOML file, every value with its place in the text.
//!
//! Reading it checks its form only. Whether the protocol exists and the codec fits it is found out when a
//! plan is made of it; problems of both kinds are [`Problem`]s with a span.

mod address;
mod deprecated;
mod expand;
mod files;
mod listener;
mod multiparty;
mod places;
mod problem;
mod schema;
mod stdio;
mod units;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

pub use address::{Address, Network};
pub use files::Files;
pub use listener::{
    AtLimit, CloseMessages, DeadlinesName, Limits, Listener, Pipelining, PolicyName, ProxyIn, ProxyOut,
    Scrutiny, TlsIn, TlsOut,
};
pub use multiparty::{
    DependenciesName, EndpointTable, MonitorTls, Multiparty, MultipartyLimits, Peer, RoleTable, TransportName,
};
pub(crate) use places::clashes;
pub use problem::Problem;
pub use units::{Size, Time};

/// A guard's configuration.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = schema::needs_something)]
pub struct Config {
    /// How many threads carry sessions. Without it: one for each processor.
    #[schemars(with = "Option<usize>", range(min = 1, max = 1024))]
    pub threads: Option<Spanned<usize>>,
    /// How long running sessions may go on after SIGTERM or `/drain` before they are closed.
    #[serde(default = "default_drain")]
    pub drain: Time,
    /// How often the configuration and protocol files are looked at for changes; `none` to reload on SIGHUP only.
    #[serde(default = "default_watch")]
    pub watch_files: Time,
    /// A Unix socket over which a newer guard takes the listening sockets of this one.
    pub takeover: Option<PathBuf>,
    /// Where operators look.
    pub admin: Option<Admin>,
    /// What is logged, and how.
    #[serde(default)]
    pub log: Log,
    /// A durable record of verdicts and ends of sessions.
    pub journal: Option<Journal>,
    /// Export of one span per session to an OpenTelemetry collector.
    pub otlp: Option<Otlp>,
    /// Roles of a protocol of several parties.
    #[schemars(with = "Option<Multiparty>")]
    pub multiparty: Option<Spanned<Multiparty>>,
    /// What is guarded: one entry for each address.
    #[serde(default, rename = "listener")]
    #[schemars(with = "Vec<Listener>", length(min = 1))]
    pub listeners: Vec<Spanned<Listener>>,
    /// What is not wrong with it, but should be changed.
    #[serde(skip)]
    pub warnings: Vec<Problem>,
}

/// The operators' HTTP listener.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table with `listen`")]
pub struct Admin {
    /// `127.0.0.1:9900`, or `unix:/path`.
    #[schemars(with = "Address")]
    pub listen: Spanned<Address>,
    /// Must be sent as `Authorization: Bearer …`; needed where `listen` is not a loopback address.
    pub token: Option<String>,
}

/// What is logged, and how.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "kebab-case",
    expecting = "a table with `format`, `level` and `sessions`"
)]
pub struct Log {
    /// One JSON object per line, or text for people.
    pub format: LogFormat,
    /// A file that lines are appended to, instead of standard error; with `referee guard --stdio` nothing is logged without it.
    pub file: Option<PathBuf>,
    /// `error`, `warn`, `info`, `debug`, `trace`, or a filter such as `info,referee_guard=debug`.
    #[schemars(with = "Option<String>")]
    pub level: Option<Spanned<String>>,
    /// Whether the end of a session without violation is logged too.
    pub sessions: bool,
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Text for people.
    #[default]
    Pretty,
}

/// A durable record of verdicts and ends of sessions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table with `folder`")]
pub struct Journal {
    /// The folder that holds its files.
    pub folder: PathBuf,
    /// When records are forced onto the disk.
    #[serde(default)]
    pub fsync: Fsync,
    /// A new file is begun when the current one is this large.
    #[serde(default = "default_rotate")]
    pub rotate_at: Size,
    /// How many full files are kept; the oldest are deleted.
    #[serde(default = "default_keep")]
    pub keep: u32,
}

/// When records are forced onto the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fsync {
    /// Before anything is said of them in the log.
    #[default]
    Always,
    /// Once a second. They survive the end of the guard, not that of the machine.
    EverySecond,
    /// When the system sees fit.
    Never,
}

/// Export to an OpenTelemetry collector.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table with `endpoint`")]
pub struct Otlp {
    /// `http://127.0.0.1:4318`, or `https://…`: OTLP over HTTP, JSON encoding.
    #[schemars(with = "String", regex(pattern = "^https?://|\\$\\{"))]
    pub endpoint: Spanned<String>,
    /// With `https://`: how the collector is recognised. Without it: by the authorities of the system.
    pub tls: Option<TlsOut>,
    /// The `service.name` of the spans.
    #[serde(default = "default_service")]
    pub service: String,
}

fn default_drain() -> Time {
    Time::seconds(30)
}

fn default_watch() -> Time {
    Time::seconds(2)
}

fn default_rotate() -> Size {
    Size(64 << 20)
}

fn default_keep() -> u32 {
    16
}

fn default_service() -> String {
    "referee".to_owned()
}

impl Config {
    /// Reads a configuration. `environment` gives the value of a variable that `${NAME}` refers to.
    ///
    /// # Errors
    /// What is wrong with it, each with its place.
    pub fn read(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, Vec<Problem>> {
        let problem = |error: &toml::de::Error| {
            let span = error.span().unwrap_or(0..0);
            Problem::new(error.message().trim().to_owned(), visible(text, span))
        };
        let (mut table, errors) = toml::de::DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors.iter().map(problem).collect());
        }
        let problems = expand::variables(table.get_mut(), environment);
        if !problems.is_empty() {
            return Err(problems);
        }
        let warnings = deprecated::rename(table.get_mut())?;
        let mut config =
            Self::deserialize(toml::de::Deserializer::from(table)).map_err(|e| vec![problem(&e)])?;
        if config.listeners.is_empty() && config.multiparty.is_none() {
            let message = "there is no `[[listener]]` and no `[multiparty]`: nothing to guard";
            let help = "a listener has at least `listen`, `upstream` and `protocol`";
            return Err(vec![Problem::new(message, 0..0).with_help(help)]);
        }
        config.warnings = warnings;
        Ok(config)
    }

    /// The JSON Schema of configurations.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        schema::with_variables(schemars::schema_for!(Self).to_value())
    }
}

/// `span`; if it is empty, the line it is in, so that there is something to see.
fn visible(text: &str, span: std::ops::Range<usize>) -> std::ops::Range<usize> {
    if !span.is_empty() || text.is_empty() {
        return span;
    }
    let at = span.start.min(text.len());
    let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at..).unwrap_or_default());
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let end = at + after.find('\n').unwrap_or(after.len());
    start..end
}

#[cfg(test)]
mod tests;
