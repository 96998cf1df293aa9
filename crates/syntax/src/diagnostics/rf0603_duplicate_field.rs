//! RF0603: two payload fields of one message with the same name.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Duplicate field.
pub static CODE: Code = Code {
    id: "RF0603",
    severity: Severity::Error,
    title: "duplicate field",
    explanation: r#"
A payload field is a variable that assertions can refer to, in this message and in those after it. Two
fields of one message have the same name, so an assertion could only ever see one of them.

Fields of different messages may share a name: the later one then hides the earlier.
"#,
    example: Example {
        language: Language::St,
        wrong: r#"S_calc = ?Add(num: Int, num: Int).!Res(ans: Int)
"#,
        right: r#"S_calc = ?Add(num1: Int, num2: Int).!Res(ans: Int)
"#,
    },
};

/// The field `name` at `span` has the same name as the one at `first`.
#[must_use]
pub fn duplicate_field(span: Span, first: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("the field `{name}` occurs twice in this message"))
        .label("and here again")
        .related(first, "first here")
        .help("give the fields different names")
}
