//! What deserves a look in any machine: mixed and nondeterministic states.

use referee_theory::{Action, Machine, State, Transition, Vocabulary};
use rustc_hash::FxHashMap;

use crate::diagnostics::{Diagnostic, systems};
use crate::source::Origins;

/// Warns once per state and kind.
pub(crate) fn warnings(machine: &Machine, vocabulary: &Vocabulary, origins: &Origins) -> Vec<Diagnostic> {
    let role = vocabulary.role_name(machine.role());
    let mut found = Vec::new();
    for state in machine.states() {
        let transitions = machine.transitions(state);
        let first = |action| transitions.iter().find(|t| t.action == action);
        if let (Some(send), Some(receive)) = (first(Action::Send), first(Action::Receive)) {
            let (send, receive) = (origins.span(send.origin), origins.span(receive.origin));
            found.push(systems::mixed_choice(send, receive, role));
        }
        if let Some((first, again)) = same_action(machine, state, vocabulary) {
            let action = format!(
                "{}{}{}",
                vocabulary.role_name(again.peer),
                again.action.symbol(),
                vocabulary.label_of(again.message)
            );
            let (first, again) = (origins.span(first.origin), origins.span(again.origin));
            let warning = systems::nondeterministic_choice(again, first, role, &action);
            found.push(warning);
        }
    }
    found
}

/// Two transitions of `state` with the same action, peer and label, unless they are the very same.
fn same_action(machine: &Machine, state: State, vocabulary: &Vocabulary) -> Option<(Transition, Transition)> {
    let mut seen: FxHashMap<_, Transition> = FxHashMap::default();
    for t in machine.transitions(state) {
        let key = (t.action, t.peer, vocabulary.label(t.message));
        let first = *seen.entry(key).or_insert(*t);
        if (first.message, first.target) != (t.message, t.target) {
            return Some((first, *t));
        }
    }
    None
}
