//! RF0109: two types with one name.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Duplicate type.
pub static CODE: Code = Code {
    id: "RF0109",
    severity: Severity::Error,
    title: "duplicate type",
    explanation: r#"
Two `type` declarations introduce the same name. Rename or remove one.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"type Token = string;
type Token = int;
protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
        right: r#"type Token = string;
protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
    },
};

/// `name` is declared at `first` already.
#[must_use]
pub fn duplicate_type(span: Span, first: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("the type `{name}` is declared twice"))
        .related(first, "first declared here")
        .help("rename or remove one of them")
}
