//! RF0604: a message with more fields than STMonitor keeps in order.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// More than four fields.
pub static CODE: Code = Code {
    id: "RF0604",
    severity: Severity::Note,
    title: "more than four fields",
    explanation: r#"
STMonitor keeps the fields of a message in a map that forgets their order when there are more than four, so
the monitors it generates may take one field for another. Referee keeps the order: there is nothing to
change unless the file is to be used with STMonitor too.
"#,
    example: Example {
        language: Language::St,
        wrong: r#"S = !Book(title: String, author: String, year: Int, pages: Int, price: Int)
"#,
        right: r#"S = !Book(title: String, author: String, year: Int, pages: Int)
"#,
    },
};

/// The message `label`, whose payload is at `span`, has `count` fields.
#[must_use]
pub fn many_fields(span: Span, label: &str, count: usize) -> Diagnostic {
    CODE.at(span, format!("`{label}` has {count} fields: STMonitor forgets the order of more than four"))
        .help("Referee keeps it; split the message if STMonitor is to read this file")
}
