//! RF0206: a branch that begins with a message of somebody else.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Branch begins with the wrong role.
pub static CODE: Code = Code {
    id: "RF0206",
    severity: Severity::Error,
    title: "branch begins with the wrong role",
    explanation: r#"
`choice at R` says that R decides which branch is taken, and the others learn of it by R's first message.
So the first message of every branch must be sent by R. (The branch may begin with a loop or a `do`; then
what counts is the first message in it.)

If somebody else decides, write `choice at` that role; if nobody needs to decide, take the message out of
the choice.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ask(role client, role server) {
  choice at server {
    Yes() from server to client;
  } or {
    Cancel() from client to server;
  }
}
"#,
        right: r#"protocol Ask(role client, role server) {
  choice at server {
    Yes() from server to client;
  } or {
    No() from server to client;
  }
}
"#,
    },
};

/// A branch of the choice at `choice` begins with a message of `found`, not of `chooser`.
#[must_use]
pub fn wrong_chooser(span: Span, choice: Span, found: &str, chooser: &str) -> Diagnostic {
    CODE.at(span, format!("this branch begins with a message of `{found}`, but the choice is `{chooser}`'s"))
        .label(format!("sent by `{found}`"))
        .related(choice, format!("`{chooser}` decides here"))
        .help(format!("begin the branch with a message from `{chooser}`"))
}
