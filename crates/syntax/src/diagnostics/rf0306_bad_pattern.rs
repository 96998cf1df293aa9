//! RF0306: a pattern of `matches` that cannot be used.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unusable pattern.
pub static CODE: Code = Code {
    id: "RF0306",
    severity: Severity::Error,
    title: "unusable pattern",
    explanation: r#"
The pattern of `matches` must be a string constant holding a regular expression, so that it can be checked
and compiled once, before anything runs. Referee's regular expressions run in linear time whatever a peer
sends; look-around and back-references are not available.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping(x: string) from client to server where x.matches("[a-z");
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping(x: string) from client to server where x.matches("[a-z]+");
}
"#,
    },
};

/// `what` is wrong with the pattern at `span`.
#[must_use]
pub fn bad_pattern(span: Span, what: String) -> Diagnostic {
    CODE.at(span, what).help("write a regular expression as a string constant, such as `\"[a-z]+\"`")
}
