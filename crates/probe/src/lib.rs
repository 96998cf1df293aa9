//! Playing a role of a protocol against a peer that nobody here wrote, and saying whether the peer plays its own.
//!
//! A [`Player`] is one side of a protocol with its codec. A [`Conversation`] is one connection: what the player sends and what the
//! peer sends, both judged by the engine that guards use (`crates/session`); there is no second opinion here. [`Prober`] plans
//! tours over the machine until every transition was taken or cannot be, [`Mock`] answers as the protocol allows.
//!
//! The peer is reached through a [`Peer`], which its caller implements: there is no I/O, no clock and no thread in this crate.
//!
//! Messages that are matched by ids get theirs in `calls`.
//!
//! Reading order: [`player`], [`examples`], [`values`], [`conversation`], [`peer`], [`coverage`], [`prober`], [`script`], [`mutation`], [`report`],
//! [`mock`].

mod calls;
pub mod conversation;
pub mod coverage;
pub mod examples;
pub mod mock;
pub mod mutation;
pub mod peer;
pub mod player;
pub mod prober;
mod random;
pub mod report;
mod sample;
pub mod script;
pub mod values;

pub use conversation::{Conversation, Deviation, Stop, Turn};
pub use coverage::{Count, Coverage};
pub use examples::{BadExamples, Examples};
pub use mock::{Mock, MockEnd};
pub use mutation::{MutationOutcome, Reaction, Wrong};
pub use peer::{Heard, Peer};
pub use player::{Edge, Player, Unplayable};
pub use prober::{Options, Prober};
pub use report::{Finding, Report, Uncovered};
pub use script::{BadScript, Script, ScriptStep};
