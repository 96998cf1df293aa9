//! RF0101: a protocol that is not declared.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unknown protocol.
pub static CODE: Code = Code {
    id: "RF0101",
    severity: Severity::Error,
    title: "unknown protocol",
    explanation: r#"
`do` and `calls` refer to a protocol by name. No protocol of this name is visible here.

`do` finds the global protocols of the file. `calls` finds nested protocols: those declared in the same
protocol, in a protocol around it, or at the top of the file.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Main(role a, role b) {
  do Hello(a, b);
}
"#,
        right: r#"protocol Main(role a, role b) {
  do Hello(a, b);
}
aux protocol Hello(role a, role b) {
  Hello() from a to b;
}
"#,
    },
};

/// No protocol called `name` is visible; `visible` are.
#[must_use]
pub fn unknown_protocol<'a>(span: Span, name: &str, visible: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    CODE.at(span, format!("there is no protocol `{name}` here"))
        .help("declare it in this file, or correct its name")
        .suggest(name, visible)
}

/// `name` exists, but as the other kind: nested protocols are called, global ones are done.
#[must_use]
pub fn wrong_kind(span: Span, name: &str, declared: Span, is_nested: bool) -> Diagnostic {
    let (kind, verb) = if is_nested { ("nested", "calls") } else { ("global", "do") };
    CODE.at(span, format!("`{name}` is a {kind} protocol"))
        .related(declared, "declared here")
        .help(format!("use `{verb}` for a {kind} protocol"))
}
