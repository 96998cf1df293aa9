//! What the changes of a diary amount to.

use std::collections::{BTreeMap, VecDeque};

use hyper::body::Bytes;

use super::change::{Change, Link, Place};
use crate::multiparty::link::Outbox;

/// A session at a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::multiparty) struct Kept {
    pub(in crate::multiparty) seat: Bytes,
    /// What its component was given, from this number on.
    pub(in crate::multiparty) first: u64,
    pub(in crate::multiparty) given: VecDeque<Bytes>,
}

/// All that is known.
#[derive(Clone, Debug, Default)]
pub(in crate::multiparty) struct Memory {
    pub(in crate::multiparty) instance: Option<u128>,
    pub(in crate::multiparty) seats: BTreeMap<Place, Kept>,
    /// What is to be sent, by sender and receiver.
    pub(in crate::multiparty) outboxes: BTreeMap<Link, Outbox>,
    /// What has been taken, by sender and receiver: the number that is expected next.
    pub(in crate::multiparty) taken: BTreeMap<Link, u64>,
    /// By receiver: where the stream is to be read from.
    pub(in crate::multiparty) sequence: BTreeMap<u16, u64>,
    /// Which process the monitor of a role is.
    pub(in crate::multiparty) peers: BTreeMap<u16, u128>,
}

impl Memory {
    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Instance(instance) => self.instance = Some(instance),
            Change::Seat { at, kept, bytes } => {
                let seat = self.seats.entry(at).or_default();
                let gone = usize::try_from(kept.saturating_sub(seat.first)).unwrap_or(usize::MAX);
                seat.given.drain(..gone.min(seat.given.len()));
                seat.first = kept;
                seat.seat = bytes;
            }
            Change::Given { at, bytes } => self.seats.entry(at).or_default().given.push_back(bytes),
            Change::Over(at) => drop(self.seats.remove(&at)),
            Change::Sent { link, content } => self.outboxes.entry(link).or_default().push(content),
            Change::Taken { link, expected, sequence } => {
                self.taken.insert(link, expected);
                self.sequence.insert(link.1, sequence);
            }
            Change::Met { peer, instance } => {
                if self.peers.insert(peer, instance).is_some_and(|before| before != instance) {
                    self.outboxes.retain(|(_, to), _| *to != peer);
                    self.taken.retain(|(from, _), _| *from != peer);
                }
            }
            Change::First { link, number } => {
                self.outboxes.insert(link, Outbox::from(number, []));
            }
        }
    }

    pub(super) fn acknowledged(&mut self, link: Link, expected: u64) {
        if let Some(outbox) = self.outboxes.get_mut(&link) {
            let _ = outbox.acknowledged(expected);
        }
    }

    /// Changes that amount to all this.
    pub(super) fn changes(&self) -> Vec<Change> {
        let mut changes: Vec<Change> = self.instance.map(Change::Instance).into_iter().collect();
        changes.extend(self.peers.iter().map(|(&peer, &instance)| Change::Met { peer, instance }));
        for (&link, &expected) in &self.taken {
            let sequence = self.sequence.get(&link.1).copied().unwrap_or(0);
            changes.push(Change::Taken { link, expected, sequence });
        }
        for (&link, outbox) in &self.outboxes {
            changes.push(Change::First { link, number: outbox.first() });
            changes.extend(outbox.kept().map(|content| Change::Sent { link, content: content.clone() }));
        }
        for (&at, kept) in &self.seats {
            // What was given is counted from where the seat says.
            changes.push(Change::Seat { at, kept: kept.first, bytes: kept.seat.clone() });
            changes.extend(kept.given.iter().map(|bytes| Change::Given { at, bytes: bytes.clone() }));
        }
        changes
    }
}
