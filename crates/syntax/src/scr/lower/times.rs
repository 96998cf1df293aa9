//! Times of messages, and the deadlines that choices give them.

use std::sync::Arc;

use referee_theory::{Message, MessageSpec, Since, Timing, Within};

use super::Lowering;
use crate::diagnostics::times::no_first_message;
use crate::scr::ast::{SinceSyntax, Statement, StatementKind, TimesSyntax, WithinSyntax};

impl Lowering<'_, '_> {
    pub(super) fn timing(&self, times: &TimesSyntax) -> Timing {
        let after = times.after.as_ref().map(|after| self.in_scope(&after.expr));
        Timing { after, within: times.within.as_ref().map(|within| self.within(within)) }
    }

    fn within(&self, within: &WithinSyntax) -> Within {
        let since = match &within.since {
            None => Since::Before,
            Some(SinceSyntax::Any) => Since::Any,
            Some(SinceSyntax::Label(name)) => {
                // A parameter stands for the message that was given for it.
                let given = self.instance.signatures.get(&name.text);
                Since::Label(Arc::clone(given.map_or(&name.text, super::message::Given::label)))
            }
        };
        Within { length: self.in_scope(&within.length.expr), since }
    }

    /// `message` with the deadline of the choice that it begins a branch of, unless it has its own.
    pub(super) fn with_deadline(&mut self, message: Message, within: &WithinSyntax) -> Message {
        let spec = self.vocabulary.spec(message);
        let mut timing = spec.timing.as_deref().cloned().unwrap_or_default();
        if timing.within.is_some() {
            return message;
        }
        timing.within = Some(self.within(within));
        self.choice_deadlines.insert(within.span, true);
        let spec = MessageSpec { timing: Some(Arc::new(timing)), ..spec.clone() };
        self.vocabulary.add_message(spec)
    }

    /// Only a message can have the deadline `within` of a choice that `here` begins a branch of.
    pub(super) fn check_beginning(&mut self, here: &Statement, within: &WithinSyntax) {
        let begins = match &here.kind {
            StatementKind::Message(_) | StatementKind::Choice { .. } => return,
            StatementKind::Rec { .. } => "a recursion",
            StatementKind::Par { .. } => "a `par`",
            StatementKind::Continue { .. } => "a `continue`",
            StatementKind::Do { .. } => "another protocol",
            StatementKind::Calls { .. } => "a nested protocol",
            StatementKind::Connection { .. } => "a connection",
            StatementKind::SubSession { .. } => "a sub-session",
        };
        self.choice_deadlines.insert(within.span, true);
        self.diagnostics.push(no_first_message(here.span, within.span, begins));
    }
}
