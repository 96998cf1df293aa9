//! Tokens of `.scr` text. Keywords are names: whether `choice` is one depends on where it stands.

use logos::{Lexer, Logos};

use crate::tokens::{self, Bracket, LexError, flat_comment, nested_comment_of, unterminated_string};

/// A token.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\r\n\f]+")]
pub(super) enum Token {
    /// A name, a number or a keyword. Names may begin with a digit and contain primes.
    #[regex(r"[\p{L}\p{N}_][\p{L}\p{N}_']*")]
    Word,
    /// `"…"` on one line.
    #[regex(r#""[^"\n]*""#)]
    String,
    /// A quote that is not closed on its line.
    #[regex(r#""[^"\n]*"#, unterminated_string)]
    OpenString,
    #[token("(*#")]
    PragmaStart,
    #[token("#*)")]
    PragmaEnd,
    #[token("//", line_comment)]
    #[token("(*)", line_comment)]
    #[token("/*", flat_comment)]
    #[token("(*", ml_comment)]
    Comment,
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

impl tokens::Token for Token {
    fn describe(self) -> &'static str {
        match self {
            Self::Word => "a name",
            Self::String | Self::OpenString => "a string",
            Self::Comment => "a comment",
            Self::PragmaStart => "`(*#`",
            Self::PragmaEnd => "`#*)`",
            Self::Comma => "`,`",
            Self::Semicolon => "`;`",
            Self::Colon => "`:`",
            Self::Dot => "`.`",
            Self::Arrow => "`->`",
            Self::Less => "`<`",
            Self::Greater => "`>`",
            Self::LeftParen => "`(`",
            Self::RightParen => "`)`",
            Self::LeftBrace => "`{`",
            Self::RightBrace => "`}`",
            Self::LeftBracket => "`[`",
            Self::RightBracket => "`]`",
            Self::At => "`@`",
            Self::Equals => "`=`",
            Self::End => "the end of the text",
        }
    }

    fn bracket(self) -> Bracket {
        match self {
            Self::LeftParen | Self::LeftBrace | Self::LeftBracket => Bracket::Open,
            Self::RightParen | Self::RightBrace | Self::RightBracket => Bracket::Close,
            _ => Bracket::None,
        }
    }

    fn has_text(self) -> bool {
        self == Self::Word
    }

    fn is_comment(self) -> bool {
        self == Self::Comment
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

/// The rest of a comment: `(* *)` nests.
pub(super) fn ml_comment(lexer: &mut Lexer<'_, Token>) -> Result<(), LexError> {
    nested_comment_of(lexer, "(*", "*)")
}
