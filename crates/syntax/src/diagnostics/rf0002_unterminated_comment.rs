//! RF0002: a comment that is never closed.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unterminated comment.
pub static CODE: Code = Code {
    id: "RF0002",
    severity: Severity::Error,
    title: "unterminated comment",
    explanation: r#"
A block comment was opened and the text ended before it was closed. Everything after the opening
is part of the comment.

`/* */` closes at the first `*/`. `(* *)` nests: each `(*` inside needs its own `*)`.
For a comment up to the end of the line write `//` (or `--` in `.kmc` and `.fsm` files).
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping() from client to server;
}
/* to be continued
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping() from client to server;
}
/* to be continued */
"#,
    },
};

/// The comment opened at `span` never ends; `closing` would end it.
#[must_use]
pub fn unterminated_comment(span: Span, closing: &str) -> Diagnostic {
    CODE.at(span, "this comment is never closed").help(format!("close it with `{closing}`"))
}
