//! The tokens of `.st` texts. An assertion is one token: its inside is another language.

use logos::{Lexer, Logos};

use crate::tokens::{LexError, Token, flat_comment, slash_comment};

/// A kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Logos)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\r\n\f\u{feff}]+")]
#[logos(skip(r"/\*", flat_comment))]
#[logos(skip(r"(#|--|//)[^\n]*", slash_comment, allow_greedy = true))]
pub(crate) enum StToken {
    /// A label, field, type, variable or keyword.
    #[regex(r"[A-Za-z0-9_][A-Za-z0-9_']*")]
    Name,
    /// `[…]`
    #[token("[", assertion)]
    Assertion(Closed),
    /// `=`
    #[token("=")]
    Equals,
    /// `&`
    #[token("&")]
    And,
    /// `+`
    #[token("+")]
    Plus,
    /// `?`
    #[token("?")]
    Question,
    /// `!`
    #[token("!")]
    Bang,
    /// `{`
    #[token("{")]
    OpenBrace,
    /// `}`
    #[token("}")]
    CloseBrace,
    /// `(`
    #[token("(")]
    OpenParenthesis,
    /// `)`
    #[token(")")]
    CloseParenthesis,
    /// `]` without its `[`
    #[token("]")]
    CloseBracket,
    /// `,`
    #[token(",")]
    Comma,
    /// `:`
    #[token(":")]
    Colon,
    /// `.`
    #[token(".")]
    Dot,
}

/// Whether an assertion ends with its `]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    Yes,
    No,
}

/// After `[`: up to the `]` that belongs to it, on the same line. Brackets nest, and those within strings do
/// not count, so that `[name.matches("[a-z]+")]` is what it seems to be.
fn assertion<'a>(lexer: &mut Lexer<'a, StToken>) -> Closed {
    let rest = lexer.remainder();
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let mut depth = 1_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in line.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' => depth += 1,
            b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            lexer.bump(at + 1);
            return Closed::Yes;
        }
    }
    lexer.bump(likely_end(line));
    Closed::No
}

/// Where an assertion without its `]` probably ends: before the punctuation that ends the line.
fn likely_end(line: &str) -> usize {
    let mut end = line.trim_end_matches(|c: char| c.is_whitespace() || ",.&+{}()".contains(c)).len();
    let open = line[..end].matches('(').count();
    let mut unclosed = open.saturating_sub(line[..end].matches(')').count());
    while unclosed > 0 && line[end..].starts_with(')') {
        unclosed -= 1;
        end += 1;
    }
    end
}

impl Token for StToken {
    fn describe(self) -> &'static str {
        match self {
            Self::Name => "a name",
            Self::Assertion(_) => "an assertion",
            Self::Equals => "`=`",
            Self::And => "`&`",
            Self::Plus => "`+`",
            Self::Question => "`?`",
            Self::Bang => "`!`",
            Self::OpenBrace => "`{`",
            Self::CloseBrace => "`}`",
            Self::OpenParenthesis => "`(`",
            Self::CloseParenthesis => "`)`",
            Self::CloseBracket => "`]`",
            Self::Comma => "`,`",
            Self::Colon => "`:`",
            Self::Dot => "`.`",
        }
    }

    fn has_text(self) -> bool {
        self == Self::Name
    }
}
