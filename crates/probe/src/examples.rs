//! Example values: what the user of a protocol knows and its types do not say, such as a mailbox that exists.
//!
//! ```toml
//! refusals = ["No"]                   # with which messages the peer refuses what is wrong
//! skip = ["Bdat"]                     # messages that are not sent: the peer does not offer what they ask for
//!
//! [fields]                            # values of a field, tried in turn
//! path = ["<a@client.test>"]
//! "Rcpt.path" = ["<someone@peers.test>"]
//!
//! [messages]                          # whole messages: some of their fields, or their bytes as they are
//! Publish = [{ qos = 1, topic = "t", id = 7 }]
//! Command = ["PING\r\n"]
//!
//! [bodies]                            # what follows a message and no field is read from
//! Content = ["Subject: hello\r\n\r\nHello\r\n"]
//!
//! [weights]                           # for a mock: how often each message is chosen, 1 unless said otherwise
//! Shutdown = 0
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use referee_theory::{Type, Value};
use serde::Deserialize;

/// Example values of fields and messages.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Examples {
    refusals: Vec<String>,
    skip: Vec<String>,
    fields: BTreeMap<String, Vec<toml::Value>>,
    messages: BTreeMap<String, Vec<MessageExample>>,
    bodies: BTreeMap<String, Vec<String>>,
    weights: BTreeMap<String, u32>,
}

/// One example of a message.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum MessageExample {
    /// Its bytes.
    Raw(String),
    /// The values of some of its fields.
    Fields(BTreeMap<String, toml::Value>),
}

/// Why examples cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadExamples(pub(crate) String);

impl fmt::Display for BadExamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadExamples {}

impl Examples {
    /// Reads TOML.
    ///
    /// # Errors
    /// It is no TOML, or has a key that examples do not have.
    pub fn parse(text: &str) -> Result<Self, BadExamples> {
        toml::from_str(text).map_err(|error| BadExamples(error.to_string()))
    }

    /// These examples, with those of `others` where these have none of the same name.
    #[must_use]
    pub fn or(mut self, others: Self) -> Self {
        fn fill<V>(own: &mut BTreeMap<String, V>, others: BTreeMap<String, V>) {
            others.into_iter().for_each(|(key, value)| {
                own.entry(key).or_insert(value);
            });
        }
        if self.refusals.is_empty() {
            self.refusals = others.refusals;
        }
        if self.skip.is_empty() {
            self.skip = others.skip;
        }
        fill(&mut self.fields, others.fields);
        fill(&mut self.messages, others.messages);
        fill(&mut self.bodies, others.bodies);
        fill(&mut self.weights, others.weights);
        self
    }

    /// Adds the messages called `labels` to those with which the peer refuses.
    pub fn add_refusals(&mut self, labels: &[String]) {
        self.refusals.extend(labels.iter().cloned());
    }

    /// Adds the messages called `labels` to those that are not sent.
    pub fn add_skipped(&mut self, labels: &[String]) {
        self.skip.extend(labels.iter().cloned());
    }

    /// Whether `label` is not sent.
    pub(crate) fn is_skipped(&self, label: &str) -> bool {
        self.skip.iter().any(|skipped| skipped == label)
    }

    /// The messages with which the peer refuses what is wrong.
    #[must_use]
    pub fn refusals(&self) -> &[String] {
        &self.refusals
    }

    /// The names of messages, and of their fields, that something is said about.
    pub(crate) fn mentioned(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let messages = self.messages.keys().chain(self.bodies.keys()).chain(self.weights.keys());
        let messages = messages.chain(&self.refusals).chain(&self.skip).map(|label| (label.as_str(), None));
        let dotted = self.fields.keys().map(|key| match key.split_once('.') {
            Some((label, field)) => (label, Some(field)),
            None => ("", Some(key.as_str())),
        });
        let within = self.messages.iter().flat_map(|(label, examples)| {
            let fields = examples.iter().filter_map(|example| match example {
                MessageExample::Fields(fields) => Some(fields.keys()),
                MessageExample::Raw(_) => None,
            });
            fields.flatten().map(|field| (label.as_str(), Some(field.as_str())))
        });
        messages.chain(dotted).chain(within)
    }

    /// The examples of the field called `field` of `label`, as values of `ty`.
    pub(crate) fn field(&self, label: &str, field: &str, ty: &Type) -> Vec<Value> {
        let own = self.fields.get(&format!("{label}.{field}"));
        let given = own.or_else(|| self.fields.get(field));
        given.into_iter().flatten().filter_map(|value| converted(value, ty)).collect()
    }

    /// The examples of `label` as a whole.
    pub(crate) fn message(&self, label: &str) -> &[MessageExample] {
        self.messages.get(label).map_or(&[], Vec::as_slice)
    }

    /// What may follow `label`.
    pub(crate) fn bodies(&self, label: &str) -> &[String] {
        self.bodies.get(label).map_or(&[], Vec::as_slice)
    }

    /// How often `label` is to be chosen.
    pub(crate) fn weight(&self, label: &str) -> u32 {
        self.weights.get(label).copied().unwrap_or(1)
    }
}

/// `value` as one of `ty`, if it is one.
pub(crate) fn converted(value: &toml::Value, ty: &Type) -> Option<Value> {
    Some(match (ty, value) {
        (Type::Bool, toml::Value::Boolean(value)) => Value::Bool(*value),
        (Type::Int, toml::Value::Integer(value)) => Value::Int(*value),
        (Type::Float, toml::Value::Float(value)) => Value::Float(*value),
        (Type::Float, toml::Value::Integer(value)) => Value::Float(*value as f64),
        (Type::String, toml::Value::String(text)) => Value::string(text),
        (Type::Bytes, toml::Value::String(text)) => Value::Bytes(Arc::from(text.as_bytes())),
        (Type::Opaque(_), toml::Value::String(text)) => Value::Opaque(text.as_str().into()),
        (Type::List(element), toml::Value::Array(items)) => {
            Value::List(items.iter().map(|item| converted(item, element)).collect::<Option<_>>()?)
        }
        (Type::Tuple(types), toml::Value::Array(items)) if types.len() == items.len() => Value::Tuple(
            types.iter().zip(items).map(|(ty, item)| converted(item, ty)).collect::<Option<_>>()?,
        ),
        (Type::Record(fields), toml::Value::Table(table)) if fields.len() == table.len() => Value::Record(
            fields
                .iter()
                .map(|(name, ty)| Some((Arc::clone(name), converted(table.get(&**name)?, ty)?)))
                .collect::<Option<_>>()?,
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_examples_come_before_others() {
        let own = Examples::parse("[fields]\npath = ['a']\n'Rcpt.path' = ['b', 1]").unwrap();
        let all = own.or(Examples::parse("refusals = ['No']\n[fields]\npath = ['c']\nname = ['d']").unwrap());
        assert_eq!(all.field("Rcpt", "path", &Type::String), [Value::string("b")]);
        assert_eq!(all.field("Mail", "path", &Type::String), [Value::string("a")]);
        assert_eq!(all.field("Hello", "name", &Type::String), [Value::string("d")]);
        assert_eq!(all.refusals(), ["No"]);
        assert!(Examples::parse("[filds]").unwrap_err().to_string().contains("filds"));
    }

    #[test]
    fn structured_examples_have_types() {
        let ty = Type::list(Type::Tuple([Type::String, Type::Int].into()));
        let text = "x = [[['a', 1]], [['a', 'b']], 7]";
        let table: BTreeMap<String, Vec<toml::Value>> = toml::from_str(text).unwrap();
        let values: Vec<Value> = table["x"].iter().filter_map(|value| converted(value, &ty)).collect();
        assert_eq!(values.len(), 1);
        assert!(values[0].has_type(&ty), "{}", values[0]);
    }
}
