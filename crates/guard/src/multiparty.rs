//! Multiparty guards: beside each component of a protocol one monitor, and the monitors talk to each other
//! (RV'23).
//!
//! What a monitor decides is [`referee_monitor::multiparty::Engine`]'s; here are the bytes. There are two ways to run
//! monitors: on RelaMon's own wire (`relamon`), one session for each process; and from the guard's configuration, many
//! sessions at once, components behind any codec, and a choice of transports between monitors.
//!
//! Reading order of the latter: `plan` (what the configuration becomes), `parcel` (a message), `letter` (what monitors
//! send each other), `seat` and `roster` (the sessions of one role, without I/O), `link` (what a connection may lose,
//! without I/O), `transport`, `entrance` and `component` (one component's connection), `reunion` (how it comes back),
//! `diary` (what survives a kill), `office` (what holds it together).

mod complaints;
mod component;
mod diary;
mod entrance;
mod letter;
mod link;
mod office;
mod parcel;
mod plan;
mod protocol;
mod relamon;
mod reunion;
mod roster;
mod seat;
mod transport;
mod violation;

pub(crate) use office::{Office, Tally};
pub(crate) use plan::{Findings, MultipartyPlan};
pub use protocol::Unusable;
pub use relamon::{Choices, Ending, Member, read_relamon, run};
