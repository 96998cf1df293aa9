//! The window of a session: events that have no order among themselves, and those behind them, until all of them have been read.

use std::collections::{BTreeMap, VecDeque};

use bumpalo::Bump;
use referee_monitor::{FieldValue, Payload};

use super::careful::{self, Line, Stepped};
use super::orders::every_order;
use super::skewed::Judge;
use super::{Outcome, explain, json_payload, uncertain};
use crate::decode::fields::Span;
use crate::held::Kept;
use crate::payload::INLINE;
use crate::plan::Plan;
use crate::sessions::{Sessions, Status, UNSEEN};

/// So many events of a session may wait until their order is known.
const MAX_WAITING: usize = 4096;
/// And so many bytes of lines.
const MAX_WAITING_BYTES: usize = 4 << 20;
/// An event of a window.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(super) kept: Kept,
    pub(super) stepped: Stepped,
    /// Where its payload is in the line.
    pub(super) payload: Span,
    pub(super) input: usize,
    pub(super) time: i64,
    /// Events of other inputs are later if they are after this time.
    pub(super) until: i64,
    /// How many events of unknown sessions were lost before it.
    pub(super) lost: u32,
    /// The number of its line among all, and of the line with which it came into the window.
    pub(super) line: i64,
    pub(super) since: i64,
}

impl Waiting {
    /// Shows its payload.
    pub(super) fn with_payload(&self, plan: &Plan, bump: &Bump, look: &mut dyn FnMut(Payload<'_>)) {
        let mut values = [FieldValue::Unit; INLINE];
        let label = self.stepped.label;
        look(match &self.kept.columns {
            Some(columns) => columns.payload(&self.kept.text, plan.names.fields(label), bump),
            None => json_payload(plan, self.payload.of(&self.kept.text), label, &mut values, bump)
                .unwrap_or(Payload::Malformed("it could not be decoded")),
        });
    }
}

/// The events of a session that are not ordered among themselves, and those behind them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    pub(super) events: VecDeque<Waiting>,
    pub(super) bytes: usize,
    /// Whether an event of the session was lost since the last one that was judged.
    pub(super) has_loss: bool,
}

impl Window {
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Whether it says nothing.
    pub(crate) fn is_blank(&self) -> bool {
        self.events.is_empty() && !self.has_loss
    }

    /// Whether it holds more than a session may.
    pub(super) fn is_full(&self) -> bool {
        self.events.len() > MAX_WAITING || self.bytes > MAX_WAITING_BYTES
    }

    /// How many events are a window that nothing still to come belongs to; 0 if there is none.
    fn settled(&self, watermark: i64) -> usize {
        if self.events.len() == 1 {
            let is_last = |event: &Waiting| event.until < watermark || watermark == i64::MAX;
            return usize::from(self.events.front().is_some_and(is_last));
        }
        // Until when others may come before some event so far, for the input that has most and the rest.
        let mut latest: BTreeMap<usize, i64> = BTreeMap::new();
        for (at, event) in self.events.iter().enumerate() {
            if event.until >= watermark && watermark != i64::MAX {
                return 0;
            }
            let known = latest.entry(event.input).or_insert(i64::MIN);
            *known = (*known).max(event.until);
            let precede = |later: &Waiting| {
                latest.iter().all(|(input, until)| *input == later.input || later.time > *until)
            };
            // By input the first that follows is the earliest.
            if self.events.iter().skip(at + 1).all(precede) {
                return at + 1;
            }
        }
        0
    }
}

/// Judges the events of a session's window whose order, or lack of order, is known.
pub(super) fn settle_session(judge: &mut Judge<'_>, index: u32, watermark: i64) {
    loop {
        let Some(entry) = judge.sessions.entry(index).filter(|entry| entry.status != Status::Forgotten)
        else {
            return;
        };
        let Some(extra) = entry.extra.as_deref_mut() else { return };
        let window = &mut extra.window;
        let count = window.settled(watermark);
        if count == 0 {
            // Its room is given back: most sessions never need it again.
            if extra.is_unused() {
                entry.extra = None;
            }
            return;
        }
        let events: Vec<Waiting> = window.events.drain(..count).collect();
        window.bytes -= events.iter().map(|event| event.kept.text.len()).sum::<usize>();
        let has_loss = std::mem::take(&mut window.has_loss);
        let until = events.iter().map(|event| event.until).max().unwrap_or(watermark);
        let line = events.last().map_or(0, |event| event.line);
        let since = events.iter().map(|event| event.since).max().unwrap_or_default();
        judge.tell_after((until, since), line, |judge| match &*events {
            [only] => judge_alone(judge, only, index),
            all => judge_unordered(judge, all, index, has_loss),
        });
    }
}

/// Judges an event of a window that is ordered among all others.
fn judge_alone(judge: &mut Judge<'_>, event: &Waiting, index: u32) {
    let Judge { plan, sessions, bump, outcome, .. } = judge;
    uncertain::catch_up_to(plan, sessions, index, event.lost);
    let Some(entry) = sessions.entry(index) else { return };
    if entry.status == Status::Evicted {
        outcome.counts.unjudged += 1;
        return;
    }
    let line = Line::of(&event.kept, 0);
    explain::remember(plan, &line, entry);
    event.with_payload(plan, bump, &mut |payload| {
        careful::judge(plan, (&event.stepped, &line), None, sessions, index, payload, bump, outcome);
    });
}

/// Judges events that are not ordered among themselves.
fn judge_unordered(judge: &mut Judge<'_>, events: &[Waiting], index: u32, has_loss: bool) {
    let Judge { plan, sessions, outcome, .. } = judge;
    let Some(entry) = sessions.entry(index) else { return };
    if entry.lost == UNSEEN {
        let lost = events.first().map_or(0, |event| event.lost);
        uncertain::catch_up_to(plan, sessions, index, lost);
    }
    let Some(entry) = sessions.entry(index) else { return };
    let is_known = !has_loss && events.iter().all(|event| event.lost == entry.lost);
    if !is_known || !every_order(plan, (events, 0), sessions, index, outcome) {
        let lost = events.last().map_or(0, |event| event.lost);
        forget_state(plan, sessions, index, lost);
        outcome.counts.unjudged += events.len() as u64;
    }
}

/// The events that wait are not judged.
pub(super) fn set_free(plan: &Plan, sessions: &mut Sessions, index: u32, outcome: &mut Outcome) {
    let Some(entry) = sessions.entry(index) else { return };
    let Some(extra) = entry.extra.as_deref_mut() else { return };
    let window = std::mem::take(&mut extra.window);
    outcome.counts.unjudged += window.events.len() as u64;
    let lost = window.events.back().map_or(entry.lost, |last| last.lost);
    forget_state(plan, sessions, index, lost);
}

/// The session goes on in every state.
fn forget_state(plan: &Plan, sessions: &mut Sessions, index: u32, lost: u32) {
    let Some(entry) = sessions.entry(index).filter(|entry| entry.status == Status::Live) else { return };
    entry.lost = lost;
    entry.extra.get_or_insert_default().possible = Some(plan.monitor.anywhere());
}
