//! RF0205: statements that can never be reached.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unreachable statement.
pub static CODE: Code = Code {
    id: "RF0205",
    severity: Severity::Error,
    title: "unreachable statement",
    explanation: r#"
`continue` jumps back to the start of its recursion: what stands after it in the same block can never
happen. Move it before the `continue`, or out of the recursion.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Loop(role a, role b) {
  rec X {
    Ping() from a to b;
    continue X;
    Pong() from b to a;
  }
}
"#,
        right: r#"protocol Loop(role a, role b) {
  rec X {
    Ping() from a to b;
    Pong() from b to a;
    continue X;
  }
}
"#,
    },
};

/// The statement at `span` follows the jump at `jump`.
#[must_use]
pub fn unreachable(span: Span, jump: Span) -> Diagnostic {
    CODE.at(span, "this can never be reached")
        .related(jump, "the protocol jumps back here")
        .help("move it before the jump, or remove it")
}
