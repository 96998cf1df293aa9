//! Timeouts of sessions, and when to look for them.

use std::time::{Duration, Instant};

use referee_monitor::multiparty::Turn;
use referee_theory::Role;

use super::{MIN_TICK_INTERVAL, SessionAction, SessionTable};
use crate::multiparty::role_session::Phase;

/// How long a peer may take to report who did not join.
const JOIN_REPORT_GRACE: Duration = Duration::from_secs(1);

impl SessionTable {
    /// Ends sessions that timed out. Returns a time before which no other will, not even one that begins now; `None` without
    /// sessions.
    pub(in crate::multiparty) fn tick(
        &mut self,
        now: Instant,
        out: &mut Vec<SessionAction>,
    ) -> Option<Instant> {
        let (mut late, mut left) = (Vec::new(), Vec::new());
        // For sessions that begin after this look.
        let shortest =
            self.plan.handshake.min(self.plan.peer_timeout).min(self.plan.idle.unwrap_or(Duration::MAX));
        let mut next = now + shortest.max(MIN_TICK_INTERVAL);
        for (id, session) in &self.sessions {
            let due = [
                self.peer_timeout(session.phase).map(|peer_timeout| session.begun + peer_timeout),
                self.plan.idle.map(|idle| session.last_activity + idle),
                session.away.map(|since| since + self.plan.peer_timeout),
            ];
            next = due.into_iter().flatten().filter(|due| *due > now).fold(next, Instant::min);
            let away = session
                .away
                .is_some_and(|since| now.saturating_duration_since(since) >= self.plan.peer_timeout);
            let idle = now.saturating_duration_since(session.last_activity);
            let begun = now.saturating_duration_since(session.begun);
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
            } else if self.plan.idle.is_some_and(|most| idle >= most) {
                let name = self.name(self.plan.engine.role());
                late.push((*id, format!("nothing happened at {name} for {} s", idle.as_secs())));
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
    /// How long a session may be in `phase`. The monitors that know who is missing time out first.
    fn peer_timeout(&self, phase: Phase) -> Option<Duration> {
        match phase {
            Phase::Inviting | Phase::Invited | Phase::AwaitingComponent => Some(self.plan.handshake),
            Phase::Ready => Some(self.plan.handshake + JOIN_REPORT_GRACE),
            Phase::Running => None,
        }
    }
}
