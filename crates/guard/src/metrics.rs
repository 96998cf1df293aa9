//! What is counted: one set of counters per thread and listener, added up when somebody asks.
//!
//! Each counter has one writer, the thread that carries the session, so counting is a load and a store.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use referee_verdict::EndReason;

mod meter;
mod network;
mod text;

pub(crate) use meter::Meter;
pub(crate) use text::{Scope, Snapshot};

/// A number that one thread changes and others read.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper bounds of the decision histogram, in nanoseconds; one more bucket has none.
pub(crate) const DECISION_BOUNDS: [u64; 12] =
    [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 1_000_000, 16_000_000];

/// How often something happened, by reason.
pub(crate) type Reasons<T> = Mutex<BTreeMap<T, u64>>;

/// What one thread counts for one listener.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) opened: Count,
    pub(crate) closed: Reasons<EndReason>,
    pub(crate) refused: Reasons<&'static str>,
    /// Connections and sessions that were passed on without being looked at.
    pub(crate) unchecked: Count,
    /// Bytes passed on, from the client and from the server.
    pub(crate) bytes: [Count; 2],
    /// Bytes that did not go on, from the client and from the server.
    pub(crate) discarded: [Count; 2],
    /// Bytes held by sessions.
    pub(crate) buffered: Count,
    /// By role, kind and label.
    pub(crate) verdicts: Mutex<BTreeMap<(String, String, String), u64>>,
    pub(crate) decisions: [Count; DECISION_BOUNDS.len() + 1],
    pub(crate) decision_time: Count,
}

impl Counters {
    /// `messages` were decided in `nanoseconds` all told.
    #[inline]
    pub(crate) fn decided(&self, messages: u64, nanoseconds: u64) {
        let each = nanoseconds / messages.max(1);
        let bucket = DECISION_BOUNDS.iter().position(|bound| each <= *bound).unwrap_or(DECISION_BOUNDS.len());
        if let Some(bucket) = self.decisions.get(bucket) {
            bucket.add(messages);
        }
        self.decision_time.add(nanoseconds);
    }

    pub(crate) fn note_closed(&self, why: EndReason) {
        *lock(&self.closed).entry(why).or_default() += 1;
    }

    pub(crate) fn note_refused(&self, why: &'static str) {
        *lock(&self.refused).entry(why).or_default() += 1;
    }

    pub(crate) fn note_verdict(&self, role: &str, kind: &str, label: &str) {
        let key = (role.to_owned(), kind.to_owned(), label.to_owned());
        *lock(&self.verdicts).entry(key).or_default() += 1;
    }
}

/// Messages by label: the labels of one version of a protocol, one row of counters per thread.
#[derive(Debug)]
pub(crate) struct MessageCounters {
    /// Who sends it (0 the client, 1 the server), and what it is called.
    pub(crate) labels: Vec<(usize, Arc<str>)>,
    pub(crate) threads: Vec<Box<[Count]>>,
}

impl MessageCounters {
    pub(crate) fn new(labels: Vec<(usize, Arc<str>)>, threads: usize) -> Self {
        let row = || (0..labels.len()).map(|_| Count::default()).collect();
        let threads = (0..threads).map(|_| row()).collect();
        Self { labels, threads }
    }

    #[inline]
    pub(crate) fn count(&self, thread: usize, label: usize) {
        if let Some(count) = self.threads.get(thread).and_then(|row| row.get(label)) {
            count.add(1);
        }
    }
}

/// Locks `mutex`; what a thread that panicked left behind is still a number.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
