//! RF0511: a state that the machine can never be in.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unreachable state.
pub static CODE: Code = Code {
    id: "RF0511",
    severity: Severity::Warning,
    title: "unreachable state",
    explanation: r#"
No sequence of transitions leads from the initial state to this one, so what it can do is never done.
Usually the target of some transition is misspelt, or `.marking` names the wrong state.
"#,
    example: Example {
        language: Language::Fsm,
        wrong: r#".outputs
.state graph
q0 1 ! hello q1
q2 1 ! bye q3
.marking q0
.end
.outputs
.state graph
q0 0 ? hello q1
q1 0 ? bye q2
.marking q0
.end
"#,
        right: r#".outputs
.state graph
q0 1 ! hello q1
q1 1 ! bye q3
.marking q0
.end
.outputs
.state graph
q0 0 ? hello q1
q1 0 ? bye q2
.marking q0
.end
"#,
    },
};

/// The state `name`, first mentioned at `span`, is never reached in the machine of `role`.
#[must_use]
pub fn unreachable_state(span: Span, name: &str, role: usize) -> Diagnostic {
    CODE.at(span, format!("machine `{role}` never reaches the state `{name}`"))
        .help("check `.marking` and the targets of the transitions, or remove the state")
}
