//! One session at one role: the run of its engine, flow control towards each peer, and what its component was sent.

mod encoding;
mod recent;

use std::collections::VecDeque;
use std::time::Duration;

use hyper::body::Bytes;
use referee_monitor::multiparty::{Notice, Run, Status, Turn};
use referee_session::Observed;
use referee_theory::{Role, Vocabulary};
use serde::Serialize;
use serde_json::{Value, json};

use super::peer_message::SessionId;
use super::plan::{Endpoint, RolePlan};
use super::trace_context::{RoleSpan, TraceContext};
use recent::Recent;
use referee_session::role::payload::Payload;

/// The phases of a session at a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// This role began it and invited the others.
    Inviting,
    /// This role was invited; its component is not connected yet.
    Invited,
    /// The component is connected; others may not be.
    Ready,
    /// Everyone had joined, but then the component left, and another is awaited.
    AwaitingComponent,
    /// Everyone has joined.
    Running,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Self::Inviting => "inviting",
            Self::Invited => "invited",
            Self::Ready => "ready",
            Self::AwaitingComponent => "awaiting-component",
            Self::Running => "running",
        }
    }
}

/// What a list of sessions shows of one at one role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RoleBrief {
    role: String,
    phase: &'static str,
    state: usize,
    /// On what it waits, and for whom.
    waits_on: &'static str,
    waits_for: Option<String>,
    messages: u64,
    violations: u16,
}

/// The state of a session towards one other role.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// The sequence number of the next peer message to it, and from it.
    pub(super) sent: u32,
    pub(super) expected: u32,
    /// Messages and bytes sent to it without credit for them yet.
    pub(super) in_flight: (u32, usize),
    /// The sizes of its messages that wait here.
    pub(super) held: VecDeque<u32>,
    /// Messages and bytes processed since the last credit.
    pub(super) taken: (u32, u32),
    /// The state of its monitor when it last sent a message.
    pub(super) state: Option<u32>,
    pub(super) joined: bool,
    /// Whether its part is over.
    pub(super) ended: bool,
}

/// Where the messages end that a component was sent and that were not handed to it, in bytes of its first connection; and how many were.
#[derive(Debug, Default)]
pub(super) struct Given(VecDeque<u64>, u64);

impl Given {
    /// The first `end` bytes were handed: how many messages that is.
    pub(super) fn handed(&mut self, end: u64) -> u64 {
        while self.0.front().is_some_and(|last| *last <= end) {
            self.0.pop_front();
            self.1 += 1;
        }
        self.1
    }
}

/// One session at one role.
#[derive(Debug)]
pub(super) struct RoleSession {
    pub(super) run: Run<Payload>,
    pub(super) phase: Phase,
    /// Its number in reports.
    pub(super) number: u64,
    pub(super) begun: Duration,
    /// When something last happened here.
    pub(super) last_activity: Duration,
    /// When another monitor last said that something happened there (`Active`), and when this one did.
    pub(super) others_active: Duration,
    pub(super) announced: Duration,
    /// Indexed by role.
    pub(super) peers: Box<[Peer]>,
    /// Messages queued for the component and not written yet, and their bytes.
    pub(super) undelivered: u32,
    pub(super) unwritten: usize,
    /// Room for messages that the engine has not been told of yet (backpressure).
    pub(super) owed: u32,
    /// Whether the component is connected.
    pub(super) component_connected: bool,
    /// Whether the component's connection was shut down for writing.
    pub(super) closing: bool,
    pub(super) messages: u64,
    /// Bytes from the component, and bytes to it.
    pub(super) bytes: [u64; 2],
    /// The key of a component that can resume.
    pub(super) key: Option<Box<str>>,
    /// Since when a component is expected to resume.
    pub(super) away: Option<Duration>,
    /// Messages accepted from the component.
    pub(super) taken: u64,
    /// Messages sent to the component, and the last of them if it can resume.
    pub(super) given: u64,
    pub(super) kept: VecDeque<Bytes>,
    /// Where they end, if times are judged.
    pub(super) given_ends: Given,
    /// How many of `undelivered` are repetitions.
    pub(super) repeated: u32,
    /// Whether the component was connected to again after a crash. It cannot say what it remembers, so it is not blamed any more.
    pub(super) is_resumed_blindly: bool,
    /// What the properties have seen; how many violations they found, and the one that ends the session.
    pub(super) observed: Observed,
    pub(super) property_violations: u16,
    pub(super) broken_property: Option<Box<Notice>>,
    /// The trace context that the initiator's component gave.
    pub(super) context: Option<TraceContext>,
    /// The last messages that the component sent and was given. Lost with the process.
    pub(super) recent: Recent,
}

impl RoleSession {
    pub(super) fn new(plan: &RolePlan, phase: Phase, number: u64, now: Duration) -> Self {
        let roles = plan.engine.vocabulary().roles().len();
        Self {
            run: plan.engine.run(0),
            phase,
            number,
            begun: now,
            last_activity: now,
            others_active: now,
            announced: now,
            peers: (0..roles).map(|_| Peer::default()).collect(),
            undelivered: 0,
            unwritten: 0,
            owed: 0,
            component_connected: phase == Phase::Inviting,
            closing: false,
            messages: 0,
            bytes: [0; 2],
            key: None,
            away: None,
            taken: 0,
            given: 0,
            kept: VecDeque::new(),
            given_ends: Given::default(),
            repeated: 0,
            is_resumed_blindly: false,
            observed: Observed::default(),
            property_violations: 0,
            broken_property: None,
            context: None,
            recent: Recent::default(),
        }
    }

    /// The span of this role's monitor in the session, which is called `id`.
    pub(super) fn span(&self, id: SessionId, plan: &RolePlan) -> RoleSpan {
        RoleSpan::new(id, plan.engine.role(), plan.initiator, self.context)
    }

    /// How many violations were found here.
    pub(super) fn violations(&self) -> u16 {
        self.run.violations().saturating_add(self.property_violations)
    }

    /// Records that `bytes` are sent to the component.
    pub(super) fn give(&mut self, bytes: &Bytes, plan: &RolePlan) {
        self.undelivered += 1;
        self.unwritten += bytes.len();
        self.bytes[1] += bytes.len() as u64;
        self.given += 1;
        if plan.judges_times() {
            self.given_ends.0.push_back(self.bytes[1]);
        }
        if plan.resumes {
            // A component that resumes is not behind by more than a window.
            self.kept.push_back(bytes.clone());
            let mut size: usize = self.kept.iter().map(Bytes::len).sum();
            while self.kept.len() > plan.window.0 as usize || size > plan.window.1 {
                let Some(oldest) = self.forget_oldest() else { break };
                size -= oldest.len();
            }
        }
    }

    /// Records that a message of the component was accepted.
    pub(super) fn took(&mut self, plan: &RolePlan) {
        self.taken += 1;
        // A service that is connected to cannot say what it has received: what it has not answered is repeated.
        if matches!(plan.main.endpoint, Endpoint::Connect(_)) {
            while self.forget_oldest().is_some() {}
        }
    }

    /// Drops the oldest message that was delivered.
    fn forget_oldest(&mut self) -> Option<Bytes> {
        let undelivered = (self.undelivered - self.repeated) as usize;
        if self.kept.len() > undelivered { self.kept.pop_front() } else { None }
    }

    /// The number of the first message to the component that is kept.
    pub(super) fn first_kept(&self) -> u64 {
        self.given - self.kept.len() as u64
    }

    /// The component resumes, with `received` messages if it says so. Returns what it is to be sent again.
    ///
    /// # Errors
    /// Why it cannot resume.
    pub(super) fn resume(
        &mut self,
        received: Option<u64>,
        now: Duration,
    ) -> Result<Vec<Bytes>, &'static str> {
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
        // What it had received unnoticed makes room; repetitions make none.
        self.owed += before.saturating_sub(count);
        self.repeated = count.saturating_sub(before);
        self.undelivered = count;
        self.unwritten = again.iter().map(Bytes::len).sum();
        self.closing = false;
        self.component_connected = true;
        self.away = None;
        self.last_activity = now;
        Ok(again)
    }

    /// Whether the window towards some peer is full (backpressure).
    pub(super) fn is_blocked(&self, plan: &RolePlan) -> bool {
        let full = |peer: &Peer| peer.in_flight.0 >= plan.window.0 || peer.in_flight.1 >= plan.window.1;
        self.peers.iter().any(full)
    }

    /// Whether the engine may be told of room for one more message to the component. One at a time, so that the bytes queued for
    /// a component that does not read exceed `limits.buffer` by at most one message.
    pub(super) fn has_room(&self, plan: &RolePlan) -> bool {
        self.phase == Phase::Running
            && self.broken_property.is_none()
            && self.owed > 0
            && self.run.room() == 0
            && self.unwritten < plan.window.1
            && !self.is_blocked(plan)
    }

    /// Whether a message of the component can be judged now.
    pub(super) fn can_send(&self, plan: &RolePlan) -> bool {
        let untold = plan.hides() && matches!(plan.engine.turn(&self.run), Turn::Dependency(_));
        let judged = self.run.status() == Status::Running;
        self.phase == Phase::Running && !(judged && untold) && !self.is_blocked(plan)
    }

    /// The credit that is due to `from`, if any.
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

    /// On what the session waits, and for whom.
    fn waits<'p>(&self, plan: &'p RolePlan) -> (&'static str, Option<&'p str>) {
        let name = |role: Role| plan.engine.vocabulary().role_name(role);
        match (self.phase, plan.engine.turn(&self.run)) {
            (Phase::Inviting | Phase::Ready, _) => ("others", None),
            (Phase::Invited | Phase::AwaitingComponent, _) => ("component", None),
            (Phase::Running, Turn::End) => ("end", None),
            (Phase::Running, Turn::Component) => ("component", None),
            (Phase::Running, Turn::Message(from)) => ("message", Some(name(from))),
            (Phase::Running, Turn::Dependency(from)) => ("dependency", Some(name(from))),
        }
    }

    /// What a list of sessions shows of it.
    pub(super) fn brief(&self, plan: &RolePlan) -> RoleBrief {
        let (waits_on, waits_for) = self.waits(plan);
        RoleBrief {
            role: plan.engine.vocabulary().role_name(plan.engine.role()).to_owned(),
            phase: self.phase.name(),
            state: self.run.state().index(),
            waits_on,
            waits_for: waits_for.map(str::to_owned),
            messages: self.messages,
            violations: self.violations(),
        }
    }

    /// The state of the session, for `/sessions`.
    pub(super) fn describe(&self, id: SessionId, plan: &RolePlan, now: Duration) -> Value {
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
                    "in_flight_to_it": { "messages": peer.in_flight.0, "bytes": peer.in_flight.1 },
                    "waiting_from_it": peer.held.len(),
                });
                Some((name(*role).to_owned(), view))
            })
            .collect();
        let (waits_on, waits_for) = self.waits(plan);
        json!({
            "role": name(plan.engine.role()),
            "number": self.number,
            "traceparent": self.span(id, plan).traceparent(),
            "phase": self.phase.name(),
            "status": format!("{:?}", self.run.status()).to_lowercase(),
            "state": self.run.state().index(),
            "waits_on": waits_on,
            "waits_for": waits_for,
            "expected": plan.engine.expected(&self.run).into_iter().map(|expected| expected.signature).collect::<Vec<_>>(),
            "recent": self.recent.list(vocabulary),
            "messages": self.messages,
            "violations": self.violations(),
            "undelivered": self.undelivered,
            "away": self.away.is_some(),
            "seconds": now.saturating_sub(self.begun).as_secs(),
            "idle_milliseconds": u64::try_from(now.saturating_sub(self.last_activity).as_millis()).unwrap_or(u64::MAX),
            "others": others,
        })
    }
}
