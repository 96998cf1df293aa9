//! RF0506: a transition without a message.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Silent action.
pub static CODE: Code = Code {
    id: "RF0506",
    severity: Severity::Error,
    title: "silent action",
    explanation: r#"
Every transition of a communicating automaton sends or receives: `q0 1 ! hello q1`. A silent step (`tau`)
is none of these, and neither KMC nor Referee has a meaning for it: the theory assumes that a role's state
changes only by communication.

Join the two states, or copy the transitions of the second state to the first.
"#,
    example: Example {
        language: Language::Fsm,
        wrong: r#".outputs
.state graph
q0 tau q1
q1 1 ! hello q2
.marking q0
.end
.outputs
.state graph
q0 0 ? hello q1
.marking q0
.end
"#,
        right: r#".outputs
.state graph
q0 1 ! hello q2
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

/// The transition at `span` is a `tau`.
#[must_use]
pub fn silent_action(span: Span) -> Diagnostic {
    CODE.at(span, "a transition without a message").help("every transition sends (`!`) or receives (`?`)")
}
