//! What others may read of a session's driver, for `/sessions/ID`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use referee_wire::Sender;

/// How much a driver holds, and when something came. Written by its thread, read by any.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    /// Bytes that came from the client, and from the server, and are not decided.
    undecided: [AtomicU64; 2],
    /// Bytes that go to the client, and to the server, and are not sent.
    unsent: [AtomicU64; 2],
    /// Milliseconds from the beginning of the session to its last byte.
    last_activity: AtomicU64,
}

impl Gauges {
    pub(super) fn set(&self, side: usize, undecided: usize, unsent: usize) {
        self.undecided[side].store(undecided as u64, Ordering::Relaxed);
        self.unsent[side].store(unsent as u64, Ordering::Relaxed);
    }

    pub(super) fn note_activity(&self, elapsed: Duration) {
        let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        self.last_activity.store(milliseconds, Ordering::Relaxed);
    }

    /// Bytes that came from `sender` and are not decided, and bytes that go to it and are not sent.
    pub(crate) fn queues(&self, sender: Sender) -> [u64; 2] {
        [&self.undecided, &self.unsent].map(|which| which[sender.index()].load(Ordering::Relaxed))
    }

    /// When the last byte came, in milliseconds from the beginning of the session.
    pub(crate) fn last_activity(&self) -> u64 {
        self.last_activity.load(Ordering::Relaxed)
    }
}
