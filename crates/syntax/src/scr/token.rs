//! Tokens of `.scr` text. Keywords are names: whether `choice` is one depends on where it stands.

use logos::{Lexer, Logos};

/// A token.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f]+")]
pub(super) enum Token {
    /// A name, a number or a keyword. Names may begin with a digit and contain primes.
    #[regex(r"[\p{L}\p{N}_][\p{L}\p{N}_']*")]
    Word,
    /// `"…"` on one line.
    #[regex(r#""[^"\n]*""#)]
    String,
    /// A quote that is not closed on its line.
    #[regex(r#""[^"\n]*"#)]
    OpenString,
    #[token("(*#")]
    PragmaStart,
    #[token("#*)")]
    PragmaEnd,
    #[token("//", line_comment)]
    #[token("(*)", line_comment)]
    LineComment,
    /// `false` inside: never closed.
    #[token("/*", c_comment)]
    CComment(bool),
    /// `false` inside: never closed.
    #[token("(*", ml_comment)]
    MlComment(bool),
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token(".")]
    Dot,
    #[token("->")]
    Arrow,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token("(")]
    LeftParen,
    #[token(")")]
    RightParen,
    #[token("{")]
    LeftBrace,
    #[token("}")]
    RightBrace,
    #[token("[")]
    LeftBracket,
    #[token("]")]
    RightBracket,
    #[token("@")]
    At,
    #[token("=")]
    Equals,
    /// The end of the text; never made by the lexer.
    End,
}

impl Token {
    /// What diagnostics call it.
    pub(super) fn describe(self, text: &str) -> String {
        match self {
            Self::End => "the end of the text".into(),
            Self::Word => format!("`{text}`"),
            Self::String | Self::OpenString => "a string".into(),
            _ => format!("`{text}`"),
        }
    }
}

/// Whether `text` is one word: a name, as far as the lexer is concerned.
pub(crate) fn is_word(text: &str) -> bool {
    let mut lexer = Token::lexer(text);
    lexer.next() == Some(Ok(Token::Word)) && lexer.span() == (0..text.len())
}

fn line_comment(lexer: &mut Lexer<'_, Token>) {
    let rest = lexer.remainder();
    lexer.bump(rest.find('\n').unwrap_or(rest.len()));
}

fn c_comment(lexer: &mut Lexer<'_, Token>) -> bool {
    let rest = lexer.remainder();
    let end = rest.find("*/");
    lexer.bump(end.map_or(rest.len(), |at| at + 2));
    end.is_some()
}

/// The rest of a comment: `(* *)` nests; `(*)` inside opens nothing. Whether it is closed.
pub(super) fn ml_comment(lexer: &mut Lexer<'_, Token>) -> bool {
    let rest = lexer.remainder().as_bytes();
    let mut depth = 1;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"(*)") {
            at += 3;
        } else if rest[at..].starts_with(b"(*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*)") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                lexer.bump(at);
                return true;
            }
        } else {
            at += 1;
        }
    }
    lexer.bump(rest.len());
    false
}
