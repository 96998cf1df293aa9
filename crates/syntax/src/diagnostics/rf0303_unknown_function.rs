//! RF0303: a function that is neither built in nor declared.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unknown function.
pub static CODE: Code = Code {
    id: "RF0303",
    severity: Severity::Error,
    title: "unknown function",
    explanation: r#"
Built in are `size`, `startsWith`, `endsWith`, `contains`, `matches`, `int`, `double`, `string`, `abs`, `min`
and `max`. Anything else is an external predicate and must be declared, so that monitors know its types:

    external fn validToken(string) -> bool;
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping(token: string) from client to server where validToken(token);
}
"#,
        right: r#"external fn validToken(string) -> bool;
protocol Ping(role client, role server) {
  Ping(token: string) from client to server where validToken(token);
}
"#,
    },
};

/// `name` is neither built in nor declared; `known` are.
#[must_use]
pub fn unknown_function<'a>(span: Span, name: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    CODE.at(span, format!("there is no function `{name}`"))
        .help(format!("declare it: `external fn {name}(…) -> bool;`"))
        .suggest(name, known)
}
