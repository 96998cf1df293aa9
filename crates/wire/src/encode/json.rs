//! JSON documents: the label and the fields at their places, the rest of the document empty.

use referee_monitor::FieldValue;
use serde_json::{Map, Value};

use super::{EncodeError, Parts, field, misfit};
use crate::json::field_pointers;
use crate::json::rpc::{ANY_METHOD, OF_REQUEST, without_optional};
use crate::signature::Known;
use crate::table::{Framing, Kind, MessageTable, Table};

/// How one message is written.
#[derive(Debug)]
pub(super) struct Writer {
    framing: Option<Framing>,
    /// Where the label is, and what it says; none for an answer of JSON-RPC.
    label: Option<(String, String)>,
    rpc: bool,
    pointers: Vec<String>,
}

impl Writer {
    pub(super) fn new(table: &Table, entry: Option<&MessageTable>, known: &Known) -> Self {
        let rpc = table.rpc.unwrap_or(false);
        let text = entry.and_then(|entry| entry.label.as_deref().or(entry.pattern.as_deref()));
        let text = text.unwrap_or(&known.name).to_owned();
        let is_answer = entry.is_some_and(|entry| entry.answers.is_some());
        let label = match (rpc, is_answer) {
            (true, true) => None,
            // Any method: a field says which.
            (true, false) if text == ANY_METHOD => None,
            (true, false) => Some(("/method".to_owned(), text)),
            (false, _) => Some((table.label.clone().unwrap_or_else(|| "/type".to_owned()), text)),
        };
        let framing = (table.kind == Kind::Json).then(|| table.framing.unwrap_or_default());
        Self { framing, label, rpc, pointers: field_pointers(entry, known, rpc) }
    }

    pub(super) fn write(&self, parts: &Parts<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut document = Value::Object(Map::new());
        if self.rpc {
            put(&mut document, "/jsonrpc", Value::from("2.0"))?;
            if let Some(id) = parts.rpc_id {
                let id = serde_json::from_str(id).map_err(|_| misfit("an id that is no JSON"))?;
                put(&mut document, "/id", id)?;
            }
        }
        if let Some((pointer, label)) = &self.label {
            put(&mut document, pointer, Value::from(label.as_str()))?;
        } else if self.pointers.is_empty() {
            put(&mut document, "/result", Value::Null)?;
        }
        let is_own = |(_, pointer): &(usize, &String)| !without_optional(pointer).starts_with(OF_REQUEST);
        for (index, pointer) in self.pointers.iter().enumerate().filter(is_own) {
            put(&mut document, without_optional(pointer), json(field(parts, index)?)?)?;
        }
        let text = document.to_string();
        self.framing.unwrap_or(Framing::Stream).write(&text, out)
    }
}

impl Framing {
    /// Appends `document` to `out` so that its reader finds its end.
    ///
    /// # Errors
    /// It is longer than its length can say.
    pub fn write(self, document: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Stream => out.extend_from_slice(document.as_bytes()),
            Self::Lines => {
                out.extend_from_slice(document.as_bytes());
                out.push(b'\n');
            }
            Self::Headers => {
                let head = format!("Content-Length: {}\r\n\r\n", document.len());
                out.extend_from_slice(head.as_bytes());
                out.extend_from_slice(document.as_bytes());
            }
            Self::Length(width) => {
                let length = (document.len() as u64).to_be_bytes();
                let (upper, lower) = length.split_at(8 - width.bytes());
                if upper.iter().any(|byte| *byte != 0) {
                    return Err(misfit("a document that is longer than its length can say"));
                }
                out.extend_from_slice(lower);
                out.extend_from_slice(document.as_bytes());
            }
        }
        Ok(())
    }
}

/// Puts `value` at `pointer`, with whatever has to be there for that.
pub(super) fn put(document: &mut Value, pointer: &str, value: Value) -> Result<(), EncodeError> {
    let mut place = document;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        if token == "0" && (place.is_null() || place.as_object().is_some_and(Map::is_empty)) {
            *place = Value::Array(Vec::new());
        } else if place.is_null() {
            *place = Value::Object(Map::new());
        }
        place = match place {
            Value::Object(members) => members.entry(token).or_insert(Value::Null),
            Value::Array(elements) => {
                let index: usize = token.parse().map_err(|_| misfit("an element that has no number"))?;
                if index > elements.len() {
                    return Err(misfit("elements of an array that nothing gives a value"));
                }
                if index == elements.len() {
                    elements.push(Value::Null);
                }
                elements.get_mut(index).ok_or_else(|| misfit("no such element"))?
            }
            _ => return Err(misfit("a field within a field")),
        };
    }
    if !place.is_null() {
        return Err(misfit("two fields at one place"));
    }
    *place = value;
    Ok(())
}

/// A value as JSON.
pub(super) fn json(value: &FieldValue<'_>) -> Result<Value, EncodeError> {
    Ok(match value {
        FieldValue::Unit => Value::Null,
        FieldValue::Bool(value) => Value::from(*value),
        FieldValue::Int(value) => Value::from(*value),
        FieldValue::Float(value) => {
            let number = serde_json::Number::from_f64(*value);
            Value::Number(number.ok_or_else(|| misfit("a float that JSON has no number for"))?)
        }
        FieldValue::Str(text) => Value::from(*text),
        FieldValue::List(elements) => Value::Array(elements.iter().map(json).collect::<Result<_, _>>()?),
        FieldValue::Record(members) => {
            let pair = |(name, value): &(&str, FieldValue<'_>)| Ok(((*name).to_owned(), json(value)?));
            Value::Object(members.iter().map(pair).collect::<Result<_, EncodeError>>()?)
        }
        FieldValue::Bytes(_) | FieldValue::Malformed(_) => return Err(misfit("bytes are no JSON")),
    })
}
