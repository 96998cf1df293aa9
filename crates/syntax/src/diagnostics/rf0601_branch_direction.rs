//! RF0601: a branch that goes the wrong way.

use referee_theory::Action;

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Branch in the wrong direction.
pub static CODE: Code = Code {
    id: "RF0601",
    severity: Severity::Error,
    title: "branch in the wrong direction",
    explanation: r#"
`&{…}` is a choice of the environment: the process receives one of the messages, so every branch begins
with `?`. `+{…}` is a choice of the process, which sends one of them: every branch begins with `!`. This
branch goes the other way.

A single choice in which both sides may speak has no clear decider and is not a session type. If the process
decides, write `+`; if the environment does, write `&`.
"#,
    example: Example {
        language: Language::St,
        wrong: r#"S_game = &{
  ?Guess(num: Int).end,
  !Quit()
}
"#,
        right: r#"S_game = &{
  ?Guess(num: Int).end,
  ?Quit()
}
"#,
    },
};

/// The branch at `span` does `action`, which the `&` or `+` at `symbol` does not allow.
#[must_use]
pub fn branch_direction(span: Span, symbol: Span, action: Action) -> Diagnostic {
    let (message, choice, help) = match action {
        Action::Send => ("a branch of `&` cannot send", "`&` receives", "begin the branch with `?`, or use `+`"),
        Action::Receive => {
            ("a branch of `+` cannot receive", "`+` sends", "begin the branch with `!`, or use `&`")
        }
    };
    CODE.at(span, message).related(symbol, choice).help(help)
}
