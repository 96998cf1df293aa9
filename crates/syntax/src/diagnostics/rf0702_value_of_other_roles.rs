//! RF0702: a value right behind a label, but between other roles.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Value between other roles.
pub static CODE: Code = Code {
    id: "RF0702",
    severity: Severity::Note,
    title: "value between other roles",
    explanation: r#"
A label may be followed by its value: `p -> q (l . p -> q <T> . G)` is one message, `l` with a `T`. Here a
value follows a label but travels between other roles, or the other way, so it is a message of its own.

Referee and the definition of global types read it that way. RelaMon's translator to JSON does not look at
the roles: it takes the value for the label's own and loses the second exchange. Keep that in mind if the
file is to be used with RelaMon, and give the second exchange a label if it matters.
"#,
    example: Example {
        language: Language::Gt,
        wrong: r#"a -> b (ask . b -> a <int> . end,
        skip . end)
"#,
        right: r#"a -> b (ask . b -> a (answer . b -> a <int> . end),
        skip . end)
"#,
    },
};

/// The value exchanged at `span` does not belong to `label` of the exchange at `exchange`.
#[must_use]
pub fn value_of_other_roles(span: Span, exchange: Span, label: &str) -> Diagnostic {
    CODE.at(span, format!("this value is a message of its own, not the value of `{label}`"))
        .related(exchange, format!("`{label}` is exchanged here"))
        .help("RelaMon takes it for the value of the label; with a label of its own it is clear to both")
}
