//! RF0207: a branch in which nothing happens first.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Branch without a message.
pub static CODE: Code = Code {
    id: "RF0207",
    severity: Severity::Error,
    title: "branch without a message",
    explanation: r#"
A branch of a choice contains no message at all, so nobody could tell that it was taken. Begin it with a
message from the role that decides; if the branch means "stop", send a message that says so.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ask(role client, role server) {
  choice at client {
    More() from client to server;
  } or {
  }
}
"#,
        right: r#"protocol Ask(role client, role server) {
  choice at client {
    More() from client to server;
  } or {
    Stop() from client to server;
  }
}
"#,
    },
};

/// A branch of the choice at `span` has no first message.
#[must_use]
pub fn empty_branch(span: Span, chooser: &str) -> Diagnostic {
    CODE.at(span, "a branch of this choice begins with no message")
        .help(format!("begin every branch with a message from `{chooser}`, for example `Stop()`"))
}
