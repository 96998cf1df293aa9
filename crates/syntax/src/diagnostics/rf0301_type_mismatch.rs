//! RF0301: an operation on types that do not fit.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Types do not fit.
pub static CODE: Code = Code {
    id: "RF0301",
    severity: Severity::Error,
    title: "types do not fit",
    explanation: r#"
An assertion is type-checked before anything runs. Here an operator or a function is used with types it does
not work on.

Numbers do not mix by themselves: compare an `int` with an `int`, a `float` with a `float`, or convert with
`int(…)`, `double(…)`. Opaque types can only be compared for equality and passed to external predicates.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping(x: int) from client to server where x > "0";
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping(x: int) from client to server where x > 0;
}
"#,
    },
};

/// `what` is wrong with the types at `span`.
#[must_use]
pub fn type_mismatch(span: Span, what: String, fix: Option<&str>) -> Diagnostic {
    let diagnostic = CODE.at(span, what);
    match fix {
        Some(replacement) => diagnostic.help(format!("write `{replacement}`")),
        None => diagnostic.help("use operands of matching types"),
    }
}
