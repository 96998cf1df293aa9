//! Rate-limited warnings: at most one a second, with the number of suppressed ones.

use std::time::{Duration, Instant};

/// The shortest interval between two warnings.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// When a warning was last logged, and how many were suppressed since.
#[derive(Default)]
pub(super) struct RateLimitedWarning {
    last: Option<Instant>,
    suppressed: u64,
}

impl RateLimitedWarning {
    /// Whether this warning is to be logged; if so, how many were suppressed before it.
    pub(super) fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.last.is_some_and(|last| now.duration_since(last) < WARNING_INTERVAL) {
            self.suppressed += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_told_of_now_and_then() {
        let (mut warnings, began) = (RateLimitedWarning::default(), Instant::now());
        let told: Vec<Option<u64>> =
            (0..25).map(|tenth| warnings.admit(began + WARNING_INTERVAL / 10 * tenth)).collect();
        let expected = |at| match at {
            0 => Some(0),
            10 | 20 => Some(9),
            _ => None,
        };
        assert_eq!(told, (0..25).map(expected).collect::<Vec<_>>());
    }
}
