//! How the sessions of a role stand, for who looks at them from outside.

use std::sync::Arc;
use std::time::Duration;

use referee_session::Tap;
use serde_json::Value;

use super::SessionTable;
use crate::multiparty::peer_message::SessionId;
use crate::multiparty::role_session::RoleBrief;

impl SessionTable {
    /// The state of at most `most` sessions, for `/sessions`.
    pub(in crate::multiparty) fn describe(&self, most: usize, now: Duration) -> Vec<(SessionId, Value)> {
        self.sessions
            .iter()
            .take(most)
            .map(|(id, session)| (*id, session.describe(*id, &self.plan, now)))
            .collect()
    }

    /// The state of session `id`.
    pub(in crate::multiparty) fn describe_one(&self, id: SessionId, now: Duration) -> Option<Value> {
        self.sessions.get(&id).map(|session| session.describe(id, &self.plan, now))
    }

    /// What a list shows of each session.
    pub(in crate::multiparty) fn brief(&self) -> impl Iterator<Item = (SessionId, RoleBrief)> {
        self.sessions.iter().map(|(id, session)| (*id, session.brief(&self.plan)))
    }

    /// What session `id` keeps from now on for who follows it.
    pub(in crate::multiparty) fn follow(&mut self, id: SessionId) -> Option<Arc<Tap>> {
        let session = self.sessions.get_mut(&id)?;
        Some(session.recent.follow(self.plan.engine.vocabulary()))
    }
}
