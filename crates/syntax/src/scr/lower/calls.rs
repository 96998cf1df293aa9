//! A protocol that was written out, and its sub-sessions: where they are opened and closed, and what interrupts them.

use std::sync::Arc;

use referee_theory::{Message, Role, Vocabulary};
use smallvec::SmallVec;

use super::{Chooser, Lowering, Raw, RawId};
use crate::diagnostics::Diagnostic;
use crate::diagnostics::calls::{not_keyed, opens_in_call, runs_by_key, two_roles};
use crate::scr::ast::{MessageStatement, Name, Protocol};
use crate::scr::names::ProtocolId;
use crate::source::Span;

/// `open P(a, b)` or `close P`.
#[derive(Clone, Debug)]
pub(in crate::scr) struct Mark {
    pub(in crate::scr) opens: bool,
    pub(in crate::scr) protocol: ProtocolId,
    /// Who plays in it; `None` closes all that are open.
    pub(in crate::scr) players: Option<Vec<Role>>,
    pub(in crate::scr) span: Span,
}

/// A protocol as a graph.
pub(in crate::scr) struct Lowered {
    pub(in crate::scr) nodes: Vec<Raw>,
    /// Its start. `None`: it is too large.
    pub(in crate::scr) root: Option<RawId>,
    pub(in crate::scr) vocabulary: Vocabulary,
    pub(in crate::scr) marks: Vec<(RawId, Mark)>,
    /// The message that interrupts it, and who sends it.
    pub(in crate::scr) interrupt: Option<(Message, Role)>,
    pub(in crate::scr) diagnostics: Vec<Diagnostic>,
}

impl Lowering<'_, '_> {
    /// Notes that sub-sessions are opened or closed before `next`. Until all places are known it stands in the graph as a choice between
    /// one branch.
    pub(super) fn mark(
        &mut self,
        opens: bool,
        name: &Name,
        roles: &[Name],
        span: Span,
        next: RawId,
    ) -> RawId {
        let declared = match self.names.find_global(name, self.module()) {
            Ok(protocol) => protocol,
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic);
                return next;
            }
        };
        let sub = self.names.protocol(declared);
        let problem = match &self.keyed {
            Some(header) => Some(opens_in_call(span, *header)),
            None if sub.keyed.is_none() => Some(not_keyed(name.span, sub.header, &name.text)),
            None if !sub.parameters.is_empty() || !sub.new_roles.is_empty() || self.names.nested_mode => {
                Some(runs_by_key(name.span, sub.header, &name.text))
            }
            None => None,
        };
        if let Some(problem) = problem {
            self.diagnostics.push(problem);
            return next;
        }
        let players = match roles {
            [] => None,
            _ => match self.players(name, declared, roles) {
                Some(players) => Some(players),
                None => return next,
            },
        };
        let at = Chooser::Unknown(span, Arc::clone(&name.text));
        let node = self.add(Raw::Choice { at, branches: vec![next], span });
        self.marks.push((node, Mark { opens, protocol: declared, players, span }));
        node
    }

    /// The message that interrupts the protocol that was written out, and who sends it.
    pub(super) fn interrupt(&mut self, declaration: &Protocol) -> Option<(Message, Role)> {
        let interrupt = declaration.keyed.as_ref()?.interrupt.as_ref()?;
        let message = self.message(&MessageStatement {
            message: interrupt.message.clone(),
            from: interrupt.from.clone(),
            to: SmallVec::new(),
            times: None,
            condition: None,
            annotation: None,
            may_wait: false,
            connects: false,
        });
        let sender = self.role(&interrupt.from)?;
        if declaration.roles.len() != 2 {
            self.diagnostics.push(two_roles(interrupt.span, declaration.header, &declaration.name.text));
            return None;
        }
        Some((message, sender))
    }
}
