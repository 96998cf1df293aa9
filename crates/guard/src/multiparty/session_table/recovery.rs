//! Recovery after a crash: sessions restored from the state log, and components that resume.

use std::collections::VecDeque;
use std::time::Duration;

use hyper::body::Bytes;

use super::{SessionAction, SessionTable};
use crate::multiparty::peer_message::SessionId;
use crate::multiparty::plan::Endpoint;
use crate::multiparty::role_session::{Phase, RoleSession};

impl SessionTable {
    /// The session with this resume key.
    pub(in crate::multiparty) fn find(&self, key: &str) -> Option<SessionId> {
        self.keys.get(key).copied()
    }

    /// How many messages of the component of session `id` were accepted, if it is away.
    pub(in crate::multiparty) fn awaits(&self, id: SessionId) -> Option<u64> {
        self.sessions.get(&id).filter(|session| session.away.is_some()).map(|session| session.taken)
    }

    /// Restores a session from what [`RoleSession::save`] wrote and the messages its component was sent last. Whether that makes sense.
    pub(in crate::multiparty) fn restore(
        &mut self,
        id: SessionId,
        bytes: &Bytes,
        kept: VecDeque<Bytes>,
        now: Duration,
        out: &mut Vec<SessionAction>,
    ) -> bool {
        let Some(mut session) = RoleSession::restore(&self.plan, bytes, kept, now) else {
            self.changed.push(id);
            return false;
        };
        let spoke = session.given + session.taken > 0;
        session.is_resumed_blindly = spoke && matches!(self.plan.main.endpoint, Endpoint::Connect(_));
        self.begun = self.begun.max(session.number);
        let invited = matches!(session.phase, Phase::Invited | Phase::AwaitingComponent);
        let key = session.key.clone();
        self.insert(id, session);
        self.set_resume_key(id, key);
        if !self.plan.resumes {
            let name = self.name(self.plan.engine.role());
            self.fault(id, format!("the monitor of {name} was started anew"), now, out);
        } else if invited || matches!(self.plan.main.endpoint, Endpoint::Connect(_)) {
            out.push(SessionAction::FindComponent(id));
        }
        true
    }

    /// The component of session `id` resumes, and has `received` so many messages.
    ///
    /// # Errors
    /// Why it cannot resume.
    pub(in crate::multiparty) fn resume(
        &mut self,
        id: SessionId,
        received: Option<u64>,
        now: Duration,
        out: &mut Vec<SessionAction>,
    ) -> Result<(), &'static str> {
        let session = self.sessions.get_mut(&id).ok_or("there is no such session")?;
        let again = session.resume(received, now)?;
        out.extend(again.into_iter().map(|bytes| SessionAction::Redeliver(id, bytes)));
        out.push(SessionAction::Wake(id));
        self.changed.push(id);
        self.settle(id, now, out);
        Ok(())
    }

    /// The encoded state of session `id`, and the number of the first message to its component that may be repeated. `None` if it
    /// is over.
    pub(in crate::multiparty) fn save(&self, id: SessionId) -> Option<(u64, Bytes)> {
        self.sessions.get(&id).map(|session| (session.first_kept(), session.save(&self.plan)))
    }
}
