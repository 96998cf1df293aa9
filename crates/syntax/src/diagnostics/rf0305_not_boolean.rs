//! RF0305: an assertion, or a part of it, that is neither true nor false.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Not a truth value.
pub static CODE: Code = Code {
    id: "RF0305",
    severity: Severity::Error,
    title: "not a truth value",
    explanation: r#"
An assertion must be true or false, and so must both sides of `&&` and `||`, the operand of `!` and the
condition of `? :`. A number or a string is not a truth value: compare it with something.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping(x: int) from client to server where x;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping(x: int) from client to server where x != 0;
}
"#,
    },
};

/// `what` is wrong at `span`.
#[must_use]
pub fn not_boolean(span: Span, what: String) -> Diagnostic {
    CODE.at(span, what).help("compare it with something, for example `… != 0`")
}
