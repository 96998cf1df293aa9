//! RF0314: a predicate declared twice.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Duplicate external predicate.
pub static CODE: Code = Code {
    id: "RF0314",
    severity: Severity::Error,
    title: "duplicate external predicate",
    explanation: r#"
Two `external fn` declarations introduce the same name. Keep one.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"external fn ok(int) -> bool;
external fn ok(string) -> bool;
protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
        right: r#"external fn ok(int) -> bool;
protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
    },
};

/// `name` is declared at `first` already.
#[must_use]
pub fn duplicate_external(span: Span, first: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("the external predicate `{name}` is declared twice"))
        .related(first, "first declared here")
        .help("keep one of them")
}
