//! What every transport has to know of the network: who its roles are, which of them run here, and whom one hears.

use std::time::Duration;

use referee_theory::Role;

use crate::multiparty::parcel::take;

/// What one monitor relies on at another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::multiparty) struct Limits {
    /// Bytes of a message.
    pub(in crate::multiparty) message: u64,
    /// Messages and bytes of a session that may be under way.
    pub(in crate::multiparty) window: u64,
    pub(in crate::multiparty) buffer: u64,
}

impl Limits {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        [self.message, self.window, self.buffer].iter().for_each(|limit| out.extend(limit.to_le_bytes()));
    }

    pub(super) fn read(rest: &mut &[u8]) -> Option<Self> {
        let mut limit = || Some(u64::from_le_bytes(take(rest)?));
        Some(Self { message: limit()?, window: limit()?, buffer: limit()? })
    }
}

/// The roles of a network, as one process sees them.
pub(in crate::multiparty) struct Census {
    /// A secret that all monitors share.
    pub(in crate::multiparty) key: Option<String>,
    /// Of the protocol.
    pub(in crate::multiparty) fingerprint: u64,
    /// By role: what its component speaks, for those that run here.
    pub(in crate::multiparty) codecs: Vec<Option<String>>,
    /// By role and role: whether one sends the other messages.
    pub(in crate::multiparty) talks: Vec<Vec<bool>>,
    /// How long a monitor may be out of reach.
    pub(in crate::multiparty) patience: Duration,
    /// How long it may take until one is there.
    pub(in crate::multiparty) handshake: Duration,
    /// What must be the same at all monitors.
    pub(in crate::multiparty) limits: Limits,
    /// The longest letter, for which these limits leave room.
    pub(in crate::multiparty) longest: usize,
    pub(in crate::multiparty) names: Vec<String>,
    /// Those that run here.
    pub(in crate::multiparty) own: Vec<Role>,
    /// Those that other processes run.
    pub(in crate::multiparty) elsewhere: Vec<Role>,
}

impl Census {
    pub(super) fn name(&self, role: Role) -> &str {
        self.names.get(role.index()).map_or("", |name| name)
    }

    pub(super) fn role(&self, name: &str) -> Option<Role> {
        let index = self.names.iter().position(|known| known == name)?;
        Some(Role(u16::try_from(index).ok()?))
    }

    /// Whether `from`, which runs elsewhere with these `limits` and whose component speaks `codec`, and `to`, which runs
    /// here, understand each other.
    pub(super) fn understand(&self, from: Role, codec: &str, limits: Limits, to: Role) -> Result<(), String> {
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
