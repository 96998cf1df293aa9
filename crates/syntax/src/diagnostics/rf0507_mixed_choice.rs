//! RF0507: a state in which a role can both send and receive.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Mixed choice.
pub static CODE: Code = Code {
    id: "RF0507",
    severity: Severity::Warning,
    title: "mixed choice",
    explanation: r#"
In one and the same state this role can send and can receive. Both sides may then send at the same time,
each thinking that it chose: neither has to be wrong, but the theory behind the compatibility check covers
only systems without such states ("communicating session automata").

The file can be used: monitors handle mixed states, and `referee check` will say that its verdict does not
extend to all channel bounds. If the choice is not meant to be a race, let one side decide.
"#,
    example: Example {
        language: Language::Kmc,
        wrong: r#"A: {B!ask; end, B?tell; end}
B: {A?ask; end, A!tell; end}
"#,
        right: r#"A: {B!ask; end, B!listen; B?tell; end}
B: {A?ask; end, A?listen; A!tell; end}
"#,
    },
};

/// In one state the role can send, at `send`, and receive, at `receive`.
#[must_use]
pub fn mixed_choice(send: Span, receive: Span, role: &str) -> Diagnostic {
    let (first, second, labels) = if send <= receive {
        (send, receive, ["it can send this", "and receive this"])
    } else {
        (receive, send, ["it can receive this", "and send this"])
    };
    CODE.at(second, format!("role `{role}` can both send and receive in one state"))
        .label(labels[1])
        .related(first, labels[0])
        .help("let one side decide, unless both may really speak at once")
}
