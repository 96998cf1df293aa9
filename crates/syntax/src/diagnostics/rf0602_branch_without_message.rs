//! RF0602: a branch that does not begin with a message.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Branch without a message.
pub static CODE: Code = Code {
    id: "RF0602",
    severity: Severity::Error,
    title: "branch without a message",
    explanation: r#"
The branches of `&{…}` and `+{…}` are told apart by their first message, so each begins with one: `?Label()`
or `!Label()`. This branch is a choice of its own, a recursion, a variable or `end`.

Merge a nested choice into the one around it, put a recursion around the choice, and say "nothing more
happens" with a message that tells the other side.
"#,
    example: Example {
        language: Language::St,
        wrong: r#"S = rec X.(+{
  !Next().X,
  end
})
"#,
        right: r#"S = rec X.(+{
  !Next().X,
  !Stop()
})
"#,
    },
};

/// The branch at `span` is `what`.
#[must_use]
pub fn branch_without_message(span: Span, what: &str) -> Diagnostic {
    CODE.at(span, format!("this branch is {what}: it does not begin with a message"))
        .help("begin every branch with a message: `?Label()` in `&`, `!Label()` in `+`")
}
