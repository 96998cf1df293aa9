//! RF0304: a call with too few or too many arguments.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Wrong number of arguments in a call.
pub static CODE: Code = Code {
    id: "RF0304",
    severity: Severity::Error,
    title: "wrong number of arguments in a call",
    explanation: r#"
A function or an external predicate is called with another number of arguments than it takes.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping(x: int) from client to server where abs(x, 1) > 0;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping(x: int) from client to server where abs(x) > 0;
}
"#,
    },
};

/// `what` is wrong with the number of arguments at `span`.
#[must_use]
pub fn wrong_number_of_arguments(span: Span, what: String) -> Diagnostic {
    CODE.at(span, what).help("give exactly the arguments the function takes")
}
