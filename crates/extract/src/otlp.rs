//! Documents of OpenTelemetry's collector (its file exporter): every span and every log record of one is an event.
//!
//! The protobuf encoding is written out as the JSON encoding, by tables of the schema, so that there is one reading of both.
//! <https://opentelemetry.io/docs/specs/otlp/>

mod protobuf;

use serde_json::Value;

use crate::members::{Members, Room};
use crate::names::Names;
use crate::source::Signal;

pub(crate) use protobuf::document as from_protobuf;

/// Attributes of attributes are written as JSON below this depth.
const MAX_DEPTH: usize = 16;
/// What is called what in the two kinds of documents.
const SHAPES: [(Signal, &str, &str, &str); 2] = [
    (Signal::Spans, "resourceSpans", "scopeSpans", "spans"),
    (Signal::Logs, "resourceLogs", "scopeLogs", "logRecords"),
];
const SPAN_KINDS: [&str; 6] = ["unspecified", "internal", "server", "client", "producer", "consumer"];
const STATUS_CODES: [&str; 3] = ["unset", "ok", "error"];

/// Gives the members of each span and log record of `document`, and what conditions without a name are about. False if it is
/// no such document.
pub(crate) fn records(document: &Value, names: &Names, give: &mut dyn FnMut(Members<'_>, &str)) -> bool {
    let mut is_known = document.get("resourceMetrics").is_some_and(Value::is_array);
    for (signal, resources, scopes, items) in SHAPES {
        let Some(resources) = document.get(resources).and_then(Value::as_array) else { continue };
        is_known = true;
        for resource in resources {
            for scope in list(resource, scopes) {
                for item in list(scope, items) {
                    let mut members = Members::new(names, Room::new());
                    attributes("resource", resource.get("resource"), &mut members);
                    if let Some(name) = scope.pointer("/scope/name").and_then(Value::as_str) {
                        members.add("scope.name", name.to_owned());
                    }
                    attributes("attributes", Some(item), &mut members);
                    let subject = match signal {
                        Signal::Spans => span(item, &mut members),
                        Signal::Logs => log_record(item, &mut members),
                    };
                    give(members, &subject);
                }
            }
        }
    }
    is_known
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn span(item: &Value, members: &mut Members<'_>) -> String {
    members.add("signal", "span");
    plain(
        item,
        &["name", "traceId", "spanId", "parentSpanId", "startTimeUnixNano", "endTimeUnixNano"],
        members,
    );
    named(item.get("kind"), "SPAN_KIND_", &SPAN_KINDS, "kind", members);
    named(item.pointer("/status/code"), "STATUS_CODE_", &STATUS_CODES, "status", members);
    if let Some(message) = item.pointer("/status/message").and_then(Value::as_str) {
        members.add("status.message", message.to_owned());
    }
    if let Some(start) = text(item.get("startTimeUnixNano")) {
        members.add("time", start);
    }
    text(item.get("name")).unwrap_or_default()
}

fn log_record(item: &Value, members: &mut Members<'_>) -> String {
    members.add("signal", "log");
    plain(
        item,
        &[
            "timeUnixNano",
            "observedTimeUnixNano",
            "severityNumber",
            "severityText",
            "traceId",
            "spanId",
            "eventName",
        ],
        members,
    );
    let written = |name| text(item.get(name)).filter(|time| time != "0");
    if let Some(time) = written("timeUnixNano").or_else(|| written("observedTimeUnixNano")) {
        members.add("time", time);
    }
    let body =
        item.get("body").and_then(|body| any_value(body, 0)).map(|body| shown(&body)).unwrap_or_default();
    members.add("body", body.clone());
    body
}

/// Adds what is written as text or number; what is empty or not set is no member.
fn plain(item: &Value, names: &[&'static str], members: &mut Members<'_>) {
    for name in names {
        if let Some(value) = text(item.get(*name)).filter(|value| !value.is_empty()) {
            members.add(name, value);
        }
    }
}

/// Adds a value of an enumeration, by its number or its full name.
fn named(
    value: Option<&Value>,
    prefix: &str,
    names: &[&str],
    member: &'static str,
    members: &mut Members<'_>,
) {
    let name = match value {
        Some(Value::Number(number)) => number
            .as_u64()
            .and_then(|number| names.get(usize::try_from(number).ok()?))
            .map(|name| (*name).to_owned()),
        Some(Value::String(full)) => full.strip_prefix(prefix).map(str::to_lowercase),
        _ => names.first().map(|name| (*name).to_owned()),
    };
    if let Some(name) = name {
        members.add(member, name);
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn attributes(prefix: &str, holder: Option<&Value>, members: &mut Members<'_>) {
    for attribute in holder.map_or(&[][..], |holder| list(holder, "attributes")) {
        let key = attribute.get("key").and_then(Value::as_str);
        let value = attribute.get("value").and_then(|value| any_value(value, 0));
        if let (Some(key), Some(value)) = (key, value) {
            members.add(&format!("{prefix}.{key}"), shown(&value));
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value of the schema as plain JSON.
fn any_value(value: &Value, depth: usize) -> Option<Value> {
    let (kind, inner) = value.as_object()?.iter().next()?;
    match (kind.as_str(), inner) {
        ("stringValue" | "bytesValue", Value::String(text)) => Some(Value::String(text.clone())),
        ("boolValue", Value::Bool(_)) | ("doubleValue", _) => Some(inner.clone()),
        // 64-bit numbers are texts in the JSON encoding.
        ("intValue", Value::String(text)) => text.parse::<i64>().ok().map(Value::from),
        ("intValue", Value::Number(_)) => Some(inner.clone()),
        ("arrayValue", _) if depth < MAX_DEPTH => {
            Some(list(inner, "values").iter().map(|value| any_value(value, depth + 1)).collect())
        }
        ("kvlistValue", _) if depth < MAX_DEPTH => {
            let pair = |pair: &Value| {
                let key = pair.get("key")?.as_str()?.to_owned();
                Some((key, any_value(pair.get("value")?, depth + 1)?))
            };
            Some(Value::Object(list(inner, "values").iter().filter_map(pair).collect()))
        }
        _ => None,
    }
}
