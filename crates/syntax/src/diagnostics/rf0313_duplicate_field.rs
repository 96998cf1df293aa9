//! RF0313: two payload fields with one name.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Duplicate field.
pub static CODE: Code = Code {
    id: "RF0313",
    severity: Severity::Error,
    title: "duplicate field",
    explanation: r#"
Two fields of one payload or record have the same name, so an assertion could mean either.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping(x: int, x: int) from client to server;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping(x: int, y: int) from client to server;
}
"#,
    },
};

/// `name` is used at `first` already.
#[must_use]
pub fn duplicate_field(span: Span, first: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("two fields of this payload are called `{name}`"))
        .related(first, "first here")
        .help("rename one of them")
}
