//! The protocol of a network: read, its monitors synthesised, and their system checked. What can deadlock is not
//! deployed.

use std::sync::Arc;

use referee_check::Options;
use referee_functions::Functions;
use referee_monitor::Registry;
use referee_monitor::multiparty::Network;
use referee_pipeline::{NoNetwork, Parsed, Projected, Source};
use referee_syntax::Diagnostic;
use referee_theory::{Action, Role};

/// The check of the network of monitors gives up after so many configurations; the answer is then "unknown".
const MAX_CONFIGURATIONS: usize = 1_000_000;

/// Why a role cannot be monitored.
#[derive(Debug)]
pub enum ProtocolError {
    /// The protocol has errors, or a module that it imports.
    Errors(Source, Vec<Diagnostic>),
    /// Something else, in one sentence.
    Other(String),
}

/// A protocol whose network of monitors passed the check.
pub(super) struct CheckedProtocol {
    pub(super) name: String,
    pub(super) network: Network,
    pub(super) externals: Registry,
    /// Where other predicates of its assertions come from.
    pub(super) modules: Vec<Functions>,
    pub(super) projected: Arc<Projected>,
}

/// The monitors of the protocol called `name`, or of the first in `parsed`.
pub(super) fn read(parsed: Parsed, name: Option<&str>) -> Result<CheckedProtocol, ProtocolError> {
    let well_formed = parsed.well_formed().map_err(|ill_formed| {
        let analysed = ill_formed.analysed();
        ProtocolError::Errors(analysed.source().clone(), analysed.diagnostics().to_vec())
    })?;
    let source = well_formed.analysed().source().clone();
    let protocol = well_formed.protocol(name).map_err(|error| ProtocolError::Other(error.to_string()))?;
    let options = Options { max_states: MAX_CONFIGURATIONS, ..Options::default() };
    let network = protocol.deployable_network(&options).map_err(|error| match error {
        NoNetwork::NotRelative(diagnostics) if !diagnostics.is_empty() => {
            ProtocolError::Errors(source, diagnostics)
        }
        other => ProtocolError::Other(other.to_string()),
    })?;
    let externals = protocol.registry();
    let name = protocol.name().unwrap_or("protocol").to_owned();
    Ok(CheckedProtocol { name, network, externals, modules: Vec::new(), projected: Arc::new(protocol) })
}

impl CheckedProtocol {
    /// Whether `role` sends or receives anything.
    pub(super) fn takes_part(&self, role: Role) -> bool {
        !self.network.system().machine(role).all_transitions().is_empty()
    }

    /// The default initiator: the first role that may send before anything has happened.
    pub(super) fn first(&self) -> Option<Role> {
        let sends = |role: &Role| {
            let machine = self.network.system().machine(*role);
            machine.transitions(machine.initial()).first().is_some_and(|t| t.action == Action::Send)
        };
        self.network.vocabulary().roles().find(sends)
    }

    /// Indexed by role and role: whether they exchange messages.
    pub(super) fn talks(&self) -> Vec<Vec<bool>> {
        let count = self.network.vocabulary().roles().len();
        let mut talks = vec![vec![false; count]; count];
        for role in self.network.vocabulary().roles() {
            for t in self.network.system().machine(role).all_transitions() {
                if !self.network.is_dependency(t.message) {
                    talks[role.index()][t.peer.index()] = true;
                }
            }
        }
        talks
    }

    /// A hash of the monitors of all roles.
    pub(super) fn fingerprint(&self) -> u64 {
        let vocabulary = self.network.vocabulary();
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut feed = |text: &str| {
            for byte in text.bytes().chain([0xff]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for role in vocabulary.roles() {
            feed(vocabulary.role_name(role));
            let machine = self.network.system().machine(role);
            for state in machine.states() {
                feed("state");
                for t in machine.transitions(state) {
                    let spec = vocabulary.spec(t.message);
                    feed(if t.action == Action::Send { "!" } else { "?" });
                    feed(vocabulary.role_name(t.peer));
                    feed(vocabulary.label_of(t.message));
                    for field in spec.fields.iter() {
                        feed(&format!("{:?} {:?}", field.name, field.ty));
                    }
                    feed(&t.target.0.to_string());
                }
            }
        }
        hash
    }
}
