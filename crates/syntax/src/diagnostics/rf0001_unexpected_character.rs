//! RF0001: a character that no token begins with.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unexpected character.
pub static CODE: Code = Code {
    id: "RF0001",
    severity: Severity::Error,
    title: "unexpected character",
    explanation: r#"
The text contains a character that cannot begin anything in this language.
Referee skips it and goes on, so further errors in the same file are reported too.

Often it comes from copying text out of a document: curly quotes instead of `"`, a long dash
instead of `-`, or a non-breaking space.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Ping(role client, role server) {
  Ping() from client § to server;
}
"#,
        right: r#"protocol Ping(role client, role server) {
  Ping() from client to server;
}
"#,
    },
};

/// `found` stands where no token can begin.
#[must_use]
pub fn unexpected_character(span: Span, found: char) -> Diagnostic {
    let looks_like = match found {
        '“' | '”' | '„' => Some("use a straight quote `\"` here"),
        '‘' | '’' => Some("use a straight apostrophe `'` here"),
        '–' | '—' | '−' => Some("use a plain hyphen `-` here"),
        '→' => Some("write an arrow as `->`"),
        '\u{a0}' => Some("this is a non-breaking space: replace it by an ordinary one"),
        _ => None,
    };
    let diagnostic = CODE.at(span, format!("unexpected character `{}`", found.escape_debug()));
    match looks_like {
        Some(help) => diagnostic.help(help),
        None => diagnostic.help("remove it"),
    }
}
