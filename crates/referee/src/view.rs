//! Views: protocols, machines and types as text, JSON and pictures. Pure functions.

pub mod execution;
pub mod global;
pub mod local;
pub mod machine;
pub mod monitor;
pub mod multiparty;
pub mod pictures;
pub mod property;
pub mod relative;
pub mod sequence;
#[cfg(feature = "command-line")]
pub mod trace;
pub mod witness;

use referee_theory::{Message, Vocabulary};

/// `message` without the names of its fields: `Auth(string, string)`.
#[must_use]
pub fn signature(vocabulary: &Vocabulary, message: Message) -> String {
    let spec = vocabulary.spec(message);
    let label = vocabulary.label_name(spec.label);
    if spec.fields.is_empty() {
        return vocabulary.shown_label(message).to_owned();
    }
    let types: Vec<String> = spec.fields.iter().map(|field| field.ty.to_string()).collect();
    format!("{label}({})", types.join(", "))
}

/// The payload of `message` as JSON: a list of `{"name", "type"}`.
#[must_use]
pub fn payload_json(vocabulary: &Vocabulary, message: Message) -> serde_json::Value {
    let fields = vocabulary.spec(message).fields.iter();
    fields
        .map(|field| serde_json::json!({"name": field.name.as_deref(), "type": field.ty.to_string()}))
        .collect()
}
