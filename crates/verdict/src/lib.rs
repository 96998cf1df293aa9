//! The verdict record: what a verdict says, the same in the log, the journal, `referee watch --format json`, notices to
//! components and OTLP; and the record of a session's end, with its [`EndReason`].
//!
//! A crate of its own because both `crates/watch`'s readers and `crates/guard` write it and neither may depend on the
//! other, and because whoever reads records (a script's author, the journal's reader) needs no engine. The keys are a
//! contract with scripts. A key is always there; it is `null`, or empty, where it does not apply.

mod end;
mod explained;

pub use end::{EndReason, EndRecord};
pub use explained::json_value;

use serde::{Deserialize, Deserializer, Serialize};

/// A verdict, in names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerdictRecord {
    /// Which session: its key in recorded events, its number in a guard.
    #[serde(deserialize_with = "text_or_number")]
    pub session: Option<String>,
    /// What was found.
    pub verdict: VerdictClass,
    /// In which way: `label`, `type`, `assertion`, `order`, `premature-end`, `after-end`, `malformed`, `dependency` or
    /// `property`; of a fault, its cause.
    pub kind: String,
    /// The role that broke the protocol; `null` where it is not known who, or nobody did.
    pub blame: Option<String>,
    /// Which event of the session (with `key`, of the instance), from 0. An end has the number that the next event would
    /// have had. −1: before any event.
    pub event: i64,
    /// The state in which it happened.
    pub state: Option<String>,
    /// The messages that were possible, with their fields: `Auth(uname: string, pwd: string)`.
    pub expected: Vec<String>,
    /// The label that came, shortened or hidden where something is redacted; `null` for an end.
    pub got: Option<String>,
    /// The assertion that does not hold, or has no value.
    pub assertion: Option<String>,
    /// The variables of the part of `assertion` that fails, and their values.
    pub values: serde_json::Map<String, serde_json::Value>,
    /// Whether an earlier violation that was let through may be the cause.
    pub consequence: bool,
    /// What the papers call it: `noP`, `noE`, `noP^A`, `noE^A`; `ERROR-OUT`, `ERROR-IN`, `ERROR-END`, `ERROR-MON`.
    #[serde(alias = "rejection")]
    pub paper_rule: Option<String>,
    /// All this as a sentence.
    pub message: String,
    /// The place in the protocol's text that says otherwise: `auth.scr:12:7`.
    pub rule: Option<String>,
    /// Whose monitor found it: a role.
    pub role: Option<String>,
    /// Further roles, where two informers disagree and either may be wrong.
    pub blame_also: Vec<String>,
    /// The label of the message that it is about; `null` for an end, for what cannot be decoded, and for a label that
    /// its sender never sends.
    pub label: Option<String>,
    /// What all monitors of a network call the session.
    pub network_session: Option<String>,
    /// Which instance of a property, or of a protocol declared per key. `null` where something is redacted.
    pub key: Option<String>,
    /// The property whose verdict it is.
    pub property: Option<String>,
    /// `false`: there may be no violation, because something before it could not be judged.
    pub certain: bool,
    /// What was done with the message; `null` where nothing was, as in recorded events.
    pub action: Option<VerdictAction>,
    /// When it was found: RFC 3339, UTC.
    pub time: Option<String>,
    /// Where it comes from: the client's address, `FILE:LINE` of the event, or the monitor that told of it.
    pub source: Option<String>,
}

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictClass {
    /// Somebody broke the protocol, or a property does not hold.
    #[default]
    Violation,
    /// The monitor could not tell. Nobody is to blame.
    Fault,
    /// A property holds, whatever comes.
    Satisfaction,
    /// There was no room for a property: no more is said of it.
    ResourceLimit,
}

impl VerdictClass {
    /// The word for it in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Violation => "violation",
            Self::Fault => "fault",
            Self::Satisfaction => "satisfaction",
            Self::ResourceLimit => "resource-limit",
        }
    }
}

/// What was done with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictAction {
    /// It went on.
    Forwarded,
    /// It did not go on; the session goes on.
    Discarded,
    /// It did not go on, and who waits for an answer was told why; the session goes on.
    Refused,
    /// It did not go on, and the session is closed.
    Closed,
}

impl VerdictAction {
    /// The word for it in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::Discarded => "discarded",
            Self::Refused => "refused",
            Self::Closed => "closed",
        }
    }
}

impl Default for VerdictRecord {
    fn default() -> Self {
        Self {
            session: None,
            verdict: VerdictClass::Violation,
            network_session: None,
            key: None,
            time: None,
            role: None,
            blame: None,
            blame_also: Vec::new(),
            kind: String::new(),
            label: None,
            event: 0,
            state: None,
            expected: Vec::new(),
            got: None,
            values: serde_json::Map::new(),
            assertion: None,
            property: None,
            rule: None,
            paper_rule: None,
            consequence: false,
            certain: true,
            action: None,
            source: None,
            message: String::new(),
        }
    }
}

impl VerdictRecord {
    /// Everybody who is blamed, the first first.
    pub fn blamed(&self) -> impl Iterator<Item = &str> {
        self.blame.iter().chain(&self.blame_also).map(String::as_str)
    }

    /// Blames `roles`: the first, and the others besides.
    pub fn set_blamed<'a>(&mut self, roles: impl IntoIterator<Item = &'a str>) {
        let mut roles = roles.into_iter().map(str::to_owned);
        self.blame = roles.next();
        self.blame_also = roles.collect();
    }

    /// Makes a record of version 0.1 one of today: monitors of a network wrote the papers' rule under `rule`, several
    /// names in one `blame`, and no state as an empty one.
    pub fn modernise(&mut self) {
        if self.rule.as_deref().is_some_and(|rule| rule.starts_with("ERROR-")) {
            self.paper_rule = self.rule.take();
        }
        if let Some(blame) = self.blame.take_if(|blame| blame.contains(", ")) {
            self.set_blamed(blame.split(", "));
        }
        self.state.take_if(|state| state.is_empty());
    }
}

/// Guards of version 0.1 wrote their sessions as numbers.
fn text_or_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Text(String),
        Number(u64),
    }
    Ok(Option::<Either>::deserialize(from)?.map(|either| match either {
        Either::Text(text) => text,
        Either::Number(number) => number.to_string(),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The keys are a contract: DESIGN, section 9.
    #[test]
    fn a_record_has_always_the_same_keys() {
        let record = serde_json::to_value(VerdictRecord::default()).unwrap();
        let keys: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            keys.join(" "),
            "session verdict kind blame event state expected got assertion values consequence paper_rule message rule \
             role blame_also label network_session key property certain action time source"
        );
    }

    #[test]
    fn records_of_version_0_1_are_read() {
        let old = json!({
            "time": "2026-11-15T13:00:05.000Z", "session": 17, "network_session": "ab", "source": "shop",
            "verdict": "violation", "kind": "label", "blame": "shop, bank", "event": 3, "state": "", "expected": ["A()"],
            "got": "B", "assertion": null, "values": {}, "consequence": false, "rejection": null, "policy": "halt",
            "message": "shop sent `B`", "rule": "ERROR-MON", "recent": [],
        });
        let mut record: VerdictRecord = serde_json::from_value(old).unwrap();
        record.modernise();
        assert_eq!(record.session.as_deref(), Some("17"));
        assert_eq!(record.blamed().collect::<Vec<_>>(), ["shop", "bank"]);
        assert_eq!((record.rule.as_deref(), record.paper_rule.as_deref()), (None, Some("ERROR-MON")));
        assert!(record.certain && record.state.is_none());
        let old = json!({"session": 1, "kind": "label", "blame": "client", "rejection": "noP", "rule": "a.scr:1:2"});
        let record: VerdictRecord = serde_json::from_value(old).unwrap();
        assert_eq!((record.rule.as_deref(), record.paper_rule.as_deref()), (Some("a.scr:1:2"), Some("noP")));
    }

    #[test]
    fn what_is_written_is_read() {
        let record = VerdictRecord {
            session: Some("42".to_owned()),
            action: Some(VerdictAction::Discarded),
            certain: false,
            ..VerdictRecord::default()
        };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<VerdictRecord>(&text).unwrap(), record);
    }
}
