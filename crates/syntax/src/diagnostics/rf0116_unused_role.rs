//! RF0116: a role that takes part in nothing.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Role without messages.
pub static CODE: Code = Code {
    id: "RF0116",
    severity: Severity::Warning,
    title: "role without messages",
    explanation: r#"
A declared role neither sends nor receives any message. It is probably left over, or a message names
another role by mistake.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server, role logger) {
  Ping() from client to server;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
    },
};

/// `name` takes part in no message.
#[must_use]
pub fn unused_role(span: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("the role `{name}` neither sends nor receives anything"))
        .help("remove it from the header, or use it")
}
