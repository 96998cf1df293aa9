//! What the lexers and grammars of all languages report: RF00xx.

use super::{Diagnostic, RF0001, RF0002, RF0003, RF0004, RF0005, RF0006};
use crate::source::Span;

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
    // What reading puts in the place of bytes that are no text.
    if found == char::REPLACEMENT_CHARACTER {
        return RF0001.at(span, "this is not UTF-8").help("save the file as UTF-8");
    }
    let diagnostic = RF0001.at(span, format!("unexpected character `{}`", found.escape_debug()));
    match looks_like {
        Some(help) => diagnostic.help(help),
        None => diagnostic.help("remove it"),
    }
}

/// The comment opened at `span` never ends; `closing` would end it.
#[must_use]
pub fn unterminated_comment(span: Span, closing: &str) -> Diagnostic {
    RF0002.at(span, "this comment is never closed").help(format!("close it with `{closing}`"))
}

/// The string opened at `span` does not end on its line.
#[must_use]
pub fn unterminated_string(span: Span) -> Diagnostic {
    RF0003.at(span, "this string is never closed").help("close it with the same quote on the same line")
}

/// `found` stands where one of `expected` is needed.
#[must_use]
pub fn unexpected_token(span: Span, found: &str, expected: &[&str]) -> Diagnostic {
    let expected = match expected {
        [] => String::from("something else"),
        [one] => (*one).to_string(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    };
    RF0004.at(span, format!("expected {expected}, found {found}")).label(format!("expected {expected}"))
}

/// What stands at `span` is nested deeper than `limit`.
#[must_use]
pub fn nested_too_deep(span: Span, limit: usize) -> Diagnostic {
    RF0005
        .at(span, format!("nested deeper than {limit} levels"))
        .help("split it, or give the inner part a name of its own")
}

/// The text declares nothing.
#[must_use]
pub fn nothing_declared() -> Diagnostic {
    RF0006
        .at(Span::at(0), "this file is empty: it declares no protocol")
        .help("declare one, for example `protocol Ping(role a, role b) { Ping() from a to b; }`")
}
