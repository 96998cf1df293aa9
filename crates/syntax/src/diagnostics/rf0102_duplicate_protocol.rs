//! RF0102: two protocols with one name.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Duplicate protocol.
pub static CODE: Code = Code {
    id: "RF0102",
    severity: Severity::Error,
    title: "duplicate protocol",
    explanation: r#"
Two protocols in the same place have the same name, so a `do` or `calls` could mean either.
Rename one of them.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping() from client to server;
}
protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping() from client to server;
}
protocol Ping2(role client, role server) {
  Ping() from client to server;
}
"#,
    },
};

/// `name` is declared at `first` already.
#[must_use]
pub fn duplicate_protocol(span: Span, first: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("the protocol `{name}` is declared twice"))
        .related(first, "first declared here")
        .help("rename one of them")
}
