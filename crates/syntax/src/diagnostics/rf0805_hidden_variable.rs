//! RF0805: a variable of an outer pattern that is bound anew.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Hidden variable.
pub static CODE: Code = Code {
    id: "RF0805",
    severity: Severity::Warning,
    title: "hidden variable",
    explanation: r#"
In detectEr's own files each pattern binds its variables anew, also if an enclosing modality has bound one of
the same name: the outer one is then hidden, and the two values are *not* compared. To compare them, use another
name and a guard, `when C2 =:= C`. (In Referee's syntax a variable that is bound already tests for equality.)
"#,
    example: Example {
        language: Language::Hml,
        wrong: r#"with worker:loop(_) check
  [{_ ? {C, ping}}][{_ : C ! pong}]ff.
"#,
        right: r#"with worker:loop(_) check
  [{_ ? {C, ping}}][{_ : C2 ! pong when C2 =:= C}]ff.
"#,
    },
};

/// `name` at `span` hides the one at `first`.
#[must_use]
pub fn hidden_variable(span: Span, first: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("this binds a new `{name}` and hides the outer one"))
        .label("a new variable")
        .related(first, "not compared with this one")
        .help(format!("to compare them, write another name and `when … =:= {name}`"))
}
