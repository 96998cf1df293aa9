//! Which payload fields may be shown.

use std::borrow::Cow;
use std::collections::HashSet;

use referee_monitor::Explanation;
use referee_theory::expr::Value;
use referee_wire::{Known, MessageId};

/// What stands in the place of a value that is not shown.
pub(crate) const HIDDEN: &str = "redacted";
/// A first word that is longer may be anything.
const LONGEST_WORD: usize = 16;

/// Which payload fields may be shown.
#[derive(Debug, Default)]
pub struct Redaction {
    all: bool,
    /// For each of the codec's messages, its hidden fields as bits; fields beyond 63 are hidden with the last.
    fields: Box<[u64]>,
    /// The names of hidden variables.
    variables: HashSet<String>,
}

impl Redaction {
    /// Whether it hides nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.all && self.variables.is_empty()
    }

    /// `rules` are `field`, `Message.field`, `Message.*` or `*`.
    #[must_use]
    pub fn new(rules: &[String], messages: &[Known]) -> Self {
        let all = rules.iter().any(|rule| rule == "*");
        let mut variables = HashSet::new();
        let fields = messages
            .iter()
            .map(|message| {
                let mut hidden = 0_u64;
                for (index, field) in message.fields.iter().enumerate() {
                    let name = field.name.as_deref().unwrap_or_default();
                    let hides = |rule: &String| match rule.split_once('.') {
                        None => rule == "*" || rule == name,
                        Some((label, field)) => *label == *message.name && (field == name || field == "*"),
                    };
                    if rules.iter().any(hides) {
                        hidden |= 1 << index.min(63);
                        variables.insert(name.to_owned());
                    }
                }
                hidden
            })
            .collect();
        Self { all, fields, variables }
    }

    /// The positions of those `rules` that hide no field of `messages`: they are mistakes, for which secrets would pay.
    #[must_use]
    pub fn idle(rules: &[String], messages: &[Known]) -> Vec<usize> {
        let hides = |rule: &String| {
            let one = Self::new(std::slice::from_ref(rule), messages);
            one.all || one.fields.iter().any(|hidden| *hidden != 0)
        };
        (0..rules.len()).filter(|index| rules.get(*index).is_some_and(|rule| !hides(rule))).collect()
    }

    /// Whether the field at `index` of the codec's message `message` is hidden; of a message that the codec does
    /// not know, everything is if anything is.
    #[must_use]
    pub fn hides(&self, message: Option<MessageId>, index: usize) -> bool {
        match self.hidden_fields(message) {
            Some(hidden) => hidden >> index.min(63) & 1 == 1,
            None => self.all || !self.variables.is_empty(),
        }
    }

    /// How a message of so many `bytes` is called that the codec does not know and calls `label`, which may be all of it. Where
    /// anything is hidden, this could be a wrongly spelt message with a secret in it: no more is shown than its first word, and
    /// that only if it is made of letters.
    #[must_use]
    pub fn show<'a>(&self, label: &'a str, bytes: usize) -> Cow<'a, str> {
        let is_word =
            |word: &str| word.len() <= LONGEST_WORD && word.bytes().all(|b| b.is_ascii_alphabetic());
        if self.is_empty() || is_word(label) {
            return label.into();
        }
        match label.split(' ').next().filter(|word| !word.is_empty() && is_word(word)) {
            Some(word) => format!("{word} … ({bytes} bytes)").into(),
            None => format!("({bytes} bytes)").into(),
        }
    }

    /// Whether any field of `message` is hidden.
    #[must_use]
    pub fn hides_any(&self, message: Option<MessageId>) -> bool {
        match self.hidden_fields(message) {
            Some(hidden) => *hidden != 0,
            None => !self.is_empty(),
        }
    }

    fn hidden_fields(&self, message: Option<MessageId>) -> Option<&u64> {
        message.and_then(|message| self.fields.get(message.index()))
    }

    fn hides_variable(&self, name: &str) -> bool {
        self.all || self.variables.contains(name)
    }

    /// Takes out of `explanation` whatever may not be shown.
    pub fn apply(&self, message: Option<MessageId>, explanation: &mut Explanation) {
        // What does not fit one field may be another's.
        if let Some(field) = &mut explanation.field
            && field.position.is_some()
            // Why something has no value is the codec's to say, in words of its own.
            && !field.found.starts_with("malformed value ")
            && (self.hides_any(message)
                || field.name.as_deref().is_some_and(|name| self.hides_variable(name)))
        {
            let kind = field.found.split(' ').next().unwrap_or_default();
            field.found = format!("{kind} ({HIDDEN})");
        }
        if let Some(assertion) = &mut explanation.assertion {
            let mut hidden = false;
            for (name, value) in &mut assertion.values {
                if self.hides_variable(name) {
                    *value = Value::string(HIDDEN);
                    hidden = true;
                }
            }
            if hidden && assertion.error.is_some() {
                assertion.error = Some(HIDDEN.to_owned());
            }
        }
    }
}
