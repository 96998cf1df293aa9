//! The last messages of a session at a role, for whoever reads a verdict.

use std::collections::VecDeque;
use std::sync::Arc;

use referee_monitor::Payload as Values;
use referee_session::role::payload::{Payload, lend};
use referee_session::{Tap, TappedMessage, Tapping};
use referee_theory::{Role, Vocabulary};

/// How many messages are kept.
const KEPT_MESSAGES: usize = 6;
/// Encoded values that are longer are not kept.
const MAX_KEPT_BYTES: usize = 256;
/// How many characters of the values are shown.
const MAX_SHOWN_CHARS: usize = 60;

/// A message that the component sent or was given.
#[derive(Debug)]
pub(in crate::multiparty) struct Passed {
    from: Role,
    to: Role,
    message: Payload,
    wrong: bool,
}

/// The last messages that the component sent and was given.
#[derive(Debug, Default)]
pub(in crate::multiparty) struct Recent {
    kept: VecDeque<Passed>,
    count: u64,
    tapping: Tapping,
}

impl Recent {
    /// `from` sent `message` to `to`, and was `wrong` to; `redacts`: its values are shown to nobody.
    pub(in crate::multiparty) fn push(
        &mut self,
        (from, to): (Role, Role),
        (message, wrong): (&Payload, bool),
        redacts: bool,
        vocabulary: &Vocabulary,
    ) {
        if self.kept.len() == KEPT_MESSAGES {
            self.kept.pop_front();
        }
        let is_kept = !redacts && message.fields.len() <= MAX_KEPT_BYTES;
        // Copied, because they may be part of a long message.
        let fields = if is_kept { message.fields.to_vec() } else { Vec::new() };
        let message =
            Payload { label: message.label.clone(), fields: fields.into(), bytes: Default::default() };
        let passed = Passed { from, to, message, wrong };
        if self.tapping.is_on() {
            self.tapping.push(|| passed.tapped(self.count, vocabulary));
        }
        self.count += 1;
        self.kept.push_back(passed);
    }

    /// What is kept from now on for who follows the session, the last messages first.
    pub(in crate::multiparty) fn follow(&mut self, vocabulary: &Vocabulary) -> Arc<Tap> {
        let Self { kept, count, tapping } = self;
        let first = *count - kept.len() as u64;
        tapping.follow(|| {
            (first..).zip(kept).map(|(number, passed)| passed.tapped(number, vocabulary)).collect()
        })
    }

    /// `s: login(1)`, oldest first.
    pub(in crate::multiparty) fn list(&self, vocabulary: &Vocabulary) -> Vec<String> {
        let describe =
            |passed: &Passed| format!("{}: {}", vocabulary.role_name(passed.from), passed.describe());
        self.kept.iter().map(describe).collect()
    }
}

impl Passed {
    fn describe(&self) -> String {
        let label = self.message.label.as_deref().unwrap_or("?");
        let values = if self.message.fields.is_empty() { "…".to_owned() } else { shown(&self.message) };
        format!("{label}({values})")
    }

    fn tapped(&self, number: u64, vocabulary: &Vocabulary) -> TappedMessage {
        let role = |role: Role| vocabulary.role_name(role).to_owned();
        TappedMessage {
            number,
            from: role(self.from),
            to: role(self.to),
            text: self.describe().replace("\\\"", "\""),
            wrong: self.wrong,
        }
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
