//! RF0104: two roles with one name.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Duplicate role.
pub static CODE: Code = Code {
    id: "RF0104",
    severity: Severity::Error,
    title: "duplicate role",
    explanation: r#"
The header of a protocol lists the same role twice. Each role is one participant; give the second another
name.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role a, role b, role a) {
  Ping() from a to b;
}
"#,
        right: r#"protocol Ping(role a, role b) {
  Ping() from a to b;
}
"#,
    },
};

/// `name` is declared at `first` already.
#[must_use]
pub fn duplicate_role(span: Span, first: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("the role `{name}` is declared twice"))
        .related(first, "first declared here")
        .help("remove it, or give it another name")
}
