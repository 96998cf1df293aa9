//! Assertions as text: the three dialects in which protocols write expressions.
//!
//! All dialects give the same [`Expr`]; they differ in operators, precedence and literals. Names and types
//! are not looked at here: see [`referee_theory::expr::check`].
//!
//! A name is a letter or `_`, then letters, digits, `_` and primes: `x'` is a name, as in nuScr. **A prime
//! right after a character of a name belongs to the name, always**; anywhere else it opens a string. So
//! `x == 'a'` compares with a string, `x'` is a variable, and the prefixed literals `r"…"` and `b"…"` take
//! double quotes only. Blanks and comments (`//`, `/* */`, nested `(* *)`) may stand between tokens.
//!
//! Read next: `lexer`, `parser`, `literal`, and `scala` for what that dialect's methods become.

mod lexer;
mod literal;
mod parser;
mod scala;
#[cfg(test)]
mod tests;

use std::fmt;

pub use referee_theory::expr::Expr;
use referee_theory::expr::{MAX_DEPTH, Place};

use crate::source::Span;

/// Whose expressions they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The native one, after `where`: CEL without maps, messages, macros, `null` and unsigned numbers.
    ///
    /// A call `a.b.f(x)` is one of the external predicate `a.b.f`, unless `f` is the name of a built-in
    /// method (`size`, `startsWith`, `endsWith`, `contains`, `matches`); a leading dot, `.a.b.matches(x)`,
    /// says external in any case. A name that would not be one goes between backquotes.
    Cel,
    /// nuScr's refinements, `x: int{x > 0}`: `&&` and `||` have the **same** precedence and group to the
    /// left; `=` and `<>` compare; `not e` and `-e` stand at the start of an expression and reach as far
    /// right as they can; strings have no escapes. `len(e)` is `size(e)`.
    ///
    /// Beyond nuScr: `==`, `!=`, `*`, `/`, `%`, negative constants after an operator, and calls.
    NuScr,
    /// The Scala in STMonitor's `.st` files: Scala's precedences. Methods of strings and numbers
    /// (`x.length`, `x.matches("…")`, `math.max(x, y)`, …) are built in; every other call, and every call
    /// of `util.f`, is one of an external predicate.
    ///
    /// Integers have 64 bits and overflow is an error, where Scala's `Int` has 32 and wraps.
    Scala,
}

/// Reads `text`, all of it, as one expression. `base` is where `text` begins in its file.
///
/// # Errors
/// The first mistake.
pub fn parse(text: &str, base: u32, dialect: Dialect) -> Result<Expr, SyntaxError> {
    parser::parse(text, base, dialect)
}

/// Reads the expression at the start of `text`, and says how many bytes it takes: up to the end of its
/// last token. Reading stops at the first token that cannot continue the expression (`;`, `}`, `]`, `,`, a
/// name, …), whatever follows.
///
/// # Errors
/// The first mistake: there is no expression, or it breaks off in the middle, or an operator of another
/// dialect follows it.
pub fn parse_prefix(text: &str, base: u32, dialect: Dialect) -> Result<(Expr, usize), SyntaxError> {
    parser::parse_prefix(text, base, dialect)
}

/// As [`parse_prefix`] for the native guards of properties: CEL with durations, `5s`.
///
/// # Errors
/// The first mistake.
pub fn parse_guard_prefix(text: &str, base: u32) -> Result<(Expr, usize), SyntaxError> {
    parser::parse_guard_prefix(text, base)
}

/// Where the tokens of `text` are: what is between them is blank or comment.
pub(crate) fn tokens(text: &str, dialect: Dialect) -> impl Iterator<Item = std::ops::Range<usize>> {
    use logos::Logos as _;
    lexer::Token::lexer_with_extras(text, dialect).spanned().map(|(_, range)| range)
}

/// Why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub kind: SyntaxErrorKind,
    /// Where.
    pub place: Place,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyntaxErrorKind {
    /// A token where another is needed.
    Unexpected {
        /// The token as written; nothing at the end of the text.
        found: Option<String>,
        /// What is needed.
        expected: Expectation,
    },
    /// A string without its closing quote.
    UnterminatedString,
    /// A comment without its end.
    UnterminatedComment,
    /// A `\` in a string that means nothing.
    BadEscape {
        /// The escape as written.
        escape: String,
    },
    /// Something that begins like a number and is none.
    BadNumber {
        /// As written.
        text: String,
    },
    /// A number that does not fit in 64 bits.
    NumberOutOfRange {
        /// As written.
        text: String,
    },
    /// An operator of another language.
    ForeignOperator {
        /// As written.
        found: String,
        /// What it is called here.
        instead: &'static str,
    },
    /// nuScr's `not`, elsewhere than at the start of an expression.
    MisplacedNot,
    /// A method call on a value, of something that is not a built-in method.
    UnknownMethod {
        /// As written.
        name: String,
    },
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
}

/// What could stand where something else does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expectation {
    /// An expression.
    Expression,
    /// An operator, or the end.
    Operator,
    /// A name, after a dot.
    Name,
    /// This token.
    Token(&'static str),
    /// A comma or this closing bracket.
    CommaOr(&'static str),
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expression => f.write_str("an expression"),
            Self::Operator => f.write_str("an operator"),
            Self::Name => f.write_str("a name"),
            Self::Token(token) => write!(f, "`{token}`"),
            Self::CommaOr(token) => write!(f, "`,` or `{token}`"),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            SyntaxErrorKind::Unexpected { found: Some(found), expected } => {
                write!(f, "expected {expected}, found `{found}`")
            }
            SyntaxErrorKind::Unexpected { found: None, expected } => {
                write!(f, "expected {expected}, found the end")
            }
            SyntaxErrorKind::UnterminatedString => f.write_str("a string without its closing quote"),
            SyntaxErrorKind::UnterminatedComment => f.write_str("a comment without its end"),
            SyntaxErrorKind::BadEscape { escape } => write!(f, "unknown escape `{escape}`"),
            SyntaxErrorKind::BadNumber { text } => write!(f, "`{text}` is not a number"),
            SyntaxErrorKind::NumberOutOfRange { text } => write!(f, "`{text}` does not fit in 64 bits"),
            SyntaxErrorKind::ForeignOperator { found, instead } => {
                write!(f, "no operator `{found}`: write `{instead}`")
            }
            SyntaxErrorKind::MisplacedNot => {
                f.write_str("`not` stands at the start of an expression: put it in parentheses, `(not …)`")
            }
            SyntaxErrorKind::UnknownMethod { name } => write!(f, "unknown method `{name}`"),
            SyntaxErrorKind::TooDeep => write!(f, "expression nested deeper than {MAX_DEPTH} levels"),
        }
    }
}

impl std::error::Error for SyntaxError {}

impl From<Place> for Span {
    fn from(place: Place) -> Self {
        Self { start: place.start, end: place.end }
    }
}

impl From<Span> for Place {
    fn from(span: Span) -> Self {
        Self::new(span.start, span.end)
    }
}
