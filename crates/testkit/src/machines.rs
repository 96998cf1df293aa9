//! Random machines: not deterministic, with bisimilar states by construction.

use std::sync::Arc;

use referee_theory::{Action, Machine, MachineBuilder, Origin, State, Transition, Vocabulary};

use crate::choices::Choices;

/// Two roles and two messages.
#[must_use]
pub fn vocabulary() -> Arc<Vocabulary> {
    let mut vocabulary = Vocabulary::new();
    vocabulary.add_role("a");
    vocabulary.add_role("b");
    vocabulary.add_plain_message("l");
    vocabulary.add_plain_message("m");
    Arc::new(vocabulary)
}

/// A machine of at most `states` states over [`vocabulary`], with up to three transitions from each: most of
/// them nondeterministic, many with bisimilar states.
pub fn random(vocabulary: &Vocabulary, states: usize, choices: &mut impl Choices) -> Machine {
    let roles: Vec<_> = vocabulary.roles().collect();
    let messages: Vec<_> = vocabulary.messages().collect();
    // Few different actions make for many coincidences.
    let actions = 1 + choices.choose(3);
    let mut builder = MachineBuilder::new(roles[0]);
    let states: Vec<State> = (0..states).map(|_| builder.add_state()).collect();
    for &source in &states {
        for _ in 0..choices.choose(4) {
            let which = choices.choose(actions);
            let transition = Transition {
                action: if which == 2 { Action::Receive } else { Action::Send },
                peer: roles[1],
                message: messages[which % 2],
                target: *choices.pick(&states),
                origin: Origin::NONE,
            };
            builder.add_transition(source, transition);
        }
    }
    builder.finish()
}
