//! A place in `.scr` text that moves from token to token.
//!
//! Tokens are made on demand, because assertions are read by their own parser: the cursor can be put
//! behind whatever that parser consumed.

use std::sync::Arc;

use logos::Logos as _;
use rustc_hash::FxHashMap;

use super::ast::Name;
use super::token::Token;
use crate::diagnostics::rf0001_unexpected_character::{self as rf0001, unexpected_character};
use crate::diagnostics::rf0002_unterminated_comment::{self as rf0002, unterminated_comment};
use crate::diagnostics::rf0003_unterminated_string::unterminated_string;
use crate::diagnostics::rf0004_unexpected_token::unexpected_token;
use crate::diagnostics::{Diagnostic, suggest};
use crate::source::Span;

/// More errors than this in one file are not worth reading: parsing stops.
pub(super) const MAX_ERRORS: usize = 100;

/// The input could not be understood here; what is wrong has been reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported;

pub(super) type Parsed<T> = Result<T, Reported>;

pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    token: Token,
    span: Span,
    /// The end of the token before the current one.
    last_end: usize,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) comments: Vec<Span>,
    /// Names that were met before, to share their text.
    names: FxHashMap<&'a str, Arc<str>>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut cursor = Self {
            text,
            token: Token::End,
            span: Span::default(),
            last_end: 0,
            diagnostics: Vec::new(),
            comments: Vec::new(),
            names: FxHashMap::default(),
        };
        cursor.go_to(0);
        cursor
    }

    /// Makes the first token at or after byte `offset` the current one.
    pub(super) fn go_to(&mut self, offset: usize) {
        let mut start = offset;
        loop {
            let mut lexer = Token::lexer(&self.text[start..]);
            let token = lexer.next();
            let span = Span::new(start + lexer.span().start, start + lexer.span().end);
            let next = span.end as usize;
            match token {
                None => {
                    let end = Span::at(self.text.trim_end().len().max(offset.min(self.text.len())));
                    return (self.token, self.span) = (Token::End, end);
                }
                Some(Ok(Token::LineComment)) => self.comments.push(span),
                Some(Ok(Token::CComment(closed) | Token::MlComment(closed))) => {
                    self.comments.push(span);
                    if !closed {
                        let opening = Span::new(span.start as usize, span.start as usize + 2);
                        let closing = if self.text[span.range()].starts_with("/*") { "*/" } else { "*)" };
                        self.diagnostics.push(unterminated_comment(opening, closing));
                    }
                }
                Some(Ok(Token::OpenString)) => {
                    self.diagnostics.push(unterminated_string(span));
                    return (self.token, self.span) = (Token::String, span);
                }
                Some(Ok(token)) => return (self.token, self.span) = (token, span),
                Some(Err(())) => {
                    let rest = &self.text[span.start as usize..];
                    let Some(found) = rest.chars().next() else { continue };
                    let one = Span::new(span.start as usize, span.start as usize + found.len_utf8());
                    // A run of unknown characters is one mistake.
                    let continues = self
                        .diagnostics
                        .last()
                        .is_some_and(|d| d.span.end == one.start && d.code.id == rf0001::CODE.id);
                    if !continues {
                        if self.diagnostics.len() < MAX_ERRORS {
                            self.diagnostics.push(unexpected_character(one, found));
                        }
                    } else if let Some(last) = self.diagnostics.last_mut() {
                        last.span.end = one.end;
                    }
                    start = one.end as usize;
                    continue;
                }
            }
            start = next;
        }
    }

    pub(super) fn peek(&self) -> Token {
        self.token
    }

    pub(super) fn span(&self) -> Span {
        self.span
    }

    /// The end of what was read last.
    pub(super) fn last_end(&self) -> usize {
        self.last_end
    }

    /// The current token's text.
    pub(super) fn word(&self) -> &'a str {
        &self.text[self.span.range()]
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.token == Token::Word && self.word() == word
    }

    /// The token after the current one, and its text.
    pub(super) fn peek_second(&self) -> (Token, &'a str) {
        let mut start = self.span.end as usize;
        loop {
            let mut lexer = Token::lexer(&self.text[start..]);
            match lexer.next() {
                Some(Ok(Token::LineComment | Token::CComment(_) | Token::MlComment(_))) | Some(Err(())) => {
                    start += lexer.span().end.max(1);
                    while !self.text.is_char_boundary(start) {
                        start += 1;
                    }
                }
                Some(Ok(token)) => return (token, lexer.slice()),
                None => return (Token::End, ""),
            }
        }
    }

    pub(super) fn advance(&mut self) {
        self.last_end = self.span.end as usize;
        if self.token != Token::End {
            self.go_to(self.span.end as usize);
        }
    }

    /// As [`advance`](Self::advance), through what was not understood anyhow: characters and strings there
    /// are not worth another word. A comment that is never closed is, as it hides the rest.
    pub(super) fn skip(&mut self) {
        let before = self.diagnostics.len();
        self.advance();
        let new = self.diagnostics.split_off(before);
        self.diagnostics.extend(new.into_iter().filter(|d| d.code.id == rf0002::CODE.id));
    }

    /// Continues behind what another parser has read up to `offset`.
    pub(super) fn resume(&mut self, offset: usize) {
        self.last_end = offset;
        self.go_to(offset);
    }

    pub(super) fn eat(&mut self, token: Token) -> bool {
        let found = self.token == token;
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, token: Token, what: &str) -> Parsed<Span> {
        let span = self.span;
        if self.eat(token) { Ok(span) } else { Err(self.unexpected(&[what])) }
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<Span> {
        let span = self.span;
        if self.eat_word(word) {
            return Ok(span);
        }
        let quoted = format!("`{word}`");
        let misspelt = self.token == Token::Word && suggest::closest(self.word(), [word]).is_some();
        let reported = self.unexpected(&[&quoted]);
        if misspelt && let Some(last) = self.diagnostics.last_mut() {
            last.help = Some(format!("did you mean {quoted}?"));
        }
        Err(reported)
    }

    /// A name that is probably not used again, such as a label: not worth looking for among those met before.
    pub(super) fn fresh_name(&mut self, what: &str) -> Parsed<Name> {
        self.name_with(what, |_, word| Arc::from(word))
    }

    pub(super) fn name(&mut self, what: &str) -> Parsed<Name> {
        self.name_with(what, |cursor, word| {
            Arc::clone(cursor.names.entry(word).or_insert_with(|| Arc::from(word)))
        })
    }

    fn name_with(&mut self, what: &str, text: impl FnOnce(&mut Self, &'a str) -> Arc<str>) -> Parsed<Name> {
        if self.token != Token::Word {
            return Err(self.unexpected(&[what]));
        }
        let word = self.word();
        let name = Name { text: text(self, word), span: self.span };
        self.advance();
        Ok(name)
    }

    /// Reports that the current token cannot stand here, once per place.
    pub(super) fn unexpected(&mut self, expected: &[&str]) -> Reported {
        let span = self.span;
        if !self.diagnostics.iter().rev().take(4).any(|d| d.span == span) {
            let found = self.token.describe(self.word());
            self.diagnostics.push(unexpected_token(span, &found, expected));
        }
        Reported
    }
}
