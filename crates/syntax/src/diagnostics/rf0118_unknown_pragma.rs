//! RF0118: a pragma that means nothing here.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unknown pragma.
pub static CODE: Code = Code {
    id: "RF0118",
    severity: Severity::Warning,
    title: "unknown pragma",
    explanation: r#"
A pragma `(*# … #*)` at the top of a file switches on features of nuScr. Referee understands
`NestedProtocols`; `RefinementTypes` and the others that nuScr knows are accepted and need not be switched on.
This one is known to neither.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"(*# NestedProtocol #*)
protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
        right: r#"(*# NestedProtocols #*)
protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
    },
};

/// `name` is no known pragma; `known` are.
#[must_use]
pub fn unknown_pragma<'a>(span: Span, name: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    CODE.at(span, format!("there is no pragma `{name}`")).help("it has no effect; remove it").suggest(name, known)
}
