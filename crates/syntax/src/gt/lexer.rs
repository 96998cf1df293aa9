//! The tokens of `.gt` texts.

use logos::Logos;

use crate::tokens::{LexError, Token, flat_comment, slash_comment};

/// A kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Logos)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\r\n\f\u{feff}]+")]
#[logos(skip(r"/\*", flat_comment))]
#[logos(skip(r"(#|--|//)[^\n]*", slash_comment, allow_greedy = true))]
pub(crate) enum GtToken {
    /// A role, label, type, variable or keyword.
    #[regex(r"[A-Za-z0-9_][A-Za-z0-9_']*")]
    Name,
    /// `->`
    #[token("->")]
    Arrow,
    /// `(`
    #[token("(")]
    OpenParenthesis,
    /// `)`
    #[token(")")]
    CloseParenthesis,
    /// `<`
    #[token("<")]
    Less,
    /// `>`
    #[token(">")]
    Greater,
    /// `[`
    #[token("[")]
    OpenBracket,
    /// `]`
    #[token("]")]
    CloseBracket,
    /// `,`
    #[token(",")]
    Comma,
    /// `.`
    #[token(".")]
    Dot,
}

impl Token for GtToken {
    fn describe(self) -> &'static str {
        match self {
            Self::Name => "a name",
            Self::Arrow => "`->`",
            Self::OpenParenthesis => "`(`",
            Self::CloseParenthesis => "`)`",
            Self::Less => "`<`",
            Self::Greater => "`>`",
            Self::OpenBracket => "`[`",
            Self::CloseBracket => "`]`",
            Self::Comma => "`,`",
            Self::Dot => "`.`",
        }
    }

    fn has_text(self) -> bool {
        self == Self::Name
    }
}
