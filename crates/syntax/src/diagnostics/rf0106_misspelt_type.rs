//! RF0106: a type nobody declared, close to one that exists.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Type name close to a known one.
pub static CODE: Code = Code {
    id: "RF0106",
    severity: Severity::Warning,
    title: "type name close to a known one",
    explanation: r#"
A payload type that Referee does not know is treated as opaque: values of it are passed on and compared by
name, never inspected. This one is so close to a known type that it is probably a misspelling, which would
silently switch off the check of the payload.

If it is meant as it stands, declare it: `type Strng;`.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping(x: strng) from client to server;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping(x: string) from client to server;
}
"#,
    },
};

/// `name` is unknown, but `close` exists.
#[must_use]
pub fn misspelt_type(span: Span, name: &str, close: &str) -> Diagnostic {
    CODE.at(span, format!("`{name}` is not a known type and will not be checked"))
        .help(format!("did you mean `{close}`? if not, declare it: `type {name};`"))
}
