//! A session at one place: bytes, ends and time in, actions out.
//!
//! Whoever carries a connection (the driver in `crates/guard`) shows an [`Engine`] the unread bytes of each side and does
//! with them what the returned [`Action`] says. The engine keeps no bytes, opens nothing, reads no clock and takes no lock (but for what it
//! [shows](tap) to who follows the session), so that its verdicts are a function of what each side sent and in which order it was shown.
//!
//! There are two engines: [`TwoParty`], the binary monitor between the two sides of a connection, with pipelining; and
//! [`RoleEngine`], a component's connection with the monitor of its role in a network.
//!
//! Reading order: [`engine`], [`direction`], [`rules`], [`two_party`], [`role`]; then [`property`] (properties attached to an
//! engine), [`redact`], [`timeouts`], [`deadline`].

pub mod deadline;
pub mod direction;
pub mod engine;
pub mod property;
mod recent;
pub mod redact;
pub mod refusal;
pub mod role;
pub mod rules;
pub mod shared;
pub mod tap;
pub mod timeouts;
pub mod two_party;

pub use deadline::{Arrival, Arrivals, Deadlines, PROMPT, Seen};
pub use direction::DirectionState;
pub use engine::{Action, Decision, Engine, HoldUntil, RecordedMessage, SessionVerdict, Unreadable};
pub use property::{EventTime, Observation, Observed, Properties, PropertyFinding};
pub use redact::Redaction;
pub use refusal::Refusals;
pub use role::{Offer, RoleEngine, RoleHost, RoleRules, ServiceClose};
pub use rules::{Options, TwoPartyRules};
pub use shared::{SharedSessions, SharedStore};
pub use tap::{Tap, TappedMessage, Tapping};
pub use timeouts::Timeouts;
pub use two_party::{Loan, SessionBrief, SessionStore, SessionView, TwoParty};
