//! RF0713: a `type` that no global type has.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unknown type of node.
pub static CODE: Code = Code {
    id: "RF0713",
    severity: Severity::Error,
    title: "unknown type of node",
    explanation: r#"
The `type` of an object in a `.gt.json` file says what it stands for. There are four: `EXCHANGE`,
`RECURSIVE_DEFINITION`, `RECURSIVE_CALL` and `END`, in capitals.
"#,
    example: Example {
        language: Language::GtJson,
        wrong: r#"{"type": "EXCHANG", "sender": "a", "receiver": "b",
 "branches": {"hello": {"valueType": "unit", "protocolContinuation": {"type": "END"}}}}
"#,
        right: r#"{"type": "EXCHANGE", "sender": "a", "receiver": "b",
 "branches": {"hello": {"valueType": "unit", "protocolContinuation": {"type": "END"}}}}
"#,
    },
};

/// The `type` at `span`, reached by `pointer`, is `name`.
#[must_use]
pub fn unknown_node_type(span: Span, pointer: &str, name: &str) -> Diagnostic {
    const KNOWN: [&str; 4] = ["EXCHANGE", "RECURSIVE_DEFINITION", "RECURSIVE_CALL", "END"];
    CODE.at(span, format!("there is no type `{name}` of global types, at `{pointer}`"))
        .help("the types are `EXCHANGE`, `RECURSIVE_DEFINITION`, `RECURSIVE_CALL` and `END`")
        .suggest(name, KNOWN)
}
