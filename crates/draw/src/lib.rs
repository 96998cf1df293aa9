//! Pictures of two abstract things: a directed graph (an automaton) and a sequence chart (an execution).
//!
//! This crate knows nothing about protocols. Callers say what is a send, what is final, what failed; it
//! decides where everything goes. Both pictures come as self-contained SVG and as Mermaid text; graphs also
//! as DOT, charts also as plain text for a terminal.
//!
//! The same input gives the same bytes. Nothing here recurses over the input, reads a font or measures a
//! screen: text widths come from a table that no common interface font exceeds, so text never overflows
//! its box.
//!
//! ```
//! use referee_draw::{Charset, Message, MessageStyle, Participant, Sequence};
//!
//! let mut chart = Sequence::new("a counterexample");
//! let client = chart.add_participant(Participant::new("client"));
//! let server = chart.add_participant(Participant::new("server"));
//! chart.message(Message::new(client, server, "Get(resource)"));
//! chart.message(Message::new(server, client, "Timeout()").style(MessageStyle::Pending));
//! assert_eq!(chart.to_text(Charset::Unicode)?, "\
//! ┌────────┐           ┌────────┐
//! │ client │           │ server │
//! └───┬────┘           └───┬────┘
//!     ├── Get(resource) ──▶│
//!     │  ○╌╌╌ Timeout() ╌╌╌┤
//!     │                    │
//! ");
//! # Ok::<(), referee_draw::DrawError>(())
//! ```
//!
//! Reading order: [`graph`], [`graph::layout`], [`sequence`].

mod error;
pub mod geometry;
pub mod graph;
mod mermaid;
pub mod sequence;
mod svg;
mod text;

pub use error::DrawError;
pub use graph::{Direction, Edge, EdgeStyle, Graph, Node, NodeId, NodeKind};
pub use sequence::{Charset, Message, MessageStyle, Participant, ParticipantId, Sequence};
