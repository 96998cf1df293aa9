//! RF0209: a protocol that grows too large when it is written out.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Protocol too large.
pub static CODE: Code = Code {
    id: "RF0209",
    severity: Severity::Error,
    title: "protocol too large",
    explanation: r#"
Written out, with every `do` replaced by the protocol it names, this protocol has more than a million
steps. Usually protocols that start each other several times are to blame: each level doubles the size.

Use `rec` and `continue` for repetition, and let a `do` be the last step where possible.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol P0(role a, role b) {
  do P1(a, b);
  do P1(a, b);
  do P1(a, b);
  do P1(a, b);
  do P1(a, b);
  do P1(a, b);
  do P1(a, b);
  do P1(a, b);
  do P1(a, b);
  do P1(a, b);
  do P1(a, b);
  do P1(a, b);
}
protocol P1(role a, role b) {
  do P2(a, b);
  do P2(a, b);
  do P2(a, b);
  do P2(a, b);
  do P2(a, b);
  do P2(a, b);
  do P2(a, b);
  do P2(a, b);
  do P2(a, b);
  do P2(a, b);
  do P2(a, b);
  do P2(a, b);
}
protocol P2(role a, role b) {
  do P3(a, b);
  do P3(a, b);
  do P3(a, b);
  do P3(a, b);
  do P3(a, b);
  do P3(a, b);
  do P3(a, b);
  do P3(a, b);
  do P3(a, b);
  do P3(a, b);
  do P3(a, b);
  do P3(a, b);
}
protocol P3(role a, role b) {
  do P4(a, b);
  do P4(a, b);
  do P4(a, b);
  do P4(a, b);
  do P4(a, b);
  do P4(a, b);
  do P4(a, b);
  do P4(a, b);
  do P4(a, b);
  do P4(a, b);
  do P4(a, b);
  do P4(a, b);
}
protocol P4(role a, role b) {
  do P5(a, b);
  do P5(a, b);
  do P5(a, b);
  do P5(a, b);
  do P5(a, b);
  do P5(a, b);
  do P5(a, b);
  do P5(a, b);
  do P5(a, b);
  do P5(a, b);
  do P5(a, b);
  do P5(a, b);
}
protocol P5(role a, role b) {
  do P6(a, b);
  do P6(a, b);
  do P6(a, b);
  do P6(a, b);
  do P6(a, b);
  do P6(a, b);
  do P6(a, b);
  do P6(a, b);
  do P6(a, b);
  do P6(a, b);
  do P6(a, b);
  do P6(a, b);
}
protocol P6(role a, role b) { M() from a to b; }
"#,
        right: r#"protocol P0(role a, role b) { do P1(a, b); do P1(a, b); }
protocol P1(role a, role b) { M() from a to b; }
"#,
    },
};

/// The protocol declared at `span` has more than `limit` steps.
#[must_use]
pub fn too_large(span: Span, limit: usize) -> Diagnostic {
    CODE.at(span, format!("written out, this protocol has more than {limit} steps"))
        .help("replace repeated `do`s by `rec` and `continue`")
}

/// The protocols up to the one declared at `span` have together more than `limit` steps.
#[must_use]
pub fn together_too_large(span: Span, limit: usize) -> Diagnostic {
    CODE.at(span, format!("written out, the protocols up to this one have more than {limit} steps together"))
        .help("replace repeated `do`s by `rec` and `continue`, or split the file")
}

/// The protocol declared at `span` has more than `limit` roles.
#[must_use]
pub fn too_many_roles(span: Span, limit: usize) -> Diagnostic {
    CODE.at(span, format!("this protocol has more than {limit} roles"))
        .help("split it into protocols between fewer roles")
}

/// The machine of `role` would have more than a million states.
#[must_use]
pub fn projection_too_large(span: Span, role: &str) -> Diagnostic {
    CODE.at(span, format!("the machine of `{role}` would have more than a million states"))
        .help(format!("tell `{role}` the outcome of choices earlier"))
}

/// The property with the variable at `span` has more than `limit` of them.
#[must_use]
pub fn too_many_variables(span: Span, limit: usize) -> Diagnostic {
    CODE.at(span, format!("this property has more than {limit} data variables"))
        .help("split it into several properties")
}
