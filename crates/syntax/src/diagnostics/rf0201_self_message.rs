//! RF0201: a role that sends to itself.

use referee_theory::Action;

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Message to oneself.
pub static CODE: Code = Code {
    id: "RF0201",
    severity: Severity::Error,
    title: "message to oneself",
    explanation: r#"
The sender and the receiver of a message are the same role. A protocol describes what travels between
roles; what a role does on its own is no part of it.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping() from client to client;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
    },
};

/// `role` sends a message to itself.
#[must_use]
pub fn self_message(span: Span, role: &str) -> Diagnostic {
    CODE.at(span, format!("`{role}` sends this message to itself"))
        .help("name another role as the receiver, or leave the message out")
}

/// The action of `role` at `span` names `role` itself as the other side.
#[must_use]
pub fn self_peer(span: Span, role: &str, action: Action) -> Diagnostic {
    let what = match action {
        Action::Send => "sends to itself",
        Action::Receive => "receives from itself",
    };
    CODE.at(span, format!("`{role}` {what}")).help("name another role here, or leave the action out")
}
