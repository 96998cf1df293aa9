//! Violation notices between monitors, as JSON, on RelaMon's wire under `/api/violation`. RelaMon's own monitors send an
//! empty body and ignore what they receive.

use referee_monitor::Kind;
use referee_monitor::multiparty::{Breach, Notice, Rule};
use referee_theory::{Role, Vocabulary};
use serde_json::{Value, json};

const KINDS: [Kind; 7] = [
    Kind::Label,
    Kind::Type,
    Kind::Assertion,
    Kind::Order,
    Kind::PrematureEnd,
    Kind::AfterEnd,
    Kind::Malformed,
];

const RULES: [Rule; 4] = [Rule::ErrorOut, Rule::ErrorIn, Rule::ErrorEnd, Rule::ErrorMon];

/// Encodes `notice`.
pub(super) fn to_json(notice: &Notice, vocabulary: &Vocabulary) -> Value {
    let blamed: Vec<&str> = notice.blamed.iter().map(|role| vocabulary.role_name(*role)).collect();
    json!({
        "reporter": vocabulary.role_name(notice.reporter),
        "blame": blamed,
        "kind": notice.breach.name(),
        "paper_rule": notice.rule.name(),
        "expected": notice.expected,
        "got": notice.got,
        "assertion": notice.assertion,
        "message": notice.sentence,
        "event": notice.event,
        "consequence": notice.consequence,
        "halted": notice.halted,
    })
}

/// Decodes a notice to the monitor of `role`. An empty one is accepted, as by RelaMon; it blames nobody.
pub(super) fn from_json(body: &[u8], role: Role, vocabulary: &Vocabulary) -> Notice {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |key: &str| said.get(key).and_then(Value::as_str);
    let texts = |key: &str| -> Vec<&str> {
        let items = said.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        items.iter().filter_map(Value::as_str).collect()
    };
    let flag = |key: &str| said.get(key).and_then(Value::as_bool);
    let kind = text("kind").and_then(|name| KINDS.into_iter().find(|kind| kind.name() == name));
    let breach = match (kind, text("kind")) {
        (Some(kind), _) => Breach::Kind(kind),
        (None, Some("dependency")) => Breach::Dependency,
        _ => Breach::Fault,
    };
    let rule = text("paper_rule").and_then(|name| RULES.into_iter().find(|rule| rule.name() == name));
    Notice {
        reporter: text("reporter").and_then(|name| vocabulary.find_role(name)).unwrap_or(role),
        blamed: texts("blame").into_iter().filter_map(|name| vocabulary.find_role(name)).collect(),
        breach,
        rule: rule.unwrap_or(Rule::ErrorIn),
        expected: texts("expected").into_iter().map(str::to_owned).collect(),
        got: text("got").map(str::to_owned),
        assertion: text("assertion").map(str::to_owned),
        sentence: text("message")
            .unwrap_or("another monitor reports a violation and gives no reason")
            .to_owned(),
        event: said.get("event").and_then(Value::as_u64).unwrap_or(0),
        consequence: flag("consequence").unwrap_or(false),
        halted: flag("halted").unwrap_or(true),
    }
}
