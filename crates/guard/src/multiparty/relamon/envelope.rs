//! One HTTP body of RelaMon's: `{"sender", "receiver", "payload"}`; and messages, which are one or two of them.
//!
//! Bodies are forwarded as received: other keys, the order of keys and integers of any size are unchanged.

use bumpalo::Bump;
use hyper::body::Bytes;
use referee_monitor::{Event, EventLabel, FieldValue, Party, Payload};
use serde::Deserialize;
use serde_json::{Value, json};

/// A body that was posted.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    pub(super) sender: String,
    pub(super) receiver: String,
    pub(super) payload: Value,
    pub(super) body: Bytes,
}

#[derive(Deserialize)]
struct Form {
    sender: String,
    receiver: String,
    #[serde(default)]
    payload: Value,
}

impl Envelope {
    pub(super) fn read(body: Bytes) -> Result<Self, String> {
        let form: Form = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        Ok(Self { sender: form.sender, receiver: form.receiver, payload: form.payload, body })
    }

    /// The body that announces the choice of `label`.
    pub(super) fn dependency(sender: &str, receiver: &str, label: &str) -> Bytes {
        json!({ "sender": sender, "receiver": receiver, "payload": label }).to_string().into()
    }
}

/// A message: the label and, where there is one, the value.
#[derive(Clone, Debug)]
pub(super) struct LabelledMessage {
    /// The label, or why there is none.
    pub(super) label: Result<String, String>,
    pub(super) value: Option<Value>,
    /// Whether the value is a list of several fields.
    pub(super) spread: bool,
    pub(super) bodies: Vec<Bytes>,
}

impl LabelledMessage {
    /// Reads `envelope` as a label.
    pub(super) fn of_label(envelope: Envelope) -> Self {
        let label = match envelope.payload {
            Value::String(label) => Ok(label),
            other => Err(format!("a label is a string, and this is `{}`", excerpt(&other))),
        };
        Self { label, value: None, spread: false, bodies: vec![envelope.body] }
    }

    /// A body that is no message, and why.
    pub(super) fn malformed(why: String) -> Self {
        Self { label: Err(why), value: None, spread: false, bodies: Vec::new() }
    }
}

/// Lends a message to the engine as an event.
pub(super) fn lend(message: &LabelledMessage, look: &mut dyn FnMut(&Event<'_>)) {
    let arena = Bump::new();
    let values: &[FieldValue<'_>] = match &message.value {
        None => &[],
        Some(Value::Array(items)) if message.spread => {
            arena.alloc_slice_fill_iter(items.iter().map(|item| field(item, &arena)))
        }
        Some(value) => arena.alloc_slice_fill_iter([field(value, &arena)]),
    };
    let label = match &message.label {
        Ok(label) => EventLabel::Text(label),
        Err(why) => EventLabel::Malformed(why),
    };
    let payload = Payload::Positional(values);
    look(&Event { from: Party::Process, to: Party::Environment, label, payload });
}

/// As JavaScript has it, `1.0` is an integer. `serde_json` bounds the depth of values.
fn field<'a>(value: &'a Value, arena: &'a Bump) -> FieldValue<'a> {
    match value {
        Value::Null => FieldValue::Unit,
        Value::Bool(value) => FieldValue::Bool(*value),
        Value::String(text) => FieldValue::Str(text),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => FieldValue::Int(integer),
            // Beyond 64 bits the nearest: the type is right, and the bytes are forwarded unchanged.
            (None, Some(float)) if float.fract() == 0.0 => FieldValue::Int(float as i64),
            (None, Some(float)) => FieldValue::Float(float),
            (None, None) => FieldValue::Malformed("a number that cannot be represented"),
        },
        Value::Array(items) => {
            FieldValue::List(arena.alloc_slice_fill_iter(items.iter().map(|item| field(item, arena))))
        }
        Value::Object(fields) => FieldValue::Record(
            arena
                .alloc_slice_fill_iter(fields.iter().map(|(name, item)| (name.as_str(), field(item, arena)))),
        ),
    }
}

/// `value`, truncated.
fn excerpt(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
