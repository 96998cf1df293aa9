//! Timeouts of sessions, and when to look for them.

use std::sync::Arc;
use std::time::Duration;

use referee_monitor::multiparty::Turn;
use referee_theory::Role;

use super::effects::send;
use super::{MIN_TICK_INTERVAL, SessionAction, SessionTable};
use crate::multiparty::peer_message::{MessageKind, SessionId};
use crate::multiparty::plan::RolePlan;
use crate::multiparty::role_session::{Phase, RoleSession};

/// How long a peer may take to report who did not join.
const JOIN_REPORT_GRACE: Duration = Duration::from_secs(1);
/// How long a peer may take to report whom an idle session waits for.
const IDLE_REPORT_GRACE: Duration = Duration::from_secs(1);

/// How often monitors that have nothing else to say tell each other that a session is not idle, where it may be so for `idle`.
fn announce_interval(idle: Duration) -> Duration {
    (idle / 3).max(MIN_TICK_INTERVAL)
}

/// Tells the other monitors of `session` that something happened here since they were last told; not too often. Whether it did.
pub(super) fn announce(
    plan: &RolePlan,
    id: SessionId,
    session: &mut RoleSession,
    now: Duration,
    out: &mut Vec<SessionAction>,
) -> bool {
    let Some(idle) = plan.idle else { return false };
    let is_due = now.saturating_sub(session.announced) >= announce_interval(idle);
    // With one other role, whatever happens here is heard there.
    let unheard = session.phase == Phase::Running && plan.others.len() > 1;
    if !is_due || !unheard || session.last_activity <= session.announced {
        return false;
    }
    session.announced = now;
    for role in &plan.others {
        send(session, id, *role, MessageKind::Active, out);
    }
    true
}

/// When `session` has been idle for too long. The monitor whose component is awaited knows more, and reports first.
fn idle_deadline(plan: &RolePlan, session: &RoleSession, idle: Duration) -> Duration {
    let since = session.last_activity.max(session.others_active);
    let waits_for_others = matches!(plan.engine.turn(&session.run), Turn::Message(_) | Turn::Dependency(_))
        && session.undelivered == 0
        && session.phase == Phase::Running;
    let grace = if waits_for_others { announce_interval(idle) + IDLE_REPORT_GRACE } else { Duration::ZERO };
    since.saturating_add(idle).saturating_add(grace)
}

impl SessionTable {
    /// Ends sessions that timed out. Returns a time before which no other will, not even one that begins now; `None` without
    /// sessions.
    pub(in crate::multiparty) fn tick(
        &mut self,
        now: Duration,
        out: &mut Vec<SessionAction>,
    ) -> Option<Duration> {
        let (mut late, mut left) = (Vec::new(), Vec::new());
        // For sessions that begin after this look.
        let announce_after = self.plan.idle.map_or(Duration::MAX, announce_interval);
        let shortest = self.plan.handshake.min(self.plan.peer_timeout).min(announce_after);
        let mut next = now + shortest.max(MIN_TICK_INTERVAL);
        let (plan, changed) = (Arc::clone(&self.plan), &mut self.changed);
        for (id, session) in &mut self.sessions {
            if announce(&plan, *id, session, now, out) {
                changed.push(*id);
            }
        }
        for (id, session) in &self.sessions {
            let unannounced = session.last_activity > session.announced;
            let idle_at = self.plan.idle.map(|idle| idle_deadline(&self.plan, session, idle));
            let due = [
                self.peer_timeout(session.phase).map(|peer_timeout| session.begun + peer_timeout),
                idle_at,
                self.plan.idle.filter(|_| unannounced).map(|_| session.announced + announce_after),
                session.away.map(|since| since + self.plan.peer_timeout),
            ];
            next = due.into_iter().flatten().filter(|due| *due > now).fold(next, Duration::min);
            let away = session.away.is_some_and(|since| now.saturating_sub(since) >= self.plan.peer_timeout);
            let begun = now.saturating_sub(session.begun);
            if self.peer_timeout(session.phase).is_some_and(|peer_timeout| begun >= peer_timeout) {
                let missing: Vec<&str> = match session.phase {
                    Phase::Ready | Phase::Running => {
                        late.push((*id, "not everyone joined in time".to_owned()));
                        continue;
                    }
                    Phase::Inviting => {
                        let absent = |role: &&Role| !session.peers[role.index()].joined;
                        self.plan.others.iter().filter(absent).map(|role| self.role_name(*role)).collect()
                    }
                    Phase::Invited | Phase::AwaitingComponent => {
                        vec![self.role_name(self.plan.engine.role())]
                    }
                };
                late.push((*id, format!("{} did not join in time", missing.join(", "))));
            } else if away
                && session.undelivered == 0
                && matches!(self.plan.engine.turn(&session.run), Turn::End)
            {
                // It had nothing left to do.
                left.push(*id);
            } else if away {
                let name = self.name(self.plan.engine.role());
                late.push((*id, format!("the component of {name} did not come back")));
            } else if idle_at.is_some_and(|due| now >= due) {
                let since = session.last_activity.max(session.others_active);
                let idle = now.saturating_sub(since).as_secs();
                let awaited = self.awaited(session);
                late.push((*id, format!("nothing happened in the session for {idle} s: {awaited}")));
            }
        }
        for (id, sentence) in late {
            self.fault(id, sentence, now, out);
        }
        for id in left {
            self.component_gone(id, now, out);
        }
        (!self.sessions.is_empty()).then_some(next)
    }

    /// Who is awaited in `session` for what, as far as this monitor knows.
    fn awaited(&self, session: &RoleSession) -> String {
        let name = self.name(self.plan.engine.role());
        let expected = self.plan.engine.expected(&session.run);
        let signatures: Vec<String> =
            expected.iter().map(|expected| format!("`{}`", expected.signature)).collect();
        let what = signatures.join(" or ");
        match self.plan.engine.turn(&session.run) {
            _ if session.undelivered > 0 => {
                format!("the component of {name} was awaited, which does not read what it is sent")
            }
            Turn::End => format!("the component of {name} was awaited to close its connection"),
            Turn::Component => format!("the component of {name} was awaited to send {what}"),
            Turn::Message(from) | Turn::Dependency(from) => {
                format!("{} was awaited for {what} to {name}", self.name(from))
            }
        }
    }

    /// How long a session may be in `phase`. The monitors that know who is missing time out first.
    fn peer_timeout(&self, phase: Phase) -> Option<Duration> {
        match phase {
            Phase::Inviting | Phase::Invited | Phase::AwaitingComponent => Some(self.plan.handshake),
            Phase::Ready => Some(self.plan.handshake + JOIN_REPORT_GRACE),
            Phase::Running => None,
        }
    }
}
