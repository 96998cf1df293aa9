//! The configuration of the NATS transport, and its subjects.

use async_nats::ServerAddr;
use referee_theory::Role;

use crate::multiparty::transport::topology::Topology;

/// The configuration of the NATS transport.
pub(in crate::multiparty) struct NatsPlan {
    pub(in crate::multiparty) broker: Vec<ServerAddr>,
    /// The token in subjects for the protocol and its version.
    pub(in crate::multiparty) token: String,
    pub(in crate::multiparty) topology: Topology,
}

impl NatsPlan {
    /// The token in subjects for the protocol `name`.
    pub(in crate::multiparty) fn token(name: &str, fingerprint: u64) -> String {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        format!("{plain}-{fingerprint:016x}")
    }

    pub(in crate::multiparty) fn in_words(&self) -> String {
        let hosts: Vec<String> =
            self.broker.iter().map(|address| format!("{}:{}", address.host(), address.port())).collect();
        let secret = if self.topology.key.is_some() { ", with a shared key" } else { "" };
        format!(" (over NATS at {}{secret})", hosts.join(", "))
    }

    /// The token in subjects for `role`.
    pub(super) fn role(&self, role: Role) -> String {
        let name = self.topology.name(role);
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if plain { name.to_owned() } else { format!("role-{}", role.index()) }
    }

    pub(super) fn messages(&self, session: &str, from: Role, to: Role) -> String {
        format!("referee.{}.{session}.{}.{}", self.token, self.role(from), self.role(to))
    }

    pub(super) fn heartbeats(&self, role: &str) -> String {
        format!("referee-heartbeat.{}.{role}", self.token)
    }

    /// The presence subject of a process of `role`, on which it answers requests.
    pub(super) fn here(&self, role: Role, instance: u128) -> String {
        format!("referee-here.{}.{}.{instance:032x}", self.token, self.role(role))
    }

    /// The role with this token.
    pub(super) fn find(&self, part: &str) -> Option<Role> {
        let all = self.topology.remote.iter().chain(&self.topology.local);
        all.copied().find(|role| self.role(*role) == part)
    }
}
