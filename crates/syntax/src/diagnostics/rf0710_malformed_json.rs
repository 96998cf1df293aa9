//! RF0710: a text that is not JSON.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Malformed JSON.
pub static CODE: Code = Code {
    id: "RF0710",
    severity: Severity::Error,
    title: "malformed JSON",
    explanation: r#"
A `.gt.json` file must be one JSON value: keys and strings in double quotes, members separated by single
commas (none behind the last), no comments. The message says what was found and what JSON allows there.

Referee does not guess how the rest of a broken JSON text is meant, so this is the only thing it reports.
"#,
    example: Example {
        language: Language::GtJson,
        wrong: r#"{"type": "END",}
"#,
        right: r#"{"type": "END"}
"#,
    },
};

/// `found` stands at `span` where JSON allows one of `expected`.
#[must_use]
pub fn malformed_json(span: Span, found: &str, expected: &[&str]) -> Diagnostic {
    let expected = expected.join(" or ");
    let found: String = found.chars().take(40).collect();
    CODE.at(span, format!("this is not JSON: expected {expected}, found {found}"))
        .label(format!("expected {expected}"))
}
