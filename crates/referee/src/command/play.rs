//! What `probe` and `mock` share: which side of which protocol is played, and the sockets.

mod link;
mod program;
mod stream;
mod websocket;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use referee::guard::{ListenerSides, Plans};
use referee::probe::{Examples, Player};
use referee::theory::Origin;
use referee::wire::{Kind, Sender, Table, preset};

use super::guard::complain;
pub(crate) use link::Link;
use link::Tls;

/// The codec of protocols that have none: what generated endpoints speak.
const JSON_LINES: &str = "kind = 'json'\nframing = 'lines'";

#[derive(Args)]
pub(crate) struct Subject {
    /// A protocol; or `preset:NAME`; or the configuration of a guard (`.toml`), which has a protocol and a codec.
    #[arg(value_name = "FILE|CONFIG")]
    file: PathBuf,
    /// The role to play.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Which protocol of the file.
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,
    /// Which listener of the configuration.
    #[arg(long, value_name = "NAME")]
    listener: Option<String>,
    /// How bytes become messages: a codec table, TOML. Without it: lines of JSON, unless the preset or the configuration says so.
    #[arg(long, value_name = "TABLE")]
    codec: Option<PathBuf>,
    /// Example values of fields, messages and bodies, TOML; see docs/probe.md.
    #[arg(long, value_name = "EXAMPLES")]
    data: Vec<PathBuf>,
    /// A message that is not sent, because the other side does not offer what it asks for; may be repeated.
    #[arg(long, value_name = "LABEL")]
    skip: Vec<String>,
}

/// How a server is recognised by TLS.
pub(crate) struct TlsTable {
    /// The name that its certificate must bear.
    pub(crate) server_name: String,
    /// Authorities, PEM; those of the system without it.
    pub(crate) ca: Option<PathBuf>,
}

/// A side of a protocol, ready to be played.
pub(crate) struct Side {
    plans: Plans,
    listener: usize,
    /// Whether the user has written where the server is.
    is_configured: bool,
    pub(crate) player: Arc<Player>,
}

impl Side {
    fn listener(&self) -> Option<ListenerSides<'_>> {
        self.plans.sides().nth(self.listener)
    }

    /// `auth.scr:12:7`, if `origin` is a place in the protocol.
    pub(crate) fn location(&self, origin: Origin) -> Option<String> {
        self.listener()?.location(origin)
    }

    /// How the server is recognised, if it is reached by TLS.
    pub(crate) fn tls(&self) -> Option<Tls> {
        self.listener()?.upstream_tls()
    }

    /// Whether its messages are those of a WebSocket.
    pub(crate) fn is_websocket(&self) -> bool {
        self.listener().is_some_and(|sides| sides.table().kind == Kind::WebSocket)
    }

    /// Where the configuration says that the server is.
    pub(crate) fn upstream(&self) -> Option<String> {
        self.listener().filter(|_| self.is_configured)?.upstream()
    }
}

impl Subject {
    /// What is played, in the user's words.
    pub(crate) fn name(&self) -> String {
        self.file.display().to_string()
    }

    fn preset(&self) -> Option<&'static preset::Preset> {
        preset::find(self.file.to_str()?.strip_prefix("preset:")?)
    }

    fn is_config(&self) -> bool {
        self.file.extension().is_some_and(|extension| extension == "toml")
    }

    /// The side `own`; `None`: what is wrong has been said. `refusals` are added to the examples.
    pub(crate) fn side(
        &self,
        own: Sender,
        refusals: &[String],
        tls: Option<&TlsTable>,
    ) -> Result<Option<Side>> {
        if self.is_config() && tls.is_some() {
            bail!("how the server is reached by TLS says the configuration (`upstream-tls`)");
        }
        let Some(plans) = self.plans(own, tls)? else { return Ok(None) };
        let named =
            |sides: &ListenerSides<'_>| self.listener.as_deref().is_none_or(|name| name == sides.name());
        let Some(listener) = plans.sides().position(|sides| named(&sides)) else {
            let names: Vec<&str> = plans.sides().map(|sides| sides.name()).collect();
            bail!("the configuration has no such listener; there is {}", names.join(", "));
        };
        let sides = plans.sides().nth(listener).context("no listener")?;
        if sides.opens_calls() {
            bail!(
                "the protocol opens sub-sessions: whoever is asked to play it would blame the messages of these"
            );
        }
        let examples = self.examples(refusals, &sides)?;
        let (monitor, table) = (sides.monitor(), sides.table());
        let player = Player::new(monitor, sides.client(), table, (own, sides.pipelining()), examples)?;
        if let Some(role) = &self.role
            && role != player.role()
        {
            let does = if own == Sender::Client { "connects" } else { "is connected to" };
            bail!("`{}` {does}, not `{role}`", player.role());
        }
        let is_configured = self.is_config();
        Ok(Some(Side { plans, listener, is_configured, player: Arc::new(player) }))
    }

    fn plans(&self, own: Sender, tls: Option<&TlsTable>) -> Result<Option<Plans>> {
        let name = self.name();
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let (text, read) = if self.is_config() {
            let text =
                std::fs::read_to_string(&self.file).with_context(|| format!("cannot read `{name}`"))?;
            let read = Plans::read(&text, folder, &|variable| std::env::var(variable).ok());
            (text, read)
        } else {
            let table = match (&self.codec, self.preset()) {
                (Some(path), _) => {
                    let text = std::fs::read_to_string(path)
                        .with_context(|| format!("cannot read `{}`", path.display()))?;
                    Some(Table::parse(&text).map_err(|error| anyhow!("`{}`: {error}", path.display()))?)
                }
                (None, Some(_)) => None,
                (None, None) => Some(Table::parse(JSON_LINES)?),
            };
            let text = self.configuration(own, tls)?;
            let read = Plans::read_with_codec(&text, Path::new("."), table.as_ref());
            (text, read)
        };
        match read {
            Ok(plans) => Ok(Some(plans)),
            Err(mut refusal) => {
                if !self.is_config() {
                    // Nobody wrote that text.
                    refusal.problems.iter_mut().for_each(|problem| problem.span = 0..0);
                }
                complain(&name, &text, &refusal)?;
                Ok(None)
            }
        }
    }

    /// The configuration of a guard for the protocol. It never listens.
    fn configuration(&self, own: Sender, tls: Option<&TlsTable>) -> Result<String> {
        // Strings of JSON are strings of TOML.
        let quoted = |text: &str| serde_json::to_string(text);
        let mut text = "[[listener]]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:1\"\n".to_owned();
        text += &format!("protocol = {}\n", quoted(&self.name())?);
        if let Some(name) = &self.protocol {
            text += &format!("protocol-name = {}\n", quoted(name)?);
        }
        if let Some(tls) = tls {
            text += &format!("upstream-tls = {{ server-name = {}", quoted(&tls.server_name)?);
            if let Some(ca) = &tls.ca {
                text += &format!(", ca = {}", quoted(&ca.display().to_string())?);
            }
            text += " }\n";
        }
        if let (Some(role), Sender::Client) = (&self.role, own) {
            text += &format!("client-role = {}\n", quoted(role)?);
        }
        if let (Some(role), Sender::Server) = (&self.role, own)
            && let Some(other) = self.other_role(role)?
        {
            text += &format!("client-role = {}\n", quoted(&other)?);
        }
        Ok(text)
    }

    /// The role of the protocol that is not `role`, where it can be told.
    fn other_role(&self, role: &str) -> Result<Option<String>> {
        if self.preset().is_some() {
            return Ok(None);
        }
        let imports = crate::input::Imports::default();
        let parsed = crate::input::parse(crate::input::read(&self.file)?, None, &imports)?;
        let Ok(well_formed) = parsed.well_formed() else { return Ok(None) };
        let protocol = well_formed.protocol(self.protocol.as_deref())?;
        let names = protocol.role_names();
        Ok(names.iter().find(|name| **name != role).map(|name| (*name).to_owned()))
    }

    fn examples(&self, refusals: &[String], sides: &ListenerSides<'_>) -> Result<Examples> {
        let mut examples = Examples::default();
        for path in &self.data {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{name}`"))?;
            examples = examples.or(Examples::parse(&text).with_context(|| format!("`{name}`"))?);
        }
        examples = examples.or(examples_in(sides)?);
        if let Some(preset) = self.preset() {
            examples = examples.or(Examples::parse(preset.examples)?);
        }
        examples.add_refusals(refusals);
        examples.add_skipped(&self.skip);
        Ok(examples)
    }
}

/// What comments of a protocol say that its messages may be: `// Example: { left = 1, right = 2 }`.
fn examples_in(sides: &ListenerSides<'_>) -> Result<Examples> {
    let (machine, vocabulary) = (sides.monitor().machine(), sides.monitor().vocabulary());
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for transition in machine.all_transitions() {
        let label = vocabulary.label_of(transition.message);
        for line in sides.comment(transition.origin) {
            let Some(example) = line.trim().strip_prefix("Example:") else { continue };
            let examples = found.entry(label).or_default();
            if !examples.iter().any(|known| known == example) {
                examples.push(example.to_owned());
            }
        }
    }
    let mut text = "[messages]\n".to_owned();
    for (label, examples) in found {
        text += &format!("{} = [{}]\n", serde_json::to_string(label)?, examples.join(","));
    }
    Examples::parse(&text).context("an `Example:` in a comment of the protocol")
}
