//! RF0806: a guard with a variable that no pattern has bound.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unbound variable in a guard.
pub static CODE: Code = Code {
    id: "RF0806",
    severity: Severity::Error,
    title: "unbound variable in a guard",
    explanation: r#"
A guard may use the variables of its own pattern and of those that enclose it. Nothing binds this one here. In
patterns of messages the fields are variables, `Request(id)`; roles and labels are variables only with a `$`.
"#,
    example: Example {
        language: Language::Hml,
        wrong: r#"property small {
  [client -> worker : Request(id) when idd > 9]ff
}
"#,
        right: r#"property small {
  [client -> worker : Request(id) when id > 9]ff
}
"#,
    },
};

/// `name` is not bound; `bound` are.
#[must_use]
pub fn unbound_variable(span: Span, name: &str, bound: &[&str]) -> Diagnostic {
    CODE.at(span, format!("no pattern up to here binds `{name}`"))
        .help("use a variable of this pattern or of an enclosing one")
        .suggest(name, bound.iter().copied())
}
