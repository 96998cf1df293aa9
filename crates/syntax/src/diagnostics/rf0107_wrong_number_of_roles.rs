//! RF0107: a protocol started with too few or too many roles.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Wrong number of arguments.
pub static CODE: Code = Code {
    id: "RF0107",
    severity: Severity::Error,
    title: "wrong number of arguments",
    explanation: r#"
A `do` or `calls` must give one role for each role that the protocol declares, in the same order (roles after
`new` are brought in by the call and not given), and one argument for each parameter in angle brackets.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Main(role a, role b, role c) {
  do Hello(a, b, c);
}
aux protocol Hello(role x, role y) {
  Hello() from x to y;
}
"#,
        right: r#"protocol Main(role a, role b, role c) {
  do Hello(a, b);
  do Hello(b, c);
}
aux protocol Hello(role x, role y) {
  Hello() from x to y;
}
"#,
    },
};

/// `name` takes `expected` of `what`, not `found`.
#[must_use]
pub fn wrong_number(
    span: Span,
    declared: Span,
    name: &str,
    what: &str,
    expected: usize,
    found: usize,
) -> Diagnostic {
    CODE.at(span, format!("`{name}` takes {expected} {what}, but {found} are given"))
        .related(declared, "declared here")
        .help(format!("give exactly {expected} {what}, in the order of the declaration"))
}
