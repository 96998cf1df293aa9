//! RF0311: a predicate that must be supplied.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// External predicate to be supplied.
pub static CODE: Code = Code {
    id: "RF0311",
    severity: Severity::Warning,
    title: "external predicate to be supplied",
    explanation: r#"
The protocol uses a predicate that is not defined in it. Checking the protocol needs only its types, but
monitors need its code: register a function of this name with the library, or give a WebAssembly module on
the command line. Without it a monitor cannot be started.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"external fn validToken(string) -> bool;
protocol Ping(role client, role server) {
  Ping(token: string) from client to server where validToken(token);
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping(token: string) from client to server where token.matches("[0-9a-f]{8}");
}
"#,
    },
};

/// `signature` must be supplied to monitors.
#[must_use]
pub fn external_predicate(span: Span, signature: &str) -> Diagnostic {
    CODE.at(span, format!("monitors must be given the predicate `{signature}`"))
}
