//! A component's machine in the place of a role: is the system still safe? Then the component may be used there, although it need
//! not do what the role does message by message (asynchronous subtyping by way of the system).

use std::fmt;
use std::sync::Arc;

use referee_theory::{
    Action, Machine, MachineBuilder, Message, MessageSpec, Origin, Role, System, Transition, Vocabulary,
};

/// A component whose names are its own.
#[derive(Clone, Copy, Debug)]
pub struct Component<'a> {
    /// What it does.
    pub machine: &'a Machine,
    /// Its names.
    pub vocabulary: &'a Vocabulary,
    /// Which role of the protocol each of its roles is.
    pub roles: &'a [Option<Role>],
}

/// A component talks to a role that the system does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPeer(Arc<str>);

impl fmt::Display for UnknownPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the component talks to `{}`, which is no role of the protocol", self.0)
    }
}

impl std::error::Error for UnknownPeer {}

/// `system` with `component` in the place of `role`. A message that the component gives no payload is the one of the same label on
/// the same channel. Its transitions stand in another text: what they have as origins there are to be here, `origin` says.
///
/// # Errors
/// If the component talks to an unknown role.
pub fn with_component(
    system: &System,
    role: Role,
    component: &Component<'_>,
    origin: impl Fn(Origin) -> Origin,
) -> Result<System, UnknownPeer> {
    let Component { machine, vocabulary, roles } = *component;
    let mut names = (**system.vocabulary()).clone();
    let mut builder = MachineBuilder::with_states_of(role, machine);
    for state in machine.states() {
        for transition in machine.transitions(state) {
            let Some(peer) = roles[transition.peer.index()] else {
                return Err(UnknownPeer(vocabulary.role_name(transition.peer).into()));
            };
            let spec = vocabulary.spec(transition.message);
            let label = vocabulary.label_name(spec.label);
            let known =
                spec.fields.is_empty().then(|| on_channel(system, role, peer, transition.action, label));
            let message = known.flatten().unwrap_or_else(|| {
                let label = names.add_label(label);
                names.add_message(MessageSpec::new(label, Arc::clone(&spec.fields), None))
            });
            let origin = origin(transition.origin);
            builder.add_transition(state, Transition { peer, message, origin, ..*transition });
        }
    }
    let machines = system.machines().iter().filter(|machine| machine.role() != role).cloned();
    Ok(System::new(Arc::new(names), machines.chain([builder.finish()]).collect::<Vec<_>>()))
}

/// The message `label` that `role` sends to `peer`, or receives from it, at either end of the channel.
fn on_channel(system: &System, role: Role, peer: Role, action: Action, label: &str) -> Option<Message> {
    let ends = [(role, peer, action), (peer, role, action.dual())];
    ends.into_iter().find_map(|(own, other, action)| {
        let mut all = system.machine(own).all_transitions().iter();
        let is_it = |transition: &&Transition| {
            transition.peer == other
                && transition.action == action
                && system.vocabulary().label_of(transition.message) == label
        };
        all.find(is_it).map(|transition| transition.message)
    })
}
