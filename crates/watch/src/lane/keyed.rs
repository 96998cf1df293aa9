//! Sessions with sub-sessions: each message belongs to the parent, or to the call that its key names. What waits is kept and judged in its place.

use std::collections::VecDeque;

use referee_monitor::{
    Event, EventLabel, FaultKind, Key, KeyedMonitor, KeyedSession, KeyedVerdict, Kind, Lane, Party, Payload,
    Report as Ruled, Side, Violation, Waiting, Wrong,
};

use super::careful::{self, Line};
use super::{Outcome, Position, explain};
use crate::decode::Record;
use crate::decode::event::What;
use crate::held::{Kept, MOST_EARLY, MOST_EARLY_BYTES};
use crate::plan::Plan;
use crate::report::Notice;
use crate::sessions::{Sessions, Status};

/// The parent of a session and its calls, and what waits.
pub(crate) struct Calls {
    session: KeyedSession,
    waiting: Waiting<Kept>,
    /// How long the lines are that wait.
    bytes: usize,
    /// Whether somebody has broken the protocol.
    violated: bool,
    /// Where it was counted as over.
    over: bool,
}

impl Calls {
    fn new(monitor: &KeyedMonitor) -> Self {
        let (session, waiting) = (monitor.session(), Waiting::default());
        Self { session, waiting, bytes: 0, violated: false, over: false }
    }

    /// How many messages wait.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
}

/// A message of one side: its label, its key and what it carries.
#[derive(Clone, Copy)]
struct Said<'a> {
    side: Side,
    label: &'a str,
    key: Option<&'a Key>,
    payload: Payload<'a>,
}

/// What somebody says in a session with sub-sessions, or that somebody ends.
pub(super) fn step(
    position: Position<'_>,
    record: &Record,
    line: &Line<'_>,
    sessions: &mut Sessions,
    index: u32,
    payload: Payload<'_>,
    outcome: &mut Outcome,
) {
    let plan = position.plan;
    let (Some(monitor), Some(entry)) = (&plan.options.calls, sessions.entry(index)) else { return };
    let side = plan.side(record.from);
    let extra = entry.extra.get_or_insert_default();
    let calls = extra.calls.get_or_insert_with(|| Box::new(Calls::new(monitor)));
    let about = (&*entry.key, entry.events, &extra.history);
    let mut telling = Telling { plan, monitor, about, outcome, row: line.row, lost: false };
    if record.what == What::End {
        telling.end(line, calls, side);
    } else {
        let label = plan.names.label_text(record.label);
        let key = key(plan, monitor, (side, label, record.label), &payload);
        let said = Said { side, label, key: key.as_ref(), payload };
        let lane = monitor.lane(side, label, key.as_ref());
        if calls.waiting.is_behind(side, &lane) || !telling.judge(line, calls, said) {
            keep(line, calls, side, lane);
        } else {
            telling.settle(calls, &lane);
        }
    }
    let lost = telling.lost;
    let is_full = calls.waiting.len() > MOST_EARLY || calls.bytes > MOST_EARLY_BYTES;
    if is_full || lost {
        outcome.counts.unjudged += calls.waiting();
        sessions.evicted += u64::from(is_full);
        sessions.retire(index, Status::Evicted);
        return;
    }
    if !calls.over && monitor.is_over(&calls.session) && monitor.running(&calls.session) == 0 {
        calls.over = true;
        if entry.status == Status::Live {
            outcome.counts.ended += 1;
            sessions.retire(index, Status::Ended);
        }
    }
}

/// The key of a message, if it has one.
fn key(
    plan: &Plan,
    monitor: &KeyedMonitor,
    (side, label, number): (Side, &str, u32),
    payload: &Payload<'_>,
) -> Option<Key> {
    let name = monitor.key_field(side, label)?;
    let fields = plan.names.fields(number);
    // Where the parent has a message with this label, too, that one's fields may be known: then the payload has names.
    let position = fields.iter().position(|field| field.name.as_ref() == Some(name));
    Key::of(payload.field(position.unwrap_or(usize::MAX), Some(name))?)
}

fn keep(line: &Line<'_>, calls: &mut Calls, side: Side, lane: Lane) {
    calls.bytes += line.text.len();
    calls.waiting.push(side, lane, line.kept());
}

/// Who tells of verdicts, of one line and of those that waited for it.
struct Telling<'a> {
    plan: &'a Plan,
    monitor: &'a KeyedMonitor,
    /// The key of the session, how many events it has had, and the last of them.
    about: (&'a [u8], u64, &'a VecDeque<crate::report::Step>),
    outcome: &'a mut Outcome,
    row: u32,
    /// Whether nothing more can be said about the session.
    lost: bool,
}

impl Telling<'_> {
    /// Judges a message; `false` if it waits.
    fn judge(&mut self, line: &Line<'_>, calls: &mut Calls, said: Said<'_>) -> bool {
        let verdict = self.monitor.judge(&mut calls.session, said.side, said.label, said.key, said.payload);
        match verdict {
            KeyedVerdict::Forward => {}
            KeyedVerdict::Early => return false,
            KeyedVerdict::Uncertain => self.outcome.counts.unjudged += 1,
            KeyedVerdict::Violation(violation, wrong) => {
                let consequence = self.let_through(calls, &said, violation, wrong);
                self.violation(line, calls, &said, (&violation, wrong), consequence);
            }
            KeyedVerdict::Fault(fault) => {
                self.lost = true;
                if fault.kind == FaultKind::Predicate {
                    let session = self.monitor.parent(&calls.session);
                    let (key, events, history) = self.about;
                    let about = explain::About { session, key, events, history };
                    careful::tell(self.plan, line, about, Ruled::Fault(fault), said.payload, self.outcome);
                }
            }
        }
        true
    }

    /// What was wrong went on all the same. Whether something before it may be the cause.
    fn let_through(
        &mut self,
        calls: &mut Calls,
        said: &Said<'_>,
        violation: Violation,
        wrong: Wrong,
    ) -> bool {
        if wrong.is_of_call() {
            self.monitor.taint(&mut calls.session, said.side, said.label, said.key);
            return false;
        }
        if let Wrong::NotOpen(_) = wrong {
            self.monitor.taint(&mut calls.session, said.side, said.label, said.key);
            return self.monitor.parent(&calls.session).is_tainted();
        }
        self.monitor.taint_parent(&mut calls.session, violation)
    }

    fn violation(
        &mut self,
        line: &Line<'_>,
        calls: &mut Calls,
        said: &Said<'_>,
        found: (&Violation, Wrong),
        consequence: bool,
    ) {
        // A session is counted once, however many of its calls go wrong.
        let is_first = !std::mem::replace(&mut calls.violated, true);
        self.outcome.counts.violated += u64::from(is_first && !consequence);
        self.outcome.counts.consequences += u64::from(!is_first || consequence);
        if consequence && !self.plan.options.all {
            return;
        }
        let from = match said.side {
            Side::Process => Party::Process,
            Side::Environment => Party::Environment,
        };
        let to = self.monitor.parent_monitor().opposite(from);
        let names = explain::names(self.plan, line.text, line.columns.map(|columns| &**columns));
        let label = EventLabel::Text(&names.label);
        let event = Event { from, to, label, payload: said.payload };
        let explained = match found.0.kind {
            Kind::PrematureEnd => {
                let explanation = self.monitor.explain_end(&calls.session, found, from);
                let sentence = explanation.to_string();
                (explanation, sentence)
            }
            _ => self.monitor.explain(&calls.session, found, &event, said.key),
        };
        let (key, events, history) = self.about;
        let session = self.monitor.parent(&calls.session);
        let about = explain::About { session, key, events, history };
        let mut report = explain::of(explained, names, about, line, consequence);
        report.key = said.key.map(Key::shown);
        self.outcome.notices.push((self.row, Notice::Violation(Box::new(report))));
    }

    fn end(&mut self, line: &Line<'_>, calls: &mut Calls, side: Side) {
        let parent = self.monitor.parent_monitor();
        // As without sub-sessions: who ends before the protocol is over ends too early, and with calls who must still say something in one.
        let action = match side {
            Side::Process => referee_theory::Action::Send,
            Side::Environment => referee_theory::Action::Receive,
        };
        let owes = |sub: Option<usize>, state| match sub.and_then(|sub| self.monitor.subs().get(sub)) {
            Some(sub) => sub.monitor().machine().transitions(state).iter().any(|t| t.action == action),
            None => !parent.machine().is_accepting(state),
        };
        if calls.session.note_end(side)
            && let Some((violation, wrong)) = self.monitor.end(&calls.session, side, owes)
        {
            let said = Said { side, label: "", key: None, payload: Payload::Positional(&[]) };
            self.violation(line, calls, &said, (&violation, wrong), false);
        }
    }

    /// Something went on: looks at what waits.
    fn settle(&mut self, calls: &mut Calls, lane: &Lane) {
        if calls.waiting.is_empty() {
            return;
        }
        let mut waiting = std::mem::take(&mut calls.waiting);
        waiting.settle(lane.call(), |side, _, kept| {
            let names = explain::names(self.plan, &kept.text, kept.columns.as_deref());
            let number = self.plan.names.label_called(&names.label);
            let mut judged = true;
            let plan = self.plan;
            let lend = &mut |event: &Event<'_>| {
                let label = self.plan.names.label_text(number);
                let key = key(self.plan, self.monitor, (side, label, number), &event.payload);
                let said = Said { side, label, key: key.as_ref(), payload: event.payload };
                judged = self.judge(&Line::of(kept, self.row), calls, said);
            };
            explain::lend(plan, kept, lend);
            calls.bytes -= if judged { kept.text.len() } else { 0 };
            judged
        });
        calls.waiting = waiting;
    }
}
