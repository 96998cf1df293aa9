//! What carries letters between the monitors of different processes. Letters between roles of one process never leave
//! it (`office`).

mod census;
mod frame;
mod handshake;
mod nats;
mod seal;
mod tcp;

use std::time::Duration;

use hyper::body::Bytes;
use referee_theory::Role;
use serde_json::Value;

pub(super) use census::{Census, Limits};
pub(super) use handshake::random;
pub(super) use nats::{Nats, NatsPlan};
pub(super) use tcp::{Tcp, TcpPlan};

/// When nothing was heard of another monitor for this long, operators are told.
const UNHEARD: Duration = Duration::from_millis(900);

/// Carries letters: from one role to another in order, each exactly once while both processes live.
pub(super) trait Transport: Send + Sync {
    /// `letter` goes from `from`, which runs here, to `to`, after everything that went there before.
    fn send(&self, from: Role, to: Role, letter: Bytes);

    /// Letters to monitors that are there, which these have not acknowledged.
    fn unsent(&self) -> usize;

    /// How it stands, for operators.
    fn describe(&self) -> Value;
}

/// What a transport tells.
pub(super) trait Receiver: Send + Sync + 'static {
    /// A letter from `from`, which is really its monitor, to `to`, which runs here.
    fn letter(&self, from: Role, to: Role, letter: Bytes);

    /// The monitor of `peer` is gone with everything it knew.
    fn lost(&self, peer: Role, why: &str);

    /// The monitor of `peer` is there.
    fn found(&self, peer: Role);
}
