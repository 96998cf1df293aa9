//! RF0004: something stands where something else is needed.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unexpected token.
pub static CODE: Code = Code {
    id: "RF0004",
    severity: Severity::Error,
    title: "unexpected token",
    explanation: r#"
The text does not follow the grammar of its language at this place: the message says what was found
and what could stand there instead.

Referee then skips to the next place where it can go on (a `;`, a closing brace, the next protocol), so
that independent errors are found in one run.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping() from client server;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
    },
};

/// `found` stands where one of `expected` is needed.
#[must_use]
pub fn unexpected_token(span: Span, found: &str, expected: &[&str]) -> Diagnostic {
    let expected = match expected {
        [] => String::from("something else"),
        [one] => (*one).to_string(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    };
    CODE.at(span, format!("expected {expected}, found {found}")).label(format!("expected {expected}"))
}
