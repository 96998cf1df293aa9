//! RF0110: a type defined by itself.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Type defined by itself.
pub static CODE: Code = Code {
    id: "RF0110",
    severity: Severity::Error,
    title: "type defined by itself",
    explanation: r#"
The definition of a type leads back to the type itself, so a value of it would never end. Payload types
are finite; use an opaque type (`type Tree;`) for data whose structure the protocol does not look into.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"type Tree = list<Tree>;
protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
        right: r#"type Tree;
protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
    },
};

/// The definition of `name` leads back to itself.
#[must_use]
pub fn cyclic_type(span: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("the type `{name}` is defined by itself"))
        .help(format!("declare it without a definition, `type {name};`, to treat it as opaque"))
}
