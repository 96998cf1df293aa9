//! The step over an event, and the end of a side.
//!
//! What most events need is inlined; assertions, values to keep, and everything that goes wrong are not.

use std::sync::Arc;

use referee_theory::{State, Type, Value};
use smallvec::SmallVec;

use super::{Bind, Check, Computed, Edge, Monitor, NO_CODE};
use crate::code::{Failure, Frame};
use crate::event::{Channel, Event, EventLabel, FieldValue, Party, Payload};
use crate::labels::LabelId;
use crate::outlook::Outlook;
use crate::session::{Ended, Session};
use crate::table::{NONE, SEVERAL};
use crate::verdict::{Fault, FaultKind, Kind, NO_EDGE, NO_FIELD, Side, Verdict, Violation};

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
    /// Steps over `event`: forwards it and moves `session` on, or says what is wrong and leaves it.
    pub fn step(&self, session: &mut Session, event: &Event<'_>) -> Verdict {
        let channel = self.channel(event.from, event.to);
        let label = match event.label {
            EventLabel::Text(text) => self.labels.find(text),
            EventLabel::Known(label) => self.labels.known(label),
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
        self.advance(session, channel, self.labels.known(label), &payload)
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
        let computed = match self.compute(session, edge, payload, names) {
            Ok(computed) => computed,
            Err(Failure::External) => {
                let kind = FaultKind::Predicate;
                return Verdict::Fault(Fault { kind, state: session.state, edge: index });
            }
            Err(_) => return violation(session, Kind::Assertion, side, index),
        };
        if edge.binds.1 > 0 || edge.releases.1 > 0 {
            self.keep(session, edge, payload, names);
        }
        self.keep_computed(session, edge, computed);
        if edge.ends {
            session.forget();
        }
        session.state = edge.target;
        Verdict::Forward
    }

    /// A side has ended: its connection closed, its process exited. Premature if it had something left to
    /// do, that is, for the process or the whole environment, if the session is not over. With several peers,
    /// one of them ([`Party::Role`]) is blamed only if every way on needs it. Where the role may wait for ever, nobody
    /// has to go on.
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
        let done = self.is_over(session) || again || self.machine.is_accepting(State(session.state));
        if done || !(whole || peer.is_some_and(|peer| self.outlook.is_busy(session.state, peer))) {
            return Verdict::Forward;
        }
        violation(session, Kind::PrematureEnd, side, NO_EDGE)
    }

    /// The recursion data that `edge` computes, from what is bound before it and its payload.
    #[inline]
    fn compute(
        &self,
        session: &Session,
        edge: &Edge,
        payload: &Payload<'_>,
        names: &[Option<Arc<str>>],
    ) -> Result<SmallVec<[Value; 2]>, Failure> {
        if edge.computed.1 == 0 {
            return Ok(SmallVec::new());
        }
        let frame = Frame { payload: *payload, names, session, predicates: &self.predicates };
        let codes =
            self.computed_by(edge).iter().filter_map(|computed| self.codes.get(computed.code as usize));
        codes.map(|code| frame.value(code)).collect()
    }

    pub(crate) fn computed_by(&self, edge: &Edge) -> &[Computed] {
        let range = edge.computed.0 as usize..edge.computed.0 as usize + usize::from(edge.computed.1);
        self.computed.get(range).unwrap_or_default()
    }

    #[inline]
    fn keep_computed(&self, session: &mut Session, edge: &Edge, values: SmallVec<[Value; 2]>) {
        for (computed, value) in self.computed_by(edge).iter().zip(values) {
            if let Some(slot) = computed.slot {
                session.store_value(slot, &computed.ty, value, &self.layout);
            }
        }
    }

    /// The fields of `edge` that are kept.
    #[inline]
    pub(crate) fn binds_of(&self, edge: &Edge) -> &[Bind] {
        let range = edge.binds.0 as usize..edge.binds.0 as usize + usize::from(edge.binds.1);
        self.binds.get(range).unwrap_or_default()
    }

    /// The names of the fields of `edge`.
    pub(crate) fn names_of(&self, edge: &Edge) -> &[Option<Arc<str>>] {
        let first = edge.first_check as usize;
        self.names.get(first..first.wrapping_add(usize::from(edge.fields))).unwrap_or_default()
    }

    /// Forgets what nobody reads after `edge`.
    #[inline]
    pub(crate) fn release(&self, session: &mut Session, edge: &Edge) {
        let released = edge.releases.0 as usize..edge.releases.0 as usize + usize::from(edge.releases.1);
        for slot in self.releases.get(released).unwrap_or_default() {
            session.release(*slot);
        }
    }

    #[inline]
    pub(crate) fn keep(
        &self,
        session: &mut Session,
        edge: &Edge,
        payload: &Payload<'_>,
        names: &[Option<Arc<str>>],
    ) {
        self.release(session, edge);
        for bind in self.binds_of(edge) {
            let index = usize::from(bind.field);
            let name = names.get(index).and_then(Option::as_ref);
            let absent = (bind.ty == Type::Unit).then_some(&FieldValue::Unit);
            if let Some(value) = payload.field(index, name).or(absent) {
                session.store(bind.slot, &bind.ty, value, &self.layout);
            }
        }
    }

    /// Whether `payload` has the types of the transition at `index`.
    pub(crate) fn takes(&self, index: u32, payload: &Payload<'_>) -> bool {
        let Some(edge) = self.edges.get(index as usize) else { return false };
        let first = edge.first_check as usize;
        let fields = first..first.wrapping_add(usize::from(edge.fields));
        edge.admits(payload)
            || self.admits_all(
                self.checks.get(fields.clone()).unwrap_or_default(),
                self.names.get(fields).unwrap_or_default(),
                payload,
            )
    }

    /// Moves `session` over the transition at `index`, which has no assertion, binds nothing, and whose payload
    /// was looked at before.
    pub(crate) fn follow(&self, session: &mut Session, index: u32) {
        let Some(edge) = self.edges.get(index as usize) else { return };
        session.events = session.events.wrapping_add(1);
        self.keep(session, edge, &Payload::Positional(&[]), &[]);
        if edge.ends {
            session.forget();
        }
        session.state = edge.target;
    }

    /// Moves `session` over the transition at `index` although `payload` is wrong for it. Whether all that later
    /// assertions read of it is known.
    #[cfg(feature = "network")]
    pub(crate) fn follow_wrong(&self, session: &mut Session, index: u32, payload: &Payload<'_>) -> bool {
        let Some(edge) = self.edges.get(index as usize) else { return true };
        let first = edge.first_check as usize;
        let names = self.names.get(first..first.wrapping_add(usize::from(edge.fields))).unwrap_or_default();
        let bound = edge.binds.0 as usize..edge.binds.0 as usize + usize::from(edge.binds.1);
        let known = self.binds.get(bound).unwrap_or_default().iter().all(|bind| {
            let index = usize::from(bind.field);
            let name = names.get(index).and_then(Option::as_ref);
            !matches!(payload, Payload::Malformed(_))
                && payload.field(index, name).is_some_and(|value| value.has_type(&bind.ty))
        });
        let computed = if known { self.compute(session, edge, payload, names).ok() } else { None };
        // What is not of its type is not kept: a text may be as long as its sender likes.
        self.keep(session, edge, if known { payload } else { &Payload::Positional(&[]) }, names);
        let known = known && (computed.is_some() || edge.computed.1 == 0);
        self.keep_computed(session, edge, computed.unwrap_or_default());
        if edge.ends {
            session.forget();
        }
        session.state = edge.target;
        known
    }

    /// Whether the assertion of the transition at `index` reads what earlier messages carried.
    #[cfg(feature = "network")]
    pub(crate) fn looks_back(&self, index: u32) -> bool {
        let code = self.edges.get(index as usize).and_then(|edge| self.codes.get(edge.assertion as usize));
        code.is_some_and(crate::code::Code::looks_back)
    }

    /// A value whose kind alone does not decide.
    fn admits(&self, check: Check, value: &FieldValue<'_>) -> bool {
        check.mask == 0 && self.composites.get(check.composite as usize).is_some_and(|ty| value.has_type(ty))
    }

    /// Whether `payload` has exactly the fields of `names`, each as `checks` wants it. A `unit` may be absent: it says
    /// nothing.
    fn admits_all(&self, checks: &[Check], names: &[Option<Arc<str>>], payload: &Payload<'_>) -> bool {
        let mut absent = 0;
        let admitted = checks.iter().zip(names).enumerate().all(|(index, (check, name))| {
            match payload.field(index, name.as_ref()) {
                Some(value) => check.mask & value.kind_bit() != 0 || self.admits(*check, value),
                None => {
                    absent += 1;
                    check.mask == FieldValue::Unit.kind_bit()
                }
            }
        });
        admitted && payload.len() + absent == checks.len() && !matches!(payload, Payload::Malformed(_))
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
            let fits = value.map_or(field.ty == Type::Unit, |value| value.has_type(&field.ty));
            if fits || kind == Kind::Malformed {
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

#[inline]
fn side_of(channel: Channel) -> Side {
    if channel.is_incoming() { Side::Environment } else { Side::Process }
}

#[cold]
fn violation(session: &Session, kind: Kind, side: Side, edge: u32) -> Verdict {
    Verdict::Violation(Violation { kind, side, field: NO_FIELD, state: session.state, edge })
}
