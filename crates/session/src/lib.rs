//! A session at one place: bytes, ends and time in, actions out.
//!
//! Whoever carries a connection (the driver in `crates/guard`) shows an [`Engine`] the unread bytes of each side and does
//! with them what the returned [`Action`] says. The engine keeps no bytes, opens nothing, reads no clock and takes no lock, so that
//! its verdicts are a function of what each side sent and in which order it was shown.
//!
//! There is one engine: [`TwoParty`], the binary monitor between the two sides of a connection, with pipelining. A role of
//! a network is to become the second behind the same trait; what it sends to the monitors of other roles will then be one
//! more [`Action`], which is why that enum may grow.
//!
//! Reading order: [`engine`], [`direction`], [`rules`], [`two_party`]; then [`property`] (properties attached to an engine),
//! [`redact`], [`timeouts`].

pub mod direction;
pub mod engine;
pub mod property;
mod recent;
pub mod redact;
pub mod rules;
pub mod timeouts;
pub mod two_party;

pub use direction::DirectionState;
pub use engine::{Action, Decision, Engine, HoldUntil, SessionVerdict};
pub use property::Properties;
pub use redact::Redaction;
pub use rules::{Options, TwoPartyRules};
pub use timeouts::Timeouts;
pub use two_party::{Loan, SessionStore, SessionView, TwoParty};
