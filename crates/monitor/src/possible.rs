//! Sessions of which something was not seen: the states that a session may be in.
//!
//! An event that was lost is any event that the protocol allows at its place, or none: the session goes on in the states
//! that no step or one step reaches ([`Monitor::lose`]). A session that began before anybody looked may be in any state
//! ([`Monitor::join`]). From there on an event is a violation if it is one in every state that explains what was seen so
//! far, and only then; which states explain it is what [`Possible`] keeps. Definitions and laws: `docs/uncertainty.md`.
//!
//! Each state is kept once. Where two explanations lead to one state with different values of a variable, the variable is
//! *unknown*, and an assertion whose truth depends on it may hold. So the memory of a session is bounded by the protocol.

use referee_theory::{Action, State, Transition};
use smallvec::SmallVec;

use crate::code::{Code, Failure, Frame};
use crate::event::{Channel, Party, Payload};
use crate::labels::LabelId;
use crate::layout::Slot;
use crate::monitor::{Edge, Monitor, NO_CODE};
use crate::session::{Ended, Session};
use crate::verdict::{Fault, FaultKind, Kind, Side, Verdict, Violation};

/// The states that one session may be in.
#[derive(Clone, Debug)]
pub struct Possible {
    // INVARIANT: at least one, by ascending state, each state once.
    alternatives: Vec<Alternative>,
    beginning: Beginning,
}

/// What is known of how a session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// It was seen.
    Seen,
    /// Nothing of it was seen yet: its first event may be the beginning.
    Open,
    /// It was before anybody looked, or may have been.
    Unseen,
}

/// One explanation of what was seen.
#[derive(Clone, Debug)]
struct Alternative {
    session: Session,
    /// Where variables are kept whose values are not known.
    unknown: SmallVec<[Slot; 4]>,
    /// How many of the lost events that may belong to any session it needs, more than another one does.
    claims: u32,
}

/// What is said about an event of a session that may be in several states.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PossibleVerdict {
    /// Some explanation allows it.
    Forward {
        /// How many lost events of unknown sessions every remaining explanation needs, more than before.
        claims: u32,
    },
    /// No explanation allows it: what is wrong in each state, which the session stays in.
    Violation(Vec<Violation>),
    /// In some state it would have to wait for a message of another peer: that is not followed.
    Early,
    /// In some state the monitor cannot tell.
    Fault(Fault),
}

impl Possible {
    /// The session that it is, whatever was lost: one state, and every variable known.
    #[must_use]
    pub fn certain(&self) -> Option<&Session> {
        match &*self.alternatives {
            [only] if only.unknown.is_empty() => Some(&only.session),
            _ => None,
        }
    }

    /// The session in the only state that is left; variables may be unknown.
    #[must_use]
    pub fn only(&self) -> Option<&Session> {
        match &*self.alternatives {
            [only] => Some(&only.session),
            _ => None,
        }
    }

    /// Whether some of what is bound in the only state that is left is unknown.
    #[must_use]
    pub fn is_partly_unknown(&self) -> bool {
        self.alternatives.iter().any(|alternative| !alternative.unknown.is_empty())
    }

    /// Whether the session may have begun before anybody looked.
    #[must_use]
    pub fn is_joined(&self) -> bool {
        self.beginning != Beginning::Seen
    }

    /// The states that it may be in, by number.
    pub fn states(&self) -> impl Iterator<Item = State> {
        self.alternatives.iter().map(|alternative| State(alternative.session.state))
    }

    /// The sessions that it may be.
    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.alternatives.iter().map(|alternative| &alternative.session)
    }

    /// Whether it may need lost events of unknown sessions.
    #[must_use]
    pub fn has_claims(&self) -> bool {
        self.alternatives.iter().any(|alternative| alternative.claims > 0)
    }

    /// Its states, each by itself.
    pub fn split(&self) -> impl Iterator<Item = Self> {
        let only = |alternative: &Alternative| Self {
            alternatives: vec![alternative.clone()],
            beginning: self.beginning,
        };
        self.alternatives.iter().map(only)
    }

    /// Something came: what comes next is no beginning.
    fn go_on(&mut self) {
        if self.beginning == Beginning::Open {
            self.beginning = Beginning::Unseen;
        }
    }

    /// Takes in the states that the session may be in as well.
    pub fn absorb(&mut self, monitor: &Monitor, other: Self) {
        if self.beginning != other.beginning {
            self.beginning = Beginning::Unseen;
        }
        for alternative in other.alternatives {
            self.add(monitor, alternative);
        }
    }

    fn add(&mut self, monitor: &Monitor, added: Alternative) -> bool {
        let state = added.session.state;
        match self.alternatives.binary_search_by_key(&state, |known| known.session.state) {
            Ok(at) => self.alternatives.get_mut(at).is_some_and(|known| known.merge(monitor, &added)),
            Err(at) => {
                self.alternatives.insert(at, added);
                true
            }
        }
    }

    /// Counts claims from the least that is left; how many that is.
    fn settle_claims(&mut self) -> u32 {
        let least = self.alternatives.iter().map(|alternative| alternative.claims).min().unwrap_or(0);
        self.alternatives.iter_mut().for_each(|alternative| alternative.claims -= least);
        least
    }
}

impl Alternative {
    /// Takes in another explanation of the same state; whether anything changed.
    fn merge(&mut self, monitor: &Monitor, other: &Self) -> bool {
        let before = (self.unknown.len(), self.session.ended, self.claims);
        for variable in monitor.layout.live(self.session.state) {
            let slot = variable.slot;
            let same = !other.unknown.contains(&slot)
                && self.session.value(slot, &variable.ty) == other.session.value(slot, &variable.ty);
            if !same && !self.unknown.contains(&slot) {
                self.unknown.push(slot);
            }
        }
        // Nobody is blamed for speaking after an end that may not have been.
        self.session.ended.0 &= other.session.ended.0;
        self.claims = self.claims.min(other.claims);
        before != (self.unknown.len(), self.session.ended, self.claims)
    }

    /// Forgets what is unknown of variables that nobody reads any more.
    fn tidy(&mut self, monitor: &Monitor) {
        let state = self.session.state;
        self.unknown.retain(|slot| monitor.layout.live(state).any(|variable| variable.slot == *slot));
    }
}

impl Monitor {
    /// A session that is known.
    #[must_use]
    pub fn known(&self, session: Session) -> Possible {
        let only = Alternative { session, unknown: SmallVec::new(), claims: 0 };
        Possible { alternatives: vec![only], beginning: Beginning::Seen }
    }

    /// A session that may have begun before anybody looked: every state, all variables unknown.
    #[must_use]
    pub fn join(&self) -> Possible {
        Possible { beginning: Beginning::Open, ..self.anywhere() }
    }

    /// A session that was seen to begin and may be in any state by now: every state, all variables unknown.
    #[must_use]
    pub fn anywhere(&self) -> Possible {
        let mut possible = self.known(self.session());
        for state in self.machine.states() {
            let unknown = self.layout.live(state.0).map(|variable| variable.slot).collect();
            let mut session = self.session();
            session.state = state.0;
            possible.add(self, Alternative { session, unknown, claims: 0 });
        }
        possible
    }

    /// Up to `times` events of the session may have been lost here. `claim`: they may be another session's as well.
    pub fn lose(&self, possible: &mut Possible, times: u32, claim: bool) {
        possible.go_on();
        for _ in 0..times {
            let before = possible.alternatives.clone();
            let mut changed = false;
            for alternative in &before {
                for transition in self.transitions(alternative.session.state) {
                    let Some(step) = self.step_unseen(alternative, transition, claim) else { continue };
                    changed |= possible.add(self, step);
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// `alternative` after `transition`, of whose message nothing is known.
    fn step_unseen(
        &self,
        alternative: &Alternative,
        transition: &Transition,
        claim: bool,
    ) -> Option<Alternative> {
        let (own, peer) = (Party::Role(self.machine.role()), Party::Role(transition.peer));
        let (side, channel) = match transition.action {
            Action::Send => (Side::Process, self.channel(own, peer)),
            Action::Receive => (Side::Environment, self.channel(peer, own)),
        };
        let label = self.labels.find(self.vocabulary.label_of(transition.message));
        let edge = self.table_has(alternative.session.state, channel, label)?;
        let mut next = alternative.clone();
        if next.session.ended.0 & Ended::bit(side) != 0 {
            return None;
        }
        self.release(&mut next.session, edge);
        let bound = self.binds_of(edge).iter().map(|bind| bind.slot);
        let computed = self.computed_by(edge).iter().filter_map(|computed| computed.slot);
        for slot in bound.chain(computed) {
            if !next.unknown.contains(&slot) {
                next.unknown.push(slot);
            }
        }
        if edge.ends {
            next.session.forget();
        }
        next.session.state = edge.target;
        next.claims = next.claims.saturating_add(u32::from(claim));
        next.tidy(self);
        Some(next)
    }

    /// Steps every explanation over a message; those that do not allow it are none.
    pub fn step_possible(
        &self,
        possible: &mut Possible,
        channel: Channel,
        label: LabelId,
        payload: Payload<'_>,
    ) -> PossibleVerdict {
        let label = self.labels.known(label);
        let started = possible.beginning == Beginning::Open
            && possible.alternatives.iter().all(|it| {
                it.session.state == self.start.state
                    || self.table_has(it.session.state, channel, label).is_none()
            });
        let verdict = self.judge_all(possible, |alternative| match alternative.unknown.is_empty() {
            true => self.step_interned(&mut alternative.session, channel, label, payload),
            false => self.step_partly_known(alternative, channel, label, &payload),
        });
        possible.go_on();
        // Only the beginning of the protocol explains it.
        if started && matches!(verdict, PossibleVerdict::Forward { .. }) {
            possible.beginning = Beginning::Seen;
        }
        verdict
    }

    /// A side has ended; see [`end`](Self::end).
    pub fn end_possible(&self, possible: &mut Possible, who: Party) -> PossibleVerdict {
        possible.go_on();
        self.judge_all(possible, |alternative| self.end(&mut alternative.session, who))
    }

    fn judge_all(
        &self,
        possible: &mut Possible,
        mut judge: impl FnMut(&mut Alternative) -> Verdict,
    ) -> PossibleVerdict {
        let mut next = Possible { alternatives: Vec::new(), beginning: possible.beginning };
        let mut violations = Vec::new();
        for alternative in &possible.alternatives {
            let mut alternative = alternative.clone();
            match judge(&mut alternative) {
                Verdict::Forward => {
                    next.add(self, alternative);
                }
                Verdict::Violation(violation) => violations.push(violation),
                Verdict::Early => return PossibleVerdict::Early,
                Verdict::Fault(fault) => return PossibleVerdict::Fault(fault),
            }
        }
        if next.alternatives.is_empty() {
            return PossibleVerdict::Violation(violations);
        }
        let claims = next.settle_claims();
        *possible = next;
        PossibleVerdict::Forward { claims }
    }

    fn table_has(&self, state: u32, channel: Channel, label: LabelId) -> Option<&Edge> {
        self.edges.get(self.table.find(state, channel, label) as usize)
    }

    /// The step of a session of which some variables are unknown.
    fn step_partly_known(
        &self,
        alternative: &mut Alternative,
        channel: Channel,
        label: LabelId,
        payload: &Payload<'_>,
    ) -> Verdict {
        let index = self.table.find(alternative.session.state, channel, label);
        let Some(edge) = self.edges.get(index as usize) else {
            return self.step_interned(&mut alternative.session, channel, label, *payload);
        };
        let reads = |code: u32| self.codes.get(code as usize).is_some_and(|code| alternative.reads(code));
        let computed_unknown: SmallVec<[Slot; 4]> = self
            .computed_by(edge)
            .iter()
            .filter(|computed| reads(computed.code))
            .filter_map(|computed| computed.slot)
            .collect();
        if !reads(edge.assertion) && !self.computed_by(edge).iter().any(|computed| reads(computed.code)) {
            let verdict = self.step_interned(&mut alternative.session, channel, label, *payload);
            if verdict == Verdict::Forward {
                self.learn(alternative, edge, &[]);
            }
            return verdict;
        }
        let side = if channel.is_incoming() { Side::Environment } else { Side::Process };
        let session = &mut alternative.session;
        if session.ended.0 & Ended::bit(side) != 0 || !self.takes(index, payload) {
            return self.step_interned(session, channel, label, *payload);
        }
        session.events = session.events.wrapping_add(1);
        if let Some(failed) = self.unknown_assertion(alternative, edge, index, side, payload) {
            return failed;
        }
        let names = self.names_of(edge);
        let session = &mut alternative.session;
        let frame = Frame { payload: *payload, names, session, predicates: &self.predicates };
        let known = self
            .computed_by(edge)
            .iter()
            .filter(|computed| computed.slot.is_none_or(|slot| !computed_unknown.contains(&slot)));
        let values: Result<SmallVec<[_; 2]>, Failure> = known
            .filter_map(|computed| Some((computed, self.codes.get(computed.code as usize)?)))
            .map(|(computed, code)| Ok((computed, frame.value(code)?)))
            .collect();
        let values = match values {
            Ok(values) => values,
            Err(Failure::External) => return predicate_fault(session, index),
            Err(_) => return refused(session, Kind::Assertion, side, index),
        };
        self.keep(session, edge, payload, names);
        for (computed, value) in values {
            if let Some(slot) = computed.slot {
                session.store_value(slot, &computed.ty, value, &self.layout);
            }
        }
        if edge.ends {
            session.forget();
        }
        session.state = edge.target;
        self.learn(alternative, edge, &computed_unknown);
        Verdict::Forward
    }

    /// After a step: what it has bound is known, but for `still`.
    fn learn(&self, alternative: &mut Alternative, edge: &Edge, still: &[Slot]) {
        let bound = self.binds_of(edge).iter().map(|bind| bind.slot);
        let computed = self.computed_by(edge).iter().filter_map(|computed| computed.slot);
        for slot in bound.chain(computed) {
            alternative.unknown.retain(|unknown| *unknown != slot);
        }
        alternative.unknown.extend(still.iter().copied());
        alternative.tidy(self);
    }

    /// The assertion of `edge`, some of whose variables are unknown: `None` if it may hold.
    fn unknown_assertion(
        &self,
        alternative: &Alternative,
        edge: &Edge,
        index: u32,
        side: Side,
        payload: &Payload<'_>,
    ) -> Option<Verdict> {
        if edge.assertion == NO_CODE {
            return None;
        }
        let code = self.codes.get(edge.assertion as usize)?;
        let (session, names) = (&alternative.session, self.names_of(edge));
        let frame = Frame { payload: *payload, names, session, predicates: &self.predicates };
        match alternative.truth(&frame, code) {
            Ok(Some(true) | None) => None,
            Err(Failure::External) => Some(predicate_fault(session, index)),
            Ok(Some(false)) | Err(_) => Some(refused(session, Kind::Assertion, side, index)),
        }
    }
}

impl Alternative {
    /// Whether `code` reads an unknown variable.
    fn reads(&self, code: &Code) -> bool {
        code.reads(&|slot| self.unknown.contains(&slot))
    }

    /// The truth of `code` whatever the unknown variables are; `Ok(None)` if it depends on them.
    fn truth<'a>(&self, frame: &Frame<'a>, code: &'a Code) -> Result<Option<bool>, Failure> {
        if !self.reads(code) {
            return frame.truth(code).map(Some);
        }
        match code {
            Code::Not(operand) => Ok(self.truth(frame, operand)?.map(|truth| !truth)),
            Code::All(operands) => self.settle(frame, operands, false),
            Code::Any(operands) => self.settle(frame, operands, true),
            _ => Ok(None),
        }
    }

    /// An operand equal to `settled` decides; else one that is unknown may; else the first failure.
    fn settle<'a>(
        &self,
        frame: &Frame<'a>,
        operands: &'a [Code],
        settled: bool,
    ) -> Result<Option<bool>, Failure> {
        let (mut unknown, mut failure) = (false, None);
        for operand in operands {
            match self.truth(frame, operand) {
                Ok(Some(truth)) if truth == settled => return Ok(Some(settled)),
                Ok(Some(_)) => {}
                Ok(None) => unknown = true,
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        match failure {
            _ if unknown => Ok(None),
            Some(failure) => Err(failure),
            None => Ok(Some(!settled)),
        }
    }
}

fn predicate_fault(session: &Session, edge: u32) -> Verdict {
    Verdict::Fault(Fault { kind: FaultKind::Predicate, state: session.state, edge })
}

fn refused(session: &Session, kind: Kind, side: Side, edge: u32) -> Verdict {
    Verdict::Violation(Violation { kind, side, field: crate::verdict::NO_FIELD, state: session.state, edge })
}
