//! Events of inputs whose clocks differ: a session's events are kept until it is known which of them are ordered among themselves, and
//! those that are not are judged in every order. Definitions and laws: `docs/uncertainty.md`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use bumpalo::Bump;
use referee_monitor::{FieldValue, Payload, Policy, Possible, PossibleVerdict, Verdict, Violation};

use super::careful::{self, Line, Stepped, finish};
use super::{Lane, Outcome, Position, explain, malformed, uncertain};
use crate::decode::Record;
use crate::decode::event::What;
use crate::decode::fields::Span;
use crate::held::Kept;
use crate::payload::INLINE;
use crate::plan::Plan;
use crate::report::{Notice, Place, Report};
use crate::scan::Flaw;
use crate::sessions::{Sessions, Status, UNSEEN};

/// So many events of a session may wait until their order is known.
const MAX_WAITING: usize = 4096;
/// And so many bytes of lines.
const MAX_WAITING_BYTES: usize = 4 << 20;

/// The time of a lane.
pub(super) struct Settling {
    /// All events before this time have been read.
    watermark: i64,
    /// When some event of a session is behind all that come.
    due: BinaryHeap<Reverse<(i64, usize, u32)>>,
}

impl Default for Settling {
    fn default() -> Self {
        Self { watermark: i64::MIN, due: BinaryHeap::new() }
    }
}

/// An event that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    kept: Kept,
    stepped: Stepped,
    /// Where its payload is in the line.
    payload: Span,
    input: usize,
    time: i64,
    /// Events of other inputs are later if they are after this time.
    until: i64,
    /// How many events of unknown sessions were lost before it.
    lost: u32,
}

impl Waiting {
    /// Shows its payload.
    fn with_payload(&self, plan: &Plan, bump: &Bump, look: &mut dyn FnMut(Payload<'_>)) {
        let mut values = [FieldValue::Unit; INLINE];
        let label = self.stepped.label;
        look(match &self.kept.columns {
            Some(columns) => columns.payload(&self.kept.text, plan.names.fields(label), bump),
            None => super::json_payload(plan, self.payload.of(&self.kept.text), label, &mut values, bump)
                .unwrap_or(Payload::Malformed("it could not be decoded")),
        });
    }
}

/// The events of a session that wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    events: VecDeque<Waiting>,
    bytes: usize,
    /// Whether an event of the session was lost since the last one that was judged.
    has_loss: bool,
}

impl Lane {
    /// Keeps the event of `record` until its order is known, and judges those whose order is known by now.
    pub(super) fn keep(&mut self, position: Position<'_>, record: &Record, hint: u32, outcome: &mut Outcome) {
        self.pass_settling(position, record.line, outcome);
        let Position { plan, decoded, .. } = position;
        let shard = usize::from(record.shard) / plan.lanes;
        let Some(sessions) = self.shards.get_mut(shard) else { return };
        let index = sessions.locate(record.hash, decoded.key(record), hint);
        let lost = sessions.lost;
        let Some(entry) = sessions.entry(index) else { return };
        let flaw = flaw(plan, position, record, &self.bump);
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
        let columns = decoded.chunk.columns.as_ref();
        let kept = Kept {
            text: decoded.line(record).into(),
            columns: columns.cloned(),
            number,
            place: position.place(record.line),
            from: record.from,
        };
        let input = decoded.chunk.source_of(record.line as usize);
        let times = decoded.chunk.times.as_deref().unwrap_or_default();
        let (time, resolution) = times.get(record.line as usize).copied().unwrap_or((i64::MAX, 0));
        let before = window.events.iter().rev().find(|waiting| waiting.input == input);
        // An event has no earlier place than those before it in its input, and its own resolution.
        let time = before.map_or(time, |before| time.max(before.time));
        let until = time.saturating_add(resolution).saturating_add(plan.skew.unwrap_or_default());
        window.bytes += kept.text.len();
        let stepped = Stepped::of(record);
        let within = |at: u32| at.saturating_sub(record.place.start) as usize;
        let payload = Span::new(within(record.payload.start), within(record.payload.end));
        window.events.push_back(Waiting { kept, stepped, payload, input, time, until, lost });
        if window.events.len() > MAX_WAITING || window.bytes > MAX_WAITING_BYTES {
            return set_free(plan, sessions, index, outcome);
        }
        self.settling.due.push(Reverse((until, shard, index)));
    }

    /// Moves the watermark to the time of line `row`; all lines before it have been read.
    pub(super) fn pass_settling(&mut self, position: Position<'_>, row: u32, outcome: &mut Outcome) {
        let times = position.decoded.chunk.times.as_deref().unwrap_or_default();
        let row = (row as usize).min(times.len().saturating_sub(1));
        if let Some((time, _)) = times.get(row).filter(|(time, _)| *time > self.settling.watermark) {
            self.settle_before(position.plan, *time, row as u32, outcome);
        }
    }

    /// All events before `time` have been read: judges those that are before all that come.
    pub(super) fn settle_before(&mut self, plan: &Plan, time: i64, row: u32, outcome: &mut Outcome) {
        self.settling.watermark = self.settling.watermark.max(time);
        while let Some(Reverse((until, shard, index))) = self.settling.due.peek().copied() {
            if until >= time && time != i64::MAX {
                return;
            }
            self.settling.due.pop();
            if let Some(sessions) = self.shards.get_mut(shard) {
                settle_session(plan, (time, row), sessions, index, &self.bump, outcome);
            }
        }
    }
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

impl Window {
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
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

/// Judges the events of a session whose order, or lack of order, is known.
fn settle_session(
    plan: &Plan,
    (watermark, row): (i64, u32),
    sessions: &mut Sessions,
    index: u32,
    bump: &Bump,
    outcome: &mut Outcome,
) {
    loop {
        let Some(entry) = sessions.entry(index).filter(|entry| entry.status != Status::Forgotten) else {
            return;
        };
        let Some(window) = entry.extra.as_deref_mut().map(|extra| &mut extra.window) else { return };
        let count = window.settled(watermark);
        if count == 0 {
            return;
        }
        let events: Vec<Waiting> = window.events.drain(..count).collect();
        window.bytes -= events.iter().map(|event| event.kept.text.len()).sum::<usize>();
        let has_loss = std::mem::take(&mut window.has_loss);
        match &*events {
            [only] => judge(plan, (only, row), sessions, index, bump, outcome),
            all => {
                if entry.lost == UNSEEN {
                    let lost = all.first().map_or(0, |event| event.lost);
                    uncertain::catch_up_to(plan, sessions, index, lost);
                }
                let Some(entry) = sessions.entry(index) else { return };
                let is_known = !has_loss && all.iter().all(|event| event.lost == entry.lost);
                if !is_known || !every_order(plan, (all, row), sessions, index, outcome) {
                    let lost = all.last().map_or(0, |event| event.lost);
                    forget_state(plan, sessions, index, lost);
                    outcome.counts.unjudged += all.len() as u64;
                }
            }
        }
    }
}

/// Judges an event that is ordered among all others.
fn judge(
    plan: &Plan,
    (event, row): (&Waiting, u32),
    sessions: &mut Sessions,
    index: u32,
    bump: &Bump,
    outcome: &mut Outcome,
) {
    uncertain::catch_up_to(plan, sessions, index, event.lost);
    let Some(entry) = sessions.entry(index) else { return };
    if entry.status == Status::Evicted {
        outcome.counts.unjudged += 1;
        return;
    }
    let line = Line::of(&event.kept, row);
    explain::remember(plan, &line, entry);
    event.with_payload(plan, bump, &mut |payload| {
        careful::judge(plan, (&event.stepped, &line), None, sessions, index, payload, bump, outcome);
    });
}

/// What the first violations of several orders agree on.
#[derive(Clone, Debug)]
struct Agreement {
    /// The event that is wrong, by its number in the window.
    event: Option<usize>,
    violation: Violation,
    report: Report,
    /// Whether what the report says is true of all.
    is_whole: bool,
}

impl Agreement {
    /// What both agree on.
    fn and(mut self, other: Self) -> Self {
        let (own, other_report) = (&mut self.report, &other.report);
        self.is_whole &= other.is_whole && self.event == other.event && own.sentence == other_report.sentence;
        self.event = self.event.filter(|event| Some(*event) == other.event);
        if own.kind != other_report.kind {
            own.kind = referee_monitor::Kind::Order;
        }
        if own.blame != other_report.blame {
            (own.blame, own.rejection) = (None, None);
        }
        if own.rejection != other_report.rejection {
            own.rejection = None;
        }
        if own.state != other_report.state {
            own.state = None;
        }
        if own.origin != other_report.origin {
            own.origin = referee_theory::Origin::NONE;
        }
        if own.got != other_report.got {
            own.got = None;
        }
        if own.assertion != other_report.assertion || own.values != other_report.values {
            (own.assertion, own.values) = (None, Vec::new());
        }
        for expected in &other_report.expected {
            if !own.expected.contains(expected) {
                own.expected.push(expected.clone());
            }
        }
        self
    }
}

/// Where some orders of a set of events lead.
#[derive(Default)]
struct Reached {
    /// Those without a violation.
    right: Option<Possible>,
    /// Those with one, and what they agree on.
    wrong: Option<(Possible, Agreement)>,
    /// Whether in some order a message would wait for another peer's, or had no verdict.
    is_open: bool,
}

impl Reached {
    fn add_right(&mut self, plan: &Plan, possible: Possible) {
        match &mut self.right {
            Some(known) => known.absorb(&plan.monitor, possible),
            None => self.right = Some(possible),
        }
    }

    fn add_wrong(&mut self, plan: &Plan, possible: Possible, agreement: Agreement) {
        self.wrong = Some(match self.wrong.take() {
            Some((mut known, other)) => {
                known.absorb(&plan.monitor, possible);
                (known, other.and(agreement))
            }
            None => (possible, agreement),
        });
    }
}

/// Judges events that are not ordered among themselves; whether they could be.
fn every_order(
    plan: &Plan,
    (events, row): (&[Waiting], u32),
    sessions: &mut Sessions,
    index: u32,
    outcome: &mut Outcome,
) -> bool {
    let Some(entry) = sessions.entry(index) else { return true };
    if entry.status == Status::Evicted {
        outcome.counts.unjudged += events.len() as u64;
        return true;
    }
    let waits = entry.extra.as_deref().is_some_and(|extra| !extra.early.is_empty());
    if waits {
        return false;
    }
    let known = entry.extra.as_deref().and_then(|extra| extra.possible.clone());
    let start = known.unwrap_or_else(|| plan.monitor.known(entry.session.clone()));
    if start.has_claims() {
        return false;
    }
    let mut inputs: Vec<Vec<usize>> = Vec::new();
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let next = inputs.len();
        let input = *numbers.entry(event.input).or_insert(next);
        if input == next {
            inputs.push(Vec::new());
        }
        if let Some(own) = inputs.get_mut(input) {
            own.push(at);
        }
    }
    let key = entry.key.clone();
    let session = entry.session.clone();
    let about =
        explain::About { session: &session, key: &key, events: entry.events, history: &VecDeque::new() };
    let Some(end) = reached(plan, events, &inputs, start, about) else { return false };
    let Some(entry) = sessions.entry(index) else { return true };
    events.iter().for_each(|event| explain::remember(plan, &Line::of(&event.kept, row), entry));
    let possible = match end {
        Reached { right: Some(possible), .. } => possible,
        Reached { is_open: true, .. } => return false,
        Reached { wrong: Some((possible, agreement)), .. } => {
            let consequence = entry.session.is_tainted();
            let _ = Policy::Observe.rule(&mut entry.session, Verdict::Violation(agreement.violation));
            if consequence {
                outcome.counts.consequences += 1;
            } else {
                outcome.counts.violated += 1;
            }
            if !consequence || plan.options.all {
                let mut report = told(agreement, events);
                report.consequence = consequence;
                let history = entry.extra.as_deref().map(|extra| extra.history.iter().cloned().collect());
                report.history = history.unwrap_or_default();
                report.before = entry.events.saturating_sub(report.history.len() as u64);
                outcome.notices.push((row, Notice::Violation(Box::new(report))));
            }
            possible
        }
        Reached { .. } => return false,
    };
    if let Some(entry) = sessions.entry(index) {
        entry.extra.get_or_insert_default().possible = Some(possible);
    }
    uncertain::resolve(sessions, index);
    finish(plan, sessions, index, outcome);
    true
}

/// Where the orders of `events` lead; `None` if there are too many sets of events that can come first.
fn reached(
    plan: &Plan,
    events: &[Waiting],
    inputs: &[Vec<usize>],
    start: Possible,
    about: explain::About<'_>,
) -> Option<Reached> {
    // Of each input and for each number of events taken: before when one of the rest must come.
    let rest = |own: &Vec<usize>| {
        let mut earliest = vec![i64::MAX; own.len() + 1];
        for (place, at) in own.iter().enumerate().rev() {
            let until = events.get(*at).map_or(i64::MAX, |event| event.until);
            earliest[place] = until.min(earliest[place + 1]);
        }
        earliest
    };
    let rests: Vec<Vec<i64>> = inputs.iter().map(rest).collect();
    let first = Reached { right: Some(start), ..Reached::default() };
    let mut level = BTreeMap::from([(vec![0_usize; inputs.len()], first)]);
    for _ in events {
        let mut next: BTreeMap<Vec<usize>, Reached> = BTreeMap::new();
        for (cut, reached) in &level {
            for (input, own) in inputs.iter().enumerate() {
                let Some(event) = own.get(cut[input]).and_then(|at| events.get(*at)) else { continue };
                let precedes = |other: usize| other != input && event.time > rests[other][cut[other]];
                if (0..inputs.len()).any(precedes) {
                    continue;
                }
                let mut after = cut.clone();
                after[input] += 1;
                let number = inputs[input][cut[input]];
                step(plan, (event, number), reached, about, next.entry(after).or_default());
            }
        }
        if next.len() > plan.options.max_orders {
            return None;
        }
        level = next;
    }
    level.into_values().next()
}

/// Takes every order that leads to `reached` on by `event`.
fn step(
    plan: &Plan,
    (event, number): (&Waiting, usize),
    reached: &Reached,
    about: explain::About<'_>,
    next: &mut Reached,
) {
    next.is_open |= reached.is_open;
    let bump = Bump::new();
    event.with_payload(plan, &bump, &mut |payload| {
        let take = |possible: &mut Possible| match event.stepped.what {
            What::End => plan.monitor.end_possible(possible, event.kept.from),
            _ => {
                let label = plan.names.label_id(event.stepped.label);
                plan.monitor.step_possible(possible, event.stepped.channel, label, payload)
            }
        };
        // Each state by itself: the orders that lead to one may be wrong here while those that lead to another are right.
        for before in reached.right.iter().flat_map(Possible::split) {
            let mut possible = before.clone();
            match take(&mut possible) {
                PossibleVerdict::Forward { .. } => next.add_right(plan, possible),
                PossibleVerdict::Violation(violations) => {
                    let line = Line::of(&event.kept, 0);
                    let report = explain::uncertain(plan, &line, about, &before, &violations, false, payload);
                    if let Some(violation) = violations.first().copied() {
                        let event = Some(number);
                        let agreement = Agreement { event, violation, report, is_whole: true };
                        next.add_wrong(plan, possible, agreement);
                    }
                }
                PossibleVerdict::Early | PossibleVerdict::Fault(_) => next.is_open = true,
            }
        }
        if let Some((before, agreement)) = &reached.wrong {
            let mut possible = before.clone();
            match take(&mut possible) {
                PossibleVerdict::Forward { .. } | PossibleVerdict::Violation(_) => {
                    next.add_wrong(plan, possible, agreement.clone());
                }
                PossibleVerdict::Early | PossibleVerdict::Fault(_) => next.is_open = true,
            }
        }
    });
}

/// What is said of `events`, each order of which is wrong.
fn told(agreement: Agreement, events: &[Waiting]) -> Report {
    let Agreement { event, mut report, is_whole, .. } = agreement;
    if event.is_none()
        && let Some(last) = events.last()
    {
        (report.event, report.place) = (last.kept.number, last.kept.place.clone());
        report.time = None;
    }
    if !is_whole {
        let what = report.got.as_ref().map_or("one of them".to_owned(), |label| format!("one `{label}`"));
        let places: Vec<String> = events.iter().map(|event| show(&event.kept.place)).take(SHOWN).collect();
        let more = if events.len() > SHOWN { ", …" } else { "" };
        report.sentence =
            format!("{what} is wrong in every order that the times of {}{more} allow", places.join(", "));
    }
    report
}

/// How many of the events of a window are named.
const SHOWN: usize = 8;

fn show(place: &Place) -> String {
    format!("{}:{}", place.file, place.line)
}

/// The events that wait are not judged.
fn set_free(plan: &Plan, sessions: &mut Sessions, index: u32, outcome: &mut Outcome) {
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
