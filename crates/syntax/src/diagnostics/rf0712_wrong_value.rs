//! RF0712: a value of the wrong kind in a `.gt.json` file.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Wrong kind of value.
pub static CODE: Code = Code {
    id: "RF0712",
    severity: Severity::Error,
    title: "wrong kind of value",
    explanation: r#"
A key of a `.gt.json` file has a value of the wrong kind: a string where an object is needed, a number where
a name is needed, and so on. Names of roles, labels, variables and types are always strings, even if they
look like numbers; a global type is always an object, even the last one: `{"type": "END"}`.
"#,
    example: Example {
        language: Language::GtJson,
        wrong: r#"{"type": "EXCHANGE", "sender": "a", "receiver": "b",
 "branches": {"hello": {"valueType": "unit", "protocolContinuation": "END"}}}
"#,
        right: r#"{"type": "EXCHANGE", "sender": "a", "receiver": "b",
 "branches": {"hello": {"valueType": "unit", "protocolContinuation": {"type": "END"}}}}
"#,
    },
};

/// The value at `span`, reached by `pointer`, should be `expected` but is `found`.
#[must_use]
pub fn wrong_value(span: Span, pointer: &str, expected: &str, found: &str) -> Diagnostic {
    let place = if pointer.is_empty() { String::from("the top") } else { format!("`{pointer}`") };
    CODE.at(span, format!("expected {expected} at {place}, found {found}"))
        .label(format!("expected {expected}"))
}
