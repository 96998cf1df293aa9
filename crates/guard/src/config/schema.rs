//! The JSON Schema of configurations: what derives cannot say.

use schemars::Schema;
use serde_json::{Value, json};

/// There is something to guard.
pub(super) fn needs_something(schema: &mut Schema) {
    let ways = json!([{ "required": ["listener"] }, { "required": ["multiparty"] }]);
    schema.insert("anyOf".to_owned(), ways);
}

/// A listener has an upstream or a command, and not both; on standard input and output, the command line may have it.
pub(super) fn one_server(schema: &mut Schema) {
    let written = json!([{ "required": ["upstream"] }, { "required": ["command"] }]);
    let on_stdio = json!({ "properties": { "listen": { "const": "stdio" } }, "not": { "anyOf": written } });
    let ways = written.as_array().cloned().unwrap_or_default().into_iter().chain([on_stdio]);
    schema.insert("oneOf".to_owned(), ways.collect());
}

/// A text that must be one of several may be a variable, too: `${NAME}`.
pub(super) fn with_variables(mut schema: Value) -> Value {
    let variable = json!({ "type": "string", "pattern": "\\$\\{" });
    let definitions = schema.get_mut("$defs").and_then(Value::as_object_mut);
    for definition in definitions.into_iter().flat_map(|definitions| definitions.values_mut()) {
        let is_text = |way: &Value| way.get("const").is_some_and(Value::is_string);
        let documented = definition.get("oneOf").and_then(Value::as_array);
        let plain = definition.get("enum").and_then(Value::as_array);
        if documented.is_some_and(|ways| ways.iter().all(is_text))
            || plain.is_some_and(|values| values.iter().all(Value::is_string))
        {
            let choices = definition.take();
            *definition = json!({ "anyOf": [choices, variable] });
        }
    }
    schema
}
