//! RF0307: a field that a record does not have.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unknown field.
pub static CODE: Code = Code {
    id: "RF0307",
    severity: Severity::Error,
    title: "unknown field",
    explanation: r#"
`r.f` takes the field `f` of a record. The type of `r` has no such field, or is not a record at all.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping(p: {x: int, y: int}) from client to server where p.z > 0;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping(p: {x: int, y: int}) from client to server where p.y > 0;
}
"#,
    },
};

/// `what` is wrong at `span`; `fields` exist.
#[must_use]
pub fn unknown_field<'a>(
    span: Span,
    what: String,
    name: &str,
    fields: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    CODE.at(span, what).help("use one of the record's fields").suggest(name, fields)
}
