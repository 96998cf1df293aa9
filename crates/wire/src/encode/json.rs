//! JSON documents: the label and the fields at their places, the rest of the document empty.

use std::collections::BTreeMap;

use referee_monitor::FieldValue;
use serde_json::{Map, Value};

use super::{EncodeError, Parts, field, misfit};
use crate::json::field_pointers;
use crate::json::rpc::{ANY_METHOD, OF_REQUEST, without_optional};
use crate::signature::Known;
use crate::table::{CorrelateTable, Framing, Kind, KindTable, MessageTable, Table};

/// How one message is written.
#[derive(Debug)]
pub(super) struct Writer {
    framing: Option<Framing>,
    /// Where the label is, and what it says; none for an answer to a request.
    label: Option<(String, String)>,
    /// Where its id goes, and what else it says so that its kind is told.
    correlated: Option<Correlated>,
    pointers: Vec<String>,
}

impl Writer {
    pub(super) fn new(table: &Table, entry: Option<&MessageTable>, known: &Known) -> Self {
        let correlation = table.correlation();
        let text = entry.and_then(|entry| entry.label.as_deref().or(entry.pattern.as_deref()));
        let text = text.unwrap_or(&known.name).to_owned();
        let framing = (table.kind == Kind::Json).then(|| table.framing.unwrap_or_default());
        let pointers = field_pointers(entry, known, correlation.as_ref());
        let Some(correlation) = correlation else {
            let place = table.label.clone().unwrap_or_else(|| "/type".to_owned());
            return Self { framing, label: Some((place, text)), correlated: None, pointers };
        };
        let is_notification = entry.is_some_and(|entry| entry.notification == Some(true));
        let label = match entry.is_some_and(|entry| entry.answers.is_some()) {
            true => None,
            // Any method: a field says which.
            false if text == ANY_METHOD => None,
            false if is_notification => Some((
                correlation.notification_label.clone().unwrap_or_else(|| correlation.label.clone()),
                text,
            )),
            false => Some((correlation.label.clone(), text)),
        };
        Self { framing, label, correlated: Some(Correlated::new(correlation, entry)), pointers }
    }

    pub(super) fn write(&self, parts: &Parts<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut document = Value::Object(Map::new());
        if let Some(correlated) = &self.correlated {
            for (pointer, value) in correlated.says(parts.rpc_id)? {
                put(&mut document, pointer, value)?;
            }
        }
        if let Some((pointer, label)) = &self.label {
            put(&mut document, pointer, Value::from(label.as_str()))?;
        }
        let is_own = |(_, pointer): &(usize, &String)| !without_optional(pointer).starts_with(OF_REQUEST);
        let says_nothing = !self.pointers.iter().enumerate().any(|place| is_own(&place));
        let result = self.correlated.as_ref().and_then(|own| own.result.as_deref());
        if let Some(empty) = result.filter(|_| self.label.is_none() && says_nothing) {
            put(&mut document, empty, Value::Null)?;
        }
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

/// What messages say that are matched by an id.
#[derive(Debug)]
struct Correlated {
    constants: BTreeMap<String, Value>,
    /// What tells the kind, with an id and without.
    told: [BTreeMap<String, Value>; 2],
    id: String,
    /// What has to be there in an answer.
    result: Option<String>,
}

impl Correlated {
    fn new(table: CorrelateTable, entry: Option<&MessageTable>) -> Self {
        let is_answer = entry.is_some_and(|entry| entry.answers.is_some());
        let when = |kind: Option<KindTable>| kind.map(|kind| kind.when).unwrap_or_default();
        let (told, id, result) = if !is_answer {
            ([when(Some(table.request)), when(table.notification)], table.id, None)
        } else {
            let kind = if entry.is_some_and(|entry| entry.error == Some(true)) {
                table.error
            } else {
                Some(table.result)
            };
            let result = kind.as_ref().and_then(|kind| kind.has.first().cloned());
            let told = when(kind);
            ([told.clone(), told], table.answer_id.unwrap_or(table.id), result)
        };
        Self { constants: table.constants, told, id, result }
    }

    /// Values by their places, those of arrays in their order.
    fn says(&self, id: Option<&str>) -> Result<BTreeMap<&str, Value>, EncodeError> {
        let told = &self.told[usize::from(id.is_none())];
        let mut says: BTreeMap<&str, Value> = self
            .constants
            .iter()
            .chain(told)
            .map(|(pointer, value)| (pointer.as_str(), value.clone()))
            .collect();
        if let Some(id) = id {
            let id = serde_json::from_str(id).map_err(|_| misfit("an id that is no JSON"))?;
            says.insert(&self.id, id);
        }
        Ok(says)
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
