//! RF0808: two properties of one name.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Duplicate property.
pub static CODE: Code = Code {
    id: "RF0808",
    severity: Severity::Error,
    title: "duplicate property",
    explanation: r#"
Verdicts name the property they are about, so each property of a file needs a name of its own.
"#,
    example: Example {
        language: Language::Hml,
        wrong: r#"property calm { [a?bad]ff }
property calm { [a?worse]ff }
"#,
        right: r#"property calm { [a?bad]ff }
property calmer { [a?worse]ff }
"#,
    },
};

/// `name` at `span` has been used at `first`.
#[must_use]
pub fn duplicate_property(span: Span, first: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("there are two properties called `{name}`"))
        .related(first, "first here")
        .help("rename one of them")
}
