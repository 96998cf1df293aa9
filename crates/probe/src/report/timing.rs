//! How long a peer takes for its messages.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

/// How many times are kept for each label; more of them would tell no more.
const MAX_SAMPLES: usize = 10_000;

/// The times of one message, in microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// The message.
    pub label: String,
    /// How many there were.
    pub count: usize,
    /// The shortest.
    pub least: u64,
    /// Half took no longer.
    pub median: u64,
    /// The longest.
    pub most: u64,
}

/// Times as they come.
#[derive(Clone, Debug, Default)]
pub struct Timings {
    samples: BTreeMap<Arc<str>, Vec<u64>>,
}

impl Timings {
    /// Adds that `label` took `time`.
    pub fn add(&mut self, label: &Arc<str>, time: Duration) {
        let samples = self.samples.entry(Arc::clone(label)).or_default();
        if samples.len() < MAX_SAMPLES {
            samples.push(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        }
    }

    /// What they came to, by label.
    #[must_use]
    pub fn summary(&self) -> Vec<Timing> {
        let summary = |(label, samples): (&Arc<str>, &Vec<u64>)| {
            let mut sorted = samples.clone();
            sorted.sort_unstable();
            let at = |index: usize| sorted.get(index).copied().unwrap_or(0);
            let count = sorted.len();
            Timing {
                label: label.to_string(),
                count,
                least: at(0),
                median: at(count.saturating_sub(1) / 2),
                most: at(count.saturating_sub(1)),
            }
        };
        self.samples.iter().map(summary).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let mut timings = Timings::default();
        for micros in [5, 1, 9] {
            timings.add(&"Ok".into(), Duration::from_micros(micros));
        }
        let expected = Timing { label: "Ok".to_owned(), count: 3, least: 1, median: 5, most: 9 };
        assert_eq!(timings.summary(), [expected]);
    }
}
