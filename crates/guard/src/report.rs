//! What a guard tells of a session: a verdict when somebody breaks the protocol, and its end.
//!
//! These are the records of the journal and the lines of the log; their keys are part of the contract with
//! scripts, like those of `referee watch`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// What is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Report {
    /// Somebody broke the protocol, or the guard could not tell.
    Verdict(Box<VerdictReport>),
    /// A session is over.
    SessionEnd(Box<EndReport>),
}

/// A verdict, in names.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct VerdictReport {
    /// RFC 3339, UTC.
    pub time: String,
    /// The listener.
    pub listener: String,
    /// A number that no other session of this guard has.
    pub session: u64,
    /// Of a protocol of several parties: what all its monitors call the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_session: Option<String>,
    /// The client's address; with several parties, who found it.
    pub source: String,
    /// `violation`, or `fault` if nobody is to blame; of a property also `satisfaction` and `resource-limit`.
    pub verdict: String,
    /// `label`, `type`, `assertion`, `order`, `premature-end`, `after-end`, `malformed`; of a fault, its cause.
    pub kind: String,
    /// The role that broke the protocol.
    pub blame: Option<String>,
    /// The number of the event in the session, from 0.
    pub event: i64,
    /// The state in which it happened.
    pub state: String,
    /// The labels that were possible.
    pub expected: Vec<String>,
    /// The label that came.
    pub got: Option<String>,
    /// The assertion that does not hold.
    pub assertion: Option<String>,
    /// The values of its variables, redacted as configured.
    pub values: serde_json::Map<String, serde_json::Value>,
    /// Whether an earlier violation that was let through may be the cause.
    pub consequence: bool,
    /// `noP`, `noE`, `noP^A`, `noE^A`.
    pub rejection: Option<String>,
    /// `halt`, `drop` or `observe`.
    pub policy: String,
    /// One sentence.
    pub message: String,
    /// The place in the protocol that says otherwise.
    pub rule: Option<String>,
    /// The last messages before it, oldest first.
    pub recent: Vec<String>,
    /// The property, if the verdict is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    /// The key of its instance, unless something of the listener is redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The end of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EndReport {
    /// RFC 3339, UTC.
    pub time: String,
    /// The listener.
    pub listener: String,
    /// A number that no other session of this guard has.
    pub session: u64,
    /// Of a protocol of several parties: what all its monitors call the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_session: Option<String>,
    /// The client's address; with several parties, who found it.
    pub source: String,
    /// Why it ended: `over`, `closed`, `violation`, `idle`, ….
    pub why: String,
    /// Anything more there is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Whether it was passed on without being looked at, from the beginning or from some point on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
    /// How many messages were judged.
    pub messages: u64,
    /// How many of them were wrong.
    pub violations: u64,
    /// Bytes from the client that went on.
    pub bytes_from_client: u64,
    /// Bytes from the server that went on.
    pub bytes_from_server: u64,
    /// How long it lasted.
    pub milliseconds: u64,
}

impl Report {
    /// When it happened.
    #[must_use]
    pub fn time(&self) -> &str {
        match self {
            Self::Verdict(verdict) => &verdict.time,
            Self::SessionEnd(end) => &end.time,
        }
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
