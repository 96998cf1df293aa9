//! RF0716: a component that plays no role in its own protocol.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Component without a role.
pub static CODE: Code = Code {
    id: "RF0716",
    severity: Severity::Warning,
    title: "component without a role",
    explanation: r#"
`implementingParty` names the role that the component of this file plays. The global type has no exchange in
which that role sends or receives, so the component's monitor would have nothing to allow. Usually the name
is misspelt.
"#,
    example: Example {
        language: Language::GtJson,
        wrong: r#"{"implementingParty": "clinet",
 "globalType": {"type": "EXCHANGE", "sender": "client", "receiver": "server",
   "branches": {"hello": {"valueType": "unit", "protocolContinuation": {"type": "END"}}}}}
"#,
        right: r#"{"implementingParty": "client",
 "globalType": {"type": "EXCHANGE", "sender": "client", "receiver": "server",
   "branches": {"hello": {"valueType": "unit", "protocolContinuation": {"type": "END"}}}}}
"#,
    },
};

/// The party `name` at `span` is not one of `roles`.
#[must_use]
pub fn unknown_party<'a>(span: Span, name: &str, roles: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    CODE.at(span, format!("`{name}` takes no part in the global type"))
        .help("name a role of the global type")
        .suggest(name, roles)
}
