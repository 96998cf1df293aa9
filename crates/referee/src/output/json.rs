//! The JSON that scripts rely on. Every key here is part of the contract: add, never change.

use referee::monitor::property::{Derivation, DerivationRule, PropertyVerdict};
use referee::syntax::document::GlobalProtocol;
use referee::syntax::{Edit, ProjectedProtocol, Span};
use referee::theory::Vocabulary;
use referee::theory::calls::SubProtocol;
use referee::theory::property::Property;
use referee::verdict::{VerdictClass, VerdictRecord, json_value};
use referee::watch::{Place, PropertyReport, Report};
use referee::{Analysed, Content, Diagnostic, Source, view};
use serde_json::{Value, json};

use crate::command::check::{Answers, by_name, condition_on_roles};

/// Changes with the meaning of a key.
const SCHEMA_VERSION: u32 = 1;

/// What `check` found in one file: `command/check/schema.json`.
pub(crate) fn checked(read: &Analysed, answers: &Answers) -> Value {
    let analysis = read.analysis();
    let document = &analysis.document;
    let mut value = json!({
        "schema_version": SCHEMA_VERSION,
        "file": read.source().name(),
        "language": document.language.name(),
        "kind": document.kind(),
        "roles": roles(&document.content),
        "diagnostics": analysis.diagnostics.iter().map(|d| diagnostic(d, read.source())).collect::<Vec<_>>(),
        "well_formed": analysis.is_well_formed(),
        "projection": null,
        "compatibility": answers.json(main_protocol(&document.content)),
        "monitors": answers.monitors_json(main_protocol(&document.content)),
    });
    if let Content::Global(protocols) = &document.content {
        // What does not parse is not projected.
        if !analysis.protocols.is_empty() {
            value["projection"] = json!({
                "local": defined(analysis.protocols.iter().all(|protocol| protocol.local.is_ok())),
                "relative": defined(analysis.protocols.iter().all(|protocol| protocol.relative.is_ok())),
            });
        }
        let projected = by_name(analysis);
        let checked = protocols.iter().filter(|protocol| !protocol.auxiliary);
        let protocols: Vec<Value> = checked
            .map(|protocol| {
                let found = projected.get(&protocol.name.as_deref()).copied();
                global_protocol(protocol, found, answers)
            })
            .collect();
        value["protocols"] = protocols.into();
    }
    if let Content::Properties(file) = &document.content {
        value["properties"] =
            file.properties.iter().map(|property| view::property::to_json(property)).collect();
    }
    value
}

fn defined(yes: bool) -> &'static str {
    if yes { "defined" } else { "undefined" }
}

/// The name of the (first) protocol.
fn main_protocol(content: &Content) -> Option<&str> {
    match content {
        Content::Global(protocols) => protocols.iter().find(|p| !p.auxiliary)?.name.as_deref(),
        Content::Binary(_) | Content::System(_) | Content::Properties(_) => None,
    }
}

/// The roles of the (first) protocol.
fn roles(content: &Content) -> Vec<&str> {
    match content {
        Content::Global(protocols) => {
            let first = protocols.iter().find(|protocol| !protocol.auxiliary).or(protocols.first());
            first.map(|protocol| role_names(&protocol.vocabulary)).unwrap_or_default()
        }
        Content::Binary(binary) => role_names(&binary.vocabulary),
        Content::System(system) => role_names(&system.vocabulary),
        Content::Properties(_) => Vec::new(),
    }
}

fn role_names(vocabulary: &Vocabulary) -> Vec<&str> {
    vocabulary.roles().map(|role| vocabulary.role_name(role)).collect()
}

fn global_protocol(
    protocol: &GlobalProtocol,
    projected: Option<&ProjectedProtocol>,
    answers: &Answers,
) -> Value {
    let vocabulary = &protocol.vocabulary;
    let assertions: Vec<Value> = protocol
        .enforcement
        .iter()
        .map(|enforced| {
            json!({
                "label": &*enforced.label,
                "assertion": enforced.assertion,
                "enforced_by": enforced.roles.iter().map(|role| vocabulary.role_name(*role)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let mut value = json!({
        "name": protocol.name.as_deref(),
        "roles": role_names(vocabulary),
        "projection": projected.map(|projected| json!({
            "local": defined(projected.local.is_ok()),
            "relative": defined(projected.relative.is_ok()),
        })),
        "compatibility": answers.json(protocol.name.as_deref()),
        "monitors": answers.monitors_json(protocol.name.as_deref()),
        "assertions": assertions,
        "externals": protocol.externals.iter().map(|external| external.name.to_string()).collect::<Vec<_>>(),
    });
    if let Some((global, calls)) = protocol.global.as_ref().and_then(|global| Some((global, global.calls()?)))
    {
        let sub = |sub: &SubProtocol| {
            json!({
                "name": &*sub.name,
                "roles": role_names(sub.global.vocabulary()),
                "key": sub.global.keyed().map(|keyed| &*keyed.field),
            })
        };
        value["opens"] = calls.subs.iter().map(sub).collect();
        value["condition"] = condition_on_roles(calls.nothing_is_kept(global)).into();
    }
    value
}

/// One diagnostic. A place is written with lines and columns, from 1, whose ends are not included.
pub(crate) fn diagnostic(diagnostic: &Diagnostic, source: &Source) -> Value {
    let file = |span: Span| source.file(span.start).name;
    let (start, end) = (source.position(diagnostic.span.start), source.position(diagnostic.span.end));
    let edit = |edit: &Edit| {
        let (start, end) = (source.position(edit.span.start), source.position(edit.span.end));
        json!({"text": edit.text, "line": start.line, "column": start.column,
               "end_line": end.line, "end_column": end.column})
    };
    let related: Vec<Value> = diagnostic
        .related
        .iter()
        .map(|(span, text)| {
            let (start, end) = (source.position(span.start), source.position(span.end));
            json!({"message": text, "file": file(*span), "line": start.line, "column": start.column,
                   "end_line": end.line, "end_column": end.column})
        })
        .collect();
    json!({
        "severity": diagnostic.code.severity.name(),
        "code": diagnostic.code.id,
        "message": diagnostic.message,
        "file": file(diagnostic.span),
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "help": diagnostic.help,
        "related": related,
        "fix": diagnostic.fix.as_ref().map(|fix| json!({
            "certain": fix.certain,
            "edits": fix.edits.iter().map(edit).collect::<Vec<_>>(),
        })),
    })
}

/// One violation that `watch` found, on one line: the verdict record, and where the event was read. `rule` is the place
/// in the protocol that says otherwise, `role` whose monitor found it.
pub(crate) fn violation(report: &Report, rule: Option<String>, role: Option<&str>) -> Value {
    let mut record = VerdictRecord {
        session: report.session.clone(),
        key: report.key.clone(),
        role: role.map(str::to_owned),
        blame: report.blame.clone(),
        kind: report.kind.name().to_owned(),
        event: i64::try_from(report.event).unwrap_or(i64::MAX),
        state: report.state.clone(),
        expected: report.expected.iter().map(|expected| expected.signature.clone()).collect(),
        values: report.values.iter().map(|(name, value)| (name.to_string(), json_value(value))).collect(),
        assertion: report.assertion.clone(),
        rule,
        paper_rule: report.rejection.map(|rejection| rejection.name().to_owned()),
        consequence: report.consequence,
        time: report.time.clone(),
        message: report.sentence.clone(),
        certain: report.certain,
        ..VerdictRecord::default()
    };
    record.set_label(report.kind, report.got.as_deref());
    let mut value = recorded(record, Some(&report.place));
    // What `paper_rule` was called first.
    value["rejection"] = json!(report.rejection.map(|rejection| rejection.name()));
    value
}

/// A record, with the line of the input that it is about.
fn recorded(mut record: VerdictRecord, place: Option<&Place>) -> Value {
    record.source = place.map(|place| format!("{}:{}", place.file, place.line));
    let mut value = serde_json::to_value(record).unwrap_or_default();
    value["file"] = json!(place.map(|place| &*place.file));
    value["line"] = json!(place.map(|place| place.line));
    value
}

/// One line of `watch --property --format json`.
pub(crate) fn property(report: &PropertyReport) -> Value {
    let name = report.property.name();
    let (class, sentence) = match report.verdict {
        PropertyVerdict::Violation => (VerdictClass::Violation, format!("property `{name}` is violated")),
        PropertyVerdict::Satisfaction => {
            (VerdictClass::Satisfaction, format!("property `{name}` holds, whatever comes"))
        }
        PropertyVerdict::ResourceLimit => (
            VerdictClass::ResourceLimit,
            format!("no room for property `{name}` (--max-instances): no more is said of it"),
        ),
    };
    let sentence = match &report.sentence {
        Some(why) => format!("{sentence}: {why}"),
        None => sentence,
    };
    let record = VerdictRecord {
        session: report.session.clone(),
        verdict: class,
        key: report.key.clone(),
        kind: "property".to_owned(),
        certain: report.certain,
        time: report.time.clone(),
        event: report.event,
        got: report.got.clone(),
        property: Some(name.to_string()),
        message: sentence,
        ..VerdictRecord::default()
    };
    let mut value = recorded(record, report.place.as_ref());
    if let Some(found) = &report.derivation {
        for (name, shown) in values(&report.property, found) {
            value["values"][name] = json!(shown);
        }
        value["events"] = report.history.iter().map(|line| json!(**line)).collect();
        value["derivation"] = derivation(found);
    }
    if let Some(why) = report.unexplained {
        value["unexplained"] = json!(why);
    }
    value
}

/// A derivation, each step before its premises.
fn derivation(derivation: &Derivation) -> Value {
    let step = |step: &referee::monitor::property::DerivationStep| {
        let node = step.node.0;
        match &step.rule {
            DerivationRule::Verdict => json!({"rule": "verdict", "node": node}),
            DerivationRule::Part(part) => json!({"rule": "part", "node": node, "part": part}),
            DerivationRule::All => json!({"rule": "all", "node": node}),
            DerivationRule::Event { event, bound } => json!({
                "rule": "event",
                "node": node,
                "event": event,
                "bound": bound.iter().map(|(slot, term)| json!([slot.0, term])).collect::<Vec<_>>(),
            }),
        }
    };
    derivation.steps.iter().map(step).collect()
}

/// The variables that a derivation binds, with their last values.
pub(crate) fn values<'a>(
    property: &'a Property,
    derivation: &'a Derivation,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let bound = derivation.steps.iter().flat_map(|step| match &step.rule {
        DerivationRule::Event { bound, .. } => bound.as_slice(),
        _ => &[],
    });
    bound.filter_map(|(slot, shown)| Some((&*property.slots().get(slot.index())?.name, shown.as_str())))
}
