//! The messages of a session that somebody follows while it is under way: a bounded list, redacted, that costs a session nothing
//! while nobody looks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde::Serialize;

/// How many messages are kept for who follows a session. Who is slower than that misses the oldest.
pub const MAX_TAPPED: usize = 1024;

/// A message of a session that is followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TappedMessage {
    /// Which one it is of the session, from 0.
    pub number: u64,
    /// The role that sent it.
    pub from: String,
    /// The role that it is for.
    pub to: String,
    /// Its label and values, redacted: `Set(key, 4)`.
    pub text: String,
    /// Whether the monitor objected to it.
    pub wrong: bool,
}

/// The last messages of a session that is followed. Whoever follows the session keeps it.
#[derive(Debug, Default)]
pub struct Tap(Mutex<VecDeque<TappedMessage>>);

impl Tap {
    fn push(&self, message: TappedMessage) {
        let mut messages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.len() == MAX_TAPPED {
            messages.pop_front();
        }
        messages.push_back(message);
    }

    /// The messages from `number` on, as far as they are kept.
    #[must_use]
    pub fn since(&self, number: u64) -> Vec<TappedMessage> {
        let messages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = messages.partition_point(|message| message.number < number);
        messages.iter().skip(first).cloned().collect()
    }
}

/// What a session knows of those who follow it: nothing, while nobody does.
#[derive(Debug, Default)]
pub struct Tapping(Weak<Tap>);

impl Tapping {
    /// Whether somebody may follow the session.
    #[inline]
    #[must_use]
    pub fn is_on(&self) -> bool {
        // An empty one was never followed, and costs no atomic operation.
        !Weak::ptr_eq(&self.0, &Weak::new()) && self.0.strong_count() > 0
    }

    /// Adds `message`, if somebody follows the session.
    pub fn push(&mut self, message: impl FnOnce() -> TappedMessage) {
        match self.0.upgrade() {
            Some(tap) => tap.push(message()),
            None => self.0 = Weak::new(),
        }
    }

    /// What is kept from now on, beginning with `recent` messages.
    pub fn follow(&mut self, recent: impl FnOnce() -> Vec<TappedMessage>) -> Arc<Tap> {
        self.0.upgrade().unwrap_or_else(|| {
            let tap = Arc::new(Tap(Mutex::new(recent().into())));
            self.0 = Arc::downgrade(&tap);
            tap
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u64) -> TappedMessage {
        TappedMessage { number, from: "a".into(), to: "b".into(), text: "m()".into(), wrong: false }
    }

    #[test]
    fn nothing_is_kept_for_nobody_and_a_bounded_number_for_somebody() {
        let mut tapping = Tapping::default();
        tapping.push(|| unreachable!("nobody follows"));
        assert!(!tapping.is_on());
        let tap = tapping.follow(|| vec![message(0)]);
        let count = MAX_TAPPED as u64 + 10;
        for number in 1..count {
            assert!(tapping.is_on());
            tapping.push(|| message(number));
        }
        assert_eq!(tap.since(0).len(), MAX_TAPPED, "a slow reader misses the oldest");
        assert_eq!(tap.since(0)[0].number, 10);
        assert_eq!(
            tap.since(count - 2).iter().map(|message| message.number).collect::<Vec<_>>(),
            [count - 2, count - 1]
        );
        let other = tapping.follow(Vec::new);
        assert!(Arc::ptr_eq(&tap, &other), "all who follow share what is kept");
        drop((tap, other));
        tapping.push(|| unreachable!("nobody follows any more"));
        assert!(!tapping.is_on());
    }
}
