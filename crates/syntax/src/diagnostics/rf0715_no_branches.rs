//! RF0715: an exchange of nothing.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Exchange without branches.
pub static CODE: Code = Code {
    id: "RF0715",
    severity: Severity::Error,
    title: "exchange without branches",
    explanation: r#"
The `branches` of an exchange are the messages that can be sent. Here there are none, so the sender could
never go on. If the protocol is over at this point, write `{"type": "END"}` instead of the exchange.
"#,
    example: Example {
        language: Language::GtJson,
        wrong: r#"{"type": "EXCHANGE", "sender": "a", "receiver": "b", "branches": {}}
"#,
        right: r#"{"type": "EXCHANGE", "sender": "a", "receiver": "b",
 "branches": {"hello": {"valueType": "unit", "protocolContinuation": {"type": "END"}}}}
"#,
    },
};

/// The branches at `span`, reached by `pointer`, are none.
#[must_use]
pub fn no_branches(span: Span, pointer: &str) -> Diagnostic {
    CODE.at(span, format!("the exchange has no messages, at `{pointer}`"))
        .help("add a branch, or write `{\"type\": \"END\"}` instead")
}
