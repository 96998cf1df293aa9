//! The token ahead, and places.

use std::ops::Range;

use referee_theory::expr::Place;

use super::super::lexer::{LexError, Token};
use super::super::{Expectation, SyntaxError, SyntaxErrorKind};
use super::{Parsed, Parser};

impl Parser<'_> {
    pub(super) fn peek(&self) -> Option<Token> {
        self.ahead.as_ref().and_then(|(token, _)| token.ok())
    }

    pub(super) fn advance(&mut self) {
        self.ahead = self.lexer.next().map(|token| (token, self.lexer.span()));
    }

    /// Takes the token ahead.
    pub(super) fn advance_past(&mut self) {
        self.consumed = self.ahead_range().end;
        self.advance();
    }

    pub(super) fn eat(&mut self, token: Token) -> bool {
        let found = self.peek() == Some(token);
        if found {
            self.advance_past();
        }
        found
    }

    pub(super) fn expect(&mut self, token: Token, expected: Expectation) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Where the token ahead is: the end of the text if there is none.
    pub(super) fn ahead_range(&self) -> Range<usize> {
        self.ahead.as_ref().map_or(self.text.len()..self.text.len(), |(_, range)| range.clone())
    }

    pub(super) fn start(&self) -> usize {
        self.ahead_range().start
    }

    pub(super) fn place(&self, range: Range<usize>) -> Place {
        let offset = |at: usize| self.base.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
        Place::new(offset(range.start), offset(range.end))
    }

    pub(super) fn error(&self, kind: SyntaxErrorKind, range: Range<usize>) -> SyntaxError {
        SyntaxError { kind, place: self.place(range) }
    }

    /// The token ahead cannot stand here.
    pub(super) fn unexpected(&self, expected: Expectation) -> SyntaxError {
        let mut range = self.ahead_range();
        let kind = match self.ahead.as_ref().map(|(token, _)| token) {
            Some(Err(LexError::UnterminatedString)) => SyntaxErrorKind::UnterminatedString,
            Some(Err(LexError::UnterminatedComment)) => SyntaxErrorKind::UnterminatedComment,
            Some(Ok(_)) => SyntaxErrorKind::Unexpected { found: Some(self.peek_text().to_owned()), expected },
            // The lexer may have looked further before it gave up: the first character is to blame.
            Some(Err(LexError::Character)) => {
                let found: String = self.peek_text().chars().take(1).collect();
                range.end = range.start + found.len();
                SyntaxErrorKind::Unexpected { found: Some(found), expected }
            }
            None => SyntaxErrorKind::Unexpected { found: None, expected },
        };
        self.error(kind, range)
    }
}
