//! From a protocol to the network of its multiparty monitors.

use std::fmt;
use std::sync::atomic::AtomicBool;

use referee_check::{Observer, Options};
use referee_monitor::multiparty::{Network, Undeployable};
use referee_syntax::Diagnostic;

use crate::projected::Projected;

/// Why a protocol has no network of monitors.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NoNetwork {
    /// The text describes machines, not a whole protocol.
    NotGlobal,
    /// Some pairs of roles have no relative type: these.
    NotRelative(Vec<Diagnostic>),
    /// The protocol opens sub-sessions, which have monitors between two parties only.
    SubSessions,
    /// The monitors do not work together.
    Undeployable(Undeployable),
}

impl fmt::Display for NoNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGlobal => f.write_str("the text describes machines, not a whole protocol"),
            Self::NotRelative(diagnostics) => match diagnostics.first() {
                Some(first) => f.write_str(&first.message),
                None => f.write_str("this protocol has no relative types"),
            },
            Self::SubSessions => f.write_str(
                "the protocol opens sub-sessions, which have no multiparty monitors: a guard between two roles can run it",
            ),
            Self::Undeployable(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for NoNetwork {}

impl Projected {
    /// The monitors of all roles, and what the check of their system says, whatever it says.
    ///
    /// # Errors
    /// There is no whole protocol, or some pairs of roles have no relative type.
    pub fn network(
        &self,
        options: &Options,
        cancel: Option<&AtomicBool>,
        observer: &mut dyn Observer,
    ) -> Result<Network, NoNetwork> {
        let global = self.global().ok_or(NoNetwork::NotGlobal)?;
        if self.opens_calls() {
            return Err(NoNetwork::SubSessions);
        }
        let relative = self.relative_types().map_err(NoNetwork::NotRelative)?;
        Ok(Network::synthesise(global, &relative, options, cancel, observer))
    }

    /// The monitors of all roles, which have been checked to work together as far as `options` go.
    ///
    /// # Errors
    /// There are none, or they reach an error although every component behaves.
    pub fn deployable_network(&self, options: &Options) -> Result<Network, NoNetwork> {
        let network = self.network(options, None, &mut ())?;
        network.deployable().map_err(NoNetwork::Undeployable)?;
        Ok(network)
    }
}
