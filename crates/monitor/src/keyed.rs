//! Keyed sub-sessions between two parties: a protocol, and calls of others beside it, one for each value of a key
//! (`docs/concurrency.md`, section 2).
//!
//! The state is the parent's session and, for each sub-protocol, a table of the calls in flight. Each call is a session of the sub-protocol with
//! its own turn and pipelining. A key enters the table with its first message and leaves it when its call is finished; interrupted and
//! tainted calls are kept, so many at most. An event costs one look into a table, however many keys there are.
//!
//! Whoever drives this keeps what is early, in the order that [`KeyedMonitor::may_overtake`] tells.

mod alphabet;
mod key;
mod table;
mod waiting;
mod wrong;

use std::sync::Arc;

pub use referee_theory::Stage;
use referee_theory::{Action, State};
use rustc_hash::FxHashMap;

use crate::ahead::{Ahead, Lead};
use crate::event::Payload;
use crate::labels::LabelId;
use crate::monitor::Monitor;
use crate::session::Session;
use crate::verdict::{Fault, Kind, NO_EDGE, NO_FIELD, Side, Verdict, Violation};

pub use key::Key;
use table::{Call, Table};
pub use waiting::Waiting;
pub use wrong::Wrong;

/// A protocol that another one opens.
#[derive(Clone, Debug)]
pub struct SubProtocol {
    /// `Call(client, server)`.
    name: Box<str>,
    /// The field that is the key.
    key: Arc<str>,
    monitor: Arc<Monitor>,
    ahead: Ahead,
    opener: Side,
    /// The message that interrupts a call, and whose it is.
    interrupt: Option<(Box<str>, Side)>,
    /// By state of the parent.
    stages: Box<[Stage]>,
    /// By state of the parent, whether it can still be opened.
    may_open: Box<[bool]>,
}

/// What may be kept.
#[derive(Clone, Copy, Debug)]
pub struct KeyLimits {
    /// Calls in flight of one sub-protocol, interrupted and tainted ones aside: an opening beyond waits.
    pub inflight: usize,
    /// Interrupted and tainted calls of one sub-protocol: the oldest is forgotten first.
    pub ended: usize,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The first message of a call.
    Opening,
    /// The message that interrupts one.
    Interrupt,
    /// Any other message of a call.
    Other,
}

/// The monitor of a protocol with keyed sub-sessions. Immutable, shared by its sessions.
#[derive(Debug)]
pub struct KeyedMonitor {
    parent: Arc<Monitor>,
    ahead: Ahead,
    subs: Vec<SubProtocol>,
    parts: FxHashMap<Box<str>, Vec<(Side, usize, Part)>>,
    limits: KeyLimits,
    /// Whether some sub-protocol is closed somewhere.
    closes: bool,
}

/// One run of a protocol with keyed sub-sessions.
#[derive(Clone, Debug)]
pub struct KeyedSession {
    parent: Session,
    lead: Lead,
    /// Who ended the parent.
    ended_by: Option<Side>,
    /// Who has left first.
    left: Option<Side>,
    tables: Vec<Table>,
}

/// What is to become of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyedVerdict {
    /// It goes on.
    Forward,
    /// It waits.
    Early,
    /// It is wrong, and why.
    Violation(Violation, Wrong),
    /// It cannot be judged.
    Fault(Fault),
    /// It may be of a call that was forgotten: it goes on, and nobody is blamed.
    Uncertain,
}

/// What a message may overtake: a class of messages that stay in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The parent's messages.
    Parent,
    /// An opening of a call, which also keeps its place among the parent's messages.
    Opening(usize, Key),
    /// Another message of a call.
    Call(usize, Key),
}

impl Lane {
    /// The call, if it is one's.
    #[must_use]
    pub fn call(&self) -> Option<(usize, Key)> {
        match self {
            Self::Parent => None,
            Self::Opening(sub, key) | Self::Call(sub, key) => Some((*sub, key.clone())),
        }
    }
}

impl SubProtocol {
    /// `monitor`'s protocol, called `name`, whose calls `opener` begins; `key` is the field that is the key, and `stages` has one entry for each state of the
    /// parent.
    #[must_use]
    pub fn new(
        (name, key): (&str, &str),
        monitor: Arc<Monitor>,
        opener: Side,
        interrupt: Option<(&str, Side)>,
        stages: Vec<Stage>,
    ) -> Self {
        let ahead = Ahead::new(&monitor);
        let interrupt = interrupt.map(|(label, side)| (label.into(), side));
        let (name, key, may_open) = (name.into(), key.into(), Box::default());
        Self { name, key, monitor, ahead, opener, interrupt, stages: stages.into(), may_open }
    }

    fn stage(&self, state: State) -> Stage {
        self.stages.get(state.index()).copied().unwrap_or(Stage::Closed)
    }

    /// Whether the opener has to say something in the call.
    fn is_openers_turn(&self, call: &Call) -> bool {
        call.runs() && !self.is_over(call) && self.ahead.is_turn(&call.session, self.opener)
    }

    fn is_over(&self, call: &Call) -> bool {
        self.monitor.is_over(&call.session)
    }

    /// Whether nothing more of the call has to come: it is over, or interrupted and the other side has said all it can say.
    fn is_finished(&self, call: &Call) -> bool {
        let others = |side: Side| call.interrupted && !self.ahead.is_turn(&call.session, other(side));
        self.is_over(call) || self.interrupt.as_ref().is_some_and(|(_, side)| others(*side))
    }

    /// Whether a call that was forgotten might send this.
    fn may_be_forgotten(&self, table: &Table, side: Side, part: Part) -> bool {
        let interrupter = self.interrupt.as_ref().map(|(_, side)| *side);
        part != Part::Opening
            && (table.forgot_tainted || table.forgot_interrupted && interrupter != Some(side))
    }
}

impl KeyedMonitor {
    /// The monitor of `parent` with `subs` beside it, made for the same side.
    #[must_use]
    pub fn new(parent: Arc<Monitor>, mut subs: Vec<SubProtocol>, limits: KeyLimits) -> Self {
        let mut parts: FxHashMap<Box<str>, Vec<(Side, usize, Part)>> = FxHashMap::default();
        for (index, sub) in subs.iter_mut().enumerate() {
            sub.may_open = may_open(&parent, &sub.stages);
            let (machine, vocabulary) = (sub.monitor.machine(), sub.monitor.vocabulary());
            for state in machine.states() {
                for transition in machine.transitions(state) {
                    let side = side_of(transition.action);
                    let part = if state == machine.initial() { Part::Opening } else { Part::Other };
                    let known = parts.entry(vocabulary.label_of(transition.message).into()).or_default();
                    if !known.contains(&(side, index, part)) {
                        known.push((side, index, part));
                    }
                }
            }
            if let Some((label, side)) = &sub.interrupt {
                parts.entry(label.clone()).or_default().push((*side, index, Part::Interrupt));
            }
        }
        let ahead = Ahead::new(&parent);
        let closes = subs.iter().any(|sub| sub.stages.contains(&Stage::Closing));
        Self { parent, ahead, subs, parts, limits, closes }
    }

    /// A session before its first message.
    #[must_use]
    pub fn session(&self) -> KeyedSession {
        let tables = self.subs.iter().map(|_| Table::default()).collect();
        KeyedSession {
            parent: self.parent.session(),
            lead: Lead::default(),
            ended_by: None,
            left: None,
            tables,
        }
    }

    /// What keeps a message of `side` in order.
    #[must_use]
    pub fn lane(&self, side: Side, label: &str, key: Option<&Key>) -> Lane {
        match (self.part(side, label), key) {
            (Some((sub, Part::Opening)), Some(key)) => Lane::Opening(sub, key.clone()),
            (Some((sub, _)), Some(key)) => Lane::Call(sub, key.clone()),
            _ => Lane::Parent,
        }
    }

    /// Whether a message may go on although an earlier one of the same side waits.
    #[must_use]
    pub fn may_overtake(later: &Lane, waits: &Lane) -> bool {
        match (waits, later) {
            // Openings keep their place among the parent's messages.
            (Lane::Parent, Lane::Parent | Lane::Opening(..))
            | (Lane::Opening(..) | Lane::Call(..), Lane::Parent) => false,
            (Lane::Parent, Lane::Call(..)) => true,
            (
                Lane::Opening(sub, key) | Lane::Call(sub, key),
                Lane::Opening(other, own) | Lane::Call(other, own),
            ) => (sub, key) != (other, own),
        }
    }

    /// Judges a message of `side`. `key` is the value of its key, if it has one.
    pub fn judge(
        &self,
        session: &mut KeyedSession,
        side: Side,
        label: &str,
        key: Option<&Key>,
        payload: Payload<'_>,
    ) -> KeyedVerdict {
        let (Some((index, part)), Some(key)) = (self.part(side, label), key) else {
            return self.parent_message(session, side, label, payload);
        };
        let (Some(sub), Some(table)) = (self.subs.get(index), session.tables.get_mut(index)) else {
            return KeyedVerdict::Forward;
        };
        if table.get(key).is_some_and(|call| call.tainted) {
            return KeyedVerdict::Forward;
        }
        let verdict = match part {
            Part::Interrupt => {
                self.interrupt(sub, table, key);
                return KeyedVerdict::Forward;
            }
            Part::Opening => {
                let at = session.parent.state();
                let turn = self.ahead.is_turn(&session.parent, sub.opener);
                match self.may_enter(index, table, key, (at, turn, session.ended_by)) {
                    // Behind what its sender has said ahead in the parent.
                    Ok(()) if !turn && !session.lead.is_empty() => KeyedVerdict::Early,
                    Ok(()) => self.step(index, table, (side, label, key, part), payload),
                    Err(verdict) => verdict,
                }
            }
            Part::Other => self.step(index, table, (side, label, key, part), payload),
        };
        match verdict {
            KeyedVerdict::Violation(violation, Wrong::InParent) => {
                KeyedVerdict::Violation(violation, Wrong::InCall(index))
            }
            other => other,
        }
    }

    /// A wrong message was let through: its key is not judged any more.
    pub fn taint(&self, session: &mut KeyedSession, side: Side, label: &str, key: Option<&Key>) {
        let (Some((index, _)), Some(key)) = (self.part(side, label), key) else { return };
        if let (Some(sub), Some(table)) = (self.subs.get(index), session.tables.get_mut(index)) {
            let before = table.take(key, |call| sub.is_openers_turn(call));
            let mut call = before.unwrap_or_else(|| Call::new(sub.monitor.session()));
            call.tainted = true;
            table.put(key, call, false);
            table.forget_oldest(self.limits.ended);
        }
    }

    /// The parent's session.
    #[must_use]
    pub fn parent<'s>(&self, session: &'s KeyedSession) -> &'s Session {
        &session.parent
    }

    /// How many calls of the sub-protocol with this number are in flight, interrupted and tainted ones aside.
    #[must_use]
    pub fn in_flight(&self, session: &KeyedSession, sub: usize) -> usize {
        session.tables.get(sub).map_or(0, |table| table.running)
    }

    /// How many keys are kept in all.
    #[must_use]
    pub fn kept(&self, session: &KeyedSession) -> usize {
        session.tables.iter().map(Table::len).sum()
    }

    fn part(&self, side: Side, label: &str) -> Option<(usize, Part)> {
        let known = self.parts.get(label)?.iter().find(|(own, _, _)| *own == side)?;
        Some((known.1, known.2))
    }

    fn parent_message(
        &self,
        session: &mut KeyedSession,
        side: Side,
        label: &str,
        payload: Payload<'_>,
    ) -> KeyedVerdict {
        let at = session.parent.state();
        for (index, (sub, table)) in self.subs.iter().zip(&session.tables).enumerate() {
            if sub.stage(at) == Stage::Closing && table.running > 0 {
                if table.openers_turns == 0 {
                    return KeyedVerdict::Early;
                }
                return wrong(Kind::Order, side, at, Wrong::CallsOpen(index));
            }
        }
        let label = self.parent.label(label);
        // Sent ahead of its turn it could pass a `close` that waits for calls.
        if self.closes && label != LabelId::UNKNOWN && !self.ahead.is_turn(&session.parent, side) {
            return KeyedVerdict::Early;
        }
        let verdict =
            self.ahead.judge(&self.parent, &mut session.parent, &mut session.lead, side, label, payload);
        if verdict == Verdict::Forward && self.parent.is_over(&session.parent) && at != session.parent.state()
        {
            // If not with this message, then with one that the other side had sent ahead.
            session.ended_by = Some(if self.ends(at, side, label) { side } else { other(side) });
        }
        of_session(verdict)
    }

    /// Whether the parent is over with this message, sent in this state.
    fn ends(&self, at: State, side: Side, label: LabelId) -> bool {
        let (machine, vocabulary) = (self.parent.machine(), self.parent.vocabulary());
        machine.transitions(at).iter().any(|transition| {
            side_of(transition.action) == side
                && machine.is_final(transition.target)
                && self.parent.label(vocabulary.label_of(transition.message)) == label
        })
    }

    /// Whether an opening of `key` may be one, in the parent's state and turn.
    fn may_enter(
        &self,
        index: usize,
        table: &mut Table,
        key: &Key,
        (at, turn, ended_by): (State, bool, Option<Side>),
    ) -> Result<(), KeyedVerdict> {
        let Some(sub) = self.subs.get(index) else { return Ok(()) };
        let not = |kind| Err(wrong(kind, sub.opener, at, Wrong::NotOpen(index)));
        if let Some(call) = table.get(key) {
            let interrupter = sub.interrupt.as_ref().map(|(_, side)| *side);
            if !(call.interrupted && interrupter == Some(other(sub.opener))) {
                let state = call.session.state();
                return Err(wrong(Kind::Order, sub.opener, state, Wrong::InFlight(index)));
            }
            // The opener has seen the interruption, and begins anew.
            table.take(key, |call| sub.is_openers_turn(call));
        }
        match sub.stage(at) {
            Stage::Open | Stage::Closing if table.running >= self.limits.inflight => Err(KeyedVerdict::Early),
            Stage::Open | Stage::Closing => Ok(()),
            Stage::Ended if ended_by == Some(sub.opener) => not(Kind::AfterEnd),
            Stage::Ended => Ok(()),
            Stage::Closed if self.parent.machine().is_final(at) => not(Kind::AfterEnd),
            Stage::Closed if !turn && sub.may_open.get(at.index()) == Some(&true) => Err(KeyedVerdict::Early),
            Stage::Closed => not(Kind::Order),
        }
    }

    /// Steps the call of `key`, which is opened by an opening.
    fn step(
        &self,
        index: usize,
        table: &mut Table,
        (side, label, key, part): (Side, &str, &Key, Part),
        payload: Payload<'_>,
    ) -> KeyedVerdict {
        let Some(sub) = self.subs.get(index) else { return KeyedVerdict::Forward };
        let uncertain = sub.may_be_forgotten(table, side, part);
        let blame = |violation| if uncertain { KeyedVerdict::Uncertain } else { violation };
        let interrupter = sub.interrupt.as_ref().map(|(_, side)| *side);
        let stepped = table.change(
            key,
            |call| sub.is_openers_turn(call),
            |call| sub.is_finished(call),
            |call| {
                if call.interrupted && interrupter == Some(side) {
                    let state = call.session.state();
                    return blame(wrong(Kind::AfterEnd, side, state, Wrong::Interrupted(index)));
                }
                match of_session(call.judge(sub, side, sub.monitor.label(label), payload)) {
                    violation @ KeyedVerdict::Violation(..) => blame(violation),
                    other => other,
                }
            },
        );
        if let Some(verdict) = stepped {
            return verdict;
        }
        if part != Part::Opening {
            return blame(wrong(Kind::Order, side, State(0), Wrong::NotInFlight(index)));
        }
        let mut call = Call::new(sub.monitor.session());
        let verdict = of_session(call.judge(sub, side, sub.monitor.label(label), payload));
        if verdict == KeyedVerdict::Forward && !sub.is_finished(&call) {
            let turn = sub.is_openers_turn(&call);
            table.put(key, call, turn);
        }
        verdict
    }

    /// The interrupting message: it has an effect on a call that runs and is not interrupted.
    fn interrupt(&self, sub: &SubProtocol, table: &mut Table, key: &Key) {
        let Some(mut call) = table.take(key, |call| sub.is_openers_turn(call)) else { return };
        call.interrupted = true;
        if !sub.is_finished(&call) {
            table.put(key, call, false);
            table.forget_oldest(self.limits.ended);
        }
    }
}

impl Call {
    fn judge(&mut self, sub: &SubProtocol, side: Side, label: LabelId, payload: Payload<'_>) -> Verdict {
        let mut none = Lead::default();
        let lead = self.lead.as_deref_mut().unwrap_or(&mut none);
        let verdict = sub.ahead.judge(&sub.monitor, &mut self.session, lead, side, label, payload);
        if lead.is_empty() {
            self.lead = None;
        } else if self.lead.is_none() {
            self.lead = Some(Box::new(none));
        }
        verdict
    }
}

/// For each state of the parent, whether a state in which the sub-protocol is open can follow.
fn may_open(parent: &Monitor, stages: &[Stage]) -> Box<[bool]> {
    let machine = parent.machine();
    let mut may: Box<[bool]> = machine
        .states()
        .map(|state| stages.get(state.index()).is_some_and(|stage| *stage == Stage::Open))
        .collect();
    let mut grew = true;
    while std::mem::take(&mut grew) {
        for state in machine.states() {
            let leads = machine.transitions(state).iter().any(|t| may.get(t.target.index()) == Some(&true));
            if let Some(known) = may.get_mut(state.index())
                && leads
                && !*known
            {
                (*known, grew) = (true, true);
            }
        }
    }
    may
}

fn of_session(verdict: Verdict) -> KeyedVerdict {
    match verdict {
        Verdict::Forward => KeyedVerdict::Forward,
        Verdict::Early => KeyedVerdict::Early,
        Verdict::Violation(violation) => KeyedVerdict::Violation(violation, Wrong::InParent),
        Verdict::Fault(fault) => KeyedVerdict::Fault(fault),
    }
}

fn wrong(kind: Kind, side: Side, state: State, why: Wrong) -> KeyedVerdict {
    let violation = Violation { kind, side, field: NO_FIELD, state: state.0, edge: NO_EDGE };
    KeyedVerdict::Violation(violation, why)
}

fn side_of(action: Action) -> Side {
    match action {
        Action::Send => Side::Process,
        Action::Receive => Side::Environment,
    }
}

fn other(side: Side) -> Side {
    match side {
        Side::Process => Side::Environment,
        Side::Environment => Side::Process,
    }
}
