//! RF0217: an import that loads nothing.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Import is not loaded.
pub static CODE: Code = Code {
    id: "RF0217",
    severity: Severity::Warning,
    title: "import is not loaded",
    explanation: r#"
Referee reads one file at a time: an `import` is accepted, but nothing is loaded. Protocols of other files
cannot be used with `do`; copy them into this file.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"import other.Module;
protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
    },
};

/// The module `name` is not loaded.
#[must_use]
pub fn import_ignored(span: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("`{name}` is not loaded")).help("copy the protocols you need into this file")
}
