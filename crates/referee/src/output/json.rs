//! The JSON that scripts rely on. Every key here is part of the contract: add, never change.

use referee::monitor::property::{Derivation, DerivationRule};
use referee::syntax::document::GlobalProtocol;
use referee::syntax::{Lines, ProjectedProtocol};
use referee::theory::Vocabulary;
use referee::theory::expr::Value as Datum;
use referee::theory::property::Property;
use referee::watch::{PropertyReport, Report};
use referee::{Analysed, Content, Diagnostic, view};
use serde_json::{Value, json};

use crate::command::check::Answers;

/// What `check` found in one file.
pub(crate) fn checked(read: &Analysed, answers: &Answers) -> Value {
    let analysis = read.analysis();
    let document = &analysis.document;
    let lines = Lines::new(read.source().text());
    let mut value = json!({
        "file": read.source().name(),
        "language": document.language.name(),
        "kind": document.kind(),
        "roles": roles(&document.content),
        "diagnostics": analysis.diagnostics.iter().map(|d| diagnostic(d, &lines)).collect::<Vec<_>>(),
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
        let checked = protocols.iter().filter(|protocol| !protocol.auxiliary);
        let protocols: Vec<Value> = checked
            .map(|protocol| {
                let found = analysis.protocols.iter().find(|projected| projected.name == protocol.name);
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
    json!({
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
    })
}

/// One diagnostic.
pub(crate) fn diagnostic(diagnostic: &Diagnostic, lines: &Lines<'_>) -> Value {
    let (start, end) = (lines.position(diagnostic.span.start), lines.position(diagnostic.span.end));
    let related: Vec<Value> = diagnostic
        .related
        .iter()
        .map(|(span, text)| {
            let (start, end) = (lines.position(span.start), lines.position(span.end));
            json!({"message": text, "line": start.line, "column": start.column,
                   "end_line": end.line, "end_column": end.column})
        })
        .collect();
    json!({
        "severity": diagnostic.code.severity.name(),
        "code": diagnostic.code.id,
        "message": diagnostic.message,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "help": diagnostic.help,
        "related": related,
    })
}

/// One violation that `watch` found, on one line. `rule` is the place in the protocol that says otherwise.
pub(crate) fn violation(report: &Report, rule: Option<&str>) -> Value {
    let values: serde_json::Map<String, Value> =
        report.values.iter().map(|(name, value)| (name.to_string(), data(value))).collect();
    json!({
        "session": report.session,
        "verdict": "violation",
        "kind": report.kind.name(),
        "blame": report.blame,
        "event": report.event,
        "state": report.state,
        "expected": report.expected.iter().map(|expected| expected.label.as_str()).collect::<Vec<_>>(),
        "got": report.got,
        "assertion": report.assertion,
        "values": values,
        "consequence": report.consequence,
        "rejection": report.rejection.name(),
        "message": report.sentence,
        "rule": rule,
        "file": &*report.place.file,
        "line": report.place.line,
    })
}

/// A value of a payload variable. Floats that JSON cannot write, and bytes, are text.
fn data(value: &Datum) -> Value {
    match value {
        Datum::Unit => Value::Null,
        Datum::Bool(value) => (*value).into(),
        Datum::Int(value) => (*value).into(),
        Datum::Float(value) => {
            serde_json::Number::from_f64(*value).map_or_else(|| value.to_string().into(), Value::Number)
        }
        Datum::String(text) | Datum::Opaque(text) => text.to_string().into(),
        Datum::Bytes(_) => value.to_string().into(),
        Datum::List(values) | Datum::Tuple(values) => values.iter().map(data).collect(),
        Datum::Record(fields) => fields.iter().map(|(name, value)| (name.to_string(), data(value))).collect(),
    }
}

/// One line of `watch --property --format json`.
pub(crate) fn property(report: &PropertyReport) -> Value {
    let mut value = json!({
        "session": report.session,
        "verdict": report.verdict.name(),
        "kind": "property",
        "blame": null,
        "event": report.event,
        "state": null,
        "expected": [],
        "got": report.got,
        "assertion": null,
        "values": {},
        "property": &**report.property.name(),
        "key": report.key,
        "file": report.place.as_ref().map(|place| &*place.file),
        "line": report.place.as_ref().map(|place| place.line),
    });
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
