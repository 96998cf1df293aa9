//! The topology of a network, which every transport needs: its roles, which of them run here, and which peers are compatible.

use std::time::Duration;

use referee_theory::Role;

use referee_session::role::payload::take;

/// Limits that must be equal at both ends of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::multiparty) struct PeerLimits {
    /// Bytes of a message.
    pub(in crate::multiparty) message: u64,
    /// Messages and bytes of a session that may be in flight.
    pub(in crate::multiparty) window: u64,
    pub(in crate::multiparty) buffer: u64,
}

impl PeerLimits {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        [self.message, self.window, self.buffer].iter().for_each(|limit| out.extend(limit.to_le_bytes()));
    }

    pub(super) fn read(rest: &mut &[u8]) -> Option<Self> {
        let mut limit = || Some(u64::from_le_bytes(take(rest)?));
        Some(Self { message: limit()?, window: limit()?, buffer: limit()? })
    }
}

/// The roles of a network, as one process sees them.
pub(in crate::multiparty) struct Topology {
    /// The pre-shared key.
    pub(in crate::multiparty) key: Option<String>,
    /// A hash of the protocol's monitors.
    pub(in crate::multiparty) fingerprint: u64,
    /// Indexed by role: the codec of its component, for local roles.
    pub(in crate::multiparty) codecs: Vec<Option<String>>,
    /// Indexed by role and role: whether they exchange messages.
    pub(in crate::multiparty) talks: Vec<Vec<bool>>,
    /// How long a peer may be unreachable before it is given up.
    pub(in crate::multiparty) peer_timeout: Duration,
    /// How long a peer may take to connect for the first time.
    pub(in crate::multiparty) handshake: Duration,
    /// Limits that must be equal at all monitors.
    pub(in crate::multiparty) limits: PeerLimits,
    /// The longest peer message that these limits allow.
    pub(in crate::multiparty) max_peer_message_bytes: usize,
    pub(in crate::multiparty) names: Vec<String>,
    /// The roles of this process.
    pub(in crate::multiparty) local: Vec<Role>,
    /// The roles of other processes.
    pub(in crate::multiparty) remote: Vec<Role>,
}

impl Topology {
    pub(super) fn name(&self, role: Role) -> &str {
        self.names.get(role.index()).map_or("", |name| name)
    }

    pub(super) fn role(&self, name: &str) -> Option<Role> {
        let index = self.names.iter().position(|known| known == name)?;
        Some(Role(u16::try_from(index).ok()?))
    }

    /// Checks that the remote role `from`, with these `limits` and this `codec`, and the local role `to` can exchange messages.
    pub(super) fn check_compatible(
        &self,
        from: Role,
        codec: &str,
        limits: PeerLimits,
        to: Role,
    ) -> Result<(), String> {
        let (theirs, own) = (limits, self.limits);
        for (name, theirs, own) in [
            ("message", theirs.message, own.message),
            ("window", theirs.window, own.window),
            ("buffer", theirs.buffer, own.buffer),
        ] {
            if theirs != own {
                let (from, to) = (self.name(from), self.name(to));
                return Err(format!(
                    "`limits.{name}` is {theirs} at `{from}` and {own} at `{to}`: it must be the same at all monitors"
                ));
            }
        }
        let own = self.codecs[to.index()].as_deref().unwrap_or_default();
        if self.talks[to.index()][from.index()] && codec != own {
            return Err(format!("`{}` speaks {codec} and `{}` {own}", self.name(from), self.name(to)));
        }
        Ok(())
    }
}
