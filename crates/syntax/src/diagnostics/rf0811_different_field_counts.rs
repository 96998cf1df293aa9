//! RF0811: a label with two numbers of fields.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Different numbers of fields.
pub static CODE: Code = Code {
    id: "RF0811",
    severity: Severity::Warning,
    title: "different numbers of fields",
    explanation: r#"
The same label is written with different numbers of fields. A pattern by position matches only messages with exactly
as many fields, so one of the two probably never matches. Write `...` after the fields that matter, or name them.
"#,
    example: Example {
        language: Language::Hml,
        wrong: r#"property once {
  [client -> worker : Request(id)][client -> worker : Request(id, _)]ff
}
"#,
        right: r#"property once {
  [client -> worker : Request(id, _)][client -> worker : Request(id, _)]ff
}
"#,
    },
};

/// `label` at `span` has `count` fields, at `first` it has `other`.
#[must_use]
pub fn different_field_counts(span: Span, first: Span, label: &str, count: usize, other: usize) -> Diagnostic {
    CODE.at(span, format!("`{label}` has {count} fields here and {other} elsewhere"))
        .related(first, format!("{other} fields here"))
        .help("a pattern by position matches exactly as many fields; write `...` to allow more")
}
