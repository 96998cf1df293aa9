//! What is told of many who do the same: now and then, and how many others there were.

use std::time::{Duration, Instant};

/// How often at most.
const COMPLAINING: Duration = Duration::from_secs(1);

/// What was told, and how many were not told of since.
#[derive(Default)]
pub(super) struct Complaints {
    last: Option<Instant>,
    untold: u64,
}

impl Complaints {
    /// How many there were since the last that was told of, if this one is to be told of.
    pub(super) fn tell(&mut self, now: Instant) -> Option<u64> {
        if self.last.is_some_and(|last| now.duration_since(last) < COMPLAINING) {
            self.untold += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_told_of_now_and_then() {
        let (mut complaints, began) = (Complaints::default(), Instant::now());
        let told: Vec<Option<u64>> =
            (0..25).map(|tenth| complaints.tell(began + COMPLAINING / 10 * tenth)).collect();
        let expected = |at| match at {
            0 => Some(0),
            10 | 20 => Some(9),
            _ => None,
        };
        assert_eq!(told, (0..25).map(expected).collect::<Vec<_>>());
    }
}
