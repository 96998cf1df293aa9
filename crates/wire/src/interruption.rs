//! Messages that interrupt the other side.
//!
//! In a protocol of two sides it is always one side's turn. Some messages do not wait for theirs: a server that finds a
//! mistake in what a client uploads says so at once, and a broker publishes whenever there is something. A table says of such a message where it may come, by a message of the
//! other side: `Error = { …, interrupts = "CopyFail" }` may come wherever the client may send `CopyFail` and the server may
//! answer it with `Error`, as if `CopyFail` had been sent. Where no message of the other side would do, a
//! protocol has one that is `silent`: it has no bytes, and stands for the other side's going on.

use referee_theory::{Machine, MachineBuilder, Transition, Vocabulary};

use crate::table::Table;

impl Table {
    /// `machine` with the interruptions of this table: states in which both sides may speak. Without any, `machine` itself.
    #[must_use]
    pub fn interrupted(&self, machine: &Machine, vocabulary: &Vocabulary) -> Machine {
        let label = |transition: &Transition| vocabulary.label_of(transition.message);
        let mut builder = MachineBuilder::with_states_of(machine.role(), machine);
        let mut grew = false;
        for state in machine.states() {
            for transition in machine.transitions(state) {
                builder.add_transition(state, *transition);
            }
            for (name, interrupted) in self.interruptions() {
                let own: &[Transition] = machine.transitions(state);
                let Some(asked) = own.iter().find(|t| label(t) == interrupted) else { continue };
                let answers = |t: &&Transition| label(t) == name && t.action != asked.action;
                let answer = machine.transitions(asked.target).iter().find(answers);
                if let Some(answer) =
                    answer.filter(|answer| !own.iter().any(|t| label(t) == name && t.action == answer.action))
                {
                    builder.add_transition(state, *answer);
                    grew = true;
                }
            }
        }
        if grew { builder.finish_from(machine.initial()) } else { machine.clone() }
    }

    /// Each message that interrupts, and the one that it interrupts.
    pub(crate) fn interruptions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.messages.iter().filter_map(|(name, entry)| Some((name.as_str(), entry.interrupts.as_deref()?)))
    }
}
