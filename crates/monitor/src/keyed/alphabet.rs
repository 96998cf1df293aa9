//! All messages of a protocol with sub-sessions, for whoever must tell them apart before it is known to which part they belong.

use std::sync::Arc;

use referee_theory::{Action, MachineBuilder, MessageSpec, Origin, Role, Transition, Vocabulary};
use rustc_hash::FxHashSet;

use super::{KeyedMonitor, Side};
use crate::monitor::Monitor;
use crate::registry::Registry;
use crate::synthesis::SynthesisError;

impl KeyedMonitor {
    /// A monitor of the same role that takes every message of the protocol, and of what it opens, at any time and without conditions: for codecs, which
    /// read what a session says before its monitor judges it.
    ///
    /// # Errors
    /// A label is one of two messages, which differ in their fields.
    pub fn alphabet(&self) -> Result<Monitor, SynthesisError> {
        let parent = self.parent.vocabulary();
        let own = parent.role_name(self.parent.machine().role());
        let mut vocabulary = Vocabulary::new();
        let roles: Vec<Role> =
            parent.roles().map(|role| vocabulary.add_role(parent.role_name(role))).collect();
        let own = vocabulary.find_role(own).unwrap_or(Role(0));
        let peer = roles.into_iter().find(|role| *role != own).unwrap_or(own);
        let mut seen = FxHashSet::default();
        let mut builder = MachineBuilder::new(own);
        let state = builder.add_state();
        let mut add = |from: &Vocabulary, message, action, origin| {
            let spec = from.spec(message);
            let label = vocabulary.add_label(from.label_name(spec.label));
            let message = vocabulary.add_message(MessageSpec::new(label, Arc::clone(&spec.fields), None));
            if seen.insert((message, action)) {
                builder.add_transition(state, Transition { action, peer, message, target: state, origin });
            }
        };
        let monitors = std::iter::once(&self.parent).chain(self.subs.iter().map(|sub| &sub.monitor));
        for monitor in monitors {
            for transition in monitor.machine().all_transitions() {
                add(monitor.vocabulary(), transition.message, transition.action, transition.origin);
            }
        }
        for sub in &self.subs {
            let Some((label, side)) = &sub.interrupt else { continue };
            let names = sub.monitor.vocabulary();
            let found = names.messages().find(|message| names.label_of(*message) == &**label);
            let action = if *side == Side::Process { Action::Send } else { Action::Receive };
            if let Some(message) = found {
                add(names, message, action, Origin::NONE);
            }
        }
        Monitor::synthesise(&builder.finish(), &Arc::new(vocabulary), &Registry::new())
    }
}
