//! RF0603: an assertion without its `]`.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unclosed assertion.
pub static CODE: Code = Code {
    id: "RF0603",
    severity: Severity::Error,
    title: "unclosed assertion",
    explanation: r#"
An assertion stands between `[` and `]` behind the payload of a message, all on one line. The line ended
before the assertion was closed.

Brackets within an assertion nest, and those in strings do not count: `[name.matches("[a-z]+")]` is fine.
"#,
    example: Example {
        language: Language::St,
        wrong: r#"S_game = ?Guess(num: Int)[num > 1 && num < 100.
  !Correct(ans: Int)
"#,
        right: r#"S_game = ?Guess(num: Int)[num > 1 && num < 100].
  !Correct(ans: Int)
"#,
    },
};

/// The assertion at `span` is not closed on its line.
#[must_use]
pub fn unclosed_assertion(span: Span) -> Diagnostic {
    CODE.at(span, "this assertion is never closed").help("close it with `]` on the same line")
}
