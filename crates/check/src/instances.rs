//! Families: a system with several copies of one role (`docs/checking.md`, "Copies of a role").
//!
//! The role itself is the first copy; the others are called `Worker2`, `Worker3`, …. Each copy does what the role does. What another role
//! sends to the role it sends to every copy, and what it receives from the role it receives from every copy: a *round*, in any order.
//! Copies then are alike, and symmetry explores them once. Where the order of rounds cannot matter, copies have their turns in the
//! order of their numbers, which needs fewer states and fewer steps.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use referee_theory::{Action, Machine, MachineBuilder, Role, State, System, Transition};

use crate::check::{Options, check};
use crate::explore::Observer;
use crate::model::Semantics;
use crate::report::Report;
use crate::verdict::Verdict;

/// The most copies: in a round in any order a role has a state for each set of copies.
pub const MOST_INSTANCES: u16 = 12;

/// The most states that the machine of a role may have with all its rounds.
const MOST_STATES: usize = 1 << 20;

/// In which order a role deals with the copies of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// As the messages come.
    AnyOrder,
    /// In the order of their numbers.
    InTurn,
}

/// `system` with `count` copies of `role`: at least one, at most [`MOST_INSTANCES`]. `None` if a machine would be too large.
#[must_use]
pub fn instances(system: &System, role: Role, count: u16, rounds: Rounds) -> Option<System> {
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
            true => machines.extend(copies.iter().map(|&copy| of_copy(machine, copy))),
            false => machines.push(with_rounds(machine, role, &copies, rounds)?),
        }
    }
    Some(System::new(Arc::new(vocabulary), machines))
}

/// Checks `system` with `count` copies of `role`; the system that was checked comes with the answer. `None` if it is too
/// large.
#[must_use]
pub fn check_instances(
    system: &System,
    role: Role,
    count: u16,
    options: &Options,
    cancel: Option<&AtomicBool>,
    observer: &mut dyn Observer,
) -> Option<(System, Report)> {
    // What is safe though nobody may wait for ever is safe where some may.
    let strict = nobody_waits(system);
    if count > 1
        && options.semantics == Semantics::PeerToPeer
        && !options.stable
        && waits_for_rounds(&strict, role)
    {
        let in_turn = instances(&strict, role, count, Rounds::InTurn)?;
        let report = check(&in_turn, options, cancel, observer);
        if let Verdict::Safe { .. } = report.verdict {
            return Some((in_turn, report));
        }
    }
    let family = instances(system, role, count, Rounds::AnyOrder)?;
    let report = check(&family, options, cancel, observer);
    Some((family, report))
}

/// `system`, in which nobody may wait for ever.
fn nobody_waits(system: &System) -> System {
    let machines = system.machines().iter().cloned().map(Machine::without_accepting);
    System::new(Arc::clone(system.vocabulary()), machines.collect::<Vec<_>>())
}

/// Whether the order of rounds cannot matter: who waits for `role` waits for nothing else, and nobody may wait for ever. Then
/// what is safe with turns is safe in any order.
#[must_use]
pub fn waits_for_rounds(system: &System, role: Role) -> bool {
    system.machines().iter().all(|machine| {
        machine.accepting_states().is_empty()
            && machine.states().all(|state| {
                let waits = |t: &Transition| t.action == Action::Receive && t.peer == role;
                let transitions = machine.transitions(state);
                transitions.iter().all(waits) || !transitions.iter().any(waits)
            })
    })
}

/// `machine` as that of `copy`.
fn of_copy(machine: &Machine, copy: Role) -> Machine {
    let mut builder = MachineBuilder::with_states_of(copy, machine);
    for state in machine.states() {
        for transition in machine.transitions(state) {
            builder.add_transition(state, *transition);
        }
    }
    builder.finish()
}

/// `machine` with each transition with `role` as a round with all `copies`.
fn with_rounds(machine: &Machine, role: Role, copies: &[Role], rounds: Rounds) -> Option<Machine> {
    let mut builder = MachineBuilder::with_states_of(machine.role(), machine);
    let mut states = machine.states().count();
    for state in machine.states() {
        for transition in machine.transitions(state) {
            if transition.peer != role {
                builder.add_transition(state, *transition);
                continue;
            }
            let all = (1_usize << copies.len()) - 1;
            // By the copies that are left, as bits: where the role is then.
            let mut places: Vec<Option<State>> = vec![None; all + 1];
            places[all] = Some(state);
            places[0] = Some(transition.target);
            for left in (1..=all).rev() {
                let Some(source) = places[left] else { continue };
                for (at, &peer) in copies.iter().enumerate().filter(|(at, _)| left >> at & 1 == 1) {
                    let target = *places[left & !(1 << at)].get_or_insert_with(|| {
                        states += 1;
                        builder.add_state()
                    });
                    builder.add_transition(source, Transition { peer, target, ..*transition });
                    if rounds == Rounds::InTurn {
                        break;
                    }
                }
            }
            if states > MOST_STATES {
                return None;
            }
        }
    }
    Some(builder.finish())
}
