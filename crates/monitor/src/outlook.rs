//! What several peers may still do, where a machine has more than one.
//!
//! Messages of different peers travel on different channels, so one may arrive before another that the
//! machine takes first; and a peer whose part is done may leave before the others. Neither is a violation.

use referee_theory::{Action, Machine, Role, Vocabulary};
use rustc_hash::FxHashMap;

use crate::dataflow::{Combine, Sets, backward, set};

/// Beyond this many bits no table is made; the answer is then always the one that blames nobody.
const MAX_BITS: usize = 1 << 28;

/// Answers for machines with several peers.
#[derive(Clone, Debug)]
pub(crate) enum Outlook {
    /// One peer at most: it and the machine's role take turns.
    Turns,
    /// Too large to tell.
    Unknown,
    /// Several peers.
    Several {
        /// Which (peer, label) can be the next message from that peer, after others' messages.
        next: Sets,
        keys: FxHashMap<(u32, u32), usize>,
        /// Which peers surely have something left to do.
        busy: Sets,
    },
}

impl Outlook {
    /// `peers` are the machine's peers in order; `label` numbers a message's label.
    pub(crate) fn new(
        machine: &Machine,
        vocabulary: &Vocabulary,
        peers: &[Role],
        label: impl Fn(&str) -> u32,
    ) -> Self {
        if peers.len() < 2 {
            return Self::Turns;
        }
        let peer_of: FxHashMap<Role, u32> = (0..).zip(peers).map(|(i, &p)| (p, i)).collect();
        let peer = |role: Role| peer_of.get(&role).copied().unwrap_or(0);
        let mut keys = FxHashMap::default();
        for transition in machine.all_transitions() {
            if transition.action == Action::Receive {
                let key = (peer(transition.peer), label(vocabulary.label_of(transition.message)));
                let count = keys.len();
                keys.entry(key).or_insert(count);
            }
        }
        if keys.len().max(peers.len()).saturating_mul(machine.state_count()) > MAX_BITS {
            return Self::Unknown;
        }
        let width = keys.len();
        let mut of_peer: Vec<Vec<usize>> = vec![Vec::new(); peers.len()];
        for (&(peer, _), &key) in &keys {
            of_peer[peer as usize].push(key);
        }
        let masks: Vec<Vec<u64>> = of_peer.into_iter().map(|members| set(width, members)).collect();
        let next = backward(machine, width, Combine::Any, |transition, row| {
            if transition.action == Action::Receive {
                let peer = peer(transition.peer);
                for (word, mask) in row.iter_mut().zip(&masks[peer as usize]) {
                    *word &= !mask;
                }
                let key = keys[&(peer, label(vocabulary.label_of(transition.message)))];
                row[key / 64] |= 1 << (key % 64);
            }
        });
        let busy = backward(machine, peers.len(), Combine::All, |transition, row| {
            let peer = peer(transition.peer) as usize;
            row[peer / 64] |= 1 << (peer % 64);
        });
        Self::Several { next, keys, busy }
    }

    /// Whether `label` may be `peer`'s next message although the machine does not take it in `state`.
    pub(crate) fn may_come(&self, state: u32, peer: u32, label: u32) -> bool {
        match self {
            Self::Turns => false,
            Self::Unknown => true,
            Self::Several { next, keys, .. } => {
                keys.get(&(peer, label)).is_some_and(|&key| next.contains(state, key))
            }
        }
    }

    /// Whether `peer` has something left to do, whatever happens. Asked of states that are not final.
    pub(crate) fn is_busy(&self, state: u32, peer: u32) -> bool {
        match self {
            Self::Turns => true,
            Self::Unknown => false,
            Self::Several { busy, .. } => busy.contains(state, peer as usize),
        }
    }
}
