//! One listener of the configuration: what is guarded, how strictly, and within which limits.

use std::path::{Path, PathBuf};

use referee_monitor::Policy;
use referee_session::Deadlines;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{Address, Files, Network, Size, Time};

/// One guarded address.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table, [[listener]]")]
#[schemars(transform = super::schema::one_server)]
pub struct Listener {
    /// What logs and metrics call it. Without it: the protocol's name.
    #[schemars(with = "Option<String>")]
    pub name: Option<Spanned<String>>,
    /// Where clients connect: `0.0.0.0:2525`, `unix:/run/mail.sock`; `fd:0` for the first
    /// socket passed by systemd; `stdio` for standard input and output of `referee guard --stdio`.
    #[schemars(with = "String", regex(pattern = r"^(stdio|fd:[0-9]+|unix:.+|.+:[0-9]{1,5})$|\$\{"))]
    pub listen: Spanned<String>,
    /// Where the server is: `127.0.0.1:25`, `unix:/path`.
    #[schemars(with = "Option<Address>")]
    pub upstream: Option<Spanned<Address>>,
    /// Instead of `upstream`: a program to start for each session, which talks on its standard input and output. What stands behind
    /// `--` on the command line replaces either.
    #[schemars(with = "Option<Vec<String>>")]
    pub command: Option<Spanned<Vec<String>>>,
    /// The protocol's file, relative to the configuration; or `preset:NAME`; or the text of a `.scr`
    /// protocol itself, which is what has a `{`.
    #[schemars(with = "String")]
    pub protocol: Spanned<String>,
    /// Which protocol of the file; without it, the first.
    #[schemars(with = "Option<String>")]
    pub protocol_name: Option<Spanned<String>>,
    /// Folders below which the packages of modules are that the protocol imports, besides its own.
    #[serde(default)]
    pub import_path: Vec<PathBuf>,
    /// Which role connects to the guard. Without it: `client`, or the role that is not `server`, or the first.
    #[schemars(with = "Option<String>")]
    pub client_role: Option<Spanned<String>>,
    /// Whose session type is enforced. Both sides are judged by it. In a system of machines, `both` judges each side by
    /// its own, and they must fit.
    #[serde(default)]
    pub scrutiny: Scrutiny,
    /// WebAssembly modules with the external functions that the protocol's assertions call: a file, or a list.
    #[schemars(with = "Option<Files>")]
    pub functions: Option<Spanned<Files>>,
    /// How many instructions, about, a call of such a function may take.
    #[serde(default = "default_fuel")]
    pub functions_fuel: u64,
    /// How much memory such a module may use.
    #[serde(default = "default_memory")]
    pub functions_memory: Size,
    /// Files with properties (`.hml`) of the messages of each connection: a file, or a list.
    #[schemars(with = "Option<Files>")]
    pub properties: Option<Spanned<Files>>,
    /// Whether each message goes to the journal, so that sessions can be judged again (`referee watch --journal`).
    #[serde(default)]
    pub record: bool,
    /// How bytes become messages: a table of the `wire` crate. A preset brings its own.
    #[schemars(with = "Option<referee_wire::Table>")]
    pub codec: Option<Spanned<referee_wire::Table>>,
    /// What happens to wrong messages.
    #[serde(default)]
    pub policy: PolicyName,
    /// Who may send before its turn; such messages wait for it. With `none`, that is a violation.
    #[serde(default)]
    pub pipelining: Pipelining,
    /// What happens about the protocol's times (`within`, `after`). Without it: `report`, of a preset `off`.
    pub deadlines: Option<DeadlinesName>,
    /// What no byte takes longer than between the guard and a side, in either direction: so much later than the deadline a side is
    /// blamed. With `none`, nobody is.
    #[serde(default = "default_tolerance")]
    pub tolerance: Time,
    /// What happens when the guard itself is at a limit.
    #[serde(default)]
    pub at_limit: AtLimit,
    /// Limits.
    #[serde(default)]
    pub limits: Limits,
    /// What a side is sent before it is closed after a violation.
    #[serde(default)]
    pub close_message: CloseMessages,
    /// Payload fields that are never shown: `pwd`, or `Auth.pwd` for one message; `*` for all.
    #[serde(default)]
    pub redact: Vec<String>,
    /// Networks from which clients may connect. Without it: all.
    pub allow: Option<Vec<Network>>,
    /// Whether clients' connections begin with a PROXY protocol header.
    #[serde(default)]
    pub proxy_in: ProxyIn,
    /// Whether connections to the server begin with a PROXY protocol header.
    #[serde(default)]
    pub proxy_out: ProxyOut,
    /// TLS with clients.
    #[schemars(with = "Option<TlsIn>")]
    pub tls: Option<Spanned<TlsIn>>,
    /// TLS with the server.
    #[schemars(with = "Option<TlsOut>")]
    pub upstream_tls: Option<Spanned<TlsOut>>,
}

pub(super) fn default_fuel() -> u64 {
    referee_functions::Limits::default().fuel
}

pub(super) fn default_memory() -> Size {
    Size(referee_functions::Limits::default().memory)
}

/// Whose session type is enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scrutiny {
    /// The client's.
    Client,
    /// The server's.
    Server,
    /// Both.
    #[default]
    Both,
}

/// What happens to wrong messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// The message is not forwarded; both sides are closed.
    #[default]
    Halt,
    /// The message is not forwarded; the session goes on.
    Drop,
    /// Everything is forwarded; violations are reported.
    Observe,
    /// The message is not forwarded, and who waits for an answer is told why, where the protocol has such an answer; elsewhere `halt`.
    Reject,
}

impl From<PolicyName> for Policy {
    fn from(name: PolicyName) -> Self {
        match name {
            // What is refused is up to the rules of a listener.
            PolicyName::Halt | PolicyName::Reject => Self::Halt,
            PolicyName::Drop => Self::Drop,
            PolicyName::Observe => Self::Observe,
        }
    }
}

pub(super) fn default_tolerance() -> Time {
    Time::seconds(1)
}

/// What happens about the protocol's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeadlinesName {
    /// They are not looked at.
    Off,
    /// What is not in time is reported, and goes on.
    Report,
    /// A missed deadline is a violation: under `halt` it ends the session; under `drop` what is too early waits for its time.
    Enforce,
}

impl From<DeadlinesName> for Deadlines {
    fn from(name: DeadlinesName) -> Self {
        match name {
            DeadlinesName::Off => Self::Off,
            DeadlinesName::Report => Self::Report,
            DeadlinesName::Enforce => Self::Enforce,
        }
    }
}

/// Who may send before its turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pipelining {
    /// Nobody.
    None,
    /// The client.
    #[default]
    Client,
    /// Either side.
    Both,
}

/// What happens when the guard itself is at a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtLimit {
    /// The connection is refused, the session closed.
    #[default]
    Closed,
    /// Bytes go on without being looked at.
    Open,
}

/// Bounds on what peers may take.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "kebab-case",
    expecting = "a table of limits, { idle = \"5m\" }"
)]
pub struct Limits {
    /// Open connections.
    pub connections: usize,
    /// Open connections from one address.
    pub connections_per_source: usize,
    /// Sessions that are kept between connections, where messages say which session they are of.
    pub sessions: usize,
    /// Submonitors and keys of properties in one connection.
    pub instances: usize,
    /// Calls of one sub-session in flight in one connection: an opening beyond waits.
    pub inflight: usize,
    /// Interrupted calls of one sub-session that are remembered in one connection: the oldest is forgotten first.
    pub ended: usize,
    /// Bytes of one message that must be held to judge it.
    pub message: Size,
    /// Bytes read from one side and not yet taken by the other. The side is not read from while they wait.
    pub buffer: Size,
    /// Time without a byte in either direction.
    pub idle: Time,
    /// Time from the first byte to the last.
    pub total: Time,
    /// Time for connecting to the server, TLS and PROXY headers.
    pub handshake: Time,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 20_000,
            connections_per_source: usize::MAX,
            sessions: 100_000,
            instances: 10_000,
            inflight: 10_000,
            ended: 10_000,
            message: Size(1 << 20),
            buffer: Size(256 << 10),
            idle: Time::seconds(300),
            total: Time(None),
            handshake: Time::seconds(10),
        }
    }
}

/// What a side is sent before it is closed after a violation.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "kebab-case",
    expecting = "a table, { client = \"…\", server = \"…\" }"
)]
pub struct CloseMessages {
    /// To the client.
    pub client: Option<String>,
    /// To the server.
    pub server: Option<String>,
}

/// Whether clients' connections begin with a PROXY protocol header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProxyIn {
    /// They do not.
    #[default]
    Off,
    /// They must, version 1 or 2. Only for listeners that none but proxies can reach.
    Required,
}

/// Whether connections to the server begin with a PROXY protocol header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProxyOut {
    /// They do not.
    #[default]
    Off,
    /// Version 1: a line of text.
    V1,
    /// Version 2: binary.
    V2,
}

/// TLS with clients. Files are read again when they change.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table with `certificate` and `key`")]
pub struct TlsIn {
    /// The certificate chain, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// Authorities, PEM: clients must show a certificate of one of them.
    pub client_ca: Option<PathBuf>,
}

impl TlsIn {
    /// With its files where `file` says they are.
    pub(crate) fn resolved(&self, mut file: impl FnMut(&Path) -> PathBuf) -> Self {
        Self {
            certificate: file(&self.certificate),
            key: file(&self.key),
            client_ca: self.client_ca.as_deref().map(&mut file),
        }
    }
}

/// TLS with the server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table, { ca = \"…\" }")]
pub struct TlsOut {
    /// The name the server's certificate must bear. Without it: the host of `upstream`.
    pub server_name: Option<String>,
    /// Authorities, PEM. Without it: those of the system.
    pub ca: Option<PathBuf>,
    /// A certificate to show, PEM.
    pub certificate: Option<PathBuf>,
    /// Its key, PEM.
    pub key: Option<PathBuf>,
}

impl TlsOut {
    /// With its files where `file` says they are.
    pub(crate) fn resolved(&self, mut file: impl FnMut(&Path) -> PathBuf) -> Self {
        Self {
            server_name: self.server_name.clone(),
            ca: self.ca.as_deref().map(&mut file),
            certificate: self.certificate.as_deref().map(&mut file),
            key: self.key.as_deref().map(&mut file),
        }
    }
}
