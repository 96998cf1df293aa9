//! The tokens of `.hml` texts, read one at a time, because guards are read by the expression parser from where they
//! begin, and what is a comment here is an operator there.

use std::sync::Arc;

use logos::Logos;

use crate::diagnostics::rf0004_unexpected_token::unexpected_token;
use crate::diagnostics::rf0005_nested_too_deep::nested_too_deep;
use crate::diagnostics::{
    Diagnostic, rf0001_unexpected_character, rf0002_unterminated_comment, rf0003_unterminated_string,
};
use crate::source::Span;
use crate::tokens::{LexError, flat_comment};

/// How deep formulas, patterns and guards may be nested.
pub(super) const MAX_NESTING: usize = 128;

/// So many characters that belong to no token are told of; more would say nothing new.
const MAX_STRAY: usize = 10;

/// A kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Logos)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\r\n\f\u{feff}]+")]
#[logos(skip(r"/\*", flat_comment))]
#[logos(skip(r"(%|//)[^\n]*", allow_greedy = true))]
pub(super) enum Token {
    #[regex(r"[A-Za-z_][A-Za-z0-9_@]*")]
    Name,
    #[regex(r"[0-9][0-9_]*(#[0-9A-Za-z]+)?")]
    Int,
    #[regex(r"[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?")]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+", priority = 5)]
    Float,
    #[regex(r#""([^"\\\n]|\\.)*""#)]
    String,
    #[regex(r"'([^'\\\n]|\\.)*'")]
    Quoted,
    /// A process identifier as logs write it.
    #[regex(r"<[0-9]+\.[0-9]+\.[0-9]+>")]
    Pid,
    #[regex("#(Ref|Port)<[0-9.]+>")]
    Reference,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token(".")]
    Dot,
    #[token("...")]
    Ellipsis,
    #[token("|")]
    Bar,
    #[token("!")]
    Bang,
    #[token("?")]
    Question,
    #[token("$")]
    Dollar,
    #[token("->")]
    Arrow,
    #[token("<-")]
    BackArrow,
    #[token("**")]
    StarStar,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    /// An operator that only guards use.
    #[regex(r"=:=|=/=|==|/=|=<|>=|<=|!=|\+\+|--|\+|-|\*|/|=|&&|\|\|")]
    Operator,
    /// The end of the text.
    End,
}

/// An error has been reported: whoever gets this only has to find a place to go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported;

pub(super) type Parsed<T> = Result<T, Reported>;

/// A place in the text, the token there, and what was found wrong so far.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    token: Token,
    span: Span,
    /// Where the last token taken ended.
    pub(super) previous: Span,
    nesting: usize,
    /// How many characters belonged to no token.
    stray: usize,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut cursor = Self {
            text,
            token: Token::End,
            span: Span::at(0),
            previous: Span::at(0),
            nesting: 0,
            stray: 0,
            diagnostics: Vec::new(),
        };
        cursor.seek(0);
        cursor
    }

    /// Goes on reading at `offset`. What is no token is reported and passed over.
    pub(super) fn seek(&mut self, offset: usize) {
        let mut lexer = Token::lexer(self.text.get(offset..).unwrap_or_default());
        let mut bad_until = None;
        loop {
            let result = lexer.next();
            let range = lexer.span();
            let span = Span::new(offset + range.start, offset + range.end);
            match result {
                Some(Ok(token)) => (self.token, self.span) = (token, span),
                None => (self.token, self.span) = (Token::End, Span::at(self.text.len())),
                Some(Err(error)) => {
                    if bad_until != Some(range.start) {
                        self.no_token(error, span);
                    }
                    bad_until = Some(range.end);
                    continue;
                }
            }
            return;
        }
    }

    fn no_token(&mut self, error: LexError, span: Span) {
        let first = self.text_of(span).chars().next().unwrap_or(' ');
        let start = span.start as usize;
        let diagnostic = match error {
            LexError::Comment { closing } => {
                rf0002_unterminated_comment::unterminated_comment(Span::new(start, start + 2), closing)
            }
            _ if matches!(first, '"' | '\'') => rf0003_unterminated_string::unterminated_string(span),
            _ => {
                self.stray += 1;
                if self.stray > MAX_STRAY {
                    return;
                }
                let span = Span::new(start, start + first.len_utf8());
                rf0001_unexpected_character::unexpected_character(span, first)
            }
        };
        self.diagnostics.push(diagnostic);
    }

    pub(super) fn peek(&self) -> Token {
        self.token
    }

    pub(super) fn is_at(&self, token: Token) -> bool {
        self.token == token
    }

    /// Whether the next token is the word or operator `text`.
    pub(super) fn is_word(&self, text: &str) -> bool {
        matches!(self.token, Token::Name | Token::Operator) && self.text() == text
    }

    pub(super) fn span(&self) -> Span {
        self.span
    }

    pub(super) fn text(&self) -> &'a str {
        self.text_of(self.span)
    }

    pub(super) fn text_of(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or_default()
    }

    pub(super) fn bump(&mut self) -> Span {
        self.previous = self.span;
        self.seek(self.span.end as usize);
        self.previous
    }

    pub(super) fn eat(&mut self, token: Token) -> bool {
        let found = self.is_at(token);
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn eat_word(&mut self, text: &str) -> bool {
        let found = self.is_word(text);
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn expect(&mut self, token: Token, name: &str) -> Parsed<Span> {
        if self.is_at(token) { Ok(self.bump()) } else { Err(self.unexpected(&[name])) }
    }

    /// A name, whatever it is.
    pub(super) fn name(&mut self, what: &str) -> Parsed<(Arc<str>, Span)> {
        let name = self.text();
        let span = self.expect(Token::Name, what)?;
        Ok((name.into(), span))
    }

    /// Reports that one of `expected` should stand here.
    pub(super) fn unexpected(&mut self, expected: &[&str]) -> Reported {
        let found = match self.token {
            Token::End => String::from("the end of the text"),
            _ => format!("`{}`", self.text().chars().take(40).collect::<String>()),
        };
        self.report(unexpected_token(self.span, &found, expected))
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.diagnostics.push(diagnostic);
        Reported
    }

    /// How many errors were reported.
    pub(super) fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count()
    }

    /// One level deeper.
    pub(super) fn enter(&mut self) -> Parsed<()> {
        if self.nesting >= MAX_NESTING {
            return Err(self.report(nested_too_deep(self.span, MAX_NESTING)));
        }
        self.nesting += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.nesting = self.nesting.saturating_sub(1);
    }

    /// A fresh start for the next property.
    pub(super) fn forget_nesting(&mut self) {
        self.nesting = 0;
    }
}
