//! What was said on a connection, as lines of JSON that `crates/watch` reads.

use referee_monitor::FieldValue;
use referee_session::TwoPartyRules;
use referee_wire::Sender;

use crate::conversation::{Said, Unread};

/// An event of any session that could not be read.
pub(crate) const LOST: &str = "{\"session\":[],\"label\":[]}";
/// Times before this are numbers of something else to whoever reads them.
const FIRST_TIME: i64 = 100_000_000_000_000_000;

/// `text` as a string of JSON.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(text, &mut out);
    out
}

/// How the events of the connection called `name` begin.
pub(crate) fn head(name: &str) -> String {
    format!("{{\"session\":{}", quoted(name))
}

/// An event of this connection that could not be read.
pub(crate) fn lost(name: &str) -> String {
    format!("{{\"session\":{},\"label\":[]}}", quoted(name))
}

/// Writes the line for what was said on the connection called `name`, whose events begin with `head`, to `line`, or says why there is none.
pub(crate) fn write(
    line: &mut String,
    (name, head): (&str, &str),
    rules: &TwoPartyRules,
    said: &Said<'_>,
    time: i64,
) -> Result<(), Unread> {
    let role = |sender: Sender| rules.roles().get(sender.index()).map_or("", String::as_str);
    line.clear();
    line.push_str(head);
    match said {
        Said::Unreadable(why) => return Err(*why),
        Said::Lost => {
            *line = lost(name);
            return Ok(());
        }
        Said::End { sender } => {
            line.push_str(",\"end\":");
            quote(role(*sender), line);
        }
        Said::Message { sender, label, fields } => {
            for (key, text) in
                [(",\"from\":", role(*sender)), (",\"to\":", role(sender.other())), (",\"label\":", label)]
            {
                line.push_str(key);
                quote(text, line);
            }
            if !fields.is_empty() {
                line.push_str(",\"payload\":");
                if !list(fields, line) {
                    *line = lost(name);
                    return Ok(());
                }
            }
        }
    }
    if time >= FIRST_TIME {
        line.push_str(",\"time\":");
        digits(time.unsigned_abs(), line);
    }
    line.push('}');
    Ok(())
}

/// Appends the digits of `number`: each event has a time, and the formatter takes three times as long.
fn digits(mut number: u64, line: &mut String) {
    let mut buffer = [b'0'; 20];
    let mut start = buffer.len();
    while number > 0 || start == buffer.len() {
        start -= 1;
        buffer[start] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    line.push_str(std::str::from_utf8(&buffer[start..]).unwrap_or_default());
}

/// Appends `text` as a string of JSON.
fn quote(text: &str, line: &mut String) {
    // Without a branch for each byte, so that several are looked at in one step.
    let is_escaped = |byte: u8| (byte < 0x20) | (byte == b'"') | (byte == b'\\');
    if text.bytes().fold(false, |any, byte| any | is_escaped(byte)) {
        line.push_str(&serde_json::Value::from(text).to_string());
    } else {
        line.push('"');
        line.push_str(text);
        line.push('"');
    }
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
        FieldValue::Str(text) => quote(text, line),
        FieldValue::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => quote(text, line),
            Err(_) => return false,
        },
        FieldValue::List(items) => return list(items, line),
        FieldValue::Record(members) => {
            line.push('{');
            for (index, (name, item)) in members.iter().enumerate() {
                if index > 0 {
                    line.push(',');
                }
                quote(name, line);
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
