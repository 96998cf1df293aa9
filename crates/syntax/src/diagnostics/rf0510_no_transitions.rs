//! RF0510: a machine that never does anything.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Machine without transitions.
pub static CODE: Code = Code {
    id: "RF0510",
    severity: Severity::Note,
    title: "machine without transitions",
    explanation: r#"
This machine has no transitions: its role takes no part in anything. Referee accepts that. KMC cannot read
such a file, so it is worth knowing if the file is to be used with KMC too.
"#,
    example: Example {
        language: Language::Fsm,
        wrong: r#".outputs
.state graph
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

/// The machine of `role` at `span` has no transitions.
#[must_use]
pub fn no_transitions(span: Span, role: usize) -> Diagnostic {
    CODE.at(span, format!("machine `{role}` has no transitions")).help("Referee accepts this; KMC cannot read it")
}
