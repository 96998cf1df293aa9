//! RF0216: statements about connections.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Connections are not part of the protocol.
pub static CODE: Code = Code {
    id: "RF0216",
    severity: Severity::Note,
    title: "connections are not part of the protocol",
    explanation: r#"
Scribble's `connect`, `disconnect` and `wrap` say when connections are made. Referee reads them and checks
their roles, and nothing more: a session is what is said on connections, and a guard is told in its
configuration where they come from. A message that is written `m() connect a to b;` is an ordinary message.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"explicit global protocol Ping(role client, role server) {
  connect client to server;
  Ping() from client to server;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
    },
};

/// `keyword` at `span` has no effect.
#[must_use]
pub fn connections_not_monitored(span: Span, keyword: &str) -> Diagnostic {
    CODE.at(span, format!("`{keyword}` is read, but has no effect on the protocol"))
}
