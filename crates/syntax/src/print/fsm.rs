//! `.fsm` texts: one automaton per role, in the order of the roles. Names and accepting states are comments to KMC.

use std::fmt::Write as _;

use referee_theory::System;

use super::{Inexpressible, checked, kmc};

/// The `.fsm` text of `system`.
///
/// # Errors
/// When a label, a state or a payload type cannot be written there.
pub fn fsm(system: &System) -> Result<String, Inexpressible> {
    let vocabulary = system.vocabulary();
    let mut out = String::new();
    for machine in system.machines() {
        let (index, name) = (machine.role().index(), vocabulary.role_name(machine.role()));
        if index > 0 {
            out.push('\n');
        }
        if name != index.to_string() {
            // A number would be read as another machine's.
            let _ = match checked(name, "role").is_ok() && name.parse::<u64>().is_err() {
                true => writeln!(out, "--.name {name}"),
                false => writeln!(out, "-- {index} is {}", name.escape_default()),
            };
        }
        out.push_str(".outputs\n.state graph\n");
        for state in machine.states() {
            let source = machine.state_name(state);
            checked(&source, "state")?;
            for t in machine.transitions(state) {
                let message = kmc::message(vocabulary, t.message)?;
                let target = machine.state_name(t.target);
                let _ = writeln!(out, "{source} {} {} {message} {target}", t.peer.index(), t.action.symbol());
            }
        }
        let _ = writeln!(out, ".marking {}", machine.state_name(machine.initial()));
        if !machine.accepting_states().is_empty() {
            let names: Vec<String> =
                machine.accepting_states().iter().map(|state| machine.state_name(*state)).collect();
            let _ = writeln!(out, "--.accepting {}", names.join(" "));
        }
        out.push_str(".end\n");
    }
    Ok(out)
}
