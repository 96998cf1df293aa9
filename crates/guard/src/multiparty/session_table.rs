//! The sessions of one role, without I/O and without a clock: events in, actions out.
//!
//! A session begins when the initiator's component connects: its monitor invites the others, each finds a component and
//! joins, and when all have, everyone starts. Sessions share nothing: each has its own window towards each peer, and a full
//! window blocks this session and no other.

mod action;
mod effects;
mod half_close;
mod properties;
mod recovery;
mod timeouts;
mod traces;
mod views;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ahash::AHashMap;
use referee_monitor::multiparty::{Arrival, Breach, Effect, Engine, Notice, Run, Status, Turn};
use referee_monitor::{Moment, Party};
use referee_theory::Role;
use referee_verdict::EndReason;

use super::peer_message::{MessageKind, PeerMessage, SessionId};
use super::plan::{Endpoint, RolePlan};
use super::role_session::{Given, Phase, RoleSession};
use super::trace_context::TraceContext;
use super::violation;
pub(super) use action::{End, Finding, SessionAction};
use effects::{notify_others, send, step};
use referee_session::Offer;
use referee_session::role::payload::{Payload, lend};
use timeouts::announce;

/// The shortest interval between two looks for timed-out sessions.
const MIN_TICK_INTERVAL: Duration = Duration::from_millis(50);

/// How many sessions that were given up before this role was invited are remembered.
const MAX_ABANDONED: usize = 1024;

/// The sessions of one role.
pub(super) struct SessionTable {
    plan: Arc<RolePlan>,
    sessions: AHashMap<SessionId, RoleSession>,
    begun: u64,
    /// Indexed by role: why its monitor cannot be reached.
    down: Vec<Option<Box<str>>>,
    /// Counts peer messages that belong to no open session.
    pub(super) unmatched: u64,
    /// The last sessions that were given up before this role was invited.
    abandoned: VecDeque<SessionId>,
    /// The session of each resume key.
    keys: AHashMap<Box<str>, SessionId>,
    /// The sessions of each trace.
    traces: AHashMap<u128, Vec<SessionId>>,
    /// Whether new sessions are refused.
    pub(super) draining: bool,
    /// What time it is by the clock of deadlines, where they are judged; whoever calls says so.
    pub(super) time: i64,
    /// The sessions that changed since the state log was written.
    pub(super) changed: Vec<SessionId>,
}

impl SessionTable {
    pub(super) fn new(plan: Arc<RolePlan>) -> Self {
        let down = vec![None; plan.engine.vocabulary().roles().len()];
        let keys = AHashMap::new();
        Self {
            plan,
            sessions: AHashMap::new(),
            begun: 0,
            down,
            unmatched: 0,
            abandoned: VecDeque::new(),
            keys,
            traces: AHashMap::new(),
            draining: false,
            time: 0,
            changed: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether session `id` is open.
    pub(super) fn has(&self, id: SessionId) -> bool {
        self.sessions.contains_key(&id)
    }

    /// The number of sessions begun or joined.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    fn new_session(&mut self, phase: Phase, now: Duration) -> RoleSession {
        self.begun += 1;
        RoleSession::new(&self.plan, phase, self.begun, now)
    }

    /// The initiator's component is connected, and has said `context`: invites the others to session `id`.
    ///
    /// # Errors
    /// Why no session can begin.
    pub(super) fn begin(
        &mut self,
        id: SessionId,
        key: Option<Box<str>>,
        context: Option<TraceContext>,
        now: Duration,
        out: &mut Vec<SessionAction>,
    ) -> Result<(), String> {
        if self.sessions.len() >= self.plan.sessions {
            return Err(format!("there are {} sessions already", self.plan.sessions));
        }
        let down = |role: &Role| self.down[role.index()].as_ref().map(|why| (*role, why));
        if let Some((role, why)) = self.plan.others.iter().find_map(down) {
            return Err(format!("the monitor of {} cannot be reached: {why}", self.name(role)));
        }
        let mut session = self.new_session(Phase::Inviting, now);
        session.context = context;
        for role in &self.plan.others {
            send(&mut session, id, *role, MessageKind::Join(context), out);
        }
        self.insert(id, session);
        self.set_resume_key(id, key);
        Ok(())
    }

    /// Registers the resume key of the component of session `id`.
    fn set_resume_key(&mut self, id: SessionId, key: Option<Box<str>>) {
        self.changed.push(id);
        if let (Some(key), Some(session)) = (key, self.sessions.get_mut(&id)) {
            session.key = Some(key.clone());
            self.keys.insert(key, id);
        }
    }

    /// A component was found for session `id`.
    pub(super) fn component_found(
        &mut self,
        id: SessionId,
        key: Option<Box<str>>,
        now: Duration,
        out: &mut Vec<SessionAction>,
    ) {
        if self.awaits(id).is_some() {
            let _ = self.resume(id, None, now, out);
            return;
        }
        self.set_resume_key(id, key);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.component_connected = true;
        session.last_activity = now;
        match session.phase {
            Phase::Invited => {
                session.phase = Phase::Ready;
                send(session, id, self.plan.initiator, MessageKind::Joined, out);
            }
            Phase::AwaitingComponent => {
                self.start(id, out);
                self.settle(id, now, out);
            }
            Phase::Inviting | Phase::Ready | Phase::Running => {}
        }
    }

    /// No component was found for session `id`.
    pub(super) fn vacant(&mut self, id: SessionId, why: &str, now: Duration, out: &mut Vec<SessionAction>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.phase == Phase::Running {
            return self.fault(id, why.to_owned(), now, out);
        }
        send(session, id, self.plan.initiator, MessageKind::Refused(why.into()), out);
        self.remove(id, EndReason::NoComponent, now, None, out);
    }

    /// Handles a peer message from `from`.
    pub(super) fn peer_message(
        &mut self,
        from: Role,
        message: PeerMessage,
        now: Duration,
        out: &mut Vec<SessionAction>,
    ) {
        let id = message.session;
        if matches!(message.kind, MessageKind::Join(_))
            && from == self.plan.initiator
            && !self.sessions.contains_key(&id)
        {
            if self.abandoned.contains(&id) {
                self.unmatched += 1;
                return;
            }
            return self.join(from, &message, now, out);
        }
        let Some(session) = self.sessions.get_mut(&id) else { return self.note_unmatched(&message) };
        let Some(peer) = session.peers.get_mut(from.index()) else { return };
        if message.number != peer.expected {
            // A duplicate is dropped; a gap is a fault of the transport.
            if message.number > peer.expected {
                self.fault(
                    id,
                    format!("a peer message from the monitor of {} is missing", self.name(from)),
                    now,
                    out,
                );
            }
            return;
        }
        self.changed.push(id);
        peer.expected += 1;
        peer.state = Some(message.state);
        match message.kind {
            MessageKind::Active => session.others_active = now,
            _ => session.last_activity = now,
        }
        match message.kind {
            MessageKind::Join(_) | MessageKind::Active => {}
            MessageKind::Joined => {
                peer.joined = true;
                self.start_if_all_joined(id, out);
            }
            MessageKind::Refused(why) => {
                let sentence = format!("{} cannot take part: {why}", self.name(from));
                self.fault(id, sentence, now, out);
            }
            MessageKind::Start => self.start(id, out),
            MessageKind::Credit(messages, bytes) => {
                peer.in_flight.0 = peer.in_flight.0.saturating_sub(messages);
                peer.in_flight.1 = peer.in_flight.1.saturating_sub(bytes as usize);
            }
            MessageKind::Ended => peer.ended = true,
            MessageKind::Violation(json) => {
                let plan = &self.plan;
                let mut notice = violation::from_json(&json, plan.engine.role(), plan.engine.vocabulary());
                // No peer may report in another's name.
                notice.reporter = from;
                step(plan, id, session, out, |engine, run, effects| engine.told(run, &notice, effects));
            }
            MessageKind::Message(payload) => {
                self.arrives(id, from, payload.weight(), Arrival::Message(payload), now, out);
            }
            MessageKind::Misstep(payload) => {
                self.arrives(id, from, payload.weight(), Arrival::Misstep(payload), now, out);
            }
            MessageKind::Wrong(payload) => {
                self.arrives(id, from, payload.weight(), Arrival::Wrong(payload), now, out);
            }
            MessageKind::Dependency(label) => {
                self.arrives(id, from, label.len(), Arrival::Dependency(&label), now, out);
            }
        }
        self.settle(id, now, out);
    }

    /// A peer message of no open session.
    fn note_unmatched(&mut self, message: &PeerMessage) {
        // Expected late at a role whose part is over.
        let late = matches!(
            message.kind,
            MessageKind::Credit(..) | MessageKind::Ended | MessageKind::Active | MessageKind::Violation(_)
        );
        self.unmatched += u64::from(!late);
        // The invitation may still be in flight, from another peer: it must not be accepted.
        if matches!(message.kind, MessageKind::Violation(_)) {
            self.abandoned.truncate(MAX_ABANDONED - 1);
            self.abandoned.push_front(message.session);
        }
    }

    fn join(&mut self, from: Role, message: &PeerMessage, now: Duration, out: &mut Vec<SessionAction>) {
        let id = message.session;
        let mut session = self.new_session(Phase::Invited, now);
        if let MessageKind::Join(context) = message.kind {
            session.context = context;
        }
        if let Some(peer) = session.peers.get_mut(from.index()) {
            peer.expected = message.number + 1;
            peer.state = Some(message.state);
        }
        let refusal = if self.draining {
            Some("its monitor is about to stop".to_owned())
        } else if self.sessions.len() >= self.plan.sessions {
            Some(format!("there are {} sessions already", self.plan.sessions))
        } else {
            None
        };
        if let Some(why) = refusal {
            return send(&mut session, id, from, MessageKind::Refused(why.into()), out);
        }
        self.insert(id, session);
        self.changed.push(id);
        out.push(SessionAction::FindComponent(id));
    }

    fn start_if_all_joined(&mut self, id: SessionId, out: &mut Vec<SessionAction>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let all = self.plan.others.iter().all(|role| session.peers[role.index()].joined);
        if session.phase == Phase::Inviting && all {
            for role in &self.plan.others {
                send(session, id, *role, MessageKind::Start, out);
            }
            self.start(id, out);
        }
    }

    fn start(&mut self, id: SessionId, out: &mut Vec<SessionAction>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        match session.phase {
            Phase::Invited => session.phase = Phase::AwaitingComponent,
            Phase::AwaitingComponent if !session.component_connected => {}
            Phase::Running => {}
            Phase::Inviting | Phase::Ready | Phase::AwaitingComponent => {
                session.phase = Phase::Running;
                session.owed = self.plan.window.0;
                let began = Moment { earliest: i64::MIN, latest: self.time };
                if self.plan.judges_times() {
                    self.plan.engine.begin_times(&mut session.run, began);
                }
                out.push(SessionAction::Wake(id));
            }
        }
    }

    fn arrives(
        &mut self,
        id: SessionId,
        from: Role,
        weight: usize,
        arrival: Arrival<'_, Payload>,
        now: Duration,
        out: &mut Vec<SessionAction>,
    ) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if let Some(peer) = session.peers.get_mut(from.index()) {
            peer.held.push_back(u32::try_from(weight).unwrap_or(u32::MAX));
        }
        session.messages += 1;
        let mut full = false;
        let time = self.time;
        // What it has to say may be due now, although it is given nothing.
        if matches!(arrival, Arrival::Dependency(_)) && self.plan.judges_times() {
            out.push(SessionAction::Wake(id));
        }
        step(&self.plan, id, session, out, |engine, run, effects| {
            engine.note_time(run, time);
            full = engine.arrives(run, from, arrival, &lend, effects).is_err();
        });
        if full {
            let sentence = format!("the monitor of {} sends more than it may", self.name(from));
            self.fault(id, sentence, now, out);
        }
    }

    /// The component of session `id` sends `payload` over its endpoint `endpoint`.
    pub(super) fn offer(
        &mut self,
        id: SessionId,
        endpoint: usize,
        payload: Payload,
        now: Duration,
        out: &mut Vec<SessionAction>,
    ) -> Offer {
        let Some(session) = self.sessions.get_mut(&id) else { return Offer::Over };
        let hopeless = || self.plan.engine.is_hopeless(&payload, &lend);
        if !session.can_send(&self.plan) && (session.phase != Phase::Running || !hopeless()) {
            return Offer::Later(payload);
        }
        self.changed.push(id);
        session.last_activity = now;
        session.messages += 1;
        session.took(&self.plan);
        step(&self.plan, id, session, out, |engine, run, effects| match &payload.label {
            Ok(label) => {
                let to = self.plan.receiver(endpoint, run.state(), label);
                let to = to.map_or(Party::Stranger, Party::Role);
                // Messages that have to wait are not offered.
                let _ = engine.component_sends(run, to, payload, &lend, effects);
            }
            Err(why) => engine.component_garbles(run, why, effects),
        });
        self.settle(id, now, out);
        Offer::Taken
    }

    /// Changes what is known of the times of session `id`.
    pub(super) fn with_times(
        &mut self,
        id: SessionId,
        now: Duration,
        out: &mut Vec<SessionAction>,
        act: impl FnOnce(&Engine, &mut Run<Payload>, &mut Given, &mut dyn FnMut(Effect<Payload>)),
    ) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let mut given = std::mem::take(&mut session.given_ends);
        step(&self.plan, id, session, out, |engine, run, effects| act(engine, run, &mut given, effects));
        session.given_ends = given;
        self.settle(id, now, out);
    }

    /// Until when the component of session `id` has to speak; and when it matters next, later than `looked`, whether it has.
    pub(super) fn next_times(&self, id: SessionId, looked: i64) -> [Option<i64>; 2] {
        let Some(RoleSession { run, .. }) = self.sessions.get(&id) else { return [None; 2] };
        [self.plan.engine.next_deadline(run), self.plan.engine.next_release(run, looked)]
    }

    /// `count` messages, of so many bytes, were written to the component.
    pub(super) fn delivered(
        &mut self,
        id: SessionId,
        (count, bytes): (u32, usize),
        now: Duration,
        out: &mut Vec<SessionAction>,
    ) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        self.changed.push(id);
        session.last_activity = now;
        let again = count.min(session.repeated);
        session.repeated -= again;
        session.undelivered = session.undelivered.saturating_sub(count);
        session.unwritten = session.unwritten.saturating_sub(bytes);
        session.owed = session.owed.saturating_add(count - again);
        self.settle(id, now, out);
    }

    /// The component of session `id` closed its connection.
    pub(super) fn component_gone(&mut self, id: SessionId, now: Duration, out: &mut Vec<SessionAction>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        self.changed.push(id);
        session.component_connected = false;
        match session.phase {
            Phase::Invited | Phase::AwaitingComponent => {
                return self.vacant(id, "its component is gone", now, out);
            }
            // It left before the session began, which breaks nothing; another may connect.
            Phase::Ready if matches!(self.plan.main.endpoint, Endpoint::Listen(_)) => {
                session.phase = Phase::Invited;
                if let Some(key) = session.key.take() {
                    self.keys.remove(&key);
                }
                return out.push(SessionAction::FindComponent(id));
            }
            Phase::Inviting | Phase::Ready => {
                let name = self.name(self.plan.engine.role());
                return self.fault(id, format!("{name} left before the session began"), now, out);
            }
            Phase::Running => {}
        }
        step(&self.plan, id, session, out, |engine, run, effects| engine.component_ends(run, &lend, effects));
        self.settle(id, now, out);
    }

    /// `peer` is lost: ends the sessions that still need it.
    pub(super) fn peer_lost(&mut self, peer: Role, why: &str, now: Duration, out: &mut Vec<SessionAction>) {
        self.down[peer.index()] = Some(why.into());
        let needs = |session: &RoleSession| session.peers.get(peer.index()).is_some_and(|peer| !peer.ended);
        let stuck: Vec<SessionId> =
            self.sessions.iter().filter(|(_, session)| needs(session)).map(|(id, _)| *id).collect();
        for id in stuck {
            self.fault(id, format!("the monitor of {} is gone: {why}", self.name(peer)), now, out);
        }
    }

    /// This process stops: ends all sessions.
    pub(super) fn leave(&mut self, now: Duration, out: &mut Vec<SessionAction>) {
        let all: Vec<SessionId> = self.sessions.keys().copied().collect();
        for id in all {
            self.fault(
                id,
                format!("the monitor of {} was stopped", self.name(self.plan.engine.role())),
                now,
                out,
            );
        }
    }

    /// `peer` is connected.
    pub(super) fn peer_found(&mut self, peer: Role) {
        self.down[peer.index()] = None;
    }

    /// Ends session `id` as a fault: nobody is to blame.
    pub(super) fn fault(
        &mut self,
        id: SessionId,
        sentence: String,
        now: Duration,
        out: &mut Vec<SessionAction>,
    ) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let notice = Notice::fault(self.plan.engine.role(), sentence, session.run.events(), true);
        notify_others(&self.plan, id, session, &notice, out);
        out.push(Finding::action(&self.plan, id, session, Box::new(notice.clone()), true));
        self.remove(id, EndReason::Fault, now, Some(Box::new(notice)), out);
    }

    /// Hands room to the engine, sends credit, and ends what is over.
    fn settle(&mut self, id: SessionId, now: Duration, out: &mut Vec<SessionAction>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        while session.has_room(&self.plan) {
            session.owed -= 1;
            step(&self.plan, id, session, out, |engine, run, effects| {
                engine.component_takes(run, 1, &lend, effects);
            });
        }
        if let Some(notice) = session.broken_property.take() {
            notify_others(&self.plan, id, session, &notice, out);
            return self.remove(id, EndReason::Violation, now, Some(notice), out);
        }
        for role in &self.plan.others {
            if let Some((messages, bytes)) = session.credit(*role, &self.plan) {
                send(session, id, *role, MessageKind::Credit(messages, bytes), out);
            }
        }
        match session.run.status() {
            Status::Finished => {
                for role in &self.plan.others {
                    send(session, id, *role, MessageKind::Ended, out);
                }
                self.remove(id, EndReason::Over, now, None, out);
            }
            Status::Halted => {
                // The last report is the one that ended it.
                let last = out.iter().rev().find_map(|action| match action {
                    SessionAction::Report(whose, found) if *whose == id => Some(found.notice.clone()),
                    _ => None,
                });
                let fault = last.as_ref().is_some_and(|notice| notice.breach == Breach::Fault);
                let why = if fault { EndReason::Fault } else { EndReason::Violation };
                self.remove(id, why, now, last, out);
            }
            Status::Running | Status::Lost => {
                announce(&self.plan, id, session, now, out);
                let over = matches!(self.plan.engine.turn(&session.run), Turn::End);
                if over && session.undelivered == 0 && session.run.waiting() == 0 && !session.closing {
                    session.closing = true;
                    out.push(SessionAction::HalfClose(id));
                }
                if session.can_send(&self.plan) {
                    out.push(SessionAction::Wake(id));
                }
            }
        }
    }

    fn remove(
        &mut self,
        id: SessionId,
        why: EndReason,
        now: Duration,
        close_message: Option<Box<Notice>>,
        out: &mut Vec<SessionAction>,
    ) {
        let Some(session) = self.sessions.remove(&id) else { return };
        self.forget_trace(id, &session);
        self.changed.push(id);
        if let Some(key) = &session.key {
            self.keys.remove(key);
        }
        out.push(SessionAction::Ended(
            id,
            Box::new(End {
                number: session.number,
                why,
                messages: session.messages,
                violations: session.violations(),
                bytes: session.bytes,
                lasted: now.saturating_sub(session.begun),
                close_message,
                span: session.span(id, &self.plan),
            }),
        ));
    }

    fn role_name(&self, role: Role) -> &str {
        self.plan.engine.vocabulary().role_name(role)
    }

    fn name(&self, role: Role) -> String {
        format!("`{}`", self.role_name(role))
    }
}

#[cfg(test)]
mod schedules;
#[cfg(test)]
mod tests;
