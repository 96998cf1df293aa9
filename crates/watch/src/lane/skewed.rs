//! Events of inputs whose clocks differ, or whose times are the same: an event is judged when it is known which others come before it.
//! Definitions and laws: `docs/uncertainty.md`.
//!
//! Nearly always that is known as soon as a later time was read: then an event is judged as any other. Until then it is *pending*, a record
//! of a line that is in memory anyway. Only where events of one session have no order among themselves are they put into a window of the session, which is
//! judged in every order (`super::window`, `super::orders`) and gone after that.
//!
//! A shard is judged by itself: what is said, and when, depends neither on the number of threads nor on how the input was cut.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use bumpalo::Bump;
use referee_monitor::FieldValue;

use super::careful::Stepped;
use super::clock::When;
use super::window::{Waiting, set_free, settle_session};
use super::{Lane, Outcome, Position, malformed, step_located, uncertain};
use crate::decode::event::What;
use crate::decode::fields::Span;
use crate::decode::{Decoded, Record};
use crate::held::Kept;
use crate::payload::INLINE;
use crate::plan::Plan;
use crate::scan::Flaw;
use crate::sessions::{NOBODY, Sessions, Status};

/// When lines of earlier chunks take more than this, those that were judged are thrown away.
const CARRIED: usize = 64 << 10;

/// The events of one shard whose order is not known yet.
#[derive(Default)]
pub(super) struct Settling {
    /// In the order of their times. Those of one session are ordered among themselves.
    pending: VecDeque<Pending>,
    /// How many events were taken out of `pending`.
    taken: u64,
    /// By session.
    marks: Vec<Mark>,
    /// When some event of a session's window is behind all that come.
    due: BinaryHeap<Reverse<(i64, u32)>>,
    /// The lines of events that are pending since an earlier chunk.
    carried: Decoded,
    /// How many bytes of them are of events that are still pending.
    live: usize,
    files: Vec<Arc<str>>,
    /// How many lines all chunks so far had.
    lines: i64,
    /// Until when events may come before one that was judged.
    closed: Option<i64>,
}

/// An event that waits for the time to pass.
#[derive(Clone, Copy)]
struct Pending {
    record: Record,
    /// Its session; [`NOBODY`] if it is in a window meanwhile.
    index: u32,
    is_carried: bool,
    when: Interval,
    /// The number of the pending event of its session before it.
    before: u64,
}

/// Which events of other inputs may come before an event.
#[derive(Clone, Copy, Debug)]
struct Interval {
    input: u32,
    time: i64,
    /// Events of other inputs are later if they are after this time.
    until: i64,
    /// The number of its line among all.
    line: i64,
}

/// What is pending of a session.
#[derive(Clone, Copy, Default)]
struct Mark {
    pending: u32,
    /// The input of the last event, and the latest [`Interval::until`] of its events and of those of all others.
    input: u32,
    until: i64,
    others: i64,
    /// The number of the last event.
    last: u64,
    /// Whether it had a window.
    has_window: bool,
}

impl Mark {
    /// Whether an event has no order with one that is pending.
    fn is_unordered(&self, when: &Interval) -> bool {
        let until = if self.input == when.input { self.others } else { self.others.max(self.until) };
        self.pending > 0 && until >= when.time
    }

    fn add(&mut self, when: &Interval) {
        match self.pending {
            0 => (self.until, self.others) = (when.until, i64::MIN),
            _ if self.input == when.input => self.until = self.until.max(when.until),
            _ => (self.until, self.others) = (when.until, self.others.max(self.until)),
        }
        self.input = when.input;
        self.pending += 1;
    }
}

/// What judging needs besides the events.
pub(super) struct Judge<'a> {
    pub(super) plan: &'a Plan,
    pub(super) sessions: &'a mut Sessions,
    pub(super) bump: &'a Bump,
    pub(super) outcome: &'a mut Outcome,
    /// The times of the lines of the chunk at hand.
    times: &'a [(i64, i64)],
    /// How many lines come before it.
    base: i64,
}

impl Judge<'_> {
    /// Does something whose notices are told with the first line after the time `until`, and not before the line `since`; `line` is that of
    /// the event.
    pub(super) fn tell_after(&mut self, (until, since): (i64, i64), line: i64, act: impl FnOnce(&mut Self)) {
        let (notices, claims) = (self.outcome.notices.len(), self.outcome.claims.len());
        act(self);
        let is_silent = self.outcome.notices.len() == notices && self.outcome.claims.len() == claims;
        if is_silent {
            return;
        }
        let since = u32::try_from(since.saturating_sub(self.base)).unwrap_or(0);
        let row = since.max(self.times.partition_point(|(time, _)| *time <= until) as u32);
        let claimed = self.outcome.claims.iter_mut().skip(claims);
        claimed.for_each(|claim| (claim.line, claim.event) = (row, line));
        let told = self.outcome.notices.drain(notices..).map(|(_, notice)| (row, line, notice));
        self.outcome.settled.extend(told);
    }
}

impl Lane {
    /// Takes the event of `record`, which is judged when its order is known; judges those whose order is known by now.
    pub(super) fn take_skewed(
        &mut self,
        position: Position<'_>,
        record: &Record,
        hint: u32,
        outcome: &mut Outcome,
    ) {
        let Position { plan, decoded, .. } = position;
        let shard = usize::from(record.shard) / plan.lanes;
        let (Some(sessions), Some(settling)) = (self.shards.get_mut(shard), self.settling.get_mut(shard))
        else {
            return;
        };
        let times = decoded.chunk.times.as_deref().unwrap_or_default();
        let (time, resolution) = times.get(record.line as usize).copied().unwrap_or((i64::MAX, 0));
        let mut judge = Judge { plan, sessions, bump: &self.bump, outcome, times, base: settling.lines };
        settling.pass(&mut judge, Some(position), time);
        let index = judge.sessions.locate(record.hash, decoded.key(record), hint);
        let when = Interval {
            input: decoded.chunk.source_of(record.line as usize) as u32,
            time,
            until: time.saturating_add(resolution).saturating_add(plan.skew.unwrap_or_default()),
            line: settling.lines + i64::from(record.line),
        };
        let number = settling.taken + settling.pending.len() as u64;
        let Some(mark) = settling.mark(index) else { return };
        if mark.has_window {
            mark.has_window = judge
                .sessions
                .entry(index)
                .is_some_and(|entry| entry.extra.as_deref().is_some_and(|extra| !extra.window.is_empty()));
        }
        if mark.has_window || mark.is_unordered(&when) {
            settling.spill(&mut judge, position, index, when.line);
            settling.keep(&mut judge, position, record, index, (when, when.line));
            return;
        }
        mark.add(&when);
        let before = std::mem::replace(&mut mark.last, number);
        settling.pending.push_back(Pending { record: *record, index, is_carried: false, when, before });
    }

    /// The event of `record` came too late for its place to be known: it is lost, and those that have none yet are not judged.
    #[cold]
    pub(super) fn lose_late(
        &mut self,
        position: Position<'_>,
        record: &Record,
        hint: u32,
        outcome: &mut Outcome,
    ) {
        let Position { plan, decoded, .. } = position;
        let shard = usize::from(record.shard) / plan.lanes;
        let (Some(sessions), Some(settling)) = (self.shards.get_mut(shard), self.settling.get_mut(shard))
        else {
            return;
        };
        let times = decoded.chunk.times.as_deref().unwrap_or_default();
        let time = times.get(record.line as usize).map_or(i64::MAX, |(time, _)| *time);
        let mut judge = Judge { plan, sessions, bump: &self.bump, outcome, times, base: settling.lines };
        settling.pass(&mut judge, Some(position), time);
        let index = judge.sessions.locate(record.hash, decoded.key(record), hint);
        let line = settling.lines + i64::from(record.line);
        let when = Interval { input: 0, time, until: time, line };
        settling.spill(&mut judge, position, index, line);
        settling.keep(&mut judge, position, &Record { what: What::Lost, ..*record }, index, (when, line));
    }

    /// An event of an unknown session was lost: what is pending came before it.
    #[cold]
    pub(super) fn lose_skewed(&mut self, position: Position<'_>, row: u32, outcome: &mut Outcome) {
        let Position { plan, decoded, .. } = position;
        let times = decoded.chunk.times.as_deref().unwrap_or_default();
        for (sessions, settling) in self.shards.iter_mut().zip(&mut self.settling) {
            let mut judge = Judge { plan, sessions, bump: &self.bump, outcome, times, base: settling.lines };
            if let Some((time, _)) = times.get(row as usize) {
                settling.pass(&mut judge, Some(position), *time);
            }
            let line = settling.lines + i64::from(row);
            settling.spill_all(&mut judge, position, line);
        }
    }

    /// The lines of the chunk have been read: judges what is before all that come, and keeps the lines of the rest.
    pub(super) fn end_skewed(&mut self, position: Position<'_>, outcome: &mut Outcome) {
        let Position { plan, decoded, .. } = position;
        let times = decoded.chunk.times.as_deref().unwrap_or_default();
        let last = times.last().map(|(time, _)| *time).max(decoded.chunk.settled);
        for (sessions, settling) in self.shards.iter_mut().zip(&mut self.settling) {
            let mut judge = Judge { plan, sessions, bump: &self.bump, outcome, times, base: settling.lines };
            if let Some(time) = last {
                settling.pass(&mut judge, Some(position), time);
            }
            settling.carry(&mut judge, position);
            settling.lines += i64::from(decoded.lines);
        }
    }

    /// All events have been read.
    pub(super) fn settle_all(&mut self, plan: &Plan, outcome: &mut Outcome) {
        for (sessions, settling) in self.shards.iter_mut().zip(&mut self.settling) {
            let mut judge =
                Judge { plan, sessions, bump: &self.bump, outcome, times: &[], base: settling.lines };
            settling.pass(&mut judge, None, i64::MAX);
        }
    }
}

impl Settling {
    fn mark(&mut self, index: u32) -> Option<&mut Mark> {
        let index = index as usize;
        if index >= self.marks.len() {
            self.marks.resize(index + 1, Mark::default());
        }
        self.marks.get_mut(index)
    }

    /// All events before `time` have been read, or, at [`i64::MAX`], all: judges those that are before all that come.
    #[inline]
    fn pass(&mut self, judge: &mut Judge<'_>, position: Option<Position<'_>>, time: i64) {
        while let Some(first) = self.pending.front() {
            if first.when.until >= time && time != i64::MAX {
                break;
            }
            let pending = *first;
            self.pending.pop_front();
            self.taken += 1;
            self.closed = self.closed.max(Some(pending.when.until));
            if pending.index != NOBODY {
                self.judge(judge, position, &pending);
            }
        }
        while let Some(Reverse((until, index))) = self.due.peek().copied() {
            if until >= time && time != i64::MAX {
                break;
            }
            self.due.pop();
            settle_session(judge, index, time);
        }
    }

    /// Judges an event that is ordered among all others.
    #[inline]
    fn judge(&mut self, judge: &mut Judge<'_>, position: Option<Position<'_>>, pending: &Pending) {
        if let Some(mark) = self.marks.get_mut(pending.index as usize) {
            mark.pending -= 1;
        }
        let closed = self.closed.unwrap_or(i64::MIN);
        if pending.is_carried {
            self.live -= carried_bytes(&pending.record);
        }
        let carried =
            Position { plan: judge.plan, decoded: &self.carried, base: 0, files: self.files.as_slice() };
        let position = if pending.is_carried { carried } else { position.unwrap_or(carried) };
        let record = &pending.record;
        judge.tell_after((closed, i64::MIN), pending.when.line, |judge| {
            if !judge.sessions.is(pending.index, record.hash, position.decoded.key(record)) {
                // It was forgotten meanwhile.
                judge.outcome.counts.unjudged += 1;
                return;
            }
            let malformed = judge.outcome.counts.malformed;
            let Judge { sessions, bump, outcome, .. } = judge;
            step_located(position, (record, When::Unasked), sessions, pending.index, bump, outcome);
            let is_lost = record.what == What::Lost || outcome.counts.malformed > malformed;
            let extra = sessions.entry(pending.index).and_then(|entry| entry.extra.as_deref_mut());
            if let Some(extra) = extra {
                extra.window.has_loss = is_lost;
            }
        });
    }

    /// Puts the pending events of a session into its window.
    fn spill(&mut self, judge: &mut Judge<'_>, position: Position<'_>, index: u32, since: i64) {
        let Some(mark) = self.mark(index) else { return };
        let count = std::mem::take(&mut mark.pending);
        mark.has_window = true;
        let mut next = mark.last;
        let mut chain = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let place = next.wrapping_sub(self.taken) as usize;
            let Some(pending) = self.pending.get_mut(place) else { break };
            chain.push(*pending);
            pending.index = NOBODY;
            next = pending.before;
        }
        for pending in chain.into_iter().rev() {
            self.keep_pending(judge, position, &pending, index, since);
        }
    }

    /// Puts all pending events into windows.
    fn spill_all(&mut self, judge: &mut Judge<'_>, position: Position<'_>, since: i64) {
        for pending in std::mem::take(&mut self.pending) {
            self.taken += 1;
            if pending.index == NOBODY {
                continue;
            }
            if let Some(mark) = self.mark(pending.index) {
                (mark.pending, mark.has_window) = (0, true);
            }
            self.keep_pending(judge, position, &pending, pending.index, since);
        }
    }

    fn keep_pending(
        &mut self,
        judge: &mut Judge<'_>,
        position: Position<'_>,
        pending: &Pending,
        index: u32,
        since: i64,
    ) {
        let record = &pending.record;
        let (carried, files) = (std::mem::take(&mut self.carried), std::mem::take(&mut self.files));
        let position = match pending.is_carried {
            true => Position { plan: judge.plan, decoded: &carried, base: 0, files: &files },
            false => position,
        };
        if judge.sessions.is(index, record.hash, position.decoded.key(record)) {
            judge.tell_after((i64::MIN, since), pending.when.line, |judge| {
                self.keep(judge, position, record, index, (pending.when, since));
            });
        } else {
            judge.outcome.counts.unjudged += 1;
        }
        if pending.is_carried {
            self.live -= carried_bytes(record);
        }
        (self.carried, self.files) = (carried, files);
    }

    /// Puts an event into the window of its session.
    fn keep(
        &mut self,
        judge: &mut Judge<'_>,
        position: Position<'_>,
        record: &Record,
        index: u32,
        (when, since): (Interval, i64),
    ) {
        let Judge { plan, sessions, bump, outcome, .. } = judge;
        let decoded = position.decoded;
        let lost = sessions.lost;
        let Some(entry) = sessions.entry(index) else { return };
        let flaw = flaw(plan, position, record, bump);
        if let Some(flaw) = flaw {
            malformed(position, record, flaw, outcome);
        }
        if record.what != What::Lost && flaw.is_none() {
            outcome.counts.events += 1;
        }
        if record.what == What::Foreign {
            entry.events += 1;
            outcome.counts.ignored += 1;
            return;
        }
        if entry.status == Status::Evicted {
            outcome.counts.unjudged += 1;
            return;
        }
        let number = entry.events;
        let window = &mut entry.extra.get_or_insert_default().window;
        if record.what == What::Lost || flaw.is_some() {
            window.has_loss = true;
            let waiting = !window.events.is_empty();
            if waiting {
                set_free(plan, sessions, index, outcome);
            }
            return uncertain::lose(position, record, sessions, index, outcome);
        }
        entry.events += 1;
        let kept = Kept {
            text: decoded.line(record).into(),
            columns: decoded.chunk.columns.clone(),
            number,
            place: position.place(record.line),
            from: record.from,
        };
        let input = when.input as usize;
        let before = window.events.iter().rev().find(|waiting| waiting.input == input);
        // An event has no earlier place than those before it in its input, and its own resolution.
        let time = before.map_or(when.time, |before| when.time.max(before.time));
        window.bytes += kept.text.len();
        let stepped = Stepped::of(record);
        let within = |at: u32| at.saturating_sub(record.place.start) as usize;
        let payload = Span::new(within(record.payload.start), within(record.payload.end));
        let Interval { until, line, .. } = when;
        window.events.push_back(Waiting { kept, stepped, payload, input, time, until, lost, line, since });
        if window.is_full() {
            return set_free(plan, sessions, index, outcome);
        }
        self.due.push(Reverse((until, index)));
    }

    /// Keeps the lines of pending events beyond the chunk that they are in.
    fn carry(&mut self, judge: &mut Judge<'_>, position: Position<'_>) {
        if position.decoded.chunk.columns.is_some() {
            // Columns are those of a chunk.
            let end = self.lines + i64::from(position.decoded.lines);
            return self.spill_all(judge, position, end);
        }
        if self.pending.is_empty() && self.carried.text.is_empty() {
            return;
        }
        if self.files.is_empty() {
            self.files = position.files.to_vec();
        }
        if self.live == 0 {
            clear(&mut self.carried);
        } else if self.carried.text.len() > CARRIED && self.live < self.carried.text.len() / 2 {
            let before = std::mem::take(&mut self.carried);
            let kept =
                self.pending.iter_mut().filter(|pending| pending.is_carried && pending.index != NOBODY);
            kept.for_each(|pending| copy_line(&mut self.carried, &before, &mut pending.record));
        }
        for pending in self.pending.iter_mut().filter(|pending| !pending.is_carried) {
            pending.is_carried = true;
            if pending.index != NOBODY {
                copy_line(&mut self.carried, position.decoded, &mut pending.record);
                self.live += carried_bytes(&pending.record);
            }
        }
    }
}

/// Throws all lines away.
fn clear(carried: &mut Decoded) {
    carried.text.clear();
    carried.keys.clear();
    carried.chunk.numbers.iter_mut().for_each(Vec::clear);
    carried.chunk.sources.iter_mut().for_each(Vec::clear);
}

/// What the line of a record takes.
fn carried_bytes(record: &Record) -> usize {
    (record.place.end - record.place.start) as usize + 1
}

/// Copies the line of `record` behind those of `to`.
fn copy_line(to: &mut Decoded, from: &Decoded, record: &mut Record) {
    let key = from.key(record);
    if record.key_is_unescaped {
        let start = to.keys.len();
        to.keys.push_str(std::str::from_utf8(key).unwrap_or_default());
        record.key = Span::new(start, to.keys.len());
    }
    let (start, by) = (to.text.len(), record.place.start as usize);
    to.text.push_str(from.line(record));
    to.text.push('\n');
    let moved = |span: Span| match span.is_empty() {
        true => span,
        false => Span::new(span.start as usize - by + start, span.end as usize - by + start),
    };
    if !record.key_is_unescaped {
        record.key = moved(record.key);
    }
    (record.payload, record.place) = (moved(record.payload), moved(record.place));
    let line = record.line as usize;
    let number = from.chunk.numbers.as_ref().and_then(|numbers| numbers.get(line)).copied();
    let source = from.chunk.source_of(line);
    let (numbers, sources) =
        (to.chunk.numbers.get_or_insert_default(), to.chunk.sources.get_or_insert_default());
    record.line = numbers.len() as u32;
    numbers.push(number.unwrap_or_default());
    sources.push(source as u32);
}

/// What is wrong with the payload of an event, so that it is lost.
fn flaw(plan: &Plan, position: Position<'_>, record: &Record, bump: &Bump) -> Option<Flaw> {
    if position.decoded.chunk.columns.is_some() || record.what == What::Lost {
        return None;
    }
    let mut values = [FieldValue::Unit; INLINE];
    let text = record.payload.of(&position.decoded.text);
    super::json_payload(plan, text, record.label, &mut values, bump).err()
}
