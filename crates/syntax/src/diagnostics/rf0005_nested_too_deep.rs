//! RF0005: types or expressions nested beyond all reason.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Nested too deep.
pub static CODE: Code = Code {
    id: "RF0005",
    severity: Severity::Error,
    title: "nested too deep",
    explanation: r#"
Payload types, assertions, and the formulas and patterns of properties may be nested 128 levels deep.
(Protocols may be nested as deep as memory allows: choices and recursions are not limited by this.)

Introduce an alias for the inner type, split the assertion, or make several properties of one.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Deep(role a, role b) {
  M(x: list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<list<int>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>) from a to b;
}
"#,
        right: r#"protocol Deep(role a, role b) {
  M(x: list<list<int>>) from a to b;
}
"#,
    },
};

/// What stands at `span` is nested deeper than `limit`.
#[must_use]
pub fn nested_too_deep(span: Span, limit: usize) -> Diagnostic {
    CODE.at(span, format!("nested deeper than {limit} levels"))
        .help("give the inner part a name of its own with `type`, or split it")
}
