//! Whether a system consists of communicating session automata, and whether they are directed
//! (CAV'19, Section 2 and Remark 1). Nothing here depends on a bound.

use referee_theory::{Action, Role, State, System, Transition};
use rustc_hash::FxHashMap;

/// Why a machine is not a communicating session automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A state both sends and receives.
    Mixed {
        /// Whose machine.
        role: Role,
        /// The state.
        state: State,
        /// One of its sends.
        send: Transition,
        /// One of its receptions.
        receive: Transition,
    },
    /// One action leads to two states.
    Nondeterministic {
        /// Whose machine.
        role: Role,
        /// The state.
        state: State,
        /// The two transitions.
        transitions: [Transition; 2],
    },
}

/// A state that sends to, or receives from, more than one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undirected {
    /// Whose machine.
    pub role: Role,
    /// The state.
    pub state: State,
    /// Two of its transitions, with different peers.
    pub transitions: [Transition; 2],
}

/// What holds of the machines whatever the bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Why the system is not made of communicating session automata; empty if it is.
    pub defects: Vec<Defect>,
    /// Sending states with more than one receiver.
    pub send_undirected: Vec<Undirected>,
    /// Receiving states with more than one sender.
    pub receive_undirected: Vec<Undirected>,
}

impl Shape {
    /// Looks at every state of every machine of `system`.
    #[must_use]
    pub fn of(system: &System) -> Self {
        let mut shape = Self::default();
        for machine in system.machines() {
            for state in machine.states() {
                shape.look(system, machine.role(), state, machine.transitions(state));
            }
        }
        shape
    }

    /// Deterministic and without mixed states (Remark 1).
    #[must_use]
    pub fn is_csa(&self) -> bool {
        self.defects.is_empty()
    }

    /// Every sending state sends to one peer.
    #[must_use]
    pub fn is_send_directed(&self) -> bool {
        self.send_undirected.is_empty()
    }

    /// Every receiving state receives from one peer.
    #[must_use]
    pub fn is_receive_directed(&self) -> bool {
        self.receive_undirected.is_empty()
    }

    fn look(&mut self, system: &System, role: Role, state: State, transitions: &[Transition]) {
        let send = transitions.iter().find(|t| t.action == Action::Send);
        let receive = transitions.iter().find(|t| t.action == Action::Receive);
        if let (Some(&send), Some(&receive)) = (send, receive) {
            self.defects.push(Defect::Mixed { role, state, send, receive });
        }
        let mut seen: FxHashMap<_, Transition> = FxHashMap::default();
        for transition in transitions {
            // An action is a message on a channel: payload types tell messages apart, field names do not.
            let key =
                (transition.action, transition.peer, system.vocabulary().wire_signature(transition.message));
            let first = *seen.entry(key).or_insert(*transition);
            if first.target != transition.target {
                let transitions = [first, *transition];
                self.defects.push(Defect::Nondeterministic { role, state, transitions });
                break;
            }
        }
        for (first, list) in [(send, &mut self.send_undirected), (receive, &mut self.receive_undirected)] {
            let Some(first) = first else { continue };
            let other = transitions.iter().find(|t| t.action == first.action && t.peer != first.peer);
            if let Some(other) = other {
                list.push(Undirected { role, state, transitions: [*first, *other] });
            }
        }
    }
}
