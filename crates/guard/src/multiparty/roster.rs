//! The sessions of one role, without I/O and without a clock: what happened in, orders out.
//!
//! A session begins when the component of the role that initiates connects: its monitor asks the others to join, each
//! finds a component and says so, and when all have, everyone is told to start. Sessions share nothing: each has its own
//! window towards each other monitor, and a monitor that has not taken what it was sent makes this session wait, and no
//! other.

mod effects;
mod lateness;
mod silence;
mod survival;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ahash::AHashMap;
use hyper::body::Bytes;
use referee_monitor::multiparty::{Arrival, Notice, Status, Turn};
use referee_monitor::{Party, Policy};
use referee_theory::Role;
use serde_json::Value;

use super::letter::{Letter, Matter, SessionId};
use super::parcel::{Parcel, lend};
use super::plan::{Place, RolePlan};
use super::seat::{Phase, Seat};
use super::violation;
use effects::{post, step, tell_others};

/// Nobody is so impatient that sessions are looked for more often.
const SOONEST: Duration = Duration::from_millis(50);

/// How many sessions that are over before they began are remembered.
const MOST_DEAD: usize = 1024;

/// What is to be done, in this order.
#[derive(Debug)]
pub(super) enum Order {
    /// Send a letter to the monitor of a role.
    Letter(Role, Letter),
    /// Find a component for this session.
    Seat(SessionId),
    /// Give these bytes to the component.
    Deliver(SessionId, Bytes),
    /// Give these bytes, which it may have been given before, to the component.
    Again(SessionId, Bytes),
    /// The component may be read from again.
    Wake(SessionId),
    /// Nothing more will be delivered.
    Over(SessionId),
    /// A violation, found here or told by another monitor.
    Notice(SessionId, u64, Box<Notice>, bool),
    /// The session is over here. Close the component's connection.
    Ended(SessionId, Box<End>),
}

/// How a session ended at a role.
#[derive(Debug)]
pub(super) struct End {
    pub(super) number: u64,
    pub(super) why: &'static str,
    pub(super) messages: u64,
    pub(super) violations: u16,
    pub(super) bytes: [u64; 2],
    pub(super) lasted: Duration,
    /// What the component is told before it is closed.
    pub(super) last_words: Option<Box<Notice>>,
}

/// What became of a message of the component.
#[derive(Debug)]
pub(super) enum Offer {
    Taken,
    /// It cannot be judged, or sent, yet.
    Later(Parcel),
    /// There is no such session any more.
    Over,
}

/// The sessions of one role.
pub(super) struct Roster {
    plan: Arc<RolePlan>,
    seats: AHashMap<SessionId, Seat>,
    begun: u64,
    /// By role: whose monitor cannot be reached.
    down: Vec<Option<Box<str>>>,
    /// Letters that fit no session.
    pub(super) strays: u64,
    /// Sessions that others gave up before this role was asked to join them, the last of these.
    dead: VecDeque<SessionId>,
    /// Whose component calls itself so.
    keys: AHashMap<Box<str>, SessionId>,
    /// Whether no more sessions are begun or joined.
    pub(super) draining: bool,
    /// The sessions that may be different than before.
    pub(super) changed: Vec<SessionId>,
}

impl Roster {
    pub(super) fn new(plan: Arc<RolePlan>) -> Self {
        let down = vec![None; plan.engine.vocabulary().roles().len()];
        let keys = AHashMap::new();
        Self {
            plan,
            seats: AHashMap::new(),
            begun: 0,
            down,
            strays: 0,
            dead: VecDeque::new(),
            keys,
            draining: false,
            changed: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    /// Whether session `id` is under way.
    pub(super) fn has(&self, id: SessionId) -> bool {
        self.seats.contains_key(&id)
    }

    /// How many sessions were begun, or joined.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    fn seat(&mut self, phase: Phase, now: Instant) -> Seat {
        self.begun += 1;
        Seat::new(&self.plan, phase, self.begun, now)
    }

    /// The component of this role, which initiates, is there: asks the others to join session `id`.
    ///
    /// # Errors
    /// Why there can be no session now.
    pub(super) fn begin(
        &mut self,
        id: SessionId,
        key: Option<Box<str>>,
        now: Instant,
        out: &mut Vec<Order>,
    ) -> Result<(), String> {
        if self.seats.len() >= self.plan.sessions {
            return Err(format!("there are {} sessions already", self.plan.sessions));
        }
        let down = |role: &Role| self.down[role.index()].as_ref().map(|why| (*role, why));
        if let Some((role, why)) = self.plan.others.iter().find_map(down) {
            return Err(format!("the monitor of {} cannot be reached: {why}", self.name(role)));
        }
        let mut seat = self.seat(Phase::Inviting, now);
        for role in &self.plan.others {
            post(&mut seat, id, *role, Matter::Join, out);
        }
        self.seats.insert(id, seat);
        self.call(id, key);
        Ok(())
    }

    /// The component of session `id` calls itself `key`.
    fn call(&mut self, id: SessionId, key: Option<Box<str>>) {
        self.changed.push(id);
        if let (Some(key), Some(seat)) = (key, self.seats.get_mut(&id)) {
            seat.key = Some(key.clone());
            self.keys.insert(key, id);
        }
    }

    /// The component was found that session `id` was to have.
    pub(super) fn seated(
        &mut self,
        id: SessionId,
        key: Option<Box<str>>,
        now: Instant,
        out: &mut Vec<Order>,
    ) {
        if self.awaits(id).is_some() {
            let _ = self.resume(id, None, now, out);
            return;
        }
        self.call(id, key);
        let Some(seat) = self.seats.get_mut(&id) else { return };
        seat.attended = true;
        seat.touched = now;
        match seat.phase {
            Phase::Invited => {
                seat.phase = Phase::Seated;
                post(seat, id, self.plan.initiator, Matter::Joined, out);
            }
            Phase::Awaited => {
                self.start(id, out);
                self.settle(id, now, out);
            }
            Phase::Inviting | Phase::Seated | Phase::Running => {}
        }
    }

    /// No component was found for session `id`.
    pub(super) fn vacant(&mut self, id: SessionId, why: &str, now: Instant, out: &mut Vec<Order>) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        if seat.phase == Phase::Running {
            return self.fault(id, why.to_owned(), now, out);
        }
        post(seat, id, self.plan.initiator, Matter::Refused(why.into()), out);
        self.remove(id, "no-component", now, None, out);
    }

    /// A letter from the monitor of `from`.
    pub(super) fn letter(&mut self, from: Role, letter: Letter, now: Instant, out: &mut Vec<Order>) {
        let id = letter.session;
        if letter.matter == Matter::Join && from == self.plan.initiator && !self.seats.contains_key(&id) {
            if self.dead.contains(&id) {
                self.strays += 1;
                return;
            }
            return self.join(from, &letter, now, out);
        }
        let Some(seat) = self.seats.get_mut(&id) else {
            // To a role whose part is over some things come late.
            let late = matches!(letter.matter, Matter::Credit(..) | Matter::Ended | Matter::Violation(_));
            self.strays += u64::from(!late);
            // The invitation may still be under way, from another monitor: no component must wait for such a session.
            if matches!(letter.matter, Matter::Violation(_)) {
                self.dead.truncate(MOST_DEAD - 1);
                self.dead.push_front(id);
            }
            return;
        };
        let Some(peer) = seat.peers.get_mut(from.index()) else { return };
        if letter.number != peer.expected {
            // One that came before is no news; one that is missing is a fault of what carries letters.
            if letter.number > peer.expected {
                self.fault(
                    id,
                    format!("a letter from the monitor of {} is missing", self.name(from)),
                    now,
                    out,
                );
            }
            return;
        }
        self.changed.push(id);
        peer.expected += 1;
        peer.state = Some(letter.state);
        seat.touched = now;
        match letter.matter {
            Matter::Join => {}
            Matter::Joined => {
                peer.joined = true;
                self.start_if_all_joined(id, out);
            }
            Matter::Refused(why) => {
                let sentence = format!("{} cannot take part: {why}", self.name(from));
                self.fault(id, sentence, now, out);
            }
            Matter::Start => self.start(id, out),
            Matter::Credit(messages, bytes) => {
                peer.flight.0 = peer.flight.0.saturating_sub(messages);
                peer.flight.1 = peer.flight.1.saturating_sub(bytes as usize);
            }
            Matter::Ended => peer.ended = true,
            Matter::Violation(json) => {
                let plan = &self.plan;
                let mut notice = violation::from_json(&json, plan.engine.role(), plan.engine.vocabulary());
                // Nobody can speak for another.
                notice.reporter = from;
                step(plan, id, seat, out, |engine, run, effects| engine.told(run, &notice, effects));
            }
            Matter::Message(parcel) => {
                self.arrives(id, from, parcel.weight(), Arrival::Message(parcel), now, out);
            }
            Matter::Misstep(parcel) => {
                self.arrives(id, from, parcel.weight(), Arrival::Misstep(parcel), now, out);
            }
            Matter::Wrong(parcel) => {
                self.arrives(id, from, parcel.weight(), Arrival::Wrong(parcel), now, out);
            }
            Matter::Dependency(label) => {
                self.arrives(id, from, label.len(), Arrival::Dependency(&label), now, out);
            }
        }
        self.settle(id, now, out);
    }

    fn join(&mut self, from: Role, letter: &Letter, now: Instant, out: &mut Vec<Order>) {
        let id = letter.session;
        let mut seat = self.seat(Phase::Invited, now);
        if let Some(peer) = seat.peers.get_mut(from.index()) {
            peer.expected = letter.number + 1;
            peer.state = Some(letter.state);
        }
        let refusal = if self.draining {
            Some("its monitor is about to stop".to_owned())
        } else if self.seats.len() >= self.plan.sessions {
            Some(format!("there are {} sessions already", self.plan.sessions))
        } else {
            None
        };
        if let Some(why) = refusal {
            return post(&mut seat, id, from, Matter::Refused(why.into()), out);
        }
        self.seats.insert(id, seat);
        self.changed.push(id);
        out.push(Order::Seat(id));
    }

    fn start_if_all_joined(&mut self, id: SessionId, out: &mut Vec<Order>) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        let all = self.plan.others.iter().all(|role| seat.peers[role.index()].joined);
        if seat.phase == Phase::Inviting && all {
            for role in &self.plan.others {
                post(seat, id, *role, Matter::Start, out);
            }
            self.start(id, out);
        }
    }

    fn start(&mut self, id: SessionId, out: &mut Vec<Order>) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        match seat.phase {
            Phase::Invited => seat.phase = Phase::Awaited,
            Phase::Awaited if !seat.attended => {}
            Phase::Running => {}
            Phase::Inviting | Phase::Seated | Phase::Awaited => {
                seat.phase = Phase::Running;
                seat.owed = self.plan.window.0;
                out.push(Order::Wake(id));
            }
        }
    }

    fn arrives(
        &mut self,
        id: SessionId,
        from: Role,
        weight: usize,
        arrival: Arrival<'_, Parcel>,
        now: Instant,
        out: &mut Vec<Order>,
    ) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        if let Some(peer) = seat.peers.get_mut(from.index()) {
            peer.held.push_back(u32::try_from(weight).unwrap_or(u32::MAX));
        }
        seat.messages += 1;
        let mut full = false;
        step(&self.plan, id, seat, out, |engine, run, effects| {
            full = engine.arrives(run, from, arrival, &lend, effects).is_err();
        });
        if full {
            let sentence = format!("the monitor of {} sends more than it may", self.name(from));
            self.fault(id, sentence, now, out);
        }
    }

    /// The component of session `id` sends `parcel`.
    pub(super) fn offer(
        &mut self,
        id: SessionId,
        parcel: Parcel,
        now: Instant,
        out: &mut Vec<Order>,
    ) -> Offer {
        let Some(seat) = self.seats.get_mut(&id) else { return Offer::Over };
        let hopeless = || self.plan.engine.is_hopeless(&parcel, &lend);
        if !seat.can_send(&self.plan) && (seat.phase != Phase::Running || !hopeless()) {
            return Offer::Later(parcel);
        }
        self.changed.push(id);
        seat.touched = now;
        seat.messages += 1;
        seat.took(&self.plan);
        seat.bytes[0] += parcel.bytes.len() as u64;
        step(&self.plan, id, seat, out, |engine, run, effects| match &parcel.label {
            Ok(label) => {
                let to = self.plan.receiver(run.state(), label).map_or(Party::Stranger, Party::Role);
                // What would have to wait is not offered.
                let _ = engine.component_sends(run, to, parcel, &lend, effects);
            }
            Err(why) => engine.component_garbles(run, why, effects),
        });
        self.settle(id, now, out);
        Offer::Taken
    }

    /// So many messages, of so many bytes, were written to the component.
    pub(super) fn delivered(
        &mut self,
        id: SessionId,
        (count, bytes): (u32, usize),
        now: Instant,
        out: &mut Vec<Order>,
    ) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        self.changed.push(id);
        let again = count.min(seat.repeated);
        seat.repeated -= again;
        seat.undelivered = seat.undelivered.saturating_sub(count);
        seat.unwritten = seat.unwritten.saturating_sub(bytes);
        seat.owed = seat.owed.saturating_add(count - again);
        self.settle(id, now, out);
    }

    /// The component of session `id` has ended, or is gone.
    pub(super) fn component_gone(&mut self, id: SessionId, now: Instant, out: &mut Vec<Order>) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        self.changed.push(id);
        seat.attended = false;
        match seat.phase {
            Phase::Invited | Phase::Awaited => return self.vacant(id, "its component is gone", now, out),
            // Whoever connects and leaves has broken nothing, and somebody else may come.
            Phase::Seated if matches!(self.plan.place, Place::Listen(_)) => {
                seat.phase = Phase::Invited;
                if let Some(key) = seat.key.take() {
                    self.keys.remove(&key);
                }
                return out.push(Order::Seat(id));
            }
            Phase::Inviting | Phase::Seated => {
                let name = self.name(self.plan.engine.role());
                return self.fault(id, format!("{name} left before the session began"), now, out);
            }
            Phase::Running => {}
        }
        step(&self.plan, id, seat, out, |engine, run, effects| engine.component_ends(run, &lend, effects));
        self.settle(id, now, out);
    }

    /// The monitor of `peer` is gone for good: whoever still needs it cannot go on.
    pub(super) fn lost(&mut self, peer: Role, why: &str, now: Instant, out: &mut Vec<Order>) {
        self.down[peer.index()] = Some(why.into());
        let needs = |seat: &Seat| seat.peers.get(peer.index()).is_some_and(|peer| !peer.ended);
        let stuck: Vec<SessionId> =
            self.seats.iter().filter(|(_, seat)| needs(seat)).map(|(id, _)| *id).collect();
        for id in stuck {
            self.fault(id, format!("the monitor of {} is gone: {why}", self.name(peer)), now, out);
        }
    }

    /// This process ends.
    pub(super) fn leave(&mut self, now: Instant, out: &mut Vec<Order>) {
        let all: Vec<SessionId> = self.seats.keys().copied().collect();
        for id in all {
            self.fault(
                id,
                format!("the monitor of {} was stopped", self.name(self.plan.engine.role())),
                now,
                out,
            );
        }
    }

    /// The monitor of `peer` is there.
    pub(super) fn found(&mut self, peer: Role) {
        self.down[peer.index()] = None;
    }

    /// The session cannot go on, and nobody is to blame for it.
    pub(super) fn fault(&mut self, id: SessionId, sentence: String, now: Instant, out: &mut Vec<Order>) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        let notice = Notice::fault(self.plan.engine.role(), sentence, true);
        tell_others(&self.plan, id, seat, &notice, out);
        out.push(Order::Notice(id, seat.number, Box::new(notice.clone()), true));
        self.remove(id, "fault", now, Some(Box::new(notice)), out);
    }

    /// Does what has become possible, and ends what is over.
    fn settle(&mut self, id: SessionId, now: Instant, out: &mut Vec<Order>) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        while seat.has_room(&self.plan) {
            seat.owed -= 1;
            step(&self.plan, id, seat, out, |engine, run, effects| {
                engine.component_takes(run, 1, &lend, effects);
            });
        }
        for role in &self.plan.others {
            if let Some((messages, bytes)) = seat.credit(*role, &self.plan) {
                post(seat, id, *role, Matter::Credit(messages, bytes), out);
            }
        }
        match seat.run.status() {
            Status::Finished => {
                for role in &self.plan.others {
                    post(seat, id, *role, Matter::Ended, out);
                }
                self.remove(id, "over", now, None, out);
            }
            Status::Halted => {
                // The one that ended it was ordered last.
                let last = out.iter().rev().find_map(|order| match order {
                    Order::Notice(whose, _, notice, _) if *whose == id => Some(notice.clone()),
                    _ => None,
                });
                self.remove(id, "violation", now, last, out);
            }
            Status::Running | Status::Lost => {
                let over = matches!(self.plan.engine.turn(&seat.run), Turn::End);
                if over && seat.undelivered == 0 && seat.run.waiting() == 0 && !seat.closing {
                    seat.closing = true;
                    out.push(Order::Over(id));
                }
                if seat.can_send(&self.plan) {
                    out.push(Order::Wake(id));
                }
            }
        }
    }

    fn remove(
        &mut self,
        id: SessionId,
        why: &'static str,
        now: Instant,
        last_words: Option<Box<Notice>>,
        out: &mut Vec<Order>,
    ) {
        let Some(seat) = self.seats.remove(&id) else { return };
        self.changed.push(id);
        if let Some(key) = &seat.key {
            self.keys.remove(key);
        }
        out.push(Order::Ended(
            id,
            Box::new(End {
                number: seat.number,
                why,
                messages: seat.messages,
                violations: seat.run.violations(),
                bytes: seat.bytes,
                lasted: now.saturating_duration_since(seat.begun),
                last_words,
            }),
        ));
    }

    /// How the sessions stand, at most `most` of them.
    pub(super) fn describe(&self, most: usize, now: Instant) -> Vec<(SessionId, Value)> {
        self.seats.iter().take(most).map(|(id, seat)| (*id, seat.describe(&self.plan, now))).collect()
    }

    fn role_name(&self, role: Role) -> &str {
        self.plan.engine.vocabulary().role_name(role)
    }

    fn name(&self, role: Role) -> String {
        format!("`{}`", self.role_name(role))
    }
}

/// What the policy is called.
pub(super) fn policy_name(policy: Policy) -> &'static str {
    match policy {
        Policy::Halt => "halt",
        Policy::Drop => "drop",
        Policy::Observe => "observe",
    }
}

#[cfg(test)]
mod schedules;
#[cfg(test)]
mod tests;
