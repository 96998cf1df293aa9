//! What one session counts.

use std::sync::Arc;
use std::time::Duration;

use referee_wire::{MessageId, Sender};

use super::{Counters, MessageCounters};

/// The counters of one session: those of its listener and thread.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    counters: Arc<Counters>,
    messages: Arc<MessageCounters>,
    thread: usize,
}

impl Meter {
    pub(crate) fn new(counters: &Arc<Counters>, messages: &Arc<MessageCounters>, thread: usize) -> Self {
        Self { counters: Arc::clone(counters), messages: Arc::clone(messages), thread }
    }

    /// A message was judged.
    #[inline]
    pub(crate) fn note_message(&self, message: Option<MessageId>) {
        if let Some(message) = message {
            self.messages.count(self.thread, message.index());
        }
    }

    /// So many messages were decided in `time` all told.
    #[inline]
    pub(crate) fn note_decisions(&self, messages: u64, time: Duration) {
        self.counters.decided(messages, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Bytes of `sender` went on.
    #[inline]
    pub(crate) fn note_forwarded(&self, sender: Sender, bytes: usize) {
        self.counters.bytes[sender.index()].add(bytes as u64);
    }

    /// Bytes of `sender` did not go on.
    pub(crate) fn note_discarded(&self, sender: Sender, bytes: usize) {
        self.counters.discarded[sender.index()].add(bytes as u64);
    }

    /// The session holds `now` bytes instead of `before`.
    pub(crate) fn note_buffered(&self, before: u64, now: u64) {
        self.counters.buffered.add(now.wrapping_sub(before));
    }

    /// The session is not inspected any more.
    pub(crate) fn note_unchecked(&self) {
        self.counters.unchecked.add(1);
    }
}
