//! Expressions as they were written: the formatter keeps their dialect, only blanks and comments change.

use logos::Logos as _;

use super::token::{self, Token};
use crate::expr::{self, Dialect};
use crate::source::Span;

/// The comments inside the expression at `span`.
pub(super) fn comments(text: &str, span: Span, dialect: Dialect) -> Vec<Span> {
    let written = &text[span.range()];
    if !["//", "/*", "(*"].iter().any(|opening| written.contains(opening)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut last_end = 0;
    for token in expr::tokens(written, dialect) {
        let gap = span.start as usize + last_end;
        let mut lexer = Token::lexer(&written[last_end..token.start]);
        while let Some(comment) = lexer.next() {
            // Only blanks and comments are here: where a pragma cannot stand, `(*#` opens a comment.
            let start = lexer.span().start;
            if comment == Ok(Token::PragmaStart) {
                let _ = token::ml_comment(&mut lexer);
            }
            found.push(Span::new(gap + start, gap + lexer.span().end));
        }
        last_end = token.end;
    }
    found
}

/// The expression at `span` on one line, without its comments, otherwise as written.
pub(super) fn one_line(text: &str, span: Span, dialect: Dialect) -> String {
    let written = &text[span.range()];
    let mut line = String::with_capacity(written.len());
    let mut last_end = 0;
    for token in expr::tokens(written, dialect) {
        if !line.is_empty() && token.start > last_end {
            line.push(' ');
        }
        line.push_str(&written[token.clone()]);
        last_end = token.end;
    }
    line
}
