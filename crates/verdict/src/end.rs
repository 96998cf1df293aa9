//! The end of a session: its record, and the list of reasons.

use serde::{Deserialize, Serialize};

/// Why a session ended: `why` in logs, the journal, metrics and OTLP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// The protocol came to its end.
    #[default]
    Over,
    /// Both sides closed where they may.
    Closed,
    /// The server closed instead of answering, which its codec allows.
    Unanswered,
    /// Somebody broke the protocol.
    Violation,
    /// The guard could not tell, or could not go on. Nobody is to blame.
    Fault,
    /// Nothing happened for `limits.idle`.
    Idle,
    /// It lasted longer than `limits.total`.
    TotalTime,
    /// PROXY header, TLS and connecting took longer than `limits.handshake`.
    HandshakeTime,
    /// A message was longer than `limits.message`.
    MessageLimit,
    /// A connection broke.
    Reset,
    /// The server could not be reached.
    Upstream,
    /// TLS with the server failed.
    TlsUpstream,
    /// TLS with the client failed.
    TlsClient,
    /// No component could be found for a role.
    NoComponent,
    /// A component was turned away: there could be no session for it.
    Refused,
    /// The guard was stopped.
    Drained,
    /// A reason that this version does not know: the record is of a newer one.
    #[serde(other)]
    Unknown,
}

impl EndReason {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 17] = [
        Self::Over,
        Self::Closed,
        Self::Unanswered,
        Self::Violation,
        Self::Fault,
        Self::Idle,
        Self::TotalTime,
        Self::HandshakeTime,
        Self::MessageLimit,
        Self::Reset,
        Self::Upstream,
        Self::TlsUpstream,
        Self::TlsClient,
        Self::NoComponent,
        Self::Refused,
        Self::Drained,
        Self::Unknown,
    ];

    /// The word for it in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Over => "over",
            Self::Closed => "closed",
            Self::Unanswered => "unanswered",
            Self::Violation => "violation",
            Self::Fault => "fault",
            Self::Idle => "idle",
            Self::TotalTime => "total-time",
            Self::HandshakeTime => "handshake-time",
            Self::MessageLimit => "message-limit",
            Self::Reset => "reset",
            Self::Upstream => "upstream",
            Self::TlsUpstream => "tls-upstream",
            Self::TlsClient => "tls-client",
            Self::NoComponent => "no-component",
            Self::Refused => "refused",
            Self::Drained => "drained",
            Self::Unknown => "unknown",
        }
    }

    /// Whether somebody has to look after the server.
    #[must_use]
    pub fn is_about_the_server(self) -> bool {
        matches!(self, Self::Upstream | Self::TlsUpstream)
    }
}

impl std::fmt::Display for EndReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq<&str> for EndReason {
    fn eq(&self, other: &&str) -> bool {
        self.name() == *other
    }
}

/// The end of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndRecord {
    /// RFC 3339, UTC.
    pub time: String,
    /// The listener; of a network, its protocol and the role.
    pub listener: String,
    /// A number that no other session of this guard has.
    #[serde(deserialize_with = "super::text_or_number")]
    pub session: Option<String>,
    /// What all monitors of a network call the session.
    pub network_session: Option<String>,
    /// Of a network: the W3C trace context of the role's span, `00-TRACE-SPAN-FLAGS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// The id of the span in which that one was begun: the initiator's monitor's, or the one that its component named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_span: Option<String>,
    /// The client's address; of a network, the role.
    pub source: String,
    /// Why it ended.
    pub why: EndReason,
    /// Anything more there is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Whether it was passed on without being looked at, from the beginning or from some point on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
    /// How many messages were judged.
    pub messages: u64,
    /// How many of them were wrong.
    pub violations: u64,
    /// Bytes from the client (of a network: from the role's component) that went on.
    pub bytes_from_client: u64,
    /// Bytes from the server that went on; of a network: bytes given to the component.
    pub bytes_from_server: u64,
    /// Bytes of either side that did not go on: wrong messages under *drop*, and what came when the session was over.
    pub bytes_discarded: u64,
    /// How long it lasted.
    pub milliseconds: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_is_written() {
        for reason in EndReason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
        let newer: EndReason = serde_json::from_str("\"of-a-newer-version\"").unwrap();
        assert_eq!(newer, EndReason::Unknown);
    }

    #[test]
    fn ends_of_version_0_1_are_read() {
        let text = r#"{"time":"t","listener":"l","session":7,"source":"s","why":"tls-client","messages":1,
                       "violations":0,"bytes_from_client":2,"bytes_from_server":3,"milliseconds":4}"#;
        let record: EndRecord = serde_json::from_str(text).unwrap();
        assert_eq!((record.session.as_deref(), record.why), (Some("7"), EndReason::TlsClient));
    }
}
