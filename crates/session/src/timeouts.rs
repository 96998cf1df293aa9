//! How long a session may last, and how long it may be silent. Times are counted from its beginning, by whoever has a clock.

use std::time::Duration;

use referee_verdict::EndReason;

/// The time limits of a session.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    idle: Option<Duration>,
    total: Option<Duration>,
    last_activity: Duration,
}

impl Timeouts {
    /// A session that begins now may be `idle` for so long, and last `total`.
    #[must_use]
    pub fn new(idle: Option<Duration>, total: Option<Duration>) -> Self {
        Self { idle, total, last_activity: Duration::ZERO }
    }

    /// A byte came.
    pub fn note_activity(&mut self, now: Duration) {
        debug_assert!(now >= self.last_activity, "time goes back");
        self.last_activity = now;
    }

    /// When the session has to be closed if nothing happens; `None` if never.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let idle = self.idle.and_then(|idle| self.last_activity.checked_add(idle));
        [idle, self.total].into_iter().flatten().min()
    }

    /// Why the session has to be closed now, if it has.
    #[must_use]
    pub fn expired(&self, now: Duration) -> Option<EndReason> {
        if self.total.is_some_and(|total| now >= total) {
            return Some(EndReason::TotalTime);
        }
        self.deadline().filter(|deadline| now >= *deadline).map(|_| EndReason::Idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_moves_the_idle_deadline_and_not_the_total() {
        let at = Duration::from_secs;
        let mut timeouts = Timeouts::new(Some(at(5)), Some(at(12)));
        assert_eq!(timeouts.deadline(), Some(at(5)));
        timeouts.note_activity(at(4));
        assert_eq!((timeouts.deadline(), timeouts.expired(at(5))), (Some(at(9)), None));
        assert_eq!(timeouts.expired(at(9)), Some(EndReason::Idle));
        timeouts.note_activity(at(11));
        assert_eq!(
            (timeouts.deadline(), timeouts.expired(at(12))),
            (Some(at(12)), Some(EndReason::TotalTime))
        );
        let never = Timeouts::new(None, None);
        assert_eq!((never.deadline(), never.expired(at(1 << 40))), (None, None));
        let late = Timeouts::new(Some(Duration::MAX), None);
        assert_eq!(late.expired(at(1 << 40)), None);
    }
}
