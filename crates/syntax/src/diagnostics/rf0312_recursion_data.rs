//! RF0312: a recursion continued with the wrong data.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Recursion data do not fit.
pub static CODE: Code = Code {
    id: "RF0312",
    severity: Severity::Error,
    title: "recursion data do not fit",
    explanation: r#"
A recursion that carries data, `rec X [n<A>: int = 0]`, is continued with one value for each variable, of
the declared type: `continue X [n + 1];`. Without brackets the values stay as they are.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Count(role a, role b) {
  rec X [n<a>: int = 0] {
    Tick() from a to b;
    continue X [n + 1, 2];
  }
}
"#,
        right: r#"protocol Count(role a, role b) {
  rec X [n<a>: int = 0] {
    Tick() from a to b;
    continue X [n + 1];
  }
}
"#,
    },
};

/// `expected` values are needed, `found` are given.
#[must_use]
pub fn wrong_number_of_values(span: Span, definition: Span, expected: usize, found: usize) -> Diagnostic {
    CODE.at(span, format!("this recursion carries {expected} values, but {found} are given"))
        .related(definition, "defined here")
        .help("give one value for each variable, or leave the brackets out")
}

/// A value of type `found` where `expected` is declared.
#[must_use]
pub fn wrong_type_of_value(span: Span, definition: Span, expected: &str, found: &str) -> Diagnostic {
    CODE.at(span, format!("this value is `{found}`, but the recursion carries `{expected}`"))
        .related(definition, "declared here")
        .help("give a value of the declared type")
}
