//! Every surface language of Referee: lexers, parsers, lowering to `referee-theory`, printers, and every
//! diagnostic a user can meet.
//!
//! Parsing never stops at the first error: it gives what could be understood and a list of
//! [`Diagnostic`]s. This crate reads no files and prints nothing.
//!
//! Reading order: [`source`], [`diagnostics`], [`language`], then one module per language.

pub mod analysis;
pub mod convert;
mod corrected;
pub mod diagnostics;
pub mod document;
pub mod expr;
pub mod fsm;
pub mod gt;
pub mod hml;
pub mod ill_formed;
pub mod kmc;
pub mod language;
pub mod lexemes;
pub mod payload;
pub mod print;
mod repair;
mod scope;
pub mod scr;
pub mod source;
pub mod st;
mod tokens;

pub use analysis::{Analysis, Followers, ProjectedProtocol};
pub use corrected::{Corrected, Correction, corrected};
pub use diagnostics::{Code, Diagnostic, Edit, Fix, Severity};
pub use document::{BinaryProtocol, Content, Document, External, GlobalProtocol, LocalSystem};
pub use language::Language;
pub use source::{Lines, Origins, Position, Span};

/// Reads `text` as `language`. Syntax errors come with corrections: see [`Diagnostic::fix`].
#[must_use]
pub fn parse(text: &str, language: Language) -> Document {
    let read = match language {
        Language::Scr => scr::parse,
        Language::St => st::parse,
        Language::Gt => gt::parse,
        Language::GtJson => gt::parse_json,
        Language::Kmc => kmc::parse,
        Language::Fsm => fsm::parse,
        Language::Hml => hml::parse,
    };
    repair::repaired(text, language, read(text), read)
}
