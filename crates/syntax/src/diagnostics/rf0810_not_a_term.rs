//! RF0810: a text that looks like a value and is none.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Not a term.
pub static CODE: Code = Code {
    id: "RF0810",
    severity: Severity::Error,
    title: "not a term",
    explanation: r#"
A number, string or atom that cannot be read: a float beyond the range of floats, an escape that does not exist, a
number with digits its base does not have. In an event no variables and no `_` may stand.
"#,
    example: Example {
        language: Language::Hml,
        wrong: r#"property large { [a?1.0e999]ff }
"#,
        right: r#"property large { [a?1.0e99]ff }
"#,
    },
};

/// `text` at `span` stands for nothing.
#[must_use]
pub fn not_a_term(span: Span, text: &str) -> Diagnostic {
    CODE.at(span, format!("`{}` stands for no value", text.chars().take(40).collect::<String>()))
        .help("write an atom, a number, a string, a tuple or a list of these")
}
