//! Families: a system with several copies of one role.
//!
//! The role itself is the first copy; the others are called `Worker2`, `Worker3`, …. Each copy does what the role does. What another role
//! sends to the role it sends to every copy, in the order of their numbers, and what it receives from the role it
//! receives from every copy, in that order. So a choice of the role is one that all copies take alike, or the system is unsafe.

use std::sync::Arc;

use referee_theory::{Machine, MachineBuilder, Role, State, System, Transition};

/// The most copies.
pub const MOST_INSTANCES: u16 = 1_000;

/// `system` with `count` copies of `role`: at least one, at most [`MOST_INSTANCES`].
#[must_use]
pub fn instances(system: &System, role: Role, count: u16) -> System {
    let mut vocabulary = (**system.vocabulary()).clone();
    let name = vocabulary.role_name(role).to_owned();
    let mut copies = vec![role];
    for number in 2..=count.min(MOST_INSTANCES) {
        let mut copy = format!("{name}{number}");
        while vocabulary.find_role(&copy).is_some() {
            copy.push('_');
        }
        copies.push(vocabulary.add_role(&copy));
    }
    let mut machines: Vec<Machine> = Vec::new();
    for machine in system.machines() {
        match machine.role() == role {
            true => machines.extend(copies.iter().map(|&copy| rebuilt(machine, copy, role, &[role]))),
            false => machines.push(rebuilt(machine, machine.role(), role, &copies)),
        }
    }
    System::new(Arc::new(vocabulary), machines)
}

/// `machine` as that of `own`, each transition with `role` once with each of `copies`.
fn rebuilt(machine: &Machine, own: Role, role: Role, copies: &[Role]) -> Machine {
    let mut builder = MachineBuilder::with_states_of(own, machine);
    for state in machine.states() {
        for transition in machine.transitions(state) {
            let peers = if transition.peer == role { copies } else { &[transition.peer][..] };
            let mut source: State = state;
            for (at, &peer) in peers.iter().enumerate() {
                let target = if at + 1 == peers.len() { transition.target } else { builder.add_state() };
                builder.add_transition(source, Transition { peer, target, ..*transition });
                source = target;
            }
        }
    }
    builder.finish()
}
