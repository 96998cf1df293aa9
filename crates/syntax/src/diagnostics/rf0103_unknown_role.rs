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

/// Longer lists of roles are cut short.
const MOST_LISTED: usize = 10;

/// `name` is not one of the declared `roles`.
#[must_use]
pub fn unknown_role<'a>(span: Span, name: &str, roles: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    let roles: Vec<&str> = roles.into_iter().collect();
    let diagnostic = CODE.at(span, format!("there is no role `{name}`"));
    let listed = roles.iter().take(MOST_LISTED).map(|role| format!("`{role}`")).collect::<Vec<_>>().join(", ");
    let declared = match roles.len() {
        0 => String::from("name a role of the protocol's header"),
        1..=MOST_LISTED => format!("the roles are {listed}"),
        more => format!("the roles are {listed} and {} others", more - MOST_LISTED),
    };
    diagnostic.help(declared).suggest(name, roles)
}
