//! Scripts: what a player did in a conversation, to be done again. As JSON they are what `--replay` reads.

use std::fmt;

use referee_theory::Value;
use referee_wire::{Expected, Fields, Limits, Scratch, Step};
use serde::{Deserialize, Serialize};

use crate::conversation::Exchange;
use crate::player::{Edge, Player};
use crate::values::Form;

/// The steps of a conversation, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// The role that is played.
    pub role: String,
    /// What it and its peer say.
    pub steps: Vec<ScriptStep>,
}

/// One step of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ScriptStep {
    /// The player sends a message.
    Send {
        /// Its label.
        label: String,
        /// Its bytes, those that cannot be printed as escapes: `\r`, `\x00`.
        bytes: String,
    },
    /// The peer sends a message.
    Receive {
        /// Its label.
        label: String,
    },
    /// The player sends bytes that are wrong there.
    Wrong {
        /// The bytes, as above.
        bytes: String,
    },
}

/// Why a script cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadScript(String);

impl fmt::Display for BadScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadScript {}

impl Script {
    /// What was done in `exchanges`.
    #[must_use]
    pub fn of(player: &Player, exchanges: &[Exchange]) -> Self {
        let step = |exchange: &Exchange| match &exchange.form {
            Some(form) => ScriptStep::Send { label: exchange.label.to_string(), bytes: escaped(&form.bytes) },
            None => ScriptStep::Receive { label: exchange.label.to_string() },
        };
        Self { role: player.role().to_owned(), steps: exchanges.iter().map(step).collect() }
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// It is no script.
    pub fn parse(text: &str) -> Result<Self, BadScript> {
        let script: Self = serde_json::from_str(text).map_err(|error| BadScript(error.to_string()))?;
        for step in &script.steps {
            if let ScriptStep::Send { bytes, .. } | ScriptStep::Wrong { bytes } = step
                && unescaped(bytes).is_none()
            {
                return Err(BadScript(format!("`{bytes}` has an escape that there is not")));
            }
        }
        Ok(script)
    }
}

/// `bytes`, as `\xff` and the like where they cannot be printed.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// What [`escaped`] has made; `None` if there is no such escape.
pub(crate) fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut left = text.bytes();
    while let Some(byte) = left.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match left.next()? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                let digits = [left.next()?, left.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other @ (b'\\' | b'"' | b'\'') => other,
            _ => return None,
        });
    }
    Some(bytes)
}

/// `bytes` as a form of the message of `edge`, with its values where they are read as that message.
pub(crate) fn form_of(player: &Player, edge: &Edge, bytes: Vec<u8>) -> Form {
    Form { values: values_of(player, edge, &bytes), bytes }
}

fn values_of(player: &Player, edge: &Edge, bytes: &[u8]) -> Option<Vec<Value>> {
    let (codec, id) = (player.codec(), edge.id?);
    let expected = Expected::new(codec, &[id]).ok()?;
    let mut connection = codec.upgraded(Limits { message: bytes.len() + 1 });
    let (scratch, mut fields) = (Scratch::new(), Fields::new());
    let step = codec.decode(&mut connection, player.own(), bytes, expected.reading(), &scratch, &mut fields);
    let Step::Message(message) = step else { return None };
    if codec.name(message.label) != &*edge.label || message.has_body {
        return None;
    }
    let types = &codec.messages().get(id.index())?.fields;
    fields.iter().zip(&**types).map(|(value, field)| value.to_value(&field.ty)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescaped(&escaped(&all)), Some(all));
        assert_eq!(unescaped("\\q"), None);
        assert_eq!(unescaped("\\x0"), None);
        assert_eq!(unescaped("\\"), None);
    }

    #[test]
    fn a_script_is_json() {
        let text = r#"{"role": "client", "steps": [{"send": {"label": "Add", "bytes": "a\\r\\n"}}, {"receive": {"label": "Sum"}}]}"#;
        let script = Script::parse(text).unwrap();
        assert_eq!(script.steps.len(), 2);
        let again = Script::parse(&serde_json::to_string(&script).unwrap()).unwrap();
        assert_eq!(again, script);
        assert!(Script::parse(r#"{"role": "c", "steps": [{"wrong": {"bytes": "\\q"}}]}"#).is_err());
        assert!(Script::parse("{}").is_err());
    }
}
