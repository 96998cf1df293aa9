//! The tokens of `.hml` texts, and what the shared cursor does for them.

use std::sync::Arc;

use logos::Logos;

use crate::source::Span;
use crate::tokens::{self, Bracket, LexError, flat_comment, unterminated_string};
pub(super) use crate::tokens::{Parsed, Reported};

/// How deep formulas, patterns and guards may be nested.
pub(super) const MAX_NESTING: usize = 128;

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
    /// A quote that is not closed on its line.
    #[regex(r#""([^"\\\n]|\\.)*"#, unterminated_string)]
    #[regex(r"'([^'\\\n]|\\.)*", unterminated_string)]
    OpenString,
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

pub(super) type Cursor<'a> = tokens::Cursor<'a, Token>;

impl tokens::Token for Token {
    fn describe(self) -> &'static str {
        match self {
            Self::Name => "a name",
            Self::Int | Self::Float => "a number",
            Self::String | Self::OpenString | Self::Quoted => "a string",
            Self::Pid => "a process",
            Self::Reference => "a reference",
            Self::OpenParen => "`(`",
            Self::CloseParen => "`)`",
            Self::OpenBracket => "`[`",
            Self::CloseBracket => "`]`",
            Self::OpenBrace => "`{`",
            Self::CloseBrace => "`}`",
            Self::Comma => "`,`",
            Self::Semicolon => "`;`",
            Self::Colon => "`:`",
            Self::Dot => "`.`",
            Self::Ellipsis => "`...`",
            Self::Bar => "`|`",
            Self::Bang => "`!`",
            Self::Question => "`?`",
            Self::Dollar => "`$`",
            Self::Arrow => "`->`",
            Self::BackArrow => "`<-`",
            Self::StarStar => "`**`",
            Self::Less => "`<`",
            Self::Greater => "`>`",
            Self::Operator => "an operator",
            Self::End => "the end of the text",
        }
    }

    fn bracket(self) -> Bracket {
        match self {
            Self::OpenParen | Self::OpenBracket | Self::OpenBrace => Bracket::Open,
            Self::CloseParen | Self::CloseBracket | Self::CloseBrace => Bracket::Close,
            _ => Bracket::None,
        }
    }

    fn has_text(self) -> bool {
        true
    }
}

impl Cursor<'_> {
    /// The token here, [`Token::End`] at the end.
    pub(super) fn token(&self) -> Token {
        self.peek().unwrap_or(Token::End)
    }

    /// Whether the next token is the word or operator `text`.
    pub(super) fn is_word(&self, text: &str) -> bool {
        matches!(self.token(), Token::Name | Token::Operator) && self.text() == text
    }

    pub(super) fn eat_word(&mut self, text: &str) -> bool {
        let found = self.is_word(text);
        if found {
            self.bump();
        }
        found
    }

    /// A name, whatever it is.
    pub(super) fn name(&mut self, what: &str) -> Parsed<(Arc<str>, Span)> {
        let name = self.text();
        let span = self.expect_as(Token::Name, what)?;
        Ok((name.into(), span))
    }

    /// How many errors were reported.
    pub(super) fn errors(&self) -> usize {
        self.diagnostics().iter().filter(|diagnostic| diagnostic.is_error()).count()
    }
}
