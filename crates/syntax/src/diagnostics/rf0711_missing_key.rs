//! RF0711: an object of a `.gt.json` file without a key it needs.

use super::{Code, Diagnostic, Example, Severity, suggest};
use crate::language::Language;
use crate::source::Span;

/// Missing key.
pub static CODE: Code = Code {
    id: "RF0711",
    severity: Severity::Error,
    title: "missing key",
    explanation: r#"
Each object that stands for a global type has a `type` and, depending on it, further keys:

- `EXCHANGE`: `sender`, `receiver` and `branches`, an object with one entry per label; each entry has a
  `valueType` and a `protocolContinuation`;
- `RECURSIVE_DEFINITION`: `recursionVariable` and `protocolContinuation`;
- `RECURSIVE_CALL`: `recursionVariable`;
- `END`: nothing else.

A component's file has the global type under `globalType`. Other keys are ignored.
"#,
    example: Example {
        language: Language::GtJson,
        wrong: r#"{"type": "EXCHANGE", "sender": "a", "reciever": "b",
 "branches": {"hello": {"valueType": "unit", "protocolContinuation": {"type": "END"}}}}
"#,
        right: r#"{"type": "EXCHANGE", "sender": "a", "receiver": "b",
 "branches": {"hello": {"valueType": "unit", "protocolContinuation": {"type": "END"}}}}
"#,
    },
};

/// The object at `span`, reached by `pointer`, has no `key`; it has `present`.
#[must_use]
pub fn missing_key<'a>(
    span: Span,
    pointer: &str,
    key: &str,
    present: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let place = if pointer.is_empty() { String::from("at the top") } else { format!("at `{pointer}`") };
    let diagnostic = CODE.at(span, format!("the object {place} has no `{key}`"));
    match suggest::closest(key, present) {
        Some(similar) => diagnostic.help(format!("is `{similar}` a misspelling of `{key}`?")),
        None => diagnostic.help(format!("add `\"{key}\"`")),
    }
}
