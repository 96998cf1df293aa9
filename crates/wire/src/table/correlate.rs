//! How answers are matched with requests: where in a document its kind, its id and its label are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

use super::Table;

/// How answers are matched with requests.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "a table with `id`, `label`, `request` and `result`"
)]
#[schemars(rename = "Correlate")]
#[non_exhaustive]
pub struct CorrelateTable {
    /// The JSON pointer to the id of a request.
    pub id: String,
    /// The JSON pointer to the id of the request that an answer is to. Default: `id`.
    pub answer_id: Option<String>,
    /// The JSON pointer to what a request is called.
    pub label: String,
    /// The JSON pointer to what a notification is called. Default: `label`.
    pub notification_label: Option<String>,
    /// An id that is none: who answers could not read that of the request. Default: `null`.
    pub no_id: Option<Value>,
    /// What every message has besides, for who writes messages: values by JSON pointers.
    #[serde(default)]
    pub constants: BTreeMap<String, Value>,
    /// How a guard refuses a request: a document with `{id}` and `{why}` in it, both JSON. Without it, nothing can be rejected.
    pub refusal: Option<String>,
    /// What a request is.
    pub request: KindTable,
    /// What an answer is.
    pub result: KindTable,
    /// What an answer is that says that something went wrong.
    pub error: Option<KindTable>,
    /// What needs no answer.
    pub notification: Option<KindTable>,
}

/// What tells that a document is of a kind, and where its fields are.
#[derive(Clone, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "a table with `when`, `has`, `lacks` or `fields`"
)]
#[schemars(rename = "CorrelateKind")]
#[non_exhaustive]
pub struct KindTable {
    /// What is at JSON pointers.
    #[serde(default)]
    pub when: BTreeMap<String, Value>,
    /// JSON pointers to what is there.
    #[serde(default)]
    pub has: Vec<String>,
    /// JSON pointers to what is not there.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// The JSON pointer to what fields are in, unless they say otherwise. Default: the document.
    #[serde(default)]
    pub fields: String,
}

impl KindTable {
    fn of(has: &[&str], lacks: &[&str], fields: &str) -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self { when: BTreeMap::new(), has: texts(has), lacks: texts(lacks), fields: fields.to_owned() }
    }
}

impl CorrelateTable {
    /// JSON-RPC 2.0: what a document is, its members say.
    #[must_use]
    pub fn json_rpc() -> Self {
        Self {
            id: "/id".to_owned(),
            answer_id: None,
            label: "/method".to_owned(),
            notification_label: None,
            no_id: None,
            constants: [("/jsonrpc".to_owned(), Value::from("2.0"))].into(),
            refusal: Some(
                r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32000,"message":{why}}}"#.to_owned(),
            ),
            request: KindTable::of(&["/method", "/id"], &["/result", "/error"], "/params"),
            notification: Some(KindTable::of(&["/method"], &["/id", "/result", "/error"], "/params")),
            result: KindTable::of(&["/result", "/id"], &["/method", "/error"], "/result"),
            error: Some(KindTable::of(&["/error"], &["/method", "/result"], "/error")),
        }
    }
}

impl Table {
    /// How answers are matched with requests, if they are.
    #[must_use]
    pub fn correlation(&self) -> Option<CorrelateTable> {
        let json_rpc = || self.rpc.unwrap_or(false).then(CorrelateTable::json_rpc);
        self.correlate.clone().or_else(json_rpc)
    }
}
