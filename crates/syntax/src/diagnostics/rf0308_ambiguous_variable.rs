//! RF0308: a variable that has different types on different ways here.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Variable of unclear type.
pub static CODE: Code = Code {
    id: "RF0308",
    severity: Severity::Error,
    title: "variable of unclear type",
    explanation: r#"
The variable is bound by several messages, with different types, and which of them was the last depends on
the way the protocol took. The assertion could not be type-checked for all of them.

Rename one of the fields.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ask(role a, role b) {
  choice at a {
    Number(x: int) from a to b;
  } or {
    Text(x: string) from a to b;
  }
  Done() from a to b where x == x;
}
"#,
        right: r#"protocol Ask(role a, role b) {
  choice at a {
    Number(x: int) from a to b;
  } or {
    Text(t: string) from a to b;
  }
  Done() from a to b;
}
"#,
    },
};

/// `name` is bound with type `left` at one place and `right` at another.
#[must_use]
pub fn ambiguous_variable(span: Span, name: &str, left: (Span, String), right: (Span, String)) -> Diagnostic {
    CODE.at(span, format!("`{name}` is `{}` or `{}` here, depending on the way taken", left.1, right.1))
        .related(left.0, format!("`{}` here", left.1))
        .related(right.0, format!("`{}` here", right.1))
        .help("give the two fields different names")
}
