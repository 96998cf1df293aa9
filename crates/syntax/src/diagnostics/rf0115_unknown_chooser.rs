//! RF0115: a choice at a role that does not exist.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Choice at an unknown role.
pub static CODE: Code = Code {
    id: "RF0115",
    severity: Severity::Warning,
    title: "choice at an unknown role",
    explanation: r#"
`choice at R` says that R decides. Here R is no role of the protocol, but all branches begin with a message
of one and the same role, so there is no doubt who decides: the choice is read as a choice of that role.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ask(role client, role server) {
  choice at sever {
    Yes() from server to client;
  } or {
    No() from server to client;
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

/// `name` is no role; `chooser` sends the first message of every branch.
#[must_use]
pub fn unknown_chooser(span: Span, name: &str, chooser: &str) -> Diagnostic {
    CODE.at(span, format!("there is no role `{name}`; the choice is read as `choice at {chooser}`"))
        .help(format!("write `choice at {chooser}`"))
}
