//! Every surface language of Referee: lexers, parsers, lowering to `referee-theory`, printers, and every
//! diagnostic a user can meet.
//!
//! Parsing never stops at the first error: it gives what could be understood and a list of
//! [`Diagnostic`]s. This crate reads no files and prints nothing.
//!
//! Reading order: [`source`], [`diagnostics`], [`language`], then one module per language.

pub mod analysis;
pub mod diagnostics;
pub mod document;
pub mod expr;
pub mod fsm;
pub mod gt;
pub mod hml;
pub mod ill_formed;
pub mod kmc;
pub mod language;
pub mod payload;
pub mod print;
mod scope;
pub mod scr;
pub mod source;
pub mod st;
mod tokens;

pub use analysis::{Analysis, ProjectedProtocol};
pub use diagnostics::{Code, Diagnostic, Severity};
pub use document::{BinaryProtocol, Content, Document, External, GlobalProtocol, LocalSystem};
pub use language::Language;
pub use source::{Lines, Origins, Position, Span};

/// Reads `text` as `language`.
#[must_use]
pub fn parse(text: &str, language: Language) -> Document {
    match language {
        Language::Scr => scr::parse(text),
        Language::St => st::parse(text),
        Language::Gt => gt::parse(text),
        Language::GtJson => gt::parse_json(text),
        Language::Kmc => kmc::parse(text),
        Language::Fsm => fsm::parse(text),
        Language::Hml => hml::parse(text),
    }
}
