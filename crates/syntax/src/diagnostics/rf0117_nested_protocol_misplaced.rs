//! RF0117: a nested protocol after what may use it.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Nested protocol in the wrong place.
pub static CODE: Code = Code {
    id: "RF0117",
    severity: Severity::Error,
    title: "nested protocol in the wrong place",
    explanation: r#"
Nested protocols are declared first: at the top of a file before all global protocols, and in a protocol
before its first message. (This is nuScr's rule.)
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Main(role a, role b) {
  Hello() from a to b;
}
nested protocol Late(role x, role y) {
  Hello() from x to y;
}
"#,
        right: r#"nested protocol Early(role x, role y) {
  Hello() from x to y;
}
protocol Main(role a, role b) {
  Hello() from a to b;
}
"#,
    },
};

/// A nested protocol comes after a global one.
#[must_use]
pub fn after_a_global_protocol(span: Span) -> Diagnostic {
    CODE.at(span, "a nested protocol must come before all global protocols")
        .help("move it to the top of the file")
}

/// A nested protocol comes after a statement.
#[must_use]
pub fn after_a_statement(span: Span) -> Diagnostic {
    CODE.at(span, "a nested protocol must come before the first message")
        .help("move it to the top of the protocol")
}
