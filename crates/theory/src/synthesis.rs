//! From machines to a global type: choreography synthesis, for systems that have one (Lange, Tuosto and Yoshida,
//! *From Communicating Machines to Graphical Choreographies*, POPL 2015, for the question; the method here is
//! simpler and proves its own answer).
//!
//! The system is run in lock step: where several exchanges are possible, the one of the first role comes first. What
//! results is projected again, and is the answer only if every machine is bisimilar to its projection.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::global::{Branch, Exchange, Global, GlobalType, GlobalTypeBuilder, NodeId};
use crate::machine::{Action, Machine, State, System};
use crate::session::loop_heads;
use crate::vocabulary::{Message, Origin, Role};

/// Why a system is not known to be the projections of a global type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoGlobalType {
    /// In lock step these roles end up waiting for one another.
    Stuck {
        /// Who has not come to an end.
        roles: Vec<Role>,
    },
    /// The role sends and receives in one state.
    MixedChoice {
        /// Whose choice it is.
        role: Role,
    },
    /// In one state the role sends the same message twice, or messages with one label and different payloads.
    Nondeterministic {
        /// Whose choice it is.
        role: Role,
    },
    /// The global type that was found tells the role something else than its machine does.
    Differs {
        /// Whose machine it is.
        role: Role,
    },
    /// Written out, it would have too many steps.
    TooLarge,
}

/// More joint states, and more nodes, are not looked at.
const MAX_STATES: usize = 1 << 16;

/// What happens in a joint state: who sends, and the receiver, message and next joint state of each branch.
struct Step {
    sender: Role,
    branches: Vec<(Role, Message, Origin, usize)>,
}

impl System {
    /// A global type whose projections are bisimilar to the machines of this system.
    ///
    /// # Errors
    /// When running the system in lock step gives none.
    pub fn global_type(&self) -> Result<GlobalType, NoGlobalType> {
        let steps = self.lock_step()?;
        let global = self.written_out(&steps)?;
        for machine in self.machines() {
            let role = machine.role();
            let projected = global.project(role).map_err(|_| NoGlobalType::Differs { role })?;
            if !machine.bisimilar(&projected, self.vocabulary()) {
                return Err(NoGlobalType::Differs { role });
            }
        }
        Ok(global)
    }

    /// The joint states that are reached in lock step, the initial one first; `None` where all have ended.
    fn lock_step(&self) -> Result<Vec<Option<Step>>, NoGlobalType> {
        let initial: Vec<State> = self.machines().iter().map(Machine::initial).collect();
        let mut numbers: FxHashMap<Vec<State>, usize> = FxHashMap::default();
        numbers.insert(initial.clone(), 0);
        let mut joint_states = vec![initial];
        let mut steps = Vec::new();
        while let Some(joint) = joint_states.get(steps.len()).cloned() {
            let Some(sender) = self.next_sender(&joint)? else {
                steps.push(None);
                continue;
            };
            let mut branches = Vec::new();
            for send in self.machine(sender).transitions(joint[sender.index()]) {
                let Some(receive) = self.matching(&joint, sender, send.peer, send.message) else { continue };
                let mut next = joint.clone();
                next[sender.index()] = send.target;
                next[send.peer.index()] = receive;
                let fresh = joint_states.len();
                let number = *numbers.entry(next.clone()).or_insert(fresh);
                if number == fresh {
                    joint_states.push(next);
                }
                branches.push((send.peer, send.message, send.origin, number));
            }
            steps.push(Some(Step { sender, branches }));
            if joint_states.len() > MAX_STATES {
                return Err(NoGlobalType::TooLarge);
            }
        }
        Ok(steps)
    }

    /// Who sends next: the first role all of whose messages would be received. `None`: all have ended.
    fn next_sender(&self, joint: &[State]) -> Result<Option<Role>, NoGlobalType> {
        let mut waiting = Vec::new();
        for machine in self.machines() {
            let (role, state) = (machine.role(), joint[machine.role().index()]);
            let transitions = machine.transitions(state);
            if transitions.is_empty() {
                continue;
            }
            waiting.push(role);
            let sends = transitions.iter().filter(|transition| transition.action == Action::Send).count();
            if sends > 0 && sends < transitions.len() {
                return Err(NoGlobalType::MixedChoice { role });
            }
            let is_taken = |transition: &crate::machine::Transition| {
                self.matching(joint, role, transition.peer, transition.message).is_some()
            };
            if sends > 0 && transitions.iter().all(is_taken) {
                return Ok(Some(role));
            }
        }
        if waiting.is_empty() { Ok(None) } else { Err(NoGlobalType::Stuck { roles: waiting }) }
    }

    /// Where `receiver` goes when it takes `message` from `sender`, if it does.
    fn matching(&self, joint: &[State], sender: Role, receiver: Role, message: Message) -> Option<State> {
        let transitions = self.machine(receiver).transitions(joint[receiver.index()]);
        let fits = |transition: &&crate::machine::Transition| {
            transition.action == Action::Receive
                && transition.peer == sender
                && self.vocabulary().same_signature(transition.message, message)
        };
        transitions.iter().find(fits).map(|transition| transition.target)
    }

    /// The steps as a term: what several paths share is copied.
    fn written_out(&self, steps: &[Option<Step>]) -> Result<GlobalType, NoGlobalType> {
        enum Visit {
            Enter(usize, NodeId),
            Leave(usize),
        }
        let branches = |joint: usize| steps[joint].as_ref().map_or(&[][..], |step| &step.branches);
        let looping =
            loop_heads(steps.len(), |joint, branch| branches(joint).get(branch).map(|branch| branch.3));
        let mut builder = GlobalTypeBuilder::new();
        let root = builder.reserve();
        let mut open: FxHashMap<usize, NodeId> = FxHashMap::default();
        let mut visits = vec![Visit::Enter(0, root)];
        while let Some(visit) = visits.pop() {
            if builder.node_count() > MAX_STATES {
                return Err(NoGlobalType::TooLarge);
            }
            let (joint, slot) = match visit {
                Visit::Enter(joint, slot) => (joint, slot),
                Visit::Leave(joint) => {
                    open.remove(&joint);
                    continue;
                }
            };
            if let Some(&target) = open.get(&joint) {
                let call = crate::global::Call { target, arguments: Vec::new(), origin: Origin::NONE };
                builder.set(slot, Global::Call(call));
                continue;
            }
            let Some(Step { sender, branches }) = &steps[joint] else { continue };
            let mut body = slot;
            if looping[joint] {
                body = builder.reserve();
                builder.define(slot, "X", body, Origin::NONE);
                open.insert(joint, slot);
                visits.push(Visit::Leave(joint));
            }
            let mut lowered = crate::global::Branches::new();
            for &(receiver, message, origin, next) in branches {
                let next_slot = builder.reserve();
                visits.push(Visit::Enter(next, next_slot));
                lowered.push(Branch { receiver, message, next: next_slot, origin });
            }
            let origin = lowered.first().map_or(Origin::NONE, |branch| branch.origin);
            builder.set(body, Global::Exchange(Exchange { sender: *sender, branches: lowered, origin }));
        }
        builder.finish(Arc::clone(self.vocabulary()), root).map_err(|errors| {
            let role = errors.iter().find_map(|error| match error {
                crate::global::GlobalError::DuplicateLabel { receiver, .. } => Some(*receiver),
                _ => None,
            });
            role.map_or(NoGlobalType::TooLarge, |role| NoGlobalType::Nondeterministic { role })
        })
    }
}
