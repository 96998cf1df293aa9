//! The steps that are not plain: violations, ends, messages before their turn, evicted sessions, histories.

use std::collections::VecDeque;
use std::sync::Arc;

use bumpalo::Bump;
use referee_monitor::{
    Channel, Event, FaultKind, Party, Payload, Policy, Report as Ruled, Ruling, Session, Verdict,
};

use super::clock::{self, When};
use super::{Outcome, Position, explain, fields_now, keyed, uncertain};
use crate::decode::Record;
use crate::decode::csv::Columns;
use crate::decode::event::What;
use crate::held::{Extra, Kept};
use crate::plan::Plan;
use crate::report::{Notice, Place};
use crate::sessions::{Sessions, Status};

/// An event whose verdict is due, with all that is needed to tell of it.
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    pub(super) columns: Option<&'a Arc<Columns>>,
    /// Which event of its session.
    pub(super) number: u64,
    pub(super) place: Place,
    pub(super) from: Party,
    /// The line of the chunk at which it is told.
    pub(super) row: u32,
}

impl<'a> Line<'a> {
    /// The same, to be kept.
    pub(super) fn kept(&self) -> Kept {
        Kept {
            text: self.text.into(),
            columns: self.columns.cloned(),
            number: self.number,
            place: self.place.clone(),
            from: self.from,
        }
    }

    pub(super) fn of(kept: &'a Kept, row: u32) -> Self {
        Self {
            text: &kept.text,
            columns: kept.columns.as_ref(),
            number: kept.number,
            place: kept.place.clone(),
            from: kept.from,
            row,
        }
    }
}

/// What an event does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stepped {
    pub(crate) what: What,
    pub(crate) channel: Channel,
    pub(crate) label: u32,
}

impl Stepped {
    pub(super) fn of(record: &Record) -> Self {
        Self { what: record.what, channel: record.channel, label: record.label }
    }
}

#[cold]
pub(super) fn step(
    position: Position<'_>,
    (record, when): (&Record, When),
    sessions: &mut Sessions,
    index: u32,
    payload: Payload<'_>,
    bump: &Bump,
    outcome: &mut Outcome,
) {
    let Position { plan, decoded, .. } = position;
    let Some(entry) = sessions.entry(index) else { return };
    if entry.status == Status::Evicted {
        outcome.counts.unjudged += 1;
        return;
    }
    uncertain::catch_up(plan, sessions, index);
    let Some(entry) = sessions.entry(index) else { return };
    if entry.status == Status::Evicted {
        outcome.counts.unjudged += 1;
        return;
    }
    let number = entry.events;
    entry.events += 1;
    let columns = decoded.chunk.columns.as_ref();
    let line = Line {
        text: decoded.line(record),
        columns,
        number,
        place: position.place(record.line),
        from: record.from,
        row: record.line,
    };
    if record.what != What::Foreign {
        explain::remember(plan, &line, entry);
    }
    let timed = (record, when);
    judge(
        plan,
        (&Stepped::of(record), &line),
        Some((position, timed)),
        sessions,
        index,
        payload,
        bump,
        outcome,
    );
}

/// Judges an event whose turn it is. `timed` is there where the protocol may have deadlines.
#[expect(clippy::too_many_arguments, reason = "the event, the session, and where to tell of it")]
pub(super) fn judge(
    plan: &Plan,
    (event, line): (&Stepped, &Line<'_>),
    timed: Option<(Position<'_>, (&Record, When))>,
    sessions: &mut Sessions,
    index: u32,
    payload: Payload<'_>,
    bump: &Bump,
    outcome: &mut Outcome,
) {
    let Some(entry) = sessions.entry(index) else { return };
    let is_uncertain = entry.extra.as_deref().is_some_and(|extra| extra.possible.is_some());
    if is_uncertain {
        clock::forget(entry);
    }
    match event.what {
        What::Foreign => outcome.counts.ignored += 1,
        What::Message | What::End if plan.options.calls.is_some() => {
            // Who keeps events until their order is known has no calls: see `watch`.
            let Some((position, (record, _))) = timed else { return };
            let payload = match line.columns {
                Some(columns) => columns.payload(line.text, plan.names.fields(event.label), bump),
                None => payload,
            };
            keyed::step(position, record, line, sessions, index, payload, outcome);
        }
        What::Message | What::End if is_uncertain => {
            let payload = match line.columns {
                Some(columns) => columns.payload(line.text, plan.names.fields(event.label), bump),
                None => payload,
            };
            uncertain::step(plan, event, line, sessions, index, payload, outcome);
        }
        What::Lost | What::LostAnywhere => {}
        What::End => {
            let verdict = plan.monitor.end(&mut entry.session, line.from);
            settle(plan, line, sessions, index, verdict, Payload::Positional(&[]), outcome);
        }
        What::Message => {
            if entry.extra.as_deref().is_some_and(|extra| !extra.early.is_empty()) {
                return in_order(plan, line, sessions, index, outcome);
            }
            let payload = match line.columns {
                Some(columns) => {
                    columns.payload(line.text, fields_now(plan, &entry.session, event.label), bump)
                }
                None => payload,
            };
            let label = plan.names.label_id(event.label);
            let judged = timed.map(|(_, (record, when))| clock::judge(plan, record, when, line, entry));
            let verdict = plan.monitor.step_interned(&mut entry.session, event.channel, label, payload);
            if let (Some((position, (record, when))), Some(judged)) = (timed, judged) {
                clock::settle(position, (record, line, when), entry, (judged, verdict), outcome);
            }
            settle(plan, line, sessions, index, verdict, payload, outcome);
            finish(plan, sessions, index, outcome);
        }
    }
}

/// The protocol is over: the session need not be kept.
pub(super) fn finish(plan: &Plan, sessions: &mut Sessions, index: u32, outcome: &mut Outcome) {
    let Some(entry) = sessions.entry(index) else { return };
    if plan.monitor.is_over(&entry.session) && entry.status == Status::Live {
        outcome.counts.ended += 1;
        sessions.retire(index, Status::Ended);
    }
}

/// Tells of `verdict`, if there is something to tell.
#[cold]
pub(super) fn settle(
    plan: &Plan,
    line: &Line<'_>,
    sessions: &mut Sessions,
    index: u32,
    verdict: Verdict,
    payload: Payload<'_>,
    outcome: &mut Outcome,
) {
    if verdict == Verdict::Early {
        return in_order(plan, line, sessions, index, outcome);
    }
    let Some(entry) = sessions.entry(index) else { return };
    if let Some(report) = Policy::Observe.rule(&mut entry.session, verdict).report {
        let none = VecDeque::new();
        let history = entry.extra.as_deref().map_or(&none, |extra| &extra.history);
        let about =
            explain::About { session: &entry.session, key: &entry.key, events: entry.events, history };
        tell(plan, line, about, report, payload, outcome);
        if entry.session.is_lost() {
            sessions.retire(index, Status::Evicted);
        }
    }
}

pub(super) fn tell(
    plan: &Plan,
    line: &Line<'_>,
    about: explain::About<'_>,
    report: Ruled,
    payload: Payload<'_>,
    outcome: &mut Outcome,
) {
    match report {
        Ruled::Violation { violation, consequence } => {
            if consequence {
                outcome.counts.consequences += 1;
            } else {
                outcome.counts.violated += 1;
            }
            if !consequence || plan.options.all {
                let report = explain::report(plan, line, about, &violation, consequence, payload);
                outcome.notices.push((line.row, Notice::Violation(Box::new(report))));
            }
        }
        Ruled::Fault(fault) if fault.kind == FaultKind::Predicate => {
            outcome.counts.unanswered += 1;
            let unanswered = explain::unanswered(plan, line, about, &fault, payload);
            outcome.notices.push((line.row, Notice::Unanswered(Box::new(unanswered))));
        }
        Ruled::Fault(_) => {
            outcome.counts.malformed += 1;
            let why = "it does not say whom the message is for (`to`), and several roles could be meant";
            outcome.notices.push((line.row, Notice::Malformed(line.place.clone(), why.to_owned())));
        }
    }
}

/// Keeps a message until its turn comes, or rules on it and on those that waited for it.
fn in_order(plan: &Plan, line: &Line<'_>, sessions: &mut Sessions, index: u32, outcome: &mut Outcome) {
    let Some(entry) = sessions.entry(index) else { return };
    // In which order its messages count is not that of their times.
    clock::forget(entry);
    let Extra { early, history, .. } = &mut **entry.extra.get_or_insert_default();
    let kept = line.kept();
    let (key, events) = (&entry.key, entry.events);
    let lend = |kept: &Kept, look: &mut dyn FnMut(&Event<'_>)| explain::lend(plan, kept, look);
    let mut overflow = false;
    let mut ruled = |session: &Session, kept: Kept, ruling: Ruling| match ruling.report {
        Some(Ruled::Fault(fault)) if fault.kind == FaultKind::TooManyEarly => overflow = true,
        Some(report) => lend(&kept, &mut |event: &Event<'_>| {
            let line = Line::of(&kept, line.row);
            let about = explain::About { session, key, events, history: &*history };
            tell(plan, &line, about, report, event.payload, outcome);
        }),
        None => {}
    };
    plan.monitor.supervise_in_order(Policy::Observe, &mut entry.session, early, kept, &lend, &mut ruled);
    let is_lost = entry.session.is_lost();
    if overflow {
        outcome.counts.unjudged += 1;
        sessions.evicted += 1;
    }
    if is_lost {
        sessions.retire(index, Status::Evicted);
    }
    finish(plan, sessions, index, outcome);
}
