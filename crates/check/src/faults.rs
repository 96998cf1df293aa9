//! Faults (`docs/checking.md`, "Faults"): roles that crash, channels that lose, duplicate or reorder messages.
//!
//! A fault is a move like any other (`explore/faulty.rs` says when it is possible), and a configuration counts how many there were.
//! What is asked of a configuration is asked without further faults: nobody may rely on one.

use referee_theory::{Role, System};

use crate::model::{Local, Model, Move, NO_MOVE, Semantics, narrow};

/// What may go wrong, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The most faults of one execution.
    pub at_most: u32,
    /// Roles that may stop for good, unknown to the others.
    pub crash: Vec<Role>,
    /// Channels, sender first, that may lose a message.
    pub lossy: Vec<(Role, Role)>,
    /// Channels that may deliver a message twice.
    pub duplicate: Vec<(Role, Role)>,
    /// Channels that may swap a message with the one before it.
    pub reorder: Vec<(Role, Role)>,
}

/// What went wrong in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// The message that is sent is lost.
    Loss,
    /// The message that is received will be received again.
    Duplicate,
    /// The message that is sent overtakes the one before it in the channel.
    Reorder,
    /// The role stops for good. Peer and message of the step mean nothing.
    Crash,
    /// The message is sent to a role that has crashed: not counted as a fault, but nobody gets it.
    Undeliverable,
}

impl Fault {
    /// The name scripts see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Duplicate => "duplicate",
            Self::Reorder => "reorder",
            Self::Crash => "crash",
            Self::Undeliverable => "undeliverable",
        }
    }
}

/// What the state of a role that has crashed is called.
const CRASHED: &str = "crashed";

impl Faults {
    /// `system` with one more state, `crashed`, for each role that may crash.
    #[must_use]
    pub fn applied(&self, system: &System) -> System {
        let machines = system.machines().iter().map(|machine| match self.crash.contains(&machine.role()) {
            true => machine.clone().with_final_state(CRASHED),
            false => machine.clone(),
        });
        System::new(std::sync::Arc::clone(system.vocabulary()), machines.collect::<Vec<_>>())
    }
}

/// The faults of a model, by number.
#[derive(Clone, Debug)]
pub(crate) struct FaultTable {
    pub(crate) at_most: u32,
    /// By move without fault: the move that is the same with one.
    variants: Vec<[u32; 4]>,
    /// By local state, in the order of [`Model::locals`]: the crash of its role there.
    crashes: Vec<u32>,
    /// By role: its state when it has crashed.
    crashed: Vec<Option<u32>>,
}

impl FaultTable {
    /// The move that is `step` with `fault`, if that may happen.
    pub(crate) fn variant(&self, step: u32, fault: Fault) -> Option<u32> {
        let column = match fault {
            Fault::Loss => 0,
            Fault::Duplicate => 1,
            Fault::Reorder => 2,
            Fault::Undeliverable => 3,
            Fault::Crash => return None,
        };
        Some(self.variants[step as usize][column]).filter(|&number| number != NO_MOVE)
    }

    /// The crash of the role whose local state has this number among all.
    pub(crate) fn crash(&self, local: usize) -> Option<u32> {
        Some(self.crashes[local]).filter(|&number| number != NO_MOVE)
    }

    /// Whether `role` has crashed if it is in `state`.
    pub(crate) fn is_crashed(&self, role: usize, state: u32) -> bool {
        self.crashed[role] == Some(state)
    }
}

impl Model {
    /// The model of `system` in which `faults` may happen.
    pub(crate) fn faulty(system: &System, semantics: Semantics, faults: Option<&Faults>) -> Self {
        match faults {
            Some(faults) => Self::new(&faults.applied(system), semantics).with_faults(faults),
            None => Self::new(system, semantics),
        }
    }

    /// This model of a system that [`Faults::applied`] has made, with `faults`.
    fn with_faults(mut self, faults: &Faults) -> Self {
        let crashed: Vec<Option<u32>> = (0..self.role_count())
            .map(|role| {
                let last = self.offsets[role + 1] - self.offsets[role] - 1;
                faults.crash.contains(&Role(role as u16)).then_some(last)
            })
            .collect();
        let plain = self.moves.len();
        let mut variants = vec![[NO_MOVE; 4]; plain];
        for (number, variants) in variants.iter_mut().enumerate() {
            let step = self.moves[number];
            let own = Role(step.role as u16);
            let channel = if step.sends { (own, step.peer) } else { (step.peer, own) };
            let possible = [
                (Fault::Loss, step.sends && faults.lossy.contains(&channel)),
                (Fault::Duplicate, !step.sends && faults.duplicate.contains(&channel)),
                (Fault::Reorder, step.sends && faults.reorder.contains(&channel)),
                (Fault::Undeliverable, step.sends && faults.crash.contains(&step.peer)),
            ];
            for (column, (fault, possible)) in possible.into_iter().enumerate() {
                if possible && self.channels[step.channel as usize].usable {
                    variants[column] = narrow(self.moves.len());
                    self.moves.push(Move { fault: Some(fault), ..step });
                }
            }
        }
        let mut crashes = vec![NO_MOVE; self.locals.len()];
        for (role, crashed) in crashed.iter().enumerate() {
            let Some(crashed) = *crashed else { continue };
            for state in 0..crashed {
                let local = (self.offsets[role] + state) as usize;
                let Local { first, end, .. } = self.locals[local];
                // A role that has ended does not crash.
                if first < end {
                    crashes[local] = narrow(self.moves.len());
                    let any = self.moves[first as usize];
                    let fault = Some(Fault::Crash);
                    self.moves.push(Move { target: crashed, peer: Role(role as u16), fault, ..any });
                }
            }
        }
        self.faults = Some(FaultTable { at_most: faults.at_most, variants, crashes, crashed });
        self
    }

    /// Whether `role` has crashed if it is in `state`.
    pub(crate) fn is_crashed(&self, role: usize, state: u32) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.is_crashed(role, state))
    }
}
