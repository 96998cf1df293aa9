//! What a guard tells of a session: a verdict when somebody breaks the protocol, and its end.
//!
//! These are the records of the journal and the lines of the log; their keys are part of the contract with
//! scripts, like those of `referee watch`.

use std::time::{SystemTime, UNIX_EPOCH};

pub use referee_verdict::{EndReason, EndRecord, VerdictAction, VerdictClass, VerdictRecord};
use serde::{Deserialize, Serialize};

/// What is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Report {
    /// Somebody broke the protocol, or the guard could not tell.
    Verdict(Box<VerdictReport>),
    /// A session is over.
    SessionEnd(Box<EndRecord>),
}

/// A verdict, and what only a guard knows of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct VerdictReport {
    /// The listener; of a network, its protocol and the role.
    pub listener: String,
    /// What every verdict says.
    #[serde(flatten)]
    pub record: VerdictRecord,
    /// `halt`, `drop` or `observe`.
    pub policy: String,
    /// The last messages before it, oldest first.
    pub recent: Vec<String>,
}

impl Report {
    /// When it happened.
    #[must_use]
    pub fn time(&self) -> &str {
        match self {
            Self::Verdict(report) => report.record.time.as_deref().unwrap_or_default(),
            Self::SessionEnd(end) => &end.time,
        }
    }
}

impl std::ops::Deref for VerdictReport {
    type Target = VerdictRecord;

    fn deref(&self) -> &VerdictRecord {
        &self.record
    }
}

/// `2026-11-15T13:20:05.123Z`.
#[must_use]
pub fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86400, since.as_secs() % 86400);
    // Days since 0000-03-01, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn timestamps_are_dates() {
        let at = |seconds| timestamp(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(1_794_747_605), "2026-11-15T13:00:05.000Z");
        assert_eq!(at(4_107_542_399), "2100-02-28T23:59:59.000Z");
    }
}
