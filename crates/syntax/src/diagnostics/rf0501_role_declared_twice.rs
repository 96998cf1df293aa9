//! RF0501: a role whose behaviour is given twice.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Role declared twice.
pub static CODE: Code = Code {
    id: "RF0501",
    severity: Severity::Error,
    title: "role declared twice",
    explanation: r#"
Each role of a `.kmc` file has one type, introduced by its name and a colon. This name has two.

KMC takes the last one and forgets the others without a word, so that the system it checks is not the one
that was written. Referee asks which one is meant: remove one, or rename it if it belongs to another role.
"#,
    example: Example {
        language: Language::Kmc,
        wrong: r#"A: B!ping; end
B: A?ping; end
A: B!pong; end
"#,
        right: r#"A: B!ping; end
B: A?ping; end
"#,
    },
};

/// The type of `role` at `span` was given at `first` already.
#[must_use]
pub fn role_declared_twice(span: Span, first: Span, role: &str) -> Diagnostic {
    CODE.at(span, format!("role `{role}` is declared twice"))
        .label("declared again here")
        .related(first, "first declared here")
        .help("remove one of the two, or give the other role its own name")
}
