//! The protobuf encoding of OTLP as its JSON encoding, by tables of the fields that are read.

use serde_json::{Map, Value};

use crate::source::Signal;

/// How deep messages are nested at most: values within values have no bound of their own.
const MAX_DEPTH: usize = 40;

struct Field {
    number: u64,
    name: &'static str,
    kind: Kind,
}

enum Kind {
    Text,
    /// Bytes, which JSON has as hexadecimal digits.
    Hex,
    Bool,
    Int,
    Fixed64,
    Double,
    Enum,
    /// By address: values hold values.
    Message(&'static &'static [Field]),
    List(&'static &'static [Field]),
}

macro_rules! fields {
    ($($number:literal $name:literal $kind:expr;)*) => {
        &[$(Field { number: $number, name: $name, kind: $kind },)*]
    };
}

use Kind::{Bool, Double, Enum, Fixed64, Hex, Int, List, Message, Text};

static SPANS: &[Field] = fields! { 1 "resourceSpans" List(&RESOURCE_SPANS); };
static LOGS: &[Field] = fields! { 1 "resourceLogs" List(&RESOURCE_LOGS); };
static RESOURCE_SPANS: &[Field] =
    fields! { 1 "resource" Message(&RESOURCE); 2 "scopeSpans" List(&SCOPE_SPANS); };
static RESOURCE_LOGS: &[Field] =
    fields! { 1 "resource" Message(&RESOURCE); 2 "scopeLogs" List(&SCOPE_LOGS); };
static RESOURCE: &[Field] = fields! { 1 "attributes" List(&KEY_VALUE); };
static SCOPE: &[Field] = fields! { 1 "name" Text; };
static SCOPE_SPANS: &[Field] = fields! { 1 "scope" Message(&SCOPE); 2 "spans" List(&SPAN); };
static SCOPE_LOGS: &[Field] = fields! { 1 "scope" Message(&SCOPE); 2 "logRecords" List(&LOG_RECORD); };
static SPAN: &[Field] = fields! {
    1 "traceId" Hex; 2 "spanId" Hex; 4 "parentSpanId" Hex; 5 "name" Text; 6 "kind" Enum;
    7 "startTimeUnixNano" Fixed64; 8 "endTimeUnixNano" Fixed64; 9 "attributes" List(&KEY_VALUE); 15 "status" Message(&STATUS);
};
static STATUS: &[Field] = fields! { 2 "message" Text; 3 "code" Enum; };
static LOG_RECORD: &[Field] = fields! {
    1 "timeUnixNano" Fixed64; 2 "severityNumber" Enum; 3 "severityText" Text; 5 "body" Message(&ANY_VALUE);
    6 "attributes" List(&KEY_VALUE); 9 "traceId" Hex; 10 "spanId" Hex; 11 "observedTimeUnixNano" Fixed64; 12 "eventName" Text;
};
static KEY_VALUE: &[Field] = fields! { 1 "key" Text; 2 "value" Message(&ANY_VALUE); };
static ANY_VALUE: &[Field] = fields! {
    1 "stringValue" Text; 2 "boolValue" Bool; 3 "intValue" Int; 4 "doubleValue" Double;
    5 "arrayValue" Message(&ARRAY_VALUE); 6 "kvlistValue" Message(&KEY_VALUE_LIST); 7 "bytesValue" Hex;
};
static ARRAY_VALUE: &[Field] = fields! { 1 "values" List(&ANY_VALUE); };
static KEY_VALUE_LIST: &[Field] = fields! { 1 "values" List(&KEY_VALUE); };

/// The document that `bytes` encode; `None` if they are not protobuf.
pub(crate) fn document(bytes: &[u8], signal: Signal) -> Option<Value> {
    message(bytes, if signal == Signal::Spans { SPANS } else { LOGS }, 0)
}

/// What a field holds on the wire.
enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
}

fn message(mut bytes: &[u8], fields: &[Field], depth: usize) -> Option<Value> {
    (depth < MAX_DEPTH).then_some(())?;
    let mut object = Map::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let held = match tag & 7 {
            0 => Wire::Varint(varint(&mut bytes)?),
            1 => Wire::Fixed64(u64::from_le_bytes(take(&mut bytes, 8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                Wire::Bytes(take(&mut bytes, length)?)
            }
            5 => {
                take(&mut bytes, 4)?;
                continue;
            }
            _ => return None,
        };
        let Some(field) = fields.iter().find(|field| field.number == tag >> 3) else { continue };
        let value = match (&field.kind, held) {
            (Text, Wire::Bytes(text)) => Value::String(String::from_utf8(text.to_vec()).ok()?),
            (Hex, Wire::Bytes(bytes)) => {
                Value::String(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
            }
            (Bool, Wire::Varint(value)) => Value::Bool(value != 0),
            (Int, Wire::Varint(value)) => Value::from(value.cast_signed()),
            (Enum, Wire::Varint(value)) => Value::from(value),
            (Fixed64, Wire::Fixed64(value)) => Value::String(value.to_string()),
            (Double, Wire::Fixed64(bits)) => Value::from(f64::from_bits(bits)),
            (Message(inner), Wire::Bytes(bytes)) => message(bytes, inner, depth + 1)?,
            (List(inner), Wire::Bytes(bytes)) => {
                let item = message(bytes, inner, depth + 1)?;
                let list = object.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
                list.as_array_mut()?.push(item);
                continue;
            }
            _ => return None,
        };
        object.insert(field.name.to_owned(), value);
    }
    Some(Value::Object(object))
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *take(bytes, 1)?.first()?;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
