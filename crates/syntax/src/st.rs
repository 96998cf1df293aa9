//! STMonitor's binary session types: `S_auth = rec Y.(!Auth(uname: String)[ok(uname)].&{?Succ().end, …})`.
//!
//! ```text
//! file ::= NAME "=" S
//! S    ::= "&" "{" S ("," S)* "}" | "+" "{" S ("," S)* "}" | ("?"|"!") msg | "rec" X "." "(" S ")" | X | "end"
//! msg  ::= LABEL "(" [NAME ":" TYPE ("," NAME ":" TYPE)*] ")" ["[" assertion "]"] ["." S]
//! ```
//!
//! The type is the view of the monitored `process` on its session with the `environment`: `!` is sent by the
//! process. Branches of `&` are received, branches of `+` sent. An assertion is Scala text on one line.

use crate::document::Document;

mod assertions;
mod lexer;
mod parser;
pub(crate) mod types;

/// Reads a `.st` text.
#[must_use]
pub fn parse(text: &str) -> Document {
    let mut document = parser::parse(text);
    assertions::check(&mut document);
    document
}

/// See [`crate::lexemes`].
pub(crate) fn lexemes(text: &str) -> Vec<crate::lexemes::Lexeme> {
    crate::lexemes::of::<lexer::StToken>(text)
}
