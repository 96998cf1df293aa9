//! Retransmission and deduplication on a link from one monitor to another, over connections that break. Without I/O.
//!
//! Fragments are numbered. The sender keeps each until it is acknowledged; on a new connection the receiver says which
//! number it expects, and everything from there on is retransmitted. The receiver accepts only the number it expects. So as
//! long as both live, each fragment is accepted exactly once and in order.

use std::collections::VecDeque;

use hyper::body::Bytes;

/// The unacknowledged fragments of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct RetransmitQueue {
    /// The number of the oldest unacknowledged fragment.
    first: u64,
    /// Oldest first.
    kept: VecDeque<Bytes>,
    /// How many of them were sent on the present connection.
    sent: usize,
}

/// A receiver acknowledged what was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NeverSent;

impl RetransmitQueue {
    pub(super) fn push(&mut self, message: Bytes) {
        self.kept.push_back(message);
    }

    /// A new connection: everything from `expected` on is sent again.
    pub(super) fn restart_from(&mut self, expected: u64) -> Result<(), NeverSent> {
        self.sent = 0;
        self.acknowledged(expected)
    }

    /// A new connection to a receiver that expects number `expected`: everything from there on is sent again. If that was never
    /// sent, or is not kept any more, the two ends disagree: everything is dropped and numbered on from there.
    /// Whether they agree.
    pub(super) fn resume_from(&mut self, expected: u64) -> bool {
        let agrees = expected >= self.first && self.restart_from(expected).is_ok();
        if !agrees {
            self.skip_to(expected);
        }
        agrees
    }

    /// The next fragment to send on the present connection, with its number.
    pub(super) fn next_unsent(&mut self) -> Option<(u64, Bytes)> {
        let message = self.kept.get(self.sent)?.clone();
        let number = self.first + self.sent as u64;
        self.sent += 1;
        Some((number, message))
    }

    /// Acknowledges everything before `expected`.
    pub(super) fn acknowledged(&mut self, expected: u64) -> Result<(), NeverSent> {
        let taken = expected.checked_sub(self.first).and_then(|taken| usize::try_from(taken).ok());
        // A stale acknowledgement.
        let Some(taken) = taken else { return Ok(()) };
        if taken > self.kept.len() {
            return Err(NeverSent);
        }
        self.kept.drain(..taken);
        self.first = expected;
        self.sent = self.sent.saturating_sub(taken);
        Ok(())
    }

    /// The number of the oldest unacknowledged fragment, or of the next one.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The number after the last fragment sent on the present connection.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.sent as u64
    }

    /// A queue that begins with number `first`.
    pub(super) fn from(first: u64, kept: impl IntoIterator<Item = Bytes>) -> Self {
        Self { first, kept: kept.into_iter().collect(), sent: 0 }
    }

    /// The unacknowledged fragments, oldest first.
    pub(super) fn unacknowledged(&self) -> impl Iterator<Item = &Bytes> {
        self.kept.iter()
    }

    /// Drops everything and numbers on from `expected`: the other end acknowledges more than is known here.
    pub(super) fn skip_to(&mut self, expected: u64) {
        *self = Self::from(expected, []);
    }

    /// The number of unacknowledged fragments.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Drops everything and numbers from 0: the other end is another process than before.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The receiving end of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deduplicator {
    expected: u64,
}

/// What a fragment's number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receipt {
    /// It is the next one.
    New,
    /// It was accepted before.
    Duplicate,
    /// One before it is missing.
    Gap,
}

impl Deduplicator {
    /// A receiver that has everything before `expected`.
    pub(super) fn from(expected: u64) -> Self {
        Self { expected }
    }

    /// The next number.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// Classifies a fragment by its number, and counts it if it is new.
    pub(super) fn take(&mut self, number: u64) -> Receipt {
        match number.cmp(&self.expected) {
            std::cmp::Ordering::Less => Receipt::Duplicate,
            std::cmp::Ordering::Greater => Receipt::Gap,
            std::cmp::Ordering::Equal => {
                self.expected += 1;
                Receipt::New
            }
        }
    }
}

#[cfg(test)]
mod tests;
