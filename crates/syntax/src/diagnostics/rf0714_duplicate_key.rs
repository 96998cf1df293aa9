//! RF0714: a key that an object has twice.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Duplicate key.
pub static CODE: Code = Code {
    id: "RF0714",
    severity: Severity::Error,
    title: "duplicate key",
    explanation: r#"
The same key occurs twice in one JSON object. JSON does not say which of the two counts: most programs take
the last and forget the first without a word. Remove one.

(Two branches with the same label are reported as RF0202.)
"#,
    example: Example {
        language: Language::GtJson,
        wrong: r#"{"type": "EXCHANGE", "sender": "a", "receiver": "b", "receiver": "c",
 "branches": {"hello": {"valueType": "unit", "protocolContinuation": {"type": "END"}}}}
"#,
        right: r#"{"type": "EXCHANGE", "sender": "a", "receiver": "b",
 "branches": {"hello": {"valueType": "unit", "protocolContinuation": {"type": "END"}}}}
"#,
    },
};

/// `key` at `span` was given at `first` already.
#[must_use]
pub fn duplicate_key(span: Span, first: Span, key: &str) -> Diagnostic {
    CODE.at(span, format!("the key `{key}` occurs twice in this object"))
        .label("and here again")
        .related(first, "first here")
        .help("remove one of the two")
}
