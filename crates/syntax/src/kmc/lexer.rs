//! The tokens of both of KMC's languages.

use logos::Logos;

use crate::tokens::{LexError, Token, dash_comment, nested_comment};

/// A kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Logos)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\r\n\f\u{feff}]+")]
#[logos(skip(r"/\*", nested_comment))]
#[logos(skip(r"(#|--|//)[^\n]*", dash_comment, allow_greedy = true))]
pub(crate) enum KmcToken {
    /// A role, label, variable, state or keyword.
    #[regex(r"[A-Za-z0-9_][A-Za-z0-9_']*")]
    Name,
    /// `:`
    #[token(":")]
    Colon,
    /// `;`
    #[token(";")]
    Semicolon,
    /// `,`
    #[token(",")]
    Comma,
    /// `.`
    #[token(".")]
    Dot,
    /// `!`
    #[token("!")]
    Bang,
    /// `?`
    #[token("?")]
    Question,
    /// `{`
    #[token("{")]
    OpenBrace,
    /// `}`
    #[token("}")]
    CloseBrace,
    /// `<`
    #[token("<")]
    Less,
    /// `>`
    #[token(">")]
    Greater,
    /// `(`, which neither language uses.
    #[token("(")]
    OpenParenthesis,
    /// `)`, which neither language uses.
    #[token(")")]
    CloseParenthesis,
}

impl Token for KmcToken {
    fn describe(self) -> &'static str {
        match self {
            Self::Name => "a name",
            Self::Colon => "`:`",
            Self::Semicolon => "`;`",
            Self::Comma => "`,`",
            Self::Dot => "`.`",
            Self::Bang => "`!`",
            Self::Question => "`?`",
            Self::OpenBrace => "`{`",
            Self::CloseBrace => "`}`",
            Self::Less => "`<`",
            Self::Greater => "`>`",
            Self::OpenParenthesis => "`(`",
            Self::CloseParenthesis => "`)`",
        }
    }

    fn has_text(self) -> bool {
        self == Self::Name
    }
}
