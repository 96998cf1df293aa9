//! A system as Promela, for a side-by-side run with SPIN: the same configurations under the same bound.
//!
//! One process per role, one buffered channel per channel that can carry a message. A final state blocks for
//! ever under an `end` label, so that processes never die and every configuration is one SPIN state.

use std::fmt::Write as _;

use crate::model::{Model, NEVER_SENT, Semantics};
use referee_theory::System;

/// `system` with `bound` messages per channel as a Promela model.
#[must_use]
pub fn promela(system: &System, bound: u32) -> String {
    let model = Model::new(system, Semantics::PeerToPeer);
    let mut text = String::new();
    let _ = writeln!(text, "/* {} roles, {bound} message(s) per channel */", model.role_count());
    for (number, channel) in model.channels.iter().enumerate() {
        if channel.usable && !channel.symbols.is_empty() {
            let _ = writeln!(text, "chan c{number} = [{bound}] of {{ byte }};");
        }
    }
    for role in 0..model.role_count() {
        let _ = writeln!(text, "\nactive proctype r{role}() {{");
        // SPIN reduces only what it is told to be one role's own end of a channel.
        for (keyword, ends) in
            [("xs", own_channels(&model, role, true)), ("xr", own_channels(&model, role, false))]
        {
            if !ends.is_empty() {
                let _ = writeln!(text, "  {keyword} {};", ends.join(", "));
            }
        }
        let states = model.offsets[role + 1] - model.offsets[role];
        for state in 0..states {
            write_state(&mut text, &model, role, state);
        }
        let _ = writeln!(text, "}}");
    }
    text
}

/// The channels that `role` sends on, or receives from.
fn own_channels(model: &Model, role: usize, sends: bool) -> Vec<String> {
    let end = |channel: &crate::model::Channel| if sends { channel.from } else { Some(channel.to) };
    let is_own = |channel: &crate::model::Channel| end(channel).is_some_and(|owner| owner.index() == role);
    let carries = |channel: &crate::model::Channel| channel.usable && !channel.symbols.is_empty();
    let numbered = model.channels.iter().enumerate();
    numbered
        .filter(|(_, channel)| carries(channel) && is_own(channel))
        .map(|(number, _)| format!("c{number}"))
        .collect()
}

fn write_state(text: &mut String, model: &Model, role: usize, state: u32) {
    let alive: Vec<_> = model
        .moves_of(role, state)
        .iter()
        .filter(|step| step.symbol != NEVER_SENT && model.channels[step.channel as usize].usable)
        .collect();
    let _ = writeln!(text, "end_{state}:");
    if alive.is_empty() {
        let _ = writeln!(text, "  false;");
        return;
    }
    let _ = writeln!(text, "  if");
    for step in alive {
        let symbol = if step.sends { '!' } else { '?' };
        let _ = writeln!(text, "  :: c{}{symbol}{} -> goto end_{}", step.channel, step.symbol, step.target);
    }
    let _ = writeln!(text, "  fi;");
}
