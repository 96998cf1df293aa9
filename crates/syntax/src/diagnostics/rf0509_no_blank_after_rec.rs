//! RF0509: `recx.` read as `rec x.`.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// No blank after `rec`.
pub static CODE: Code = Code {
    id: "RF0509",
    severity: Severity::Warning,
    title: "no blank after `rec`",
    explanation: r#"
KMC needs no blank between `rec` and the variable, so `recx.` means `rec x.` to it, and Referee reads it the
same way. It is easily mistaken for a variable called `recx`: write the blank.
"#,
    example: Example {
        language: Language::Kmc,
        wrong: r#"A: recx. B!a; x
B: rec y. A?a; y
"#,
        right: r#"A: rec x. B!a; x
B: rec y. A?a; y
"#,
    },
};

/// The word at `span` is `rec` and the variable `name` in one.
#[must_use]
pub fn no_blank_after_rec(span: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("this is read as `rec {name}`")).help(format!("write `rec {name}`"))
}
