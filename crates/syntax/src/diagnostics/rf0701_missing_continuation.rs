//! RF0701: an exchange that does not say how the protocol goes on.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Missing continuation.
pub static CODE: Code = Code {
    id: "RF0701",
    severity: Severity::Error,
    title: "missing continuation",
    explanation: r#"
Behind every label and every value of a `.gt` file stands a point and what comes next: another exchange, a
recursion variable, or `end`. Here nothing does. If the protocol is over, say so: `. end`.
"#,
    example: Example {
        language: Language::Gt,
        wrong: r#"a -> b (ask . a -> b <int> . end,
        skip . )
"#,
        right: r#"a -> b (ask . a -> b <int> . end,
        skip . end)
"#,
    },
};

/// How the protocol goes on should stand at `span`.
#[must_use]
pub fn missing_continuation(span: Span) -> Diagnostic {
    CODE.at(span, "what happens next is missing")
        .label("expected before this")
        .help("write `. end` if the protocol is over here")
}
