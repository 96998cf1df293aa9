//! Calls: messages that are matched by an id, as those of JSON-RPC. Who asks takes an id that is not in use, who answers the id of the
//! question.

use std::collections::BTreeMap;
use std::sync::Arc;

use referee_wire::{CorrelateTable, KindTable, Table};
use serde_json::Value;

/// What an example of a message has in place of its id.
pub(crate) const ID_GAP: &str = "{id}";

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// It is answered.
    Request,
    /// It is not answered.
    Notification,
    /// It answers this request.
    Answer(Arc<str>),
}

/// How the messages of a codec are matched.
#[derive(Debug)]
pub(crate) struct CallRules {
    table: CorrelateTable,
    kinds: BTreeMap<String, CallKind>,
}

impl CallRules {
    /// Those of `table`, if its messages are matched by ids.
    pub(crate) fn of(table: &Table) -> Option<Self> {
        let correlation = table.correlation()?;
        let kinds = table.messages.iter().map(|(name, entry)| {
            let kind = match (&entry.answers, entry.notification) {
                (Some(question), _) => CallKind::Answer(question.as_str().into()),
                (None, Some(true)) => CallKind::Notification,
                (None, _) => CallKind::Request,
            };
            (name.clone(), kind)
        });
        Some(Self { kinds: kinds.collect(), table: correlation })
    }

    /// What the message called `label` is.
    pub(crate) fn kind(&self, label: &str) -> &CallKind {
        self.kinds.get(label).unwrap_or(&CallKind::Request)
    }

    /// The id of the request `bytes`, as JSON.
    fn id(&self, bytes: &[u8]) -> Option<String> {
        Some(document(bytes)?.pointer(&self.table.id)?.to_string())
    }

    /// Whether something in `said` answers the request `sent` that it went wrong; `None` if nothing there answers it: other requests may still
    /// be open. An error without an id is an answer to what could not be read.
    pub(crate) fn answer_to(&self, sent: &[u8], said: &[u8]) -> Option<bool> {
        let asked = document(sent).and_then(|document| document.pointer(&self.table.id).cloned());
        let place = self.table.answer_id.as_ref().unwrap_or(&self.table.id);
        documents(said).find_map(|document| {
            let is_error = self.is_error(&document)?;
            let id = document.pointer(place).filter(|id| !id.is_null());
            let is_it = id.map_or(is_error, |id| asked.as_ref() == Some(id));
            is_it.then_some(is_error)
        })
    }

    /// Whether `document` answers that something went wrong, or that it went well; `None` if it is no answer.
    fn is_error(&self, document: &Value) -> Option<bool> {
        if self.table.error.as_ref().is_some_and(|kind| is_of(kind, document)) {
            return Some(true);
        }
        is_of(&self.table.result, document).then_some(false)
    }
}

fn is_of(kind: &KindTable, document: &Value) -> bool {
    kind.when.iter().all(|(pointer, value)| document.pointer(pointer) == Some(value))
        && kind.has.iter().all(|pointer| document.pointer(pointer).is_some())
        && kind.lacks.iter().all(|pointer| document.pointer(pointer).is_none())
}

/// The first JSON document in `bytes`.
fn document(bytes: &[u8]) -> Option<Value> {
    documents(bytes).next()
}

/// The JSON objects and arrays in `bytes`, whatever framing is between them. What is not whole is passed over.
fn documents(bytes: &[u8]) -> impl Iterator<Item = Value> {
    let mut left = bytes;
    std::iter::from_fn(move || {
        loop {
            let at = left.iter().position(|byte| matches!(byte, b'{' | b'['))?;
            left = left.get(at..)?;
            let mut found = serde_json::Deserializer::from_slice(left).into_iter::<Value>();
            match found.next() {
                Some(Ok(document)) => {
                    left = left.get(found.byte_offset()..).unwrap_or_default();
                    return Some(document);
                }
                // A byte of a length, say.
                _ => left = left.get(1..)?,
            }
        }
    })
}

/// The calls of one conversation that are open.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// How many requests the player has made.
    made: u64,
    /// What the peer asks, with its ids, the oldest first.
    asked: Vec<(Arc<str>, String)>,
}

impl Calls {
    /// The id of the player's message called `label`; `None` inside if it has none.
    ///
    /// # Errors
    /// It answers what was not asked.
    pub(crate) fn id_for(&self, rules: &CallRules, label: &str) -> Result<Option<String>, NothingAsked> {
        match rules.kind(label) {
            CallKind::Request => Ok(Some((self.made + 1).to_string())),
            CallKind::Notification => Ok(None),
            CallKind::Answer(question) => {
                let open = self.asked.iter().find(|(asked, _)| asked == question);
                open.map(|(_, id)| Some(id.clone())).ok_or(NothingAsked)
            }
        }
    }

    /// The player has sent the message called `label`.
    pub(crate) fn sent(&mut self, rules: &CallRules, label: &str) {
        match rules.kind(label) {
            CallKind::Request => self.made += 1,
            CallKind::Notification => {}
            CallKind::Answer(question) => {
                if let Some(at) = self.asked.iter().position(|(asked, _)| asked == question) {
                    self.asked.remove(at);
                }
            }
        }
    }

    /// The peer has sent the message called `label`: `bytes`.
    pub(crate) fn received(&mut self, rules: &CallRules, label: &Arc<str>, bytes: &[u8]) {
        /// Older questions are forgotten: a peer cannot make a player grow.
        const MAX_ASKED: usize = 1_000;
        if *rules.kind(label) != CallKind::Request {
            return;
        }
        if let Some(id) = rules.id(bytes) {
            if self.asked.len() == MAX_ASKED {
                self.asked.remove(0);
            }
            self.asked.push((Arc::clone(label), id));
        }
    }
}

/// An answer has no question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NothingAsked;

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "kind = 'json'\nframing = 'headers'\nrpc = true\n[messages.Ask]\nnotification = false\n[messages.Told]\n\
                         notification = true\n[messages.Result]\nanswers = 'Ask'\n[messages.Error]\nanswers = 'Ask'\nerror = true";

    #[test]
    fn an_answer_has_the_id_of_the_oldest_question_and_there_is_none_without() {
        let rules = CallRules::of(&Table::parse(TABLE).unwrap()).unwrap();
        let (mut calls, ask) = (Calls::default(), Arc::from("Ask"));
        assert_eq!(calls.id_for(&rules, "Result"), Err(NothingAsked));
        let asked = |id: &str| {
            format!("Content-Length: 1\r\n\r\n{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"Ask\"}}")
        };
        calls.received(&rules, &ask, asked("\"a\"").as_bytes());
        calls.received(&rules, &ask, asked("7").as_bytes());
        assert_eq!(calls.id_for(&rules, "Result"), Ok(Some("\"a\"".to_owned())));
        calls.sent(&rules, "Error");
        assert_eq!(calls.id_for(&rules, "Result"), Ok(Some("7".to_owned())));
    }

    #[test]
    fn each_request_has_an_id_of_its_own_and_a_notification_none() {
        let rules = CallRules::of(&Table::parse(TABLE).unwrap()).unwrap();
        let mut calls = Calls::default();
        assert_eq!(calls.id_for(&rules, "Ask"), Ok(Some("1".to_owned())));
        calls.sent(&rules, "Ask");
        assert_eq!(calls.id_for(&rules, "Ask"), Ok(Some("2".to_owned())));
        assert_eq!(calls.id_for(&rules, "Told"), Ok(None));
    }

    #[test]
    fn an_error_is_told_from_a_result_and_from_a_question() {
        let rules = CallRules::of(&Table::parse(TABLE).unwrap()).unwrap();
        let answer =
            |said: &str| rules.answer_to(br#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, said.as_bytes());
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#), Some(true));
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#), Some(true));
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Some(false));
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#), None, "of another question");
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#), None);
        let two =
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}\n";
        assert_eq!(answer(two), Some(true));
        assert_eq!(answer("{"), None);
        // What has no id that could be read is answered by an error without one, not by the answer to something else.
        let garbled = |said: &str| rules.answer_to(br#"n"id":2,"params":{}}"#, said.as_bytes());
        assert_eq!(garbled(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), None);
        assert_eq!(garbled(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#), Some(true));
    }
}
