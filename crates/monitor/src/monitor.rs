//! The monitor: tables and code, shared by all sessions, and the step over an event.

use std::sync::Arc;

use referee_theory::{Machine, Role, State, Transition, Type, Vocabulary};

use crate::code::{Code, Failure, Frame};
use crate::event::{Channel, Event, EventLabel, FieldValue, Party, Payload};
use crate::labels::{LabelId, Labels};
use crate::layout::{Layout, Slot};
use crate::outlook::Outlook;
use crate::registry::{Predicate, Registry};
use crate::session::{Ended, Session};
use crate::synthesis::{self, SynthesisError};
use crate::table::{NONE, SEVERAL, Table};
use crate::verdict::{Fault, FaultKind, Kind, NO_EDGE, NO_FIELD, Side, Verdict, Violation};

/// A monitor for one role of a protocol. Immutable and shared by all its sessions and threads.
pub struct Monitor {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) machine: Machine,
    pub(crate) labels: Labels,
    /// The channels: for peer `p`, `2p` leads to it and `2p + 1` comes from it; with several peers two more
    /// stand for whichever fits. Numbers beyond are strangers.
    pub(crate) peers: Box<[Role]>,
    /// The place of each role among `peers`, [`PROCESS`], or the stranger's.
    pub(crate) places: Box<[u32]>,
    pub(crate) table: Table,
    /// One for each transition of the machine, in its order.
    pub(crate) edges: Box<[Edge]>,
    pub(crate) checks: Box<[Check]>,
    pub(crate) names: Box<[Option<Arc<str>>]>,
    pub(crate) composites: Box<[Type]>,
    pub(crate) binds: Box<[Bind]>,
    pub(crate) releases: Box<[Slot]>,
    pub(crate) codes: Box<[Code]>,
    pub(crate) predicates: Box<[Arc<dyn Predicate>]>,
    pub(crate) predicate_names: Box<[Arc<str>]>,
    pub(crate) layout: Layout,
    pub(crate) outlook: Outlook,
    pub(crate) fingerprint: u64,
}

/// The place of the monitor's own role.
pub(crate) const PROCESS: u32 = u32::MAX;

/// A transition, compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) target: u32,
    /// Whether nothing follows the checks: no assertion, nothing to keep or to forget.
    pub(crate) simple: bool,
    /// The masks of the first four checks, the first in the lowest bits; 0 where a mask does not decide.
    pub(crate) masks: u64,
    /// `checks[first_check..][..fields]` and `names` likewise.
    pub(crate) first_check: u32,
    pub(crate) fields: u16,
    /// Whether the target is final.
    pub(crate) ends: bool,
    pub(crate) binds: (u32, u16),
    pub(crate) releases: (u32, u16),
    /// Into `codes`, or [`NO_CODE`].
    pub(crate) assertion: u32,
}

pub(crate) const NO_CODE: u32 = u32::MAX;

/// What a field may hold: the kinds of value it admits as bits, or else a type to look at closely.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    pub(crate) mask: u16,
    /// Into `composites`, if `mask` is 0.
    pub(crate) composite: u32,
}

/// A field that is kept.
#[derive(Clone, Debug)]
pub(crate) struct Bind {
    pub(crate) field: u16,
    pub(crate) slot: Slot,
    pub(crate) ty: Type,
}

impl Edge {
    /// Whether the kinds of the values alone show that `payload` has its types. If not, it may still.
    #[inline]
    fn admits(&self, payload: &Payload<'_>) -> bool {
        let Payload::Positional(values) = payload else { return false };
        if values.len() != usize::from(self.fields) {
            return false;
        }
        let mut masks = self.masks;
        for value in *values {
            if masks & u64::from(value.kind_bit()) == 0 {
                return false;
            }
            masks >>= 16;
        }
        true
    }
}

impl Monitor {
    /// The monitor of `machine`'s role (ECOOP'21, Definition 9 and Section 5.1). The predicates that
    /// assertions call are taken from `registry`.
    ///
    /// # Errors
    /// Everything that stands in the way: missing predicates, assertions that are not well typed or read
    /// variables that may not be bound, a machine that is not deterministic.
    pub fn synthesise(
        machine: &Machine,
        vocabulary: &Arc<Vocabulary>,
        registry: &Registry,
    ) -> Result<Self, SynthesisError> {
        synthesis::synthesise(machine, vocabulary, registry)
    }

    /// A new session, before its first event. Allocates nothing.
    #[must_use]
    pub fn session(&self) -> Session {
        Session::new()
    }

    /// The machine it was made from.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The names behind the numbers.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// A number that differs between monitors of different protocols, and with every change to one.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Whether `session` is over: nothing more may happen.
    #[must_use]
    pub fn is_over(&self, session: &Session) -> bool {
        self.machine.is_final(State(session.state))
    }

    /// What may happen next in `session`.
    #[must_use]
    pub fn expected(&self, session: &Session) -> &[Transition] {
        self.machine.transitions(State(session.state))
    }

    /// The party called `name`: a role, or a stranger.
    #[must_use]
    pub fn party(&self, name: &str) -> Party {
        self.vocabulary.find_role(name).map_or(Party::Stranger, Party::Role)
    }

    /// The label called `text`.
    #[must_use]
    #[inline]
    pub fn label(&self, text: &str) -> LabelId {
        self.labels.find(text)
    }

    /// Whom a message from `from` is for, where nobody says so.
    #[must_use]
    pub fn opposite(&self, from: Party) -> Party {
        match from {
            Party::Process => Party::Environment,
            Party::Role(role) if role == self.machine.role() => Party::Environment,
            Party::Role(_) | Party::Environment | Party::Stranger => Party::Process,
        }
    }

    /// The channel of messages from `from` to `to`. Messages between others than the monitor's role are on
    /// a channel that it lets pass without looking.
    #[must_use]
    #[inline]
    pub fn channel(&self, from: Party, to: Party) -> Channel {
        let (from, to) = (self.place(from), self.place(to));
        if from == PROCESS {
            let to = if to == PROCESS { self.stranger() } else { to };
            self.table.channel(to.wrapping_mul(2))
        } else if to == PROCESS {
            self.table.channel(from.wrapping_mul(2).wrapping_add(1))
        } else {
            Channel::UNCONCERNED
        }
    }

    #[inline]
    fn place(&self, party: Party) -> u32 {
        if let Party::Role(role) = party
            && let Some(&place) = self.places.get(role.index())
        {
            return place;
        }
        self.nameless_place(party)
    }

    #[inline(never)]
    fn nameless_place(&self, party: Party) -> u32 {
        match party {
            Party::Process => PROCESS,
            // With one peer its own channel, with several the last.
            Party::Environment => self.stranger().wrapping_sub(1),
            Party::Role(_) | Party::Stranger => self.stranger(),
        }
    }

    #[inline]
    fn stranger(&self) -> u32 {
        self.table.channels() / 2
    }

    /// Steps over `event`: forwards it and moves `session` on, or says what is wrong and leaves it.
    pub fn step(&self, session: &mut Session, event: &Event<'_>) -> Verdict {
        let channel = self.channel(event.from, event.to);
        let label = match event.label {
            EventLabel::Text(text) => self.labels.find(text),
            EventLabel::Known(label) => label,
            EventLabel::Malformed(_) => return self.malformed_label(session, channel),
        };
        self.advance(session, channel, label, &event.payload)
    }

    /// Like [`step`](Self::step), with names resolved before.
    #[inline]
    pub fn step_interned(
        &self,
        session: &mut Session,
        channel: Channel,
        label: LabelId,
        payload: Payload<'_>,
    ) -> Verdict {
        self.advance(session, channel, label, &payload)
    }

    #[inline]
    fn advance(
        &self,
        session: &mut Session,
        channel: Channel,
        label: LabelId,
        payload: &Payload<'_>,
    ) -> Verdict {
        let index = self.table.find(session.state, channel, label);
        let Some(edge) = self.edges.get(index as usize) else {
            return self.refuse(session, channel, label, index);
        };
        session.events = session.events.wrapping_add(1);
        if !(edge.simple && session.ended.is_nobody() && edge.admits(payload)) {
            return self.step_on(session, channel, index, payload);
        }
        session.state = edge.target;
        Verdict::Forward
    }

    /// What a transition may need besides a state and the kinds of a few fields.
    #[inline(never)]
    fn step_on(&self, session: &mut Session, channel: Channel, index: u32, payload: &Payload<'_>) -> Verdict {
        let side = side_of(channel);
        let Some(edge) = self.edges.get(index as usize) else {
            return violation(session, Kind::Order, side, NO_EDGE);
        };
        if session.ended.0 & Ended::bit(side) != 0 {
            return violation(session, Kind::AfterEnd, side, index);
        }
        let first = edge.first_check as usize;
        let fields = first..first.wrapping_add(usize::from(edge.fields));
        let names = self.names.get(fields.clone()).unwrap_or_default();
        if !edge.admits(payload) {
            let checks = self.checks.get(fields).unwrap_or_default();
            if !self.admits_all(checks, names, payload) {
                return self.wrong_payload(session, side, index, payload);
            }
        }
        if edge.assertion != NO_CODE
            && let Some(code) = self.codes.get(edge.assertion as usize)
        {
            let frame = Frame { payload: *payload, names, session, predicates: &self.predicates };
            match frame.truth(code) {
                Ok(true) => {}
                Err(Failure::External) => {
                    let kind = FaultKind::Predicate;
                    return Verdict::Fault(Fault { kind, state: session.state, edge: index });
                }
                Ok(false) | Err(_) => return violation(session, Kind::Assertion, side, index),
            }
        }
        if edge.binds.1 > 0 || edge.releases.1 > 0 {
            self.keep(session, edge, payload, names);
        }
        if edge.ends {
            session.forget();
        }
        session.state = edge.target;
        Verdict::Forward
    }

    /// A side has ended: its connection closed, its process exited. Premature if it had something left to
    /// do, that is, for the process or the whole environment, if the session is not over. With several peers,
    /// one of them ([`Party::Role`]) is blamed only if every way on needs it.
    ///
    /// Ending is no message: it is not counted, and nothing is wrong with ending twice.
    pub fn end(&self, session: &mut Session, who: Party) -> Verdict {
        let (side, peer) = match who {
            Party::Stranger => return Verdict::Forward,
            Party::Process => (Side::Process, None),
            Party::Role(role) if role == self.machine.role() => (Side::Process, None),
            Party::Environment => (Side::Environment, None),
            Party::Role(_) => match self.place(who) {
                stranger if stranger == self.stranger() => return Verdict::Forward,
                peer => (Side::Environment, Some(peer)),
            },
        };
        // Of several peers one has ended: the environment as a whole goes on.
        let whole = peer.is_none() || matches!(self.outlook, Outlook::Turns);
        let again = session.ended.0 & Ended::bit(side) != 0;
        if whole {
            session.ended.0 |= Ended::bit(side);
        }
        let done = self.is_over(session) || again;
        if done || !(whole || peer.is_some_and(|peer| self.outlook.is_busy(session.state, peer))) {
            return Verdict::Forward;
        }
        violation(session, Kind::PrematureEnd, side, NO_EDGE)
    }

    #[inline]
    fn keep(&self, session: &mut Session, edge: &Edge, payload: &Payload<'_>, names: &[Option<Arc<str>>]) {
        let released = edge.releases.0 as usize..edge.releases.0 as usize + usize::from(edge.releases.1);
        for slot in self.releases.get(released).unwrap_or_default() {
            session.release(*slot);
        }
        let bound = edge.binds.0 as usize..edge.binds.0 as usize + usize::from(edge.binds.1);
        for bind in self.binds.get(bound).unwrap_or_default() {
            let index = usize::from(bind.field);
            let name = names.get(index).and_then(Option::as_ref);
            if let Some(value) = payload.field(index, name) {
                session.store(bind.slot, &bind.ty, value, &self.layout);
            }
        }
    }

    /// A value whose kind alone does not decide.
    fn admits(&self, check: Check, value: &FieldValue<'_>) -> bool {
        check.mask == 0 && self.composites.get(check.composite as usize).is_some_and(|ty| value.has_type(ty))
    }

    /// Whether `payload` has exactly the fields of `names`, each as `checks` wants it.
    fn admits_all(&self, checks: &[Check], names: &[Option<Arc<str>>], payload: &Payload<'_>) -> bool {
        payload.len() == checks.len()
            && !matches!(payload, Payload::Malformed(_))
            && checks.iter().zip(names).enumerate().all(|(index, (check, name))| {
                payload
                    .field(index, name.as_ref())
                    .is_some_and(|value| check.mask & value.kind_bit() != 0 || self.admits(*check, value))
            })
    }

    /// There is no transition.
    #[cold]
    fn refuse(&self, session: &mut Session, channel: Channel, label: LabelId, index: u32) -> Verdict {
        if channel == Channel::UNCONCERNED {
            return Verdict::Forward;
        }
        if index == SEVERAL {
            let kind = FaultKind::UnnamedPeer;
            session.events = session.events.wrapping_add(1);
            return Verdict::Fault(Fault { kind, state: session.state, edge: NO_EDGE });
        }
        debug_assert_eq!(index, NONE);
        let side = side_of(channel);
        let kind = if self.is_over(session) || session.ended.0 & Ended::bit(side) != 0 {
            Kind::AfterEnd
        } else if (label.0 as usize) >= self.labels.len() {
            Kind::Label
        } else if channel.is_incoming() && self.may_come(session.state, channel, label) {
            return Verdict::Early;
        } else {
            Kind::Order
        };
        session.events = session.events.wrapping_add(1);
        violation(session, kind, side, NO_EDGE)
    }

    fn may_come(&self, state: u32, channel: Channel, label: LabelId) -> bool {
        let peers = self.peers.len();
        let peer = channel.index / 2;
        if (peer as usize) < peers {
            return self.outlook.may_come(state, peer, label.0);
        }
        // Whichever peer fits.
        channel.index < self.table.channels()
            && (0..).take(peers).any(|peer| self.outlook.may_come(state, peer, label.0))
    }

    #[cold]
    fn malformed_label(&self, session: &mut Session, channel: Channel) -> Verdict {
        if channel == Channel::UNCONCERNED {
            return Verdict::Forward;
        }
        session.events = session.events.wrapping_add(1);
        let side = side_of(channel);
        let over = self.is_over(session) || session.ended.0 & Ended::bit(side) != 0;
        violation(session, if over { Kind::AfterEnd } else { Kind::Malformed }, side, NO_EDGE)
    }

    /// Which field is wrong, and whether it could be decoded at all.
    #[cold]
    fn wrong_payload(&self, session: &Session, side: Side, index: u32, payload: &Payload<'_>) -> Verdict {
        let Some(transition) = self.machine.all_transitions().get(index as usize) else {
            return violation(session, Kind::Type, side, index);
        };
        let fields = &self.vocabulary.spec(transition.message).fields;
        let mut wrong = NO_FIELD;
        let mut kind = if matches!(payload, Payload::Malformed(_)) { Kind::Malformed } else { Kind::Type };
        for (position, field) in fields.iter().enumerate() {
            let value = payload.field(position, field.name.as_ref());
            if value.is_some_and(|value| value.has_type(&field.ty)) || kind == Kind::Malformed {
                continue;
            }
            let malformed = value.is_some_and(|value| value.malformed(&field.ty).is_some());
            if malformed {
                kind = Kind::Malformed;
            }
            if malformed || wrong == NO_FIELD {
                wrong = u16::try_from(position).unwrap_or(NO_FIELD);
            }
        }
        Verdict::Violation(Violation { kind, side, field: wrong, state: session.state, edge: index })
    }
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor")
            .field("role", &self.vocabulary.role_name(self.machine.role()))
            .field("states", &self.machine.state_count())
            .finish_non_exhaustive()
    }
}

#[inline]
fn side_of(channel: Channel) -> Side {
    if channel.is_incoming() { Side::Environment } else { Side::Process }
}

#[cold]
fn violation(session: &Session, kind: Kind, side: Side, edge: u32) -> Verdict {
    Verdict::Violation(Violation { kind, side, field: NO_FIELD, state: session.state, edge })
}
