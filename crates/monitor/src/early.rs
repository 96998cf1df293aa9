//! Early messages, kept until their turn.
//!
//! A role with several peers hears each on a channel of its own. A message that arrives before another peer's
//! that the protocol takes first is kept; so is whatever the same peer sends after it, for one peer's messages
//! never overtake each other. After every message that is forwarded, those that were kept are offered again.
//!
//! With one peer nothing is ever early, and [`Monitor::supervise`] is all there is to do.

use std::collections::VecDeque;

use crate::event::{Channel, Event};
use crate::monitor::Monitor;
use crate::policy::{Handling, Policy, Ruling};
use crate::session::Session;
use crate::verdict::{Fault, FaultKind, NO_EDGE, Verdict};

/// The early messages of one session, in the form `T` in which their owner keeps them: bytes, a line, a
/// decoded value. Empty, it has allocated nothing.
#[derive(Clone, Debug)]
pub struct Early<T> {
    kept: VecDeque<(Channel, T)>,
    limit: usize,
    /// What those that are kept weigh, and may weigh.
    weight: usize,
    weight_limit: usize,
    weigh: fn(&T) -> usize,
}

impl<T> Early<T> {
    /// None so far, and never more than `limit`: a peer that sends on and on while another is waited for
    /// must not fill the memory.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { kept: VecDeque::new(), limit, weight: 0, weight_limit: usize::MAX, weigh: |_| 0 }
    }

    /// And never more than `limit` bytes, as `weigh` counts them.
    #[must_use]
    pub fn within(self, limit: usize, weigh: fn(&T) -> usize) -> Self {
        Self { weight_limit: limit, weigh, ..self }
    }

    fn has_room_for(&self, message: &T) -> bool {
        self.kept.len() < self.limit && self.weight.saturating_add((self.weigh)(message)) <= self.weight_limit
    }

    fn push(&mut self, channel: Channel, message: T) {
        self.weight = self.weight.saturating_add((self.weigh)(&message));
        self.kept.push_back((channel, message));
    }

    fn remove(&mut self, at: usize) -> Option<T> {
        let (_, message) = self.kept.remove(at)?;
        self.weight = self.weight.saturating_sub((self.weigh)(&message));
        Some(message)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}

/// Shows a message `T` as an event.
pub trait Lend<T> {
    /// Calls `look` with the event that `message` is, once.
    fn lend(&self, message: &T, look: &mut dyn FnMut(&Event<'_>));
}

impl<T, F: Fn(&T, &mut dyn FnMut(&Event<'_>))> Lend<T> for F {
    fn lend(&self, message: &T, look: &mut dyn FnMut(&Event<'_>)) {
        self(message, look);
    }
}

impl Monitor {
    /// Like [`supervise`](Self::supervise), for a session with several peers: keeps `message` if it is early,
    /// and after each message that is forwarded rules on those that were kept. `ruled` hears of every ruling
    /// but [`Handling::Keep`], in the order in which messages are to go on.
    pub fn supervise_in_order<T>(
        &self,
        policy: Policy,
        session: &mut Session,
        early: &mut Early<T>,
        message: T,
        lend: &impl Lend<T>,
        ruled: &mut dyn FnMut(&Session, T, Ruling),
    ) {
        let mut channel = Channel::UNCONCERNED;
        let mut ruling = None;
        lend.lend(&message, &mut |event| {
            channel = self.channel(event.from, event.to);
            if early.kept.iter().all(|(other, _)| *other != channel) {
                ruling = Some(self.supervise(policy, session, event));
            }
        });
        match ruling {
            Some(ruling) if ruling.handling != Handling::Keep => {
                ruled(session, message, ruling);
                self.offer_again(policy, session, early, lend, ruled);
            }
            _ if early.has_room_for(&message) => early.push(channel, message),
            _ => {
                let fault = Fault { kind: FaultKind::TooManyEarly, state: session.state, edge: NO_EDGE };
                let ruling = policy.rule(session, Verdict::Fault(fault));
                // Nothing is judged any more: those that waited go on, or are closed, before this one.
                self.offer_again(policy, session, early, lend, ruled);
                ruled(session, message, ruling);
            }
        }
    }

    /// Rules on the first kept message of each channel until none of them has its turn.
    fn offer_again<T>(
        &self,
        policy: Policy,
        session: &mut Session,
        early: &mut Early<T>,
        lend: &impl Lend<T>,
        ruled: &mut dyn FnMut(&Session, T, Ruling),
    ) {
        let mut at = 0;
        while let Some((channel, message)) = early.kept.get(at) {
            let is_first = early.kept.iter().take(at).all(|(other, _)| other != channel);
            let mut ruling = None;
            if is_first {
                lend.lend(message, &mut |event| ruling = Some(self.supervise(policy, session, event)));
            }
            match ruling {
                Some(ruling) if ruling.handling != Handling::Keep => {
                    if let Some(message) = early.remove(at) {
                        ruled(session, message, ruling);
                    }
                    at = 0;
                }
                _ => at += 1,
            }
        }
    }
}
