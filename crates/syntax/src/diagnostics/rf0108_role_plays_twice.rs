//! RF0108: one role playing two roles of a protocol.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Role plays two roles.
pub static CODE: Code = Code {
    id: "RF0108",
    severity: Severity::Error,
    title: "role plays two roles",
    explanation: r#"
A `do` or `calls` gives the same role twice. One participant cannot play two roles of a protocol: it would
have to send messages to itself.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Main(role a, role b) {
  do Hello(a, a);
}
aux protocol Hello(role x, role y) {
  Hello() from x to y;
}
"#,
        right: r#"protocol Main(role a, role b) {
  do Hello(a, b);
}
aux protocol Hello(role x, role y) {
  Hello() from x to y;
}
"#,
    },
};

/// `role` is given twice.
#[must_use]
pub fn role_plays_twice(span: Span, first: Span, role: &str) -> Diagnostic {
    CODE.at(span, format!("`{role}` would play two roles of this protocol"))
        .related(first, "already given here")
        .help("give each role of the protocol to a different participant")
}
