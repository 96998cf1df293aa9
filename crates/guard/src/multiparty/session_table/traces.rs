//! Which session is of which trace.

use super::SessionTable;
use crate::multiparty::peer_message::SessionId;
use crate::multiparty::role_session::RoleSession;
use crate::multiparty::trace_context::TraceContext;

impl SessionTable {
    pub(super) fn insert(&mut self, id: SessionId, session: RoleSession) {
        self.traces.entry(session.span(id, &self.plan).trace()).or_default().push(id);
        self.sessions.insert(id, session);
    }

    /// The session that a connection at a further endpoint belongs to: the only one of its trace, or without one the only one there is.
    ///
    /// # Errors
    /// Why there is none.
    pub(in crate::multiparty) fn session_of(
        &self,
        context: Option<TraceContext>,
    ) -> Result<SessionId, &'static str> {
        let all: Vec<SessionId> = match context {
            Some(context) => self.traces.get(&context.trace()).cloned().unwrap_or_default(),
            None => self.sessions.keys().take(2).copied().collect(),
        };
        match (all.as_slice(), context) {
            ([id], _) => Ok(*id),
            ([], Some(_)) => Err("there is no session of the trace that its `traceparent` names"),
            ([], None) => Err("there is no session"),
            (_, Some(_)) => Err("there are several sessions of the trace that its `traceparent` names"),
            (_, None) => Err("there are several sessions, and no `traceparent` says which"),
        }
    }

    /// The trace of session `id`.
    pub(in crate::multiparty) fn trace(&self, id: SessionId) -> Option<u128> {
        self.sessions.get(&id).map(|session| session.span(id, &self.plan).trace())
    }

    /// Session `id` is over.
    pub(super) fn forget_trace(&mut self, id: SessionId, session: &RoleSession) {
        let trace = session.span(id, &self.plan).trace();
        if let Some(same) = self.traces.get_mut(&trace) {
            same.retain(|other| *other != id);
            if same.is_empty() {
                self.traces.remove(&trace);
            }
        }
    }
}
