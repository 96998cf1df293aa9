//! Transports: peer messages between the monitors of different processes. Between roles of one process they are handed
//! over by the `runtime`.

mod authenticator;
mod frame;
mod handshake;
mod nats;
mod tcp;
mod topology;

use std::time::Duration;

use hyper::body::Bytes;
use referee_theory::Role;
use serde_json::Value;

pub(super) use handshake::random;
pub(super) use nats::{Nats, NatsPlan};
pub(super) use tcp::{Tcp, TcpPlan};
pub(super) use topology::{PeerLimits, Topology};

/// A peer that is silent for this long is reported to operators.
const WARN_SILENT_AFTER: Duration = Duration::from_millis(900);
/// How often a transport asks whether its receiver is still congested.
const CONGESTION_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Sends peer messages from role to role, in order, each exactly once while both processes live.
pub(super) trait Transport: Send + Sync {
    /// Queues `message` from `from`, which runs here, to `to`.
    fn send(&self, from: Role, to: Role, message: Bytes);

    /// Unacknowledged messages to peers that are connected.
    fn unsent(&self) -> usize;

    /// The state of each link, for `/sessions`.
    fn describe(&self) -> Value;
}

/// The transport's callbacks.
pub(super) trait Receiver: Send + Sync + 'static {
    /// Delivers an authenticated message from `from` to `to`, which runs here.
    fn peer_message(&self, from: Role, to: Role, message: Bytes);

    /// Whether nothing more is to be delivered at the moment (backpressure).
    fn is_congested(&self) -> bool;

    /// The process of `peer` ended, or its state is lost.
    fn peer_lost(&self, peer: Role, why: &str);

    /// `peer` is connected again.
    fn peer_found(&self, peer: Role);
}
