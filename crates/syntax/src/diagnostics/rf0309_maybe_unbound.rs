//! RF0309: a variable that is bound only on some ways here.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Variable not always bound.
pub static CODE: Code = Code {
    id: "RF0309",
    severity: Severity::Error,
    title: "variable not always bound",
    explanation: r#"
The variable is bound by a message on some ways to this place, but there is another way on which it is not,
so the assertion would have nothing to look at.

Move the assertion into the branch that binds the variable, or bind it in all branches.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ask(role a, role b) {
  choice at a {
    Number(x: int) from a to b;
  } or {
    Nothing() from a to b;
  }
  Done() from a to b where x > 0;
}
"#,
        right: r#"protocol Ask(role a, role b) {
  choice at a {
    Number(x: int) from a to b where x > 0;
  } or {
    Nothing() from a to b;
  }
  Done() from a to b;
}
"#,
    },
};

/// `name` is bound at `bound`, but not on every way to `span`.
#[must_use]
pub fn maybe_unbound(span: Span, name: &str, bound: Span) -> Diagnostic {
    CODE.at(span, format!("`{name}` is not bound on every way to this assertion"))
        .related(bound, "bound here, in only some of the branches")
        .help("move the assertion to where the variable is always bound")
}
