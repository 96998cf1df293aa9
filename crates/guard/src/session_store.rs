//! Sessions that span connections: a cookie, a header or a part of the path says which session a message is of.
//!
//! A session is lent to the connection that carries its next exchange and comes back with the answer. Meanwhile
//! messages of the same session on other connections wait, for a session is a sequence. If the exchange breaks off,
//! nobody knows where the session stands: its messages are then passed on without being judged.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Mutex;
use std::task::Waker;
use std::time::{Duration, Instant};

use ahash::AHashMap;
use referee_monitor::Session;
use referee_session::{Loan, SessionStore, SharedSessions, SharedStore};

use crate::metrics::lock;

const SHARD_COUNT: usize = 64;
/// Longer names are not kept: their sessions are not judged.
const MAX_NAME: usize = 256;

/// The sessions of a listener that are between two exchanges, or lent.
pub(crate) struct KeyedSessions {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    /// How many are kept in each shard; the oldest make room.
    most: usize,
    idle: Duration,
}

#[derive(Default)]
struct Shard {
    entries: AHashMap<Box<[u8]>, Entry>,
    /// Names in the order in which they came back, with when; some may have gone or come back again since.
    order: VecDeque<(Instant, Box<[u8]>)>,
}

struct Entry {
    state: State,
    since: Instant,
    waiting: Vec<Waker>,
}

enum State {
    Here(Box<Session>),
    Lent,
    Lost,
}

impl KeyedSessions {
    pub(crate) fn new(most: usize, idle: Option<Duration>) -> Self {
        let shards = (0..SHARD_COUNT).map(|_| Mutex::default()).collect();
        let idle = idle.unwrap_or(Duration::from_secs(86400));
        Self { shards, hasher: RandomState::new(), most: most.div_ceil(SHARD_COUNT), idle }
    }

    /// These, knowing nothing of where the sessions of `old` stand.
    pub(crate) fn after(self, old: &Self) -> Self {
        for shard in &old.shards {
            let names: Vec<Box<[u8]>> = lock(shard).entries.keys().cloned().collect();
            for name in names {
                self.give_back(&name, None);
            }
        }
        self
    }

    fn shard(&self, name: &[u8]) -> Option<&Mutex<Shard>> {
        let index = usize::try_from(self.hasher.hash_one(name) % SHARD_COUNT as u64).unwrap_or(0);
        self.shards.get(index)
    }

    fn make_room(&self, shard: &mut Shard, now: Instant) {
        while let Some((since, _)) = shard.order.front() {
            let full = shard.entries.len() > self.most || shard.order.len() > 2 * self.most;
            if !full && now.duration_since(*since) < self.idle {
                break;
            }
            let Some((since, name)) = shard.order.pop_front() else { break };
            let stale = |entry: &Entry| entry.since == since && !matches!(entry.state, State::Lent);
            if shard.entries.get(&name).is_some_and(stale) {
                shard.entries.remove(&name);
            }
        }
    }
}

impl SessionStore for KeyedSessions {
    fn lend(&self, name: &[u8], waker: &Waker) -> Loan {
        let Some(shard) = self.shard(name).filter(|_| name.len() <= MAX_NAME) else { return Loan::Lost };
        let mut shard = lock(shard);
        let now = Instant::now();
        if let Some(entry) = shard.entries.get_mut(name) {
            return match std::mem::replace(&mut entry.state, State::Lent) {
                State::Here(session) => Loan::Session(session),
                State::Lent => {
                    if !entry.waiting.iter().any(|other| other.will_wake(waker)) {
                        entry.waiting.push(waker.clone());
                    }
                    Loan::Busy
                }
                State::Lost => {
                    entry.state = State::Lost;
                    Loan::Lost
                }
            };
        }
        shard.entries.insert(name.into(), Entry { state: State::Lent, since: now, waiting: Vec::new() });
        Loan::New
    }

    fn give_back(&self, name: &[u8], session: Option<Session>) {
        let Some(shard) = self.shard(name).filter(|_| name.len() <= MAX_NAME) else { return };
        let now = Instant::now();
        let mut shard = lock(shard);
        let state = session.map_or(State::Lost, |session| State::Here(Box::new(session)));
        let entry = Entry { state, since: now, waiting: Vec::new() };
        let old = shard.entries.insert(name.into(), entry);
        shard.order.push_back((now, name.into()));
        self.make_room(&mut shard, now);
        drop(shard);
        for waker in old.into_iter().flat_map(|old| old.waiting) {
            waker.wake();
        }
    }

    fn forget(&self, name: &[u8]) {
        let Some(shard) = self.shard(name) else { return };
        let old = lock(shard).entries.remove(name);
        for waker in old.into_iter().flat_map(|old| old.waiting) {
            waker.wake();
        }
    }
}

/// What the sessions of a listener have seen that have several connections at once.
pub(crate) struct SharedByListener(Mutex<SharedSessions>);

impl SharedByListener {
    pub(crate) fn new(most: usize) -> Self {
        Self(Mutex::new(SharedSessions::new(most)))
    }
}

impl SharedStore for SharedByListener {
    fn with(&self, work: &mut dyn FnMut(&mut SharedSessions)) {
        work(&mut lock(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        use referee_theory::{Action, MachineBuilder, Origin, Transition, Vocabulary};
        let mut vocabulary = Vocabulary::new();
        let (a, b) = (vocabulary.add_role("a"), vocabulary.add_role("b"));
        let message = vocabulary.add_plain_message("M");
        let mut machine = MachineBuilder::new(a);
        let (start, end) = (machine.add_state(), machine.add_state());
        let send = Transition { action: Action::Send, peer: b, message, target: end, origin: Origin::NONE };
        machine.add_transition(start, send);
        let vocabulary = std::sync::Arc::new(vocabulary);
        let registry = referee_monitor::Registry::new();
        referee_monitor::Monitor::synthesise(&machine.finish(), &vocabulary, &registry).unwrap().session()
    }

    #[test]
    fn a_session_is_lent_to_one_at_a_time() {
        let sessions = KeyedSessions::new(100, None);
        let waker = Waker::noop();
        assert!(matches!(sessions.lend(b"x", waker), Loan::New));
        assert!(matches!(sessions.lend(b"x", waker), Loan::Busy));
        assert!(matches!(sessions.lend(b"y", waker), Loan::New));
        sessions.give_back(b"x", Some(session()));
        assert!(matches!(sessions.lend(b"x", waker), Loan::Session(_)));
        sessions.give_back(b"x", None);
        assert!(matches!(sessions.lend(b"x", waker), Loan::Lost));
        sessions.forget(b"y");
        assert!(matches!(sessions.lend(b"y", waker), Loan::New));
        assert!(matches!(sessions.lend(&[b'z'; MAX_NAME + 1], waker), Loan::Lost));
    }

    #[test]
    fn hostile_names_do_not_fill_the_memory() {
        let sessions = KeyedSessions::new(1000, None);
        for number in 0..100_000_u32 {
            let name = number.to_le_bytes();
            let _ = sessions.lend(&name, Waker::noop());
            sessions.give_back(&name, Some(session()));
        }
        let kept: usize = sessions.shards.iter().map(|shard| lock(shard).entries.len()).sum();
        let order: usize = sessions.shards.iter().map(|shard| lock(shard).order.len()).sum();
        assert!(kept <= 1000 + SHARD_COUNT * 2 && order <= 2 * kept + SHARD_COUNT * 2, "{kept} {order}");
    }
}
