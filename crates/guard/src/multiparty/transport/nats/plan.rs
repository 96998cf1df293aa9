//! What the transport over NATS needs to know, and how subjects are called.

use async_nats::ServerAddr;
use referee_theory::Role;

use crate::multiparty::transport::census::Census;

/// What the transport needs to know.
pub(in crate::multiparty) struct NatsPlan {
    pub(in crate::multiparty) broker: Vec<ServerAddr>,
    /// The protocol, and which version of it, as part of subjects.
    pub(in crate::multiparty) token: String,
    pub(in crate::multiparty) census: Census,
}

impl NatsPlan {
    /// The part of subjects that stands for the protocol `name`.
    pub(in crate::multiparty) fn token(name: &str, fingerprint: u64) -> String {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        format!("{plain}-{fingerprint:016x}")
    }

    pub(in crate::multiparty) fn in_words(&self) -> String {
        let hosts: Vec<String> =
            self.broker.iter().map(|address| format!("{}:{}", address.host(), address.port())).collect();
        let secret = if self.census.key.is_some() { ", with a shared key" } else { "" };
        format!(" (over NATS at {}{secret})", hosts.join(", "))
    }

    /// A role as part of subjects.
    pub(super) fn role(&self, role: Role) -> String {
        let name = self.census.name(role);
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if plain { name.to_owned() } else { format!("role-{}", role.index()) }
    }

    pub(super) fn letters(&self, session: &str, from: Role, to: Role) -> String {
        format!("referee.{}.{session}.{}.{}", self.token, self.role(from), self.role(to))
    }

    pub(super) fn beats(&self, role: &str) -> String {
        format!("referee-beat.{}.{role}", self.token)
    }

    /// Where a process of `role` can be asked whether it is there.
    pub(super) fn here(&self, role: Role, instance: u128) -> String {
        format!("referee-here.{}.{}.{instance:032x}", self.token, self.role(role))
    }

    /// The role elsewhere, or here, that a part of a subject stands for.
    pub(super) fn find(&self, part: &str) -> Option<Role> {
        let all = self.census.elsewhere.iter().chain(&self.census.own);
        all.copied().find(|role| self.role(*role) == part)
    }
}
