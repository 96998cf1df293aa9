//! Violation notices between monitors and to components: the verdict record, and who reports it, as JSON; on RelaMon's wire
//! under `/api/violation`. RelaMon's own monitors send an empty body and ignore what they receive.

use referee_monitor::Kind;
use referee_monitor::multiparty::{Breach, Notice, Rule};
use referee_theory::{Origin, Role, Vocabulary};
use referee_verdict::{VerdictClass, VerdictRecord, json_value};
use serde_json::Value;

use super::peer_message::SessionId;

const KINDS: [Kind; 9] = [
    Kind::Label,
    Kind::Type,
    Kind::Assertion,
    Kind::Order,
    Kind::PrematureEnd,
    Kind::AfterEnd,
    Kind::Malformed,
    Kind::Deadline,
    Kind::Early,
];

const RULES: [Rule; 4] = [Rule::ErrorOut, Rule::ErrorIn, Rule::ErrorEnd, Rule::ErrorMon];

/// What `notice` says: not when, nor in which session.
pub(super) fn record(notice: &Notice, vocabulary: &Vocabulary) -> VerdictRecord {
    let mut record = VerdictRecord {
        verdict: if notice.breach == Breach::Fault { VerdictClass::Fault } else { VerdictClass::Violation },
        role: Some(vocabulary.role_name(notice.reporter).to_owned()),
        kind: notice.breach.name().to_owned(),
        event: i64::try_from(notice.event).unwrap_or(i64::MAX),
        state: notice.state.clone(),
        expected: notice.expected.clone(),
        values: notice.values.iter().map(|(name, value)| (name.to_string(), json_value(value))).collect(),
        assertion: notice.assertion.clone(),
        property: notice.property.clone(),
        paper_rule: notice.rule.map(|rule| rule.name().to_owned()),
        consequence: notice.consequence,
        message: notice.sentence.clone(),
        ..VerdictRecord::default()
    };
    match notice.breach {
        Breach::Kind(kind) => record.set_label(kind, notice.got.as_deref()),
        Breach::Dependency | Breach::Property | Breach::Fault => {
            (record.label, record.got) = (notice.got.clone(), notice.got.clone());
        }
    }
    record.set_blamed(notice.blamed.iter().map(|role| vocabulary.role_name(*role)));
    record
}

/// `notice` for the monitor and the component of `reader`: without anything that was sent, unless `reader` sent it or was to
/// receive it.
pub(super) fn for_reader(notice: &Notice, reader: Role, vocabulary: &Vocabulary) -> Notice {
    let mut notice = notice.clone();
    if !notice.parties.contains(&reader) {
        notice.withhold_values(vocabulary);
    }
    notice
}

/// `notice`, which is [for](for_reader) the one who is told of it: the record without values, with `reporter` and `halted`;
/// of a session of a network, which one it is.
pub(super) fn to_json(notice: &Notice, vocabulary: &Vocabulary, session: Option<SessionId>) -> Value {
    let mut record = record(notice, vocabulary);
    record.network_session = session.map(|session| session.to_string());
    record.values.clear();
    let mut json = serde_json::to_value(record).unwrap_or_default();
    json["reporter"] = vocabulary.role_name(notice.reporter).into();
    json["halted"] = notice.halted.into();
    json
}

/// Decodes a notice to the monitor of `role`. An empty one is accepted, as by RelaMon; it blames nobody.
pub(super) fn from_json(body: &[u8], role: Role, vocabulary: &Vocabulary) -> Notice {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |key: &str| said.get(key).and_then(Value::as_str);
    let texts = |key: &str| -> Vec<&str> {
        match said.get(key) {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    };
    let flag = |key: &str| said.get(key).and_then(Value::as_bool);
    let kind = text("kind").and_then(|name| KINDS.into_iter().find(|kind| kind.name() == name));
    let breach = match (kind, text("kind")) {
        (Some(kind), _) => Breach::Kind(kind),
        (None, Some("dependency")) => Breach::Dependency,
        (None, Some("property")) => Breach::Property,
        _ => Breach::Fault,
    };
    let blamed = texts("blame").into_iter().chain(texts("blame_also"));
    let sentence =
        text("message").unwrap_or("another monitor reports a violation and gives no reason").to_owned();
    Notice {
        reporter: text("reporter").and_then(|name| vocabulary.find_role(name)).unwrap_or(role),
        blamed: blamed.filter_map(|name| vocabulary.find_role(name)).collect(),
        breach,
        rule: text("paper_rule").and_then(|name| RULES.into_iter().find(|rule| rule.name() == name)),
        state: text("state").map(str::to_owned),
        origin: Origin::NONE,
        expected: texts("expected").into_iter().map(str::to_owned).collect(),
        got: text("got").map(str::to_owned),
        assertion: text("assertion").map(str::to_owned),
        property: text("property").map(str::to_owned),
        values: Vec::new(),
        // Its reporter has withheld what this role must not learn.
        outline: sentence.clone(),
        sentence,
        parties: [role].into_iter().collect(),
        event: said.get("event").and_then(Value::as_u64).unwrap_or(0),
        consequence: flag("consequence").unwrap_or(false),
        halted: flag("halted").unwrap_or(true),
    }
}
