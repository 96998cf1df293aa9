//! RF0302: a variable no message has bound.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unknown variable.
pub static CODE: Code = Code {
    id: "RF0302",
    severity: Severity::Error,
    title: "unknown variable",
    explanation: r#"
An assertion may use the payload fields of its own message and of the messages before it, by the names the
protocol gives them. Nothing before this place binds this name.

Payload fields without a name (`Ping(int)`) cannot be referred to: name them, `Ping(x: int)`.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping(count: int) from client to server where cuont > 0;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping(count: int) from client to server where count > 0;
}
"#,
    },
};

/// `name` is not bound; `bound` are.
#[must_use]
pub fn unknown_variable<'a>(span: Span, name: &str, bound: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    CODE.at(span, format!("no message before this binds `{name}`"))
        .help("use a payload field of this message or of an earlier one")
        .suggest(name, bound)
}
