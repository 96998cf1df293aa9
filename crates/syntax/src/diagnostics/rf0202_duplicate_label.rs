//! RF0202: two branches of a choice begin with the same message.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Duplicate label in a choice.
pub static CODE: Code = Code {
    id: "RF0202",
    severity: Severity::Error,
    title: "duplicate label in a choice",
    explanation: r#"
The branches of a choice are told apart by their first message. Two of them begin with the same label
to the same receiver, so the receiver could not know which branch was taken.

Give the messages different labels, or move the choice behind the common message.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ask(role client, role server) {
  choice at client {
    Ask() from client to server;
    Yes() from server to client;
  } or {
    Ask() from client to server;
    No() from server to client;
  }
}
"#,
        right: r#"protocol Ask(role client, role server) {
  Ask() from client to server;
  choice at server {
    Yes() from server to client;
  } or {
    No() from server to client;
  }
}
"#,
    },
};

/// Two branches begin with `label` to `receiver`: the second at `span`, the first at `first`.
#[must_use]
pub fn duplicate_label(span: Span, first: Span, label: &str, receiver: &str) -> Diagnostic {
    CODE.at(span, format!("two branches of this choice begin with `{label}` to `{receiver}`"))
        .label("and here again")
        .related(first, "first here")
        .help("give them different labels, or put the common message before the choice")
}
