//! RF0315: an assertion that cannot be read.

use super::{Code, Diagnostic, Example, Severity};
use crate::expr::SyntaxError;
use crate::language::Language;
use crate::source::Span;

/// Assertion cannot be read.
pub static CODE: Code = Code {
    id: "RF0315",
    severity: Severity::Error,
    title: "assertion cannot be read",
    explanation: r#"
After `where` comes an expression in CEL syntax, up to the `;`: `x > 0 && name.startsWith("a")`. In nuScr's
`{…}` and `@"…"` equality is `=`, inequality `<>`, and `&&` and `||` have the same precedence.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping(x: int) from client to server where x > ;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping(x: int) from client to server where x > 0;
}
"#,
    },
};

/// What the expression parser found.
#[must_use]
pub fn assertion_syntax(error: &SyntaxError) -> Diagnostic {
    let span = Span { start: error.place.start, end: error.place.end };
    CODE.at(span, error.to_string()).help("see `referee explain RF0315` for what an assertion may contain")
}
