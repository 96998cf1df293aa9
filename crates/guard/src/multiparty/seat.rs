//! One session at one role: where its monitor stands, what is under way, and what everybody else last said.

use std::collections::VecDeque;
use std::time::Instant;

use referee_monitor::multiparty::{Run, Status, Turn};
use referee_theory::{Role, Vocabulary};
use serde_json::{Value, json};

use super::parcel::Parcel;
use super::plan::RolePlan;

/// How far a session has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// This role began it; the others are asked to take part.
    Inviting,
    /// This role was asked; its component is not there yet.
    Invited,
    /// The component is there; others may not be.
    Seated,
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
    /// Messages given to the component's connection and not yet written there.
    pub(super) undelivered: u32,
    /// Room for messages that the engine is not given while others are too slow.
    pub(super) owed: u32,
    /// Whether the component is connected.
    pub(super) attended: bool,
    /// Whether the component's side was told that nothing more comes.
    pub(super) closing: bool,
    pub(super) messages: u64,
    /// Bytes from the component that went on, and bytes given to it.
    pub(super) bytes: [u64; 2],
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
            owed: 0,
            attended: phase == Phase::Inviting,
            closing: false,
            messages: 0,
            bytes: [0; 2],
        }
    }

    /// Whether some other monitor has as much of this session as it may have.
    pub(super) fn is_choked(&self, plan: &RolePlan) -> bool {
        let full = |peer: &Peer| peer.flight.0 >= plan.window.0 || peer.flight.1 >= plan.window.1;
        self.peers.iter().any(full)
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
            (Phase::Invited, _) => ("component", None),
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
                Phase::Running => "running",
            },
            "status": format!("{:?}", self.run.status()).to_lowercase(),
            "state": self.run.state().index(),
            "waits_on": waits_on,
            "waits_for": waits_for,
            "violations": self.run.violations(),
            "undelivered": self.undelivered,
            "seconds": now.saturating_duration_since(self.begun).as_secs(),
            "others": others,
        })
    }
}
