//! What a guard tells of a session: a verdict when somebody breaks the protocol, and its end.
//!
//! These are the records of the journal and the lines of the log; their keys are part of the contract with
//! scripts, like those of `referee watch`.

use std::time::SystemTime;

use jiff::Timestamp;
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
    /// A message of a session that is recorded.
    Message(Box<MessageRecord>),
}

/// A message, as an event that `referee watch` reads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageRecord {
    /// The listener.
    pub listener: String,
    /// When it was judged.
    pub time: String,
    /// Which session it is of.
    pub session: String,
    /// The role that sent it.
    pub from: String,
    /// The role that it was for.
    pub to: String,
    /// Its label.
    pub label: String,
    /// Its fields; what is redacted says so.
    pub payload: serde_json::Value,
    /// Whether it went on.
    pub forwarded: bool,
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
            Self::Message(message) => &message.time,
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
    // INVARIANT: no clock is further away than such a time can be.
    let time = Timestamp::try_from(time).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

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
