//! What the shared cursor does for `.scr` text: keywords are words, and names remember their places.

use std::sync::Arc;

use super::ast::Name;
use super::token::Token;
use crate::diagnostics::suggest;
use crate::source::Span;
pub(super) use crate::tokens::{Parsed, Reported};

/// More errors than this in one file are not worth reading: parsing stops.
pub(super) const MAX_ERRORS: usize = 100;

pub(super) type Cursor<'a> = crate::tokens::Cursor<'a, Token>;

impl<'a> Cursor<'a> {
    /// The token here, [`Token::End`] at the end.
    pub(super) fn token(&self) -> Token {
        self.peek().unwrap_or(Token::End)
    }

    /// The end of what was read last.
    pub(super) fn last_end(&self) -> usize {
        self.previous().end as usize
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.is_at(Token::Word) && self.text() == word
    }

    /// The token after the current one, and its text.
    pub(super) fn second(&self) -> (Token, &'a str) {
        let (token, span) = self.nth(1);
        (token.unwrap_or(Token::End), self.text_of(span))
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<Span> {
        if self.is_word(word) {
            return Ok(self.bump());
        }
        let quoted = format!("`{word}`");
        let misspelt = self.is_at(Token::Word) && suggest::closest(self.text(), [word]).is_some();
        let reported = self.unexpected(&[&quoted]);
        if misspelt && let Some(last) = self.last_diagnostic() {
            last.help = Some(format!("did you mean {quoted}?"));
        }
        Err(reported)
    }

    /// A name that is probably not used again, such as a label: not worth looking for among those met before.
    pub(super) fn fresh_name(&mut self, what: &str) -> Parsed<Name> {
        let text = self.text();
        let span = self.expect_as(Token::Word, what)?;
        Ok(Name { text: Arc::from(text), span })
    }

    pub(super) fn name(&mut self, what: &str) -> Parsed<Name> {
        if !self.is_at(Token::Word) {
            return Err(self.unexpected(&[what]));
        }
        let text = self.shared_text();
        Ok(Name { text, span: self.bump() })
    }
}
