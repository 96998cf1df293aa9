//! Multiparty guards: beside each component of a protocol one monitor, and the monitors talk to each other
//! (RV'23).
//!
//! What a monitor decides is [`referee_monitor::multiparty::Engine`]'s; here are the bytes. There are two ways to run
//! monitors: on RelaMon's own wire (`relamon`), one session for each process; and from the guard's configuration, many
//! sessions at once, components behind any codec, and a choice of transports between monitors.
//!
//! Reading order of the latter: `plan` (the configuration, compiled), `peer_message` (what monitors send each other), `role_session` and `session_table` (the sessions of one role, without I/O), `retransmit` (the
//! reliability of a link, without I/O), `transport`, `connection_setup` and `component` (a component's connection), `resume`
//! (how it resumes a session), `state_log` (what survives a crash), `runtime` (which joins them).

mod component;
mod connection_setup;
mod peer_message;
mod plan;
mod protocol;
mod rate_limit;
mod relamon;
mod resume;
mod retransmit;
mod role_session;
mod runtime;
mod session_table;
mod state_log;
mod trace_context;
mod transport;
#[cfg(test)]
mod two_roles;
mod violation;

pub(crate) use component::NetworkStream;
pub(crate) use plan::MultipartyPlan;
pub use protocol::ProtocolError;
pub use relamon::{RelamonOptions, RoleConfig, SessionOutcome, read_relamon, run};
pub(crate) use role_session::RoleBrief;
pub(crate) use runtime::{RoleMetrics, Runtime};
