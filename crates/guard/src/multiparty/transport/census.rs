//! What every transport has to know of the network: who its roles are, which of them run here, and whom one hears.

use std::time::Duration;

use referee_theory::Role;

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
    /// The longest letter.
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

    /// Whether `from`, which runs elsewhere and whose component speaks `codec`, and `to`, which runs here, understand
    /// each other.
    pub(super) fn understand(&self, from: Role, codec: &str, to: Role) -> Result<(), String> {
        let own = self.codecs[to.index()].as_deref().unwrap_or_default();
        if self.talks[to.index()][from.index()] && codec != own {
            return Err(format!("`{}` speaks {codec} and `{}` {own}", self.name(from), self.name(to)));
        }
        Ok(())
    }
}
