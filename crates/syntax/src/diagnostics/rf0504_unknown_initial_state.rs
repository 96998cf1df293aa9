//! RF0504: a `.marking` that names no state.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unknown initial state.
pub static CODE: Code = Code {
    id: "RF0504",
    severity: Severity::Error,
    title: "unknown initial state",
    explanation: r#"
`.marking` names the state in which a machine starts. No transition of this machine leaves or enters a
state of that name.

KMC accepts this, and since nothing can ever happen in such a machine, it finds it safe whatever the
transitions say. Check the spelling. (In a machine without transitions any name will do.)
"#,
    example: Example {
        language: Language::Fsm,
        wrong: r#".outputs
.state graph
q0 1 ! hello q1
.marking q00
.end
.outputs
.state graph
q0 0 ? hello q1
.marking q0
.end
"#,
        right: r#".outputs
.state graph
q0 1 ! hello q1
.marking q0
.end
.outputs
.state graph
q0 0 ? hello q1
.marking q0
.end
"#,
    },
};

/// No transition mentions the state `name`; those there are begin with `states`.
#[must_use]
pub fn unknown_initial_state<'a>(
    span: Span,
    name: &str,
    states: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    CODE.at(span, format!("no transition of this machine mentions the state `{name}`"))
        .label("the initial state")
        .help("name a state that occurs in the transitions")
        .suggest(name, states)
}
