//! What was said on a connection, as lines of JSON that `crates/watch` reads.

use std::fmt::Write as _;

use referee_monitor::FieldValue;
use referee_session::TwoPartyRules;

use crate::conversation::{Said, Unread};

/// An event of any session that could not be read.
pub(crate) const LOST: &str = "{\"session\":[],\"label\":[]}";
/// Times before this are numbers of something else to whoever reads them.
const FIRST_TIME: i64 = 100_000_000_000_000_000;

/// An event of this connection that could not be read.
pub(crate) fn lost(name: &str) -> String {
    format!("{{\"session\":{},\"label\":[]}}", quoted(name))
}

/// The line for what was said, or why there is none.
pub(crate) fn of(name: &str, rules: &TwoPartyRules, said: &Said<'_>, time: i64) -> Result<String, Unread> {
    let role = |index: usize| quoted(rules.roles().get(index).map_or("", String::as_str));
    let mut line = format!("{{\"session\":{}", quoted(name));
    match said {
        Said::Unreadable(why) => return Err(*why),
        Said::End { sender } => {
            let _ = write!(line, ",\"end\":{}", role(sender.index()));
        }
        Said::Message { sender, label, fields } => {
            let (from, to) = (role(sender.index()), role(sender.other().index()));
            let _ = write!(line, ",\"from\":{from},\"to\":{to},\"label\":{}", quoted(label));
            if !fields.is_empty() {
                line.push_str(",\"payload\":");
                if !list(fields, &mut line) {
                    return Ok(lost(name));
                }
            }
        }
    }
    if time >= FIRST_TIME {
        let _ = write!(line, ",\"time\":{time}");
    }
    line.push('}');
    Ok(line)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list(values: &[FieldValue<'_>], line: &mut String) -> bool {
    line.push('[');
    for (index, item) in values.iter().enumerate() {
        if index > 0 {
            line.push(',');
        }
        if !value(item, line) {
            return false;
        }
    }
    line.push(']');
    true
}

/// Writes a value; false if JSON has no such value, so that the event cannot be judged.
fn value(item: &FieldValue<'_>, line: &mut String) -> bool {
    match item {
        FieldValue::Unit => line.push_str("null"),
        FieldValue::Bool(value) => line.push_str(if *value { "true" } else { "false" }),
        FieldValue::Int(value) => line.push_str(&value.to_string()),
        FieldValue::Float(value) if value.is_finite() => line.push_str(&format!("{value:?}")),
        // Beyond the range of floats, as it is to whoever reads the line.
        FieldValue::Float(_) | FieldValue::Malformed(_) => line.push_str("1e999"),
        FieldValue::Str(text) => line.push_str(&quoted(text)),
        FieldValue::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => line.push_str(&quoted(text)),
            Err(_) => return false,
        },
        FieldValue::List(items) => return list(items, line),
        FieldValue::Record(members) => {
            line.push('{');
            for (index, (name, item)) in members.iter().enumerate() {
                if index > 0 {
                    line.push(',');
                }
                line.push_str(&quoted(name));
                line.push(':');
                if !value(item, line) {
                    return false;
                }
            }
            line.push('}');
        }
    }
    true
}
