//! RF0503: a branch of a choice that does not begin with an action.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Branch without an action.
pub static CODE: Code = Code {
    id: "RF0503",
    severity: Severity::Error,
    title: "branch without an action",
    explanation: r#"
The branches of a choice are told apart by their first action, so each begins with one: `Peer!label;` or
`Peer?label;`. This branch is `end`, a recursion variable, or a recursion.

KMC drops a branch that is `end` or a variable without a word. Referee does not guess: say "nothing more
happens" with a message that tells the other side, and put a recursion around the choice or behind its
first action.

Braces around a single type are only grouping and may hold anything: `{end}` is `end`.
"#,
    example: Example {
        language: Language::Kmc,
        wrong: r#"A: {B!more; end, end}
B: {A?more; end, A?stop; end}
"#,
        right: r#"A: {B!more; end, B!stop; end}
B: {A?more; end, A?stop; end}
"#,
    },
};

/// The branch at `span` is `what`.
#[must_use]
pub fn branch_without_action(span: Span, what: &str) -> Diagnostic {
    CODE.at(span, format!("this branch is {what}: it does not begin with an action"))
        .help("begin every branch of a choice with a message, `Peer!label;` or `Peer?label;`")
}
