//! Half-close by components: over TCP, one that has shut down its own direction cannot be told from one that has left.

use std::time::Duration;

use referee_monitor::Party;
use referee_monitor::multiparty::{Effect, Status, Turn};

use super::{SessionAction, SessionTable};
use crate::multiparty::peer_message::SessionId;
use crate::multiparty::role_session::Phase;
use referee_session::role::payload::{Payload, lend};

impl SessionTable {
    /// The component of session `id` half-closed. Returns whether its connection is kept: it may still be sent messages, or the
    /// reason why it ended too early.
    pub(in crate::multiparty) fn half_close(
        &mut self,
        id: SessionId,
        now: Duration,
        out: &mut Vec<SessionAction>,
    ) -> bool {
        let Some(session) = self.sessions.get(&id) else { return false };
        let (engine, run) = (&self.plan.engine, &session.run);
        let over = run.status() != Status::Running || matches!(engine.turn(run), Turn::End);
        if session.phase != Phase::Running || over {
            return false;
        }
        if !engine.has_said_all(run) {
            self.component_gone(id, now, out);
        }
        true
    }

    /// The component of session `id` half-closed after `last`, which has to wait for credit. If it would have to send more after
    /// it, whatever others do, it has ended too early, and that can be reported now.
    pub(in crate::multiparty) fn half_close_after(
        &mut self,
        id: SessionId,
        last: &Payload,
        now: Duration,
        out: &mut Vec<SessionAction>,
    ) {
        let Some(session) = self.sessions.get(&id) else { return };
        let (engine, mut run) = (&self.plan.engine, session.run.clone());
        let Ok(label) = &last.label else { return };
        let to = self.plan.receiver(0, run.state(), label).map_or(Party::Stranger, Party::Role);
        let mut wrong = false;
        let mut note = |effect: Effect<Payload>| wrong |= matches!(effect, Effect::Report(_));
        let sent = engine.component_sends(&mut run, to, last.clone(), &lend, &mut note);
        let running = session.phase == Phase::Running && run.status() == Status::Running;
        if sent.is_ok() && running && !wrong && matches!(engine.turn(&run), Turn::Component) {
            self.component_gone(id, now, out);
        }
    }
}
