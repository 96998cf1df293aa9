//! Every surface language of Referee: lexers, parsers, lowering to `referee-theory`, printers, and every
//! diagnostic a user can meet.
//!
//! Parsing never stops at the first error: it gives what could be understood and a list of
//! [`Diagnostic`]s. This crate reads no files and prints nothing.
//!
//! Reading order: [`source`], [`diagnostics`], [`language`], then one module per language.

pub mod diagnostics;
pub mod document;
pub mod fsm;
pub mod gt;
pub mod kmc;
pub mod language;
mod reasons;
mod scope;
pub mod source;
pub mod st;
mod tokens;

pub use diagnostics::{Code, Diagnostic, Severity};
pub use document::{BinaryProtocol, Content, Document, External, GlobalProtocol, LocalSystem};
pub use language::Language;
pub use source::{Lines, Origins, Position, Span};
