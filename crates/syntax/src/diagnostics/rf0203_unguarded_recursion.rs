//! RF0203: a loop in which nothing happens.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unguarded recursion.
pub static CODE: Code = Code {
    id: "RF0203",
    severity: Severity::Error,
    title: "unguarded recursion",
    explanation: r#"
A recursion is continued before any message was exchanged, so it would turn round for ever without
anything happening. Every path from a `rec` back to itself must contain at least one message.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Spin(role client, role server) {
  rec LOOP {
    continue LOOP;
  }
}
"#,
        right: r#"protocol Spin(role client, role server) {
  rec LOOP {
    Ping() from client to server;
    continue LOOP;
  }
}
"#,
    },
};

/// The call at `span` leads back to the definition at `definition` with nothing in between.
#[must_use]
pub fn unguarded_recursion(span: Span, definition: Span) -> Diagnostic {
    CODE.at(span, "this recursion turns round without any message")
        .label("continued here")
        .related(definition, "defined here")
        .help("put a message between the definition and the jump back to it")
}
