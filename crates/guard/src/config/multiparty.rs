//! `[multiparty]`: roles of a protocol of several parties, each with a monitor of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::listener::{default_fuel, default_memory, default_tolerance};
use super::{
    Address, DeadlinesName, Files, Network, PolicyName, Problem, ProxyIn, Size, Time, TlsIn, TlsOut,
};

/// Roles of one protocol that this process monitors, and how it reaches the monitors of the others.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Multiparty {
    /// The protocol's file (`.scr`, `.gt`), relative to the configuration; or the text of a `.scr` protocol itself, which is
    /// what has a `{`.
    #[schemars(with = "String")]
    pub protocol: Spanned<String>,
    /// Which protocol of the file; without it, the first.
    pub protocol_name: Option<String>,
    /// Folders below which the packages of modules are that the protocol imports, besides its own.
    #[serde(default)]
    pub import_path: Vec<PathBuf>,
    /// WebAssembly modules with the external functions that the protocol's assertions call: a file, or a list.
    #[schemars(with = "Option<Files>")]
    pub functions: Option<Spanned<Files>>,
    /// How many instructions, about, a call of such a function may take.
    #[serde(default = "default_fuel")]
    pub functions_fuel: u64,
    /// How much memory such a module may use.
    #[serde(default = "default_memory")]
    pub functions_memory: Size,
    /// The role whose component begins a session by connecting, and by saying something if it is to send first. Without
    /// it: the first, in the order of the protocol's parameters, that may send before it has received anything.
    #[schemars(with = "Option<String>")]
    pub initiator: Option<Spanned<String>>,
    /// The roles that this process monitors.
    #[serde(rename = "role")]
    #[schemars(with = "Vec<RoleTable>")]
    pub roles: Vec<Spanned<RoleTable>>,
    /// The monitors of all other roles.
    #[serde(default, rename = "peer")]
    pub peers: BTreeMap<String, Peer>,
    /// How monitors reach each other.
    #[serde(default)]
    pub transport: TransportName,
    /// With `transport = "nats"`: the broker, `nats://HOST:4222`, or several of one cluster with commas between them.
    /// JetStream must be on.
    #[schemars(with = "Option<String>")]
    pub broker: Option<Spanned<String>>,
    /// Where other monitors connect: `0.0.0.0:7000`. Not needed where this process monitors all roles.
    #[schemars(with = "Option<String>")]
    pub listen: Option<Spanned<Address>>,
    /// A secret that all monitors of the network share, at least 16 characters. Who knows it can speak for any role.
    #[schemars(with = "Option<String>")]
    pub key: Option<Spanned<String>>,
    /// TLS between monitors; each must show a certificate that bears its role's name.
    #[schemars(with = "Option<MonitorTls>")]
    pub tls: Option<Spanned<MonitorTls>>,
    /// With `transport = "nats"`: a folder in which sessions are remembered, so that they go on after this process was
    /// killed and started again. Relative to the configuration.
    #[schemars(with = "Option<PathBuf>")]
    pub state: Option<Spanned<PathBuf>>,
    /// Whether what is remembered is forced onto the disk each time: needed to survive a power cut, not a kill.
    #[serde(default)]
    pub state_sync: bool,
    /// Limits.
    #[serde(default)]
    pub limits: MultipartyLimits,
}

/// A role that this process monitors.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RoleTable {
    /// The role.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Where its component connects, once for each session: `127.0.0.1:9001`, `unix:/path`.
    #[schemars(with = "Option<Address>")]
    pub listen: Option<Spanned<Address>>,
    /// Instead of `listen`: where its component is. It is connected to for each session.
    #[schemars(with = "Option<Address>")]
    pub upstream: Option<Spanned<Address>>,
    /// TLS with a component that connects.
    #[schemars(with = "Option<TlsIn>")]
    pub tls: Option<Spanned<TlsIn>>,
    /// TLS with a component that is connected to.
    #[schemars(with = "Option<TlsOut>")]
    pub upstream_tls: Option<Spanned<TlsOut>>,
    /// What is asked for where the component is a WebSocket server: `/socket`. Without it: `/`.
    #[schemars(with = "Option<String>")]
    pub path: Option<Spanned<String>>,
    /// Further endpoints of the component, each for the messages with some of the other roles: a service that is called by some and calls
    /// others. All of them, and that of the role itself, speak HTTP.
    #[serde(default, rename = "endpoint")]
    #[schemars(with = "Vec<EndpointTable>")]
    pub endpoints: Vec<Spanned<EndpointTable>>,
    /// How bytes become messages: a table of the `wire` crate.
    #[schemars(with = "referee_wire::Table")]
    pub codec: Spanned<referee_wire::Table>,
    /// What happens to what is wrong.
    #[serde(default)]
    pub policy: PolicyName,
    /// What happens about the protocol's times (`within`, `after`), as far as the component has to keep them. Without it: `report`.
    pub deadlines: Option<DeadlinesName>,
    /// What no byte takes longer than between the monitor and its component, in either direction: so much later than the deadline it
    /// is blamed. With `none`, it never is.
    #[serde(default = "default_tolerance")]
    pub tolerance: Time,
    /// What the component sees of the labels that monitors tell each other.
    #[serde(default)]
    pub dependencies: DependenciesName,
    /// With `deliver`: how such a label is written to the component; `{from}` and `{label}` are put in, and the end of the
    /// line where messages are lines and it has none.
    #[schemars(with = "Option<String>")]
    pub dependency: Option<Spanned<String>>,
    /// With `listen`: networks from which components may connect. Without it: all.
    pub allow: Option<Vec<Network>>,
    /// With `listen`: whether components' connections begin with a PROXY protocol header.
    #[serde(default)]
    pub proxy_in: ProxyIn,
    /// Payload fields that are shown to nobody: `field`, `Message.field`, `Message.*` or `*`. Where there are any, verdicts of this
    /// role's monitor name the label and the rule only, in the log, the journal, traces and notices.
    #[serde(default)]
    pub redact: Vec<String>,
    /// With `upstream` and an `http` codec: whether each request to the component has a `traceparent` header (W3C trace context) that
    /// names the session's trace and the span of this role's monitor. One that is there is replaced; all other bytes stay as they are.
    #[serde(default)]
    pub trace_context: bool,
    /// Files with properties (`.hml`) of the messages that the component sends and is given in a session: a file, or a list.
    #[schemars(with = "Option<Files>")]
    pub properties: Option<Spanned<Files>>,
    /// With `state`: whether the component goes on after this process was killed and started again. One that connects
    /// says a line of JSON first, and which message it expects; one that is connected to is given again what it has not
    /// answered.
    #[schemars(with = "Option<bool>")]
    pub resume: Option<Spanned<bool>>,
    /// What is written to the component before its connection is closed after a violation; `{blame}`, `{kind}`,
    /// `{message}` and `{json}`, which is all of it, are put in. Without it: nothing.
    #[schemars(with = "Option<String>")]
    pub close_message: Option<Spanned<String>>,
}

/// A further endpoint of a role's component.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EndpointTable {
    /// The roles whose messages go over it.
    #[schemars(with = "Vec<String>")]
    pub with: Spanned<Vec<String>>,
    /// Where the component connects, with one request on each connection. Its `traceparent` header says which session it is of; without it
    /// there may be only one.
    #[schemars(with = "Option<Address>")]
    pub listen: Option<Spanned<Address>>,
    /// Instead of `listen`: where the component is called.
    #[schemars(with = "Option<Address>")]
    pub upstream: Option<Spanned<Address>>,
    /// TLS with a component that connects.
    #[schemars(with = "Option<TlsIn>")]
    pub tls: Option<Spanned<TlsIn>>,
    /// TLS with a component that is connected to.
    #[schemars(with = "Option<TlsOut>")]
    pub upstream_tls: Option<Spanned<TlsOut>>,
    /// How bytes become messages: those of this endpoint.
    #[schemars(with = "referee_wire::Table")]
    pub codec: Spanned<referee_wire::Table>,
    /// With `listen`: networks from which the component may connect. Without it: all.
    pub allow: Option<Vec<Network>>,
    /// With `listen`: whether connections begin with a PROXY protocol header.
    #[serde(default)]
    pub proxy_in: ProxyIn,
}

/// What carries letters between monitors of different processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransportName {
    /// Connections from monitor to monitor.
    #[default]
    Framed,
    /// A broker.
    Nats,
}

/// What a component sees of dependencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DependenciesName {
    /// Nothing: it need not know that there are monitors.
    #[default]
    Hide,
    /// All of them.
    Deliver,
    /// Of two about one choice the first.
    DeliverOnce,
}

/// The monitor of a role that another process runs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Peer {
    /// Where it listens.
    #[schemars(with = "String")]
    pub address: Spanned<Address>,
    /// The name its certificate bears. Without it: the role's.
    pub certificate_name: Option<String>,
}

/// TLS between monitors.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MonitorTls {
    /// The certificate chain of this process, PEM. It bears the names of all its roles.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// The authorities whose certificates other monitors must show, PEM.
    pub ca: PathBuf,
}

/// Bounds on what sessions may take.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct MultipartyLimits {
    /// Sessions of one role at the same time.
    pub sessions: usize,
    /// Open connections of one role's components from one address.
    pub connections_per_source: usize,
    /// Submonitors and keys of properties in one session of a role.
    pub instances: usize,
    /// Bytes of one message.
    pub message: Size,
    /// Messages of a session that may be under way to one other monitor, or wait there.
    pub window: u32,
    /// Bytes of a session that may be under way to one other monitor, or wait there.
    pub buffer: Size,
    /// Time in which nothing happens in a session, at any of its roles.
    pub idle: Time,
    /// Time until everyone has joined a session.
    pub handshake: Time,
    /// Time, at least 2 s, for which the monitor of another role may be out of reach before its sessions are given up. One whose
    /// process has ended is given up at once.
    pub partition: Time,
}

impl Default for MultipartyLimits {
    fn default() -> Self {
        Self {
            sessions: 100_000,
            connections_per_source: usize::MAX,
            instances: 10_000,
            message: Size(1 << 20),
            window: 64,
            buffer: Size(256 << 10),
            idle: Time::seconds(300),
            handshake: Time::seconds(10),
            partition: Time::seconds(30),
        }
    }
}

/// Monitors that hear nothing say nothing for about a second.
const MIN_PARTITION: Duration = Duration::from_secs(2);

impl MultipartyLimits {
    /// What is wrong with them in the configuration `text`.
    pub(crate) fn problems(&self, text: &str) -> Vec<Problem> {
        let problem = |key: &str, message: &str| {
            let span = referee_wire::locate(text, ["multiparty", "limits", key]).unwrap_or(0..0);
            Problem::new(message, span)
        };
        let given = |time: Time| time.0 != Some(Duration::ZERO);
        let allowed = [
            ("sessions", self.sessions > 0),
            ("connections-per-source", self.connections_per_source > 0),
            ("instances", self.instances > 0),
            ("message", self.message.0 > 0),
            ("window", self.window > 0),
            ("buffer", self.buffer.0 > 0),
            ("idle", given(self.idle)),
            ("handshake", given(self.handshake)),
        ];
        let none = allowed.into_iter().filter(|(_, allowed)| !allowed);
        let mut problems: Vec<Problem> =
            none.map(|(key, _)| problem(key, "a limit of 0 lets nothing through")).collect();
        if self.partition.0.is_some_and(|time| time < MIN_PARTITION) {
            problems.push(problem(
                "partition",
                "a monitor that lives may say nothing for almost 2 s: wait at least 2 s",
            ));
        }
        problems
    }
}
