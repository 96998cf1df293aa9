//! RF0505: a machine that does not say where it starts.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Missing initial state.
pub static CODE: Code = Code {
    id: "RF0505",
    severity: Severity::Error,
    title: "missing initial state",
    explanation: r#"
A machine in a `.fsm` file ends with `.marking` and the name of its initial state, then `.end`. The order of
the transitions does not tell where the machine starts.
"#,
    example: Example {
        language: Language::Fsm,
        wrong: r#".outputs
.state graph
q0 1 ! hello q1
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

/// `.marking` should stand at `span`; the machine's first transition leaves `first_state`.
#[must_use]
pub fn missing_marking(span: Span, first_state: Option<&str>) -> Diagnostic {
    CODE.at(span, "this machine does not say where it starts")
        .label("`.marking` is missing before this")
        .help(format!("add `.marking {}`", first_state.unwrap_or("q0")))
}
