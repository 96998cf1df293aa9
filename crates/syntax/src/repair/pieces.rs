//! The words, strings and symbols of a text in any of the languages, for corrections: what a person would take for
//! one thing. Not the parsers' tokens: what is wrong may be no token at all.

use std::ops::Range;

use crate::language::Language;
use crate::tokens::end_of_nested_comment;

/// A word, a string or a symbol.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) range: Range<usize>,
    pub(super) kind: PieceKind,
    /// Of the first piece of a line: how many characters stand before it.
    pub(super) indent: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    Word,
    String,
    Symbol,
}

/// How a comment ends.
enum End {
    Line,
    With(&'static str),
    /// Others may stand in it.
    Nested(&'static str),
}

/// How comments begin and end.
fn comments(language: Language) -> &'static [(&'static str, End)] {
    match language {
        Language::Scr => {
            &[("//", End::Line), ("(*)", End::Line), ("/*", End::With("*/")), ("(*", End::Nested("*)"))]
        }
        Language::Kmc | Language::Fsm => &[("--", End::Line), ("/*", End::Nested("*/"))],
        Language::Hml => &[("//", End::Line), ("%", End::Line), ("/*", End::With("*/"))],
        Language::GtJson => &[],
        Language::Gt | Language::St => &[("//", End::Line), ("/*", End::With("*/"))],
    }
}

const SYMBOLS: [&str; 16] =
    ["(*#", "#*)", "-->", "==>", "=>", "~>", "->", "<-", "==", "!=", "<=", ">=", "<>", "&&", "||", "**"];

/// The pieces of `text`, without comments.
pub(super) fn pieces(text: &str, language: Language) -> Vec<Piece> {
    let comments = comments(language);
    let mut pieces = Vec::new();
    let mut line_start = Some(0);
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first == '\n' {
            line_start = Some(at + 1);
        }
        // Only ordinary blanks: others are a mistake.
        if first.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let comment = comments.iter().find(|(open, _)| rest.starts_with(open) && !rest.starts_with("(*#"));
        if let Some((open, end)) = comment {
            let inside = &rest[open.len()..];
            let end = match end {
                // The end of a line is seen again.
                End::Line => inside.find('\n'),
                End::With(close) => inside.find(close).map(|end| end + close.len()),
                End::Nested(close) => end_of_nested_comment(inside, open, close),
            };
            let length = end.map_or(rest.len(), |end| open.len() + end);
            if rest[..length].contains('\n') {
                line_start = rest[..length].rfind('\n').map(|end| at + end + 1);
            }
            at += length;
            continue;
        }
        let (kind, length) = piece(rest, first);
        let indent = line_start.take().map(|start| text[start..at].chars().count());
        pieces.push(Piece { range: at..at + length, kind, indent });
        at += length;
    }
    pieces
}

fn piece(rest: &str, first: char) -> (PieceKind, usize) {
    if first.is_alphanumeric() || first == '_' {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
        return (PieceKind::Word, rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
    }
    if first == '"' {
        let end = rest[1..].find(['"', '\n']).map_or(rest.len(), |end| end + 1);
        let closed = rest[end..].starts_with('"');
        return (PieceKind::String, end + usize::from(closed));
    }
    let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
    (PieceKind::Symbol, symbol.map_or(first.len_utf8(), |symbol| symbol.len()))
}
