//! Multiparty monitors: one for each role of a global protocol, which coordinate choices by dependency
//! messages (RV'23).
//!
//! [`RoleMonitor`] is what Algorithm 2 gives for one role, in the paper's grammar; [`Network`] is the monitors
//! of all roles as a system of machines, in which dependency messages are messages like others, together
//! with the answer whether that system can deadlock or leave messages behind. A global protocol that is well
//! formed (Definition 7) may still have no network that works; then [`Network::deployable`] says so.
//!
//! Not here: the session monitors of single machines ([`crate::Monitor`]), and everything that moves bytes.

mod algorithm;
pub mod conform;
pub mod engine;
mod machine;
mod network;
mod term;
mod text;

pub use conform::{Bounds, Conformance, conform, conform_to_machine};
pub use engine::{
    Arrival, ArrivalTimes, Breach, Dependencies, Effect, Engine, Finding, Full, Judging, Notice, Rule, Run,
    Settings, Status, Turn,
};
pub use network::{Network, Undeployable, draft};
pub use referee_check::Component;
pub use term::{Branches, Followed, RoleMonitor, Term, TermId};
