//! RelaMon's global types: `mu X . a -> b (login . a -> b <str> . X, quit . end)`, and the same as JSON.
//!
//! ```text
//! G ::= p "->" q "<" T ("," T)* ">" "." G | p "->" q "(" l "." G ("," l "." G)* ")" | "mu" X "." G | X | "end"
//! ```
//!
//! An exchange without labels has the label `unitLabel`. A branch whose label is followed by a value between
//! the same two roles carries that value: `p -> q (l . p -> q <T> . G)` is one message, `l<T>`. The value
//! `unit` is none.

use crate::document::Document;

mod json;
mod lexer;
mod lower;
mod parser;
pub(crate) mod types;

/// The label of an exchange without labels.
pub(crate) const UNIT_LABEL: &str = "unitLabel";

/// Reads a `.gt` text.
#[must_use]
pub fn parse(text: &str) -> Document {
    parser::parse(text)
}

/// Reads a `.gt.json` text: a global type, or a component's file with one under `globalType`.
#[must_use]
pub fn parse_json(text: &str) -> Document {
    lower::parse(text)
}

/// See [`crate::lexemes`].
pub(crate) fn lexemes(text: &str) -> Vec<crate::lexemes::Lexeme> {
    crate::lexemes::of::<lexer::GtToken>(text)
}
