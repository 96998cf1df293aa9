//! RF0103: a role that the protocol does not declare.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unknown role.
pub static CODE: Code = Code {
    id: "RF0103",
    severity: Severity::Error,
    title: "unknown role",
    explanation: r#"
Every role of a protocol is declared in its header: `protocol Ping(role client, role server)`.
A message, a `do` or a data annotation names a role that is not among them.

Usually it is a misspelling. Otherwise add the role to the header.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping() from cliemt to server;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
    },
};

/// `name` is not one of the declared `roles`.
#[must_use]
pub fn unknown_role<'a>(span: Span, name: &str, roles: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    let roles: Vec<&str> = roles.into_iter().collect();
    let diagnostic = CODE.at(span, format!("there is no role `{name}`"));
    let declared = if roles.is_empty() {
        String::from("the protocol declares no roles")
    } else {
        format!("the roles are {}", roles.iter().map(|r| format!("`{r}`")).collect::<Vec<_>>().join(", "))
    };
    diagnostic.help(declared).suggest(name, roles)
}
