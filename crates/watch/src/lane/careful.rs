//! The steps that are not plain: violations, ends, messages before their turn, evicted sessions, histories.

use std::sync::Arc;

use bumpalo::Bump;
use referee_monitor::{FieldValue, Party, Payload, Policy, Report as Ruled, Verdict};

use super::{Outcome, Position, explain, fields_now, json_payload};
use crate::decode::Record;
use crate::decode::csv::Columns;
use crate::decode::event::What;
use crate::decode::fields::{Scanner, Span};
use crate::held::{Extra, Held, MOST_HELD};
use crate::payload::INLINE;
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

#[cold]
pub(super) fn step(
    position: Position<'_>,
    record: &Record,
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
    if plan.options.history > 0 && record.what != What::Foreign {
        let history = &mut entry.extra.get_or_insert_default().history;
        if history.len() == plan.options.history {
            history.pop_front();
        }
        history.push_back(explain::step(plan, &line));
    }
    match record.what {
        What::Foreign => outcome.counts.ignored += 1,
        What::End => {
            let verdict = plan.monitor.end(&mut entry.session, record.from);
            settle(position, &line, sessions, index, verdict, Payload::Positional(&[]), outcome);
        }
        What::Message => {
            let waits = |extra: &Extra| extra.held.iter().any(|held| held.from == record.from);
            if entry.extra.as_deref().is_some_and(waits) {
                // Messages of one sender keep their order.
                return hold(&line, sessions, index, outcome);
            }
            let payload = match columns {
                Some(columns) => {
                    columns.payload(line.text, fields_now(plan, &entry.session, record.label), bump)
                }
                None => payload,
            };
            let label = plan.names.label_id(record.label);
            let verdict = plan.monitor.step_interned(&mut entry.session, record.channel, label, payload);
            settle(position, &line, sessions, index, verdict, payload, outcome);
            if verdict == Verdict::Forward {
                offer_held(position, record.line, sessions, index, outcome);
                finish(position, sessions, index, outcome);
            }
        }
    }
}

/// The protocol is over: the session need not be kept.
fn finish(position: Position<'_>, sessions: &mut Sessions, index: u32, outcome: &mut Outcome) {
    let Some(entry) = sessions.entry(index) else { return };
    if position.plan.monitor.is_over(&entry.session) && entry.status == Status::Live {
        outcome.counts.ended += 1;
        sessions.retire(index, Status::Ended);
    }
}

/// Tells of `verdict`, if there is something to tell.
#[cold]
pub(super) fn settle(
    position: Position<'_>,
    line: &Line<'_>,
    sessions: &mut Sessions,
    index: u32,
    verdict: Verdict,
    payload: Payload<'_>,
    outcome: &mut Outcome,
) {
    let plan = position.plan;
    if verdict == Verdict::Early {
        return hold(line, sessions, index, outcome);
    }
    let Some(entry) = sessions.entry(index) else { return };
    match Policy::Observe.rule(&mut entry.session, verdict).report {
        None => {}
        Some(Ruled::Violation { violation, consequence }) => {
            if consequence {
                outcome.counts.consequences += 1;
            } else {
                outcome.counts.violated += 1;
            }
            if !consequence || plan.options.all {
                let report = explain::report(plan, line, entry, &violation, consequence, payload);
                outcome.notices.push((line.row, Notice::Violation(Box::new(report))));
            }
        }
        Some(Ruled::Fault(_)) => {
            // Predicates are resolved before watching starts, so a peer must be missing.
            outcome.counts.malformed += 1;
            let why = "it does not say whom the message is for (`to`), and several roles could be meant";
            outcome.notices.push((line.row, Notice::Malformed(line.place.clone(), why.to_owned())));
        }
    }
}

/// Keeps a message until its turn comes.
fn hold(line: &Line<'_>, sessions: &mut Sessions, index: u32, outcome: &mut Outcome) {
    let Some(entry) = sessions.entry(index) else { return };
    let held = &mut entry.extra.get_or_insert_default().held;
    if held.len() >= MOST_HELD {
        outcome.counts.unjudged += 1;
        sessions.evicted += 1;
        sessions.retire(index, Status::Evicted);
        return;
    }
    held.push_back(Held {
        from: line.from,
        line: line.text.into(),
        columns: line.columns.cloned(),
        number: line.number,
        place: line.place.clone(),
    });
}

/// Something has moved: offers the messages that waited, the first of each sender, until none moves.
fn offer_held(position: Position<'_>, row: u32, sessions: &mut Sessions, index: u32, outcome: &mut Outcome) {
    let mut at = 0;
    loop {
        let Some(entry) = sessions.entry(index) else { return };
        let Some(extra) = entry.extra.as_deref_mut() else { return };
        let Some(next) = extra.held.get(at) else { return };
        let from = next.from;
        if extra.held.iter().take(at).any(|earlier| earlier.from == from) {
            at += 1;
            continue;
        }
        let Some(held) = extra.held.remove(at) else { return };
        match offer(position, row, &held, sessions, index, outcome) {
            Verdict::Early => {
                if let Some(extra) = sessions.entry(index).and_then(|entry| entry.extra.as_deref_mut()) {
                    extra.held.insert(at, held);
                }
                at += 1;
            }
            Verdict::Forward => at = 0,
            // It has been told; the next one of this sender may have its turn now.
            Verdict::Violation(_) | Verdict::Fault(_) => {}
        }
    }
}

fn offer(
    position: Position<'_>,
    row: u32,
    held: &Held,
    sessions: &mut Sessions,
    index: u32,
    outcome: &mut Outcome,
) -> Verdict {
    let plan = position.plan;
    let bump = Bump::new();
    let text = &*held.line;
    let mut values = [FieldValue::Unit; INLINE];
    let Some(entry) = sessions.entry(index) else { return Verdict::Forward };
    let (channel, label, payload) = match &held.columns {
        Some(columns) => {
            let parts = columns.parts(text).unwrap_or_default();
            let Ok(found) = plan.row(&parts, Span::new(0, text.len())) else { return Verdict::Forward };
            let payload = columns.payload(text, fields_now(plan, &entry.session, found.label), &bump);
            (found.channel, found.label, payload)
        }
        None => {
            let scanned = Scanner::new(&plan.tree).line(text.as_bytes(), 0);
            let Some(found) = scanned.ok().and_then(|(fields, _)| plan.event(text, &fields).ok()) else {
                return Verdict::Forward;
            };
            let payload = json_payload(plan, found.payload.of(text), found.label, &mut values, &bump);
            (found.channel, found.label, payload.unwrap_or(Payload::Positional(&[])))
        }
    };
    let label = plan.names.label_id(label);
    let verdict = plan.monitor.step_interned(&mut entry.session, channel, label, payload);
    if verdict != Verdict::Early {
        let line = Line {
            text,
            columns: held.columns.as_ref(),
            number: held.number,
            place: held.place.clone(),
            from: held.from,
            row,
        };
        settle(position, &line, sessions, index, verdict, payload, outcome);
    }
    verdict
}
