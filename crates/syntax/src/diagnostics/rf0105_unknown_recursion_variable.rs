//! RF0105: a jump to a loop that is not around it.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unknown recursion variable.
pub static CODE: Code = Code {
    id: "RF0105",
    severity: Severity::Error,
    title: "unknown recursion variable",
    explanation: r#"
`continue X` (in other languages just `X`) jumps to the start of an enclosing `rec X`. No enclosing
recursion has this name. A loop that has already ended, or one in another branch, cannot be continued.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  rec LOOP {
    Ping() from client to server;
    continue LOPO;
  }
}
"#,
        right: r#"protocol Ping(role client, role server) {
  rec LOOP {
    Ping() from client to server;
    continue LOOP;
  }
}
"#,
    },
};

/// `name` is not one of the recursion variables in `scope`.
#[must_use]
pub fn unknown_recursion_variable<'a>(
    span: Span,
    name: &str,
    scope: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    CODE.at(span, format!("no enclosing recursion is called `{name}`"))
        .help("a recursion variable can be used only inside its own definition")
        .suggest(name, scope)
}
