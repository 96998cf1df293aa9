//! One session at one role: where its monitor stands, what is under way, and what everybody else last said.

mod bytes;

use std::collections::VecDeque;
use std::time::Instant;

use hyper::body::Bytes;
use referee_monitor::multiparty::{Run, Status, Turn};
use referee_theory::{Role, Vocabulary};
use serde_json::{Value, json};

use super::parcel::Parcel;
use super::plan::{Place, RolePlan};

/// How far a session has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// This role began it; the others are asked to take part.
    Inviting,
    /// This role was asked; its component is not there yet.
    Invited,
    /// The component is there; others may not be.
    Seated,
    /// Everyone was there, but then the component left, and another is awaited.
    Awaited,
    /// Everyone is there.
    Running,
}

/// What a session holds of one other role.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// The number of the next letter to it, and of the next from it.
    pub(super) sent: u32,
    pub(super) expected: u32,
    /// Messages and bytes that it was sent and has not taken.
    pub(super) flight: (u32, usize),
    /// The sizes of what it sent and waits here.
    pub(super) held: VecDeque<u32>,
    /// Messages and bytes that were taken since it was last told so.
    pub(super) taken: (u32, u32),
    /// Where its monitor stood when it last wrote.
    pub(super) state: Option<u32>,
    pub(super) joined: bool,
    /// Whether its part is over.
    pub(super) ended: bool,
}

/// One session at one role.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) run: Run<Parcel>,
    pub(super) phase: Phase,
    /// What reports call it.
    pub(super) number: u64,
    pub(super) begun: Instant,
    pub(super) touched: Instant,
    /// By role.
    pub(super) peers: Box<[Peer]>,
    /// Messages given to the component's connection and not yet written there, and their bytes.
    pub(super) undelivered: u32,
    pub(super) unwritten: usize,
    /// Room for messages that the engine is not given while others are too slow.
    pub(super) owed: u32,
    /// Whether the component is connected.
    pub(super) attended: bool,
    /// Whether the component's side was told that nothing more comes.
    pub(super) closing: bool,
    pub(super) messages: u64,
    /// Bytes from the component that went on, and bytes given to it.
    pub(super) bytes: [u64; 2],
    /// What a component that can come back calls itself.
    pub(super) key: Option<Box<str>>,
    /// Since when a component that can come back is awaited.
    pub(super) away: Option<Instant>,
    /// Messages of the component that were taken.
    pub(super) taken: u64,
    /// Messages given to the component, and the last of them if it can come back.
    pub(super) given: u64,
    pub(super) kept: VecDeque<Bytes>,
    /// Those among `undelivered` that had been delivered before.
    pub(super) repeated: u32,
}

impl Seat {
    pub(super) fn new(plan: &RolePlan, phase: Phase, number: u64, now: Instant) -> Self {
        let roles = plan.engine.vocabulary().roles().len();
        Self {
            run: plan.engine.run(0),
            phase,
            number,
            begun: now,
            touched: now,
            peers: (0..roles).map(|_| Peer::default()).collect(),
            undelivered: 0,
            unwritten: 0,
            owed: 0,
            attended: phase == Phase::Inviting,
            closing: false,
            messages: 0,
            bytes: [0; 2],
            key: None,
            away: None,
            taken: 0,
            given: 0,
            kept: VecDeque::new(),
            repeated: 0,
        }
    }

    /// `bytes` go to the component.
    pub(super) fn give(&mut self, bytes: &Bytes, plan: &RolePlan) {
        self.undelivered += 1;
        self.unwritten += bytes.len();
        self.bytes[1] += bytes.len() as u64;
        self.given += 1;
        if plan.resumes {
            // One that connects says what it has, and is not behind by more than a window.
            self.kept.push_back(bytes.clone());
            let mut size: usize = self.kept.iter().map(Bytes::len).sum();
            while self.kept.len() > plan.window.0 as usize || size > plan.window.1 {
                let Some(oldest) = self.forget_oldest() else { break };
                size -= oldest.len();
            }
        }
    }

    /// A message of the component was taken.
    pub(super) fn took(&mut self, plan: &RolePlan) {
        self.taken += 1;
        // One that is connected to cannot say what it has: it is given again what it has not answered.
        if matches!(plan.place, Place::Connect(_)) {
            while self.forget_oldest().is_some() {}
        }
    }

    /// Forgets the oldest message that was delivered.
    fn forget_oldest(&mut self) -> Option<Bytes> {
        let undelivered = (self.undelivered - self.repeated) as usize;
        if self.kept.len() > undelivered { self.kept.pop_front() } else { None }
    }

    /// The number of the first message to the component that is kept.
    pub(super) fn first_kept(&self) -> u64 {
        self.given - self.kept.len() as u64
    }

    /// The component is back, and has `received` so many messages, or does not say. What it is to be given again.
    ///
    /// # Errors
    /// It cannot go on from there.
    pub(super) fn resume(&mut self, received: Option<u64>, now: Instant) -> Result<Vec<Bytes>, &'static str> {
        if self.away.is_none() {
            return Err("the component is here already");
        }
        let first = self.first_kept();
        let received = received.unwrap_or(first);
        if received > self.given {
            return Err("it says that it was given more than it was");
        }
        let Some(skip) = received.checked_sub(first) else {
            return Err("what it did not receive is not kept any more");
        };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let again: Vec<Bytes> = self.kept.iter().skip(skip).cloned().collect();
        let count = u32::try_from(again.len()).unwrap_or(u32::MAX);
        let before = self.undelivered - self.repeated;
        // What it has although nobody knew makes room; what it is given again makes none.
        self.owed += before.saturating_sub(count);
        self.repeated = count.saturating_sub(before);
        self.undelivered = count;
        self.unwritten = again.iter().map(Bytes::len).sum();
        self.closing = false;
        self.attended = true;
        self.away = None;
        self.touched = now;
        Ok(again)
    }

    /// Whether some other monitor has as much of this session as it may have.
    pub(super) fn is_choked(&self, plan: &RolePlan) -> bool {
        let full = |peer: &Peer| peer.flight.0 >= plan.window.0 || peer.flight.1 >= plan.window.1;
        self.peers.iter().any(full)
    }

    /// Whether the engine may be told that the component's side can take one more message. It is told of one at a time,
    /// so that no more than one goes beyond the bytes that may wait for a component that does not read.
    pub(super) fn has_room(&self, plan: &RolePlan) -> bool {
        self.phase == Phase::Running
            && self.owed > 0
            && self.run.room() == 0
            && self.unwritten < plan.window.1
            && !self.is_choked(plan)
    }

    /// Whether a message of the component can be judged now.
    pub(super) fn can_send(&self, plan: &RolePlan) -> bool {
        let untold = plan.hides() && matches!(plan.engine.turn(&self.run), Turn::Dependency(_));
        let judged = self.run.status() == Status::Running;
        self.phase == Phase::Running && !(judged && untold) && !self.is_choked(plan)
    }

    /// Notes what was taken of `from`'s; says how much it may be told to have taken.
    pub(super) fn credit(&mut self, from: Role, plan: &RolePlan) -> Option<(u32, u32)> {
        let waiting = self.run.waiting_from(from);
        let peer = self.peers.get_mut(from.index())?;
        while peer.held.len() > waiting {
            let weight = peer.held.pop_front().unwrap_or(0);
            peer.taken.0 += 1;
            peer.taken.1 = peer.taken.1.saturating_add(weight);
        }
        let due = peer.taken.0 * 2 >= plan.window.0 || peer.taken.1 as usize * 2 >= plan.window.1;
        due.then(|| std::mem::take(&mut peer.taken))
    }

    /// How it stands, for operators.
    pub(super) fn describe(&self, plan: &RolePlan, now: Instant) -> Value {
        let vocabulary: &Vocabulary = plan.engine.vocabulary();
        let name = |role: Role| vocabulary.role_name(role);
        let others: serde_json::Map<String, Value> = plan
            .others
            .iter()
            .filter_map(|role| {
                let peer = self.peers.get(role.index())?;
                let view = json!({
                    "joined": peer.joined || self.phase == Phase::Running,
                    "state": peer.state,
                    "ended": peer.ended,
                    "in_flight_to_it": { "messages": peer.flight.0, "bytes": peer.flight.1 },
                    "waiting_from_it": peer.held.len(),
                });
                Some((name(*role).to_owned(), view))
            })
            .collect();
        let (waits_on, waits_for) = match (self.phase, plan.engine.turn(&self.run)) {
            (Phase::Inviting | Phase::Seated, _) => ("others", None),
            (Phase::Invited | Phase::Awaited, _) => ("component", None),
            (Phase::Running, Turn::End) => ("end", None),
            (Phase::Running, Turn::Component) => ("component", None),
            (Phase::Running, Turn::Message(from)) => ("message", Some(name(from))),
            (Phase::Running, Turn::Dependency(from)) => ("dependency", Some(name(from))),
        };
        json!({
            "role": name(plan.engine.role()),
            "number": self.number,
            "phase": match self.phase {
                Phase::Inviting => "inviting",
                Phase::Invited => "invited",
                Phase::Seated => "seated",
                Phase::Awaited => "awaited",
                Phase::Running => "running",
            },
            "status": format!("{:?}", self.run.status()).to_lowercase(),
            "state": self.run.state().index(),
            "waits_on": waits_on,
            "waits_for": waits_for,
            "violations": self.run.violations(),
            "undelivered": self.undelivered,
            "away": self.away.is_some(),
            "seconds": now.saturating_duration_since(self.begun).as_secs(),
            "others": others,
        })
    }
}
