//! The JSON Schema of tables: what derives cannot say.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::keys::{Key, MESSAGE_KEYS, TABLE_KEYS};
use super::{Framing, Kind, LengthForm, MessageTable, Width};

const KINDS: [Kind; 7] =
    [Kind::Text, Kind::Json, Kind::Http, Kind::JsonHttp, Kind::Frames, Kind::Resp, Kind::WebSocket];

/// A message as it is written: a table, or its pattern alone.
pub(super) struct Entry;

impl JsonSchema for Entry {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Entry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<MessageTable>();
        json_schema!({ "anyOf": [{ "type": "string" }, table] })
    }
}

impl JsonSchema for Framing {
    fn schema_name() -> Cow<'static, str> {
        "Framing".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let all = ["lines", "stream", "headers", "length-8", "length-16", "length-32", "length-64"];
        json_schema!({ "type": "string", "enum": all })
    }
}

impl JsonSchema for Width {
    fn schema_name() -> Cow<'static, str> {
        "Width".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "enum": [1, 2, 4, 8] })
    }
}

impl JsonSchema for LengthForm {
    fn schema_name() -> Cow<'static, str> {
        "LengthForm".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": [1, 2, 4, 8, "leb128", "mqtt", "quic"] })
    }
}

/// Adds which keys do not go with which kind.
pub(super) fn by_kind(schema: &mut Schema) {
    fn absent<T>(keys: &[Key<T>], kind: Kind) -> Map<String, Value> {
        let foreign = keys.iter().filter(|(_, _, kinds)| !kinds.contains(&kind));
        foreign.map(|(key, ..)| ((*key).to_owned(), Value::Bool(false))).collect()
    }
    let rules = KINDS.map(|kind| {
        let mut properties = absent(TABLE_KEYS, kind);
        let message = json!({ "properties": absent(MESSAGE_KEYS, kind) });
        properties.insert("messages".to_owned(), json!({ "additionalProperties": message }));
        json!({
            "if": { "properties": { "kind": { "const": kind.to_string() } }, "required": ["kind"] },
            "then": { "properties": properties },
        })
    });
    schema.insert("allOf".to_owned(), Value::from(rules.to_vec()));
}
