//! The fourth stage: a machine and the predicates that its assertions call.

use std::sync::Arc;

use referee_monitor::{Monitor, Registry, SynthesisError};
use referee_theory::{Machine, Vocabulary};

/// A machine of a well-formed protocol, its names and predicates: all that a monitor is made of.
#[derive(Clone, Debug)]
pub struct Monitorable {
    machine: Machine,
    vocabulary: Arc<Vocabulary>,
    registry: Registry,
}

impl Monitorable {
    pub(crate) fn new(machine: Machine, vocabulary: Arc<Vocabulary>, registry: Registry) -> Self {
        Self { machine, vocabulary, registry }
    }

    /// What is monitored.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Its names.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The predicates, declared by the protocol, defined as far as somebody did.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// To define predicates in.
    pub fn registry_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// The monitor.
    ///
    /// # Errors
    /// A predicate is missing, or the machine cannot be monitored (it may send and receive at once, for instance).
    pub fn monitor(&self) -> Result<Monitor, SynthesisError> {
        Monitor::synthesise(&self.machine, &self.vocabulary, &self.registry)
    }
}
