//! The last messages of a session at a role, for whoever reads a verdict.

use std::collections::VecDeque;

use referee_monitor::Payload as Values;
use referee_session::role::payload::{Payload, lend};
use referee_theory::{Role, Vocabulary};

/// How many messages are kept.
const KEPT_MESSAGES: usize = 6;
/// Encoded values that are longer are not kept.
const MAX_KEPT_BYTES: usize = 256;
/// How many characters of the values are shown.
const MAX_SHOWN_CHARS: usize = 60;

/// The last messages that the component sent and was given.
#[derive(Debug, Default)]
pub(in crate::multiparty) struct Recent(VecDeque<(Role, Payload)>);

impl Recent {
    /// `from` sent `message`; `redacts`: its values are shown to nobody.
    pub(in crate::multiparty) fn push(&mut self, from: Role, message: &Payload, redacts: bool) {
        if self.0.len() == KEPT_MESSAGES {
            self.0.pop_front();
        }
        let is_kept = !redacts && message.fields.len() <= MAX_KEPT_BYTES;
        // Copied, because they may be part of a long message.
        let fields = if is_kept { message.fields.to_vec() } else { Vec::new() };
        let kept = Payload { label: message.label.clone(), fields: fields.into(), bytes: Default::default() };
        self.0.push_back((from, kept));
    }

    /// `s: login(1)`, oldest first.
    pub(in crate::multiparty) fn list(&self, vocabulary: &Vocabulary) -> Vec<String> {
        let describe = |(from, message): &(Role, Payload)| {
            let label = message.label.as_deref().unwrap_or("?");
            let values = if message.fields.is_empty() { "…".to_owned() } else { shown(message) };
            format!("{}: {label}({values})", vocabulary.role_name(*from))
        };
        self.0.iter().map(describe).collect()
    }
}

fn shown(message: &Payload) -> String {
    let mut shown = String::new();
    lend(message, &mut |event| {
        if let Values::Positional(values) = event.payload {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            shown = values.join(", ");
        }
    });
    let is_long = shown.chars().count() > MAX_SHOWN_CHARS;
    let shown: String = shown.chars().take(MAX_SHOWN_CHARS).collect();
    format!("{}{}", shown.escape_debug(), if is_long { "…" } else { "" })
}
