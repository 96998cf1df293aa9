//! RF0208: a protocol that starts itself again and then goes on.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Recursion is not the last step.
pub static CODE: Code = Code {
    id: "RF0208",
    severity: Severity::Error,
    title: "recursion is not the last step",
    explanation: r#"
A protocol does itself again, directly or through others, and something is left to do afterwards. Each round
would leave one more piece of unfinished business, so no finite machine can follow it: the roles would have
to count how deep they are.

Put the recursive `do` last, or write the repetition as a `rec` with `continue`.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Nest(role a, role b) {
  choice at a {
    Open() from a to b;
    do Nest(a, b);
    Close() from a to b;
  } or {
    Done() from a to b;
  }
}
"#,
        right: r#"protocol Nest(role a, role b) {
  choice at a {
    Open() from a to b;
    Close() from a to b;
    do Nest(a, b);
  } or {
    Done() from a to b;
  }
}
"#,
    },
};

/// `name` is done again at `span` while something is left to do after it.
#[must_use]
pub fn not_tail_recursive(span: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("`{name}` starts itself again here, and more follows afterwards"))
        .label("not supported, because each round would leave unfinished business")
        .help("make the recursive `do` the last statement on its path")
}
