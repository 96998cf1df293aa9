//! The nouns and functions of the papers: payload types, expressions, global types, session types,
//! relative types, machines and systems; projection, merging, duality, well-formedness.
//!
//! Everything here is pure: no I/O, no clock, no source text. A place in the user's text is an opaque
//! [`Origin`] which only `referee-syntax` can turn into a line and a column. Every traversal is
//! iterative, so that a protocol nested a hundred thousand levels deep is an answer, not a crash.
//!
//! Reading order: [`vocabulary`], [`payload`], [`value`], [`global`], [`machine`], [`project`], [`relative`],
//! [`synthesis`], [`property`].

pub mod assertion;
pub mod calls;
pub mod data;
pub mod equivalence;
pub mod expr;
pub mod global;
pub mod linear;
pub mod machine;
pub mod payload;
pub mod project;
pub mod property;
pub mod relative;
pub mod session;
pub mod synthesis;
pub mod time;
pub mod timing;
mod unfold;
pub mod value;
pub mod vocabulary;

pub use calls::Stage;
pub use global::{
    Branch, Branches, Exchange, Global, GlobalError, GlobalType, GlobalTypeBuilder, NodeId, Par,
};
pub use machine::{Action, Machine, MachineBuilder, State, System, Transition};
pub use payload::Type;
pub use timing::{Since, Timing, Within};
pub use value::{Term, Value};
pub use vocabulary::{Field, Label, Message, MessageSpec, Origin, Role, Update, Vocabulary};
