//! Tokens of expressions, the same for all dialects but for the inside of strings.

use logos::{FilterResult, Lexer, Logos};

use super::Dialect;
use crate::tokens::end_of_nested_comment;

/// A token. What it says is read off the text it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Logos)]
#[logos(extras = Dialect, error = LexError, skip r"[ \t\r\n\f]+")]
pub(super) enum Token {
    #[regex(r"[\p{L}_][\p{L}\p{N}_']*")]
    Name,
    #[regex("`[^`.\r\n]+`")]
    QuotedName,
    #[regex("[0-9]+", priority = 8)]
    #[regex("0[xX][0-9a-fA-F]+", priority = 8)]
    Int,
    #[regex(r"[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?", priority = 8)]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+", priority = 8)]
    Float,
    /// A duration in guards, `5s`; elsewhere it is as any other that begins like a number.
    #[regex(r"[0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h|d)", priority = 9)]
    Duration,
    /// Begins like a number and is none; a name in nuScr.
    #[regex(r"\p{N}[\p{L}\p{N}_']*", priority = 2)]
    NumberLike,
    #[regex("([rR]|[bB]|[rR][bB]|[bB][rR])?\"", string)]
    #[token("'", string)]
    String,
    #[token("(*", nested_comment)]
    #[token("/*", block_comment)]
    #[token("//", line_comment)]
    Comment,
    #[token("==")]
    EqualEqual,
    #[token("=")]
    Equal,
    #[token("!=")]
    BangEqual,
    #[token("<>")]
    LessGreater,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token("&")]
    And,
    #[token("|")]
    Or,
    #[token("!")]
    Bang,
    #[token("?")]
    Question,
    #[token(":")]
    Colon,
    #[token(",")]
    Comma,
    #[token(".")]
    Dot,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
}

/// Why there is no token here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LexError {
    /// A character no token begins with.
    #[default]
    Character,
    /// The text ends, or its line does, inside a string.
    UnterminatedString,
    /// The text ends inside a comment.
    UnterminatedComment,
}

/// Takes the rest of a string; the opening quote has been read. What is inside is `literal`'s business.
fn string(lexer: &mut Lexer<'_, Token>) -> Result<(), LexError> {
    let opening = lexer.slice();
    let quote = if opening.ends_with('\'') { "'" } else { "\"" };
    let rest = lexer.remainder();
    let triple = lexer.extras != Dialect::NuScr && rest.starts_with(&quote.repeat(2));
    let raw = match lexer.extras {
        Dialect::Cel => opening.contains(['r', 'R']),
        Dialect::NuScr => true,
        Dialect::Scala => triple,
    };
    let (skip, close) = if triple { (2, quote.repeat(3)) } else { (0, quote.to_owned()) };
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip_while(|(at, _)| *at < skip) {
        if escaped {
            escaped = false;
        } else if c == '\\' && !raw {
            escaped = true;
        } else if rest[at..].starts_with(&close) {
            lexer.bump(at + close.len());
            return Ok(());
        }
        if matches!(c, '\n' | '\r') && !triple {
            lexer.bump(at);
            return Err(LexError::UnterminatedString);
        }
    }
    lexer.bump(rest.len());
    Err(LexError::UnterminatedString)
}

/// `(* … (* … *) … *)`; `(*)` comments out the rest of the line, as in nuScr.
fn nested_comment(lexer: &mut Lexer<'_, Token>) -> FilterResult<(), LexError> {
    if lexer.remainder().starts_with(')') {
        return line_comment(lexer);
    }
    let end = end_of_nested_comment(lexer.remainder(), "(*", "*)");
    lexer.bump(end.unwrap_or(lexer.remainder().len()));
    end.map_or(FilterResult::Error(LexError::UnterminatedComment), |_| FilterResult::Skip)
}

fn block_comment(lexer: &mut Lexer<'_, Token>) -> FilterResult<(), LexError> {
    let rest = lexer.remainder();
    match rest.find("*/") {
        Some(at) => {
            lexer.bump(at + 2);
            FilterResult::Skip
        }
        None => {
            lexer.bump(rest.len());
            FilterResult::Error(LexError::UnterminatedComment)
        }
    }
}

fn line_comment(lexer: &mut Lexer<'_, Token>) -> FilterResult<(), LexError> {
    let rest = lexer.remainder();
    lexer.bump(rest.find('\n').unwrap_or(rest.len()));
    FilterResult::Skip
}
