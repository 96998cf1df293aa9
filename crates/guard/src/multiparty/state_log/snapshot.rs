//! The state that the changes of a state log amount to.

use std::collections::{BTreeMap, VecDeque};

use hyper::body::Bytes;

use super::change::{Change, RolePair, SessionKey};
use crate::multiparty::retransmit::RetransmitQueue;

/// A session at a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::multiparty) struct SavedSession {
    pub(in crate::multiparty) session: Bytes,
    /// The messages delivered to its component, from number `first` on.
    pub(in crate::multiparty) first: u64,
    pub(in crate::multiparty) given: VecDeque<Bytes>,
}

/// The state that survives a crash.
#[derive(Clone, Debug, Default)]
pub(in crate::multiparty) struct Snapshot {
    pub(in crate::multiparty) instance: Option<u128>,
    pub(in crate::multiparty) sessions: BTreeMap<SessionKey, SavedSession>,
    /// Unacknowledged fragments, by sender and receiver.
    pub(in crate::multiparty) queues: BTreeMap<RolePair, RetransmitQueue>,
    /// The next number expected, by sender and receiver.
    pub(in crate::multiparty) taken: BTreeMap<RolePair, u64>,
    /// The stream sequence to read from, by receiver.
    pub(in crate::multiparty) sequence: BTreeMap<u16, u64>,
    /// The instance number of each peer.
    pub(in crate::multiparty) peers: BTreeMap<u16, u128>,
}

impl Snapshot {
    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Instance(instance) => self.instance = Some(instance),
            Change::Session { at, kept, bytes } => {
                let session = self.sessions.entry(at).or_default();
                let gone = usize::try_from(kept.saturating_sub(session.first)).unwrap_or(usize::MAX);
                session.given.drain(..gone.min(session.given.len()));
                session.first = kept;
                session.session = bytes;
            }
            Change::Delivered { at, bytes } => self.sessions.entry(at).or_default().given.push_back(bytes),
            Change::Ended(at) => drop(self.sessions.remove(&at)),
            Change::Sent { link, content } => self.queues.entry(link).or_default().push(content),
            Change::Received { link, expected, sequence } => {
                self.taken.insert(link, expected);
                self.sequence.insert(link.1, sequence);
            }
            Change::Identified { peer, instance } => {
                if self.peers.insert(peer, instance).is_some_and(|before| before != instance) {
                    self.queues.retain(|(_, to), _| *to != peer);
                    self.taken.retain(|(from, _), _| *from != peer);
                }
            }
            Change::Numbering { link, number } => {
                self.queues.insert(link, RetransmitQueue::from(number, []));
            }
        }
    }

    pub(super) fn acknowledged(&mut self, link: RolePair, expected: u64) {
        if let Some(queue) = self.queues.get_mut(&link) {
            let _ = queue.acknowledged(expected);
        }
    }

    /// Changes that lead to this state.
    pub(super) fn changes(&self) -> Vec<Change> {
        let mut changes: Vec<Change> = self.instance.map(Change::Instance).into_iter().collect();
        changes.extend(self.peers.iter().map(|(&peer, &instance)| Change::Identified { peer, instance }));
        for (&link, &expected) in &self.taken {
            let sequence = self.sequence.get(&link.1).copied().unwrap_or(0);
            changes.push(Change::Received { link, expected, sequence });
        }
        for (&link, queue) in &self.queues {
            changes.push(Change::Numbering { link, number: queue.first() });
            changes.extend(
                queue.unacknowledged().map(|content| Change::Sent { link, content: content.clone() }),
            );
        }
        for (&at, kept) in &self.sessions {
            // Deliveries are numbered from the session's `first`.
            changes.push(Change::Session { at, kept: kept.first, bytes: kept.session.clone() });
            changes.extend(kept.given.iter().map(|bytes| Change::Delivered { at, bytes: bytes.clone() }));
        }
        changes
    }
}
