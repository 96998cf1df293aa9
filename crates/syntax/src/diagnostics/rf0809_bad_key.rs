//! RF0809: a key that is no JSON pointer.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unusable key.
pub static CODE: Code = Code {
    id: "RF0809",
    severity: Severity::Error,
    title: "unusable key",
    explanation: r#"
A key of an event is a name, or a JSON pointer (RFC 6901) in quotes: `"/user/id"`. In a pointer `~0` stands for a
tilde and `~1` for a slash; any other tilde is a mistake.
"#,
    example: Example {
        language: Language::Hml,
        wrong: r#"property quiet for each "/user/~id" { [{status >= 500}]ff }
"#,
        right: r#"property quiet for each "/user/id" { [{status >= 500}]ff }
"#,
    },
};

/// `text` at `span` is no key.
#[must_use]
pub fn bad_key(span: Span, text: &str) -> Diagnostic {
    CODE.at(span, format!("`{text}` is no JSON pointer")).help("write `~0` for a tilde and `~1` for a slash")
}
