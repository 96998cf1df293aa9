//! Properties as text: `.hml`.
//!
//! One grammar of formulas, three ways to write what they are about. A file is in detectEr's own syntax if it
//! begins with `with`; else it is in Referee's, in which the plain form of FMSD'15 is included.
//!
//! ```text
//! file    ::= (property | rule)* | φ                     a lone formula is a property called `property`
//! property::= "property" NAME ["for" "each" KEY ("," KEY)*] "{" φ "}"
//! φ       ::= conj ("or" conj)*        conj ::= un ("and" un)*
//! un      ::= "ff" | "tt" | X | "[" act "]" un | "<" act ">" un | ("max"|"min") X "." "(" φ ")" | "(" φ ")"
//!           | "expect" "[" act "]" "within" duration | "never" "[" act "]" "for" duration
//! act     ::= event ["at" NAME] ["when" guard] ["except" event ["when" guard] ("," …)*]
//!                                                        in `<…>` guards are put in parentheses
//! rule    ::= "rule" NAME ":" …                          see `rule`
//! window  ::= in guards, ("count" "(" | FN "(" NAME "of") "[" act "]" "in" (duration | "last" N ["of" "[" act "]"] | "day") ")"
//! event   ::= role "->" role ":" label ["(" fields ")"] [keys] | keys | "_" | process
//! keys    ::= "{" key [":" pattern] | condition over keys ("," …)* "}"
//! process ::= P "?" T | Q "!" T | P ":" Q "!" T | P "->" C "," m:f(a) | C "<-" P "," m:f(a) | P "**" T
//!
//! file    ::= clause ("," clause)* "."                   detectEr's
//! clause  ::= "with" m:f(a) ["when" guard] ("check"|"monitor") φ
//! un      ::= as above with "[{" act "}]" and "<{" act "}>" (braces may be left out)
//!           | "and" "(" φ, … ")" | "or" "(" φ, … ")" | "max" "(" X "." φ ")"
//! ```
//!
//! In messages between roles names are literal where roles and labels stand (`$p` is a variable) and variables
//! where fields stand. In process actions, as in Erlang, capital letters make variables and small letters atoms.
//! Comments are `//`, `%` and `/* */`; `///` or `%%` right above a property documents it.
//!
//! **Scope.** In Referee's syntax it is lexical: a variable that an enclosing modality binds tests for equality. In
//! detectEr's files each pattern binds its own variables and hides outer ones of the same name, which is warned of.
//!
//! Reading order: `cursor`, `parser` (formulas), `native` and `erlang` (what they are about), `guard`, `check`;
//! `rule` for rules about calls, `induced` for properties made of protocols.

mod action;
mod check;
mod cursor;
mod erlang;
mod format;
mod guard;
mod induced;
mod native;
mod parser;
mod print;
mod rule;
mod window;

use std::sync::Arc;

pub use action::{OwnedEvent, action};
pub use format::format;
pub use induced::{NotInduced, induced};
pub use print::print;
use referee_theory::property::Property;

use crate::document::Document;

/// What a `.hml` text says.
#[derive(Clone, Debug, Default)]
pub struct PropertyFile {
    /// The properties that could be understood, in the order of the text.
    pub properties: Vec<Arc<Property>>,
}

/// Reads a `.hml` text.
#[must_use]
pub fn parse(text: &str) -> Document {
    parser::parse(text)
}

/// See [`crate::lexemes`].
pub(crate) fn lexemes(text: &str) -> Vec<crate::lexemes::Lexeme> {
    crate::lexemes::of::<cursor::Token>(text)
}
