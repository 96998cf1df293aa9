//! The two sides of a listener, for who plays one of them instead of standing between them: `referee probe`, `referee mock`.

use std::path::Path;
use std::sync::Arc;

use referee_monitor::Monitor;
use referee_theory::{Origin, Role};
use referee_wire::Table;
use toml::Spanned;

use super::{Plan, Plans, Refusal, Upstream};
use crate::config::Config;

/// A listener's protocol and codec.
#[derive(Clone, Copy)]
pub struct ListenerSides<'a>(&'a Plan);

impl Plans {
    /// Like [`read`](Self::read), for a configuration whose listeners have `table` for their codec where they have none of their own.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read_with_codec(text: &str, folder: &Path, table: Option<&Table>) -> Result<Self, Refusal> {
        let mut config =
            Config::read(text, &|_| None).map_err(|problems| Refusal { problems, protocols: Vec::new() })?;
        for listener in &mut config.listeners {
            let codec = &mut listener.as_mut().codec;
            *codec = codec.take().or_else(|| Some(Spanned::new(0..0, table?.clone())));
        }
        Self::of(config, text, folder)
    }

    /// The protocol and the codec of each listener, in the order of the configuration.
    pub fn sides(&self) -> impl Iterator<Item = ListenerSides<'_>> {
        self.plans.iter().map(|plan| ListenerSides(plan))
    }
}

impl<'a> ListenerSides<'a> {
    /// What the listener is called.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.0.name
    }

    /// The monitor of its protocol.
    #[must_use]
    pub fn monitor(&self) -> &'a Arc<Monitor> {
        &self.0.protocol.monitor
    }

    /// The role that connects.
    #[must_use]
    pub fn client(&self) -> Role {
        self.0.protocol.client
    }

    /// What its codec is compiled from.
    #[must_use]
    pub fn table(&self) -> &'a Table {
        &self.0.table
    }

    /// Whether the client, and the server, may send before its turn.
    #[must_use]
    pub fn pipelining(&self) -> [bool; 2] {
        self.0.rules.options().pipelining
    }

    /// How the server is recognised and the name that it must bear, if it is reached by TLS.
    #[must_use]
    pub fn upstream_tls(
        &self,
    ) -> Option<(Arc<rustls::ClientConfig>, rustls::pki_types::ServerName<'static>)> {
        let (connector, name) = self.0.upstream_tls.as_ref()?;
        Some((Arc::clone(connector.config()), name.clone()))
    }

    /// Whether the protocol opens sub-sessions, which its monitor does not see.
    #[must_use]
    pub fn opens_calls(&self) -> bool {
        self.0.protocol.calls.is_some()
    }

    /// The server's address; `None` if it is a command.
    #[must_use]
    pub fn upstream(&self) -> Option<String> {
        match &self.0.upstream {
            Upstream::Address(address) => Some(address.to_string()),
            Upstream::Command(_) => None,
        }
    }

    /// `auth.scr:12:7`, if `origin` is a place in the protocol.
    #[must_use]
    pub fn location(&self, origin: Origin) -> Option<String> {
        self.0.protocol.location(origin)
    }

    /// The comment above `origin` in the protocol, line by line.
    #[must_use]
    pub fn comment(&self, origin: Origin) -> Vec<String> {
        self.0.protocol.comment(origin)
    }
}
