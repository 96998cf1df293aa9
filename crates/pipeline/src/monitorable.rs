//! The fourth stage: a machine and the predicates that its assertions call.

use std::sync::Arc;

use referee_monitor::{KeyLimits, KeyedMonitor, Monitor, Registry, Side, Stage, SubProtocol, SynthesisError};
use referee_theory::{Machine, Vocabulary};

/// A machine of a well-formed protocol, its names and predicates: all that a monitor is made of.
#[derive(Clone, Debug)]
pub struct Monitorable {
    machine: Machine,
    vocabulary: Arc<Vocabulary>,
    registry: Registry,
    calls: Vec<MonitorableCall>,
}

/// A sub-session that a protocol opens, as its monitor sees it.
#[derive(Clone, Debug)]
pub(crate) struct MonitorableCall {
    /// `Call(client, server)`.
    pub(crate) name: String,
    pub(crate) key: Arc<str>,
    pub(crate) opener: Side,
    pub(crate) interrupt: Option<(Box<str>, Side)>,
    /// By state of the machine of the protocol that opens it.
    pub(crate) stages: Vec<Stage>,
    pub(crate) monitorable: Monitorable,
}

impl Monitorable {
    pub(crate) fn new(machine: Machine, vocabulary: Arc<Vocabulary>, registry: Registry) -> Self {
        Self { machine, vocabulary, registry, calls: Vec::new() }
    }

    /// The same, with `calls` beside it.
    pub(crate) fn with_calls(self, calls: Vec<MonitorableCall>) -> Self {
        Self { calls, ..self }
    }

    /// Whether the protocol opens sub-sessions: then its monitor is [`keyed_monitor`](Self::keyed_monitor).
    #[must_use]
    pub fn opens_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The machines of what it opens, with their names.
    pub fn calls(&self) -> impl Iterator<Item = &Self> {
        self.calls.iter().map(|call| &call.monitorable)
    }

    /// The monitor of a protocol with its sub-sessions. `make` makes the monitor of each part, such as [`Monitorable::monitor`].
    ///
    /// # Errors
    /// What `make` says.
    pub fn keyed_monitor<E>(
        &self,
        limits: KeyLimits,
        make: impl Fn(&Self) -> Result<Monitor, E>,
    ) -> Result<KeyedMonitor, E> {
        let parent = Arc::new(make(self)?);
        let sub = |call: &MonitorableCall| {
            let monitor = Arc::new(make(&call.monitorable)?);
            let interrupt = call.interrupt.as_ref().map(|(label, side)| (&**label, *side));
            let names = (&*call.name, &*call.key);
            Ok(SubProtocol::new(names, monitor, call.opener, interrupt, call.stages.clone()))
        };
        let subs = self.calls.iter().map(sub).collect::<Result<_, _>>()?;
        Ok(KeyedMonitor::new(parent, subs, limits))
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
