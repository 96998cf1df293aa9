//! Sessions that take too long, and when to look for them.

use std::time::{Duration, Instant};

use referee_monitor::multiparty::Turn;
use referee_theory::Role;

use super::{Order, Roster, SOONEST};
use crate::multiparty::seat::Phase;

/// How long it may take to hear from another monitor who did not join.
const HEARSAY: Duration = Duration::from_secs(1);

impl Roster {
    /// Ends sessions that took too long. Until the time it answers none will have, not even one that begins now; without
    /// sessions there is no such time.
    pub(in crate::multiparty) fn tick(&mut self, now: Instant, out: &mut Vec<Order>) -> Option<Instant> {
        let (mut late, mut left) = (Vec::new(), Vec::new());
        // For what begins after this look.
        let shortest =
            self.plan.handshake.min(self.plan.patience).min(self.plan.idle.unwrap_or(Duration::MAX));
        let mut next = now + shortest.max(SOONEST);
        for (id, seat) in &self.seats {
            let due = [
                self.patience(seat.phase).map(|patience| seat.begun + patience),
                self.plan.idle.map(|idle| seat.touched + idle),
                seat.away.map(|since| since + self.plan.patience),
            ];
            next = due.into_iter().flatten().filter(|due| *due > now).fold(next, Instant::min);
            let away =
                seat.away.is_some_and(|since| now.saturating_duration_since(since) >= self.plan.patience);
            let idle = now.saturating_duration_since(seat.touched);
            let begun = now.saturating_duration_since(seat.begun);
            if self.patience(seat.phase).is_some_and(|patience| begun >= patience) {
                let missing: Vec<&str> = match seat.phase {
                    Phase::Seated | Phase::Running => {
                        late.push((*id, "not everyone joined in time".to_owned()));
                        continue;
                    }
                    Phase::Inviting => {
                        let absent = |role: &&Role| !seat.peers[role.index()].joined;
                        self.plan.others.iter().filter(absent).map(|role| self.role_name(*role)).collect()
                    }
                    Phase::Invited | Phase::Awaited => vec![self.role_name(self.plan.engine.role())],
                };
                late.push((*id, format!("{} did not join in time", missing.join(", "))));
            } else if away && seat.undelivered == 0 && matches!(self.plan.engine.turn(&seat.run), Turn::End) {
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
        (!self.seats.is_empty()).then_some(next)
    }
    /// How long a session may be in `phase`. Whoever knows who is missing says so first.
    fn patience(&self, phase: Phase) -> Option<Duration> {
        match phase {
            Phase::Inviting | Phase::Invited | Phase::Awaited => Some(self.plan.handshake),
            Phase::Seated => Some(self.plan.handshake + HEARSAY),
            Phase::Running => None,
        }
    }
}
