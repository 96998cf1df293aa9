//! Monitors on RelaMon's wire: JSON over HTTP, first the label, then the value, one session for each process, so that
//! its components and monitors and these can be mixed. Bodies are forwarded unchanged.
//!
//! Reading order: `role_config` (RelaMon's files), `envelope` (one HTTP body), `role_adapter` (one role's monitor, without
//! I/O), `outbound` and `http_client` (what is posted), `http_server` (what is received), `serve` (a session from start to end).

mod envelope;
mod http_client;
mod http_server;
mod outbound;
mod role_adapter;
mod role_config;
mod serve;

use super::{protocol, violation};

pub use role_config::{RelamonOptions, RoleConfig, read_relamon};
pub use serve::{SessionOutcome, run};
