//! RF0003: a string that is never closed.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unterminated string.
pub static CODE: Code = Code {
    id: "RF0003",
    severity: Severity::Error,
    title: "unterminated string",
    explanation: r#"
A string was opened with a quote and the line ended before it was closed. Strings end on the line
on which they begin.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping(x: int) from client to server; @"x > 0
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping(x: int) from client to server; @"x > 0"
}
"#,
    },
};

/// The string opened at `span` does not end on its line.
#[must_use]
pub fn unterminated_string(span: Span) -> Diagnostic {
    CODE.at(span, "this string is never closed").help("close it with the same quote on the same line")
}
