//! KMC's local session types, one per role: `S: rec x . C?req; {C!ko; x, C!ok; end}`.
//!
//! ```text
//! file ::= (ROLE ":" T)+
//! T    ::= ROLE ("!"|"?") LABEL ["<" TYPE ">"] ";" T | "rec" VAR "." T | VAR | "end" | "{" T ("," T)* "}"
//! ```
//!
//! Wider than KMC's own grammar where that is merely odd: names of all kinds may hold letters, digits, `_`
//! and `'`, blanks and comments may stand anywhere. Braces within braces are flattened.

use crate::document::Document;

pub(crate) mod lexer;
mod parser;
pub(crate) mod payload;
pub(crate) mod warnings;

/// Reads a `.kmc` text.
#[must_use]
pub fn parse(text: &str) -> Document {
    parser::parse(text)
}

/// See [`crate::lexemes`].
pub(crate) fn lexemes(text: &str) -> Vec<crate::lexemes::Lexeme> {
    crate::lexemes::of::<lexer::KmcToken>(text)
}
