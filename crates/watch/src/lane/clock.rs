//! Deadlines of a protocol by the times of events: the watermark, and the sessions that want to be told of it.
//!
//! The watermark is the latest time read: events come in the order of their times (`--reorder` puts them in it). A deadline has
//! passed when the watermark is later. As with properties (`crate::property`), what is told, and at which line, depends neither
//! on threads nor on how the input was cut.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use referee_monitor::{Moment, Passed, Session, TimeVerdict, Timer, Verdict};
use referee_theory::time;

use super::careful::Line;
use super::{Lane, Outcome, Position, explain};
use crate::decode::Record;
use crate::decode::event::What;
use crate::decode::fields::Scanner;
use crate::input::reorder::time_text;
use crate::plan::Plan;
use crate::report::{Notice, Place, Report};
use crate::sessions::{Entry, Status};

/// The time of a lane.
pub(super) struct Clock {
    /// All events before this time have been read.
    watermark: i64,
    /// Of each session at most one is that of its entry; others are stale.
    alarms: BinaryHeap<Reverse<Alarm>>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { watermark: i64::MIN, alarms: BinaryHeap::new() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm {
    deadline: i64,
    /// The number of the shard within its lane.
    shard: usize,
    index: u32,
}

/// The times of one session.
#[derive(Default)]
pub(crate) enum SessionTimes {
    /// It has not begun.
    #[default]
    Unborn,
    Running(Box<Running>),
    /// Something about its times is not known: they are not judged.
    Unknown,
}

/// The times of a session that are judged.
pub(crate) struct Running {
    timer: Timer,
    /// When it will be looked at.
    wakes: i64,
    /// Where its last event was read, and which one it was.
    last: Place,
    number: u64,
}

/// When an event was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Nobody asks.
    Unasked,
    At(Moment),
    /// Its time could not be read, or is before the watermark.
    Unknown,
}

/// How much later than its time a line may be written, where `--reorder` does not say.
const DELAY: i64 = 1_000_000_000;

impl Lane {
    /// Moves the watermark over the lines up to that of `record`, of which `passed` are behind it; when the record was.
    pub(super) fn when(
        &mut self,
        position: Position<'_>,
        record: &Record,
        passed: &mut usize,
        outcome: &mut Outcome,
    ) -> When {
        self.pass(position, record.line, passed, outcome);
        if record.what != What::Message && record.what != What::End {
            return When::Unknown;
        }
        let why = match moment(position, record) {
            Some(moment) if moment.earliest >= self.clock.watermark => return When::At(moment),
            // Only messages are judged by their times.
            _ if record.what == What::End => return When::Unknown,
            Some(moment) => format!(
                "too late for its time to be judged: it is of {}, and events up to {} came before it (--reorder)",
                time::show(moment.earliest),
                time::show(self.clock.watermark)
            ),
            None => {
                format!("its time cannot be read, and the protocol has deadlines: write {}", time::FORMATS)
            }
        };
        outcome.counts.malformed += 1;
        outcome.notices.push((record.line, Notice::Malformed(position.place(record.line), why)));
        When::Unknown
    }

    /// Moves the watermark over the lines up to `through`, of which `passed` are behind it.
    pub(super) fn pass(
        &mut self,
        position: Position<'_>,
        through: u32,
        passed: &mut usize,
        outcome: &mut Outcome,
    ) {
        while let Some((line, time)) =
            position.decoded.times.get(*passed).filter(|(line, _)| *line <= through)
        {
            *passed += 1;
            self.reach(position.plan, *time, *line, outcome);
        }
    }

    /// Nothing has come, and it is `now`. The watermark goes no further than to deadlines that have passed, so that what is
    /// written late is still judged where nothing was said.
    pub(super) fn tick(&mut self, plan: &Plan, now: i64, outcome: &mut Outcome) {
        let delay =
            plan.options.reorder.map_or(DELAY, |window| i64::try_from(window.as_nanos()).unwrap_or(i64::MAX));
        let due = now.saturating_sub(delay);
        while let Some(Reverse(first)) = self.clock.alarms.peek().filter(|first| first.0.deadline < due) {
            let next = first.deadline.saturating_add(1).max(self.clock.watermark.saturating_add(1));
            self.reach(plan, next, 0, outcome);
        }
    }

    /// The watermark is `time` now: tells whose deadlines have passed.
    pub(super) fn reach(&mut self, plan: &Plan, time: i64, line: u32, outcome: &mut Outcome) {
        if time <= self.clock.watermark {
            return;
        }
        self.clock.watermark = time;
        while let Some(Reverse(alarm)) = self.clock.alarms.peek().copied() {
            if alarm.deadline >= time {
                return;
            }
            self.clock.alarms.pop();
            let entry = self.shards.get_mut(alarm.shard).and_then(|sessions| sessions.entry(alarm.index));
            let Some(entry) = entry.filter(|entry| entry.status == Status::Live) else { continue };
            let Some(running) = running(entry).filter(|running| running.wakes == alarm.deadline) else {
                continue;
            };
            running.wakes = i64::MAX;
            let (place, number) = (running.last.clone(), running.number);
            let (session, running) = parts(entry);
            let Some(running) = running else { continue };
            if let TimeVerdict::Untimely(untimely) = plan.monitor.overdue(&mut running.timer, session, time) {
                let due = Some(untimely.due());
                let about = explain::About::of(entry);
                let report = explain::untimely(plan, about, &untimely, (number, place, due), None);
                tell(plan, line, report, outcome);
            }
            self.wake(plan, alarm.shard, alarm.index);
        }
    }

    /// Sees to it that the session is looked at when its deadline has passed.
    pub(super) fn wake(&mut self, plan: &Plan, shard: usize, index: u32) {
        let Some(entry) = self.shards.get_mut(shard).and_then(|sessions| sessions.entry(index)) else {
            return;
        };
        if entry.status != Status::Live {
            return;
        }
        let (session, Some(running)) = parts(entry) else { return };
        let deadline = plan.monitor.next_deadline(&running.timer, session);
        if let Some(deadline) = deadline.filter(|deadline| *deadline < running.wakes) {
            running.wakes = deadline;
            self.clock.alarms.push(Reverse(Alarm { deadline, shard, index }));
        }
    }

    /// How many sessions wait for a deadline.
    pub(super) fn waiting(&mut self, plan: &Plan) -> u64 {
        let mut waiting = 0;
        for sessions in &mut self.shards {
            for entry in sessions.live_entries() {
                if let (session, Some(running)) = parts(entry) {
                    waiting += u64::from(plan.monitor.next_deadline(&running.timer, session).is_some());
                }
            }
        }
        waiting
    }
}

/// When the event of `record` was: as exactly as it is written.
fn moment(position: Position<'_>, record: &Record) -> Option<Moment> {
    let mut scanner = Scanner::new(&position.plan.tree);
    let columns = position.decoded.chunk.columns.as_deref();
    let text = time_text(&mut scanner, columns, position.decoded.line(record))?;
    let earliest = time::read(&text)?;
    Some(Moment { earliest, latest: earliest.saturating_add(time::resolution(&text) - 1) })
}

/// The latest time of the lines before a record of this line, if it is later than all before.
pub(crate) fn mark(plan: &Plan, columns: Option<&crate::decode::csv::Columns>, line: &str) -> Option<i64> {
    let mut scanner = Scanner::new(&plan.tree);
    time::read(&time_text(&mut scanner, columns, line)?)
}

fn running(entry: &mut Entry) -> Option<&mut Running> {
    parts(entry).1
}

fn parts(entry: &mut Entry) -> (&Session, Option<&mut Running>) {
    let running = match entry.extra.as_deref_mut().map(|extra| &mut extra.times) {
        Some(SessionTimes::Running(running)) => Some(&mut **running),
        _ => None,
    };
    (&entry.session, running)
}

/// The times of the session are not known from here on.
pub(super) fn forget(entry: &mut Entry) {
    if let Some(extra) = entry.extra.as_deref_mut() {
        extra.times = SessionTimes::Unknown;
    }
}

/// What is said about the time of a message, before it is stepped over.
pub(super) fn judge(
    plan: &Plan,
    record: &Record,
    when: When,
    line: &Line<'_>,
    entry: &mut Entry,
) -> TimeVerdict {
    let moment = match when {
        When::At(moment) => moment,
        When::Unasked => return TimeVerdict::InTime,
        When::Unknown => {
            entry.extra.get_or_insert_default().times = SessionTimes::Unknown;
            return TimeVerdict::InTime;
        }
    };
    let times = &mut entry.extra.get_or_insert_default().times;
    if matches!(times, SessionTimes::Unborn) {
        // When the session began is not known: its first event is in time, and everything counts from there.
        let tolerance = plan.options.tolerance.as_nanos();
        let timer = plan.monitor.timer(moment, i64::try_from(tolerance).unwrap_or(i64::MAX));
        let (wakes, last, number) = (i64::MAX, line.place.clone(), line.number);
        *times = SessionTimes::Running(Box::new(Running { timer, wakes, last, number }));
        return TimeVerdict::InTime;
    }
    let (session, Some(running)) = parts(entry) else { return TimeVerdict::InTime };
    let label = plan.names.label_id(record.label);
    plan.monitor.in_time(&mut running.timer, session, record.channel, label, moment)
}

/// The message was stepped over: tells what was said about its time, if nothing else was wrong with it.
pub(super) fn settle(
    position: Position<'_>,
    (record, line, when): (&Record, &Line<'_>, When),
    entry: &mut Entry,
    (judged, verdict): (TimeVerdict, Verdict),
    outcome: &mut Outcome,
) {
    let plan = position.plan;
    let (When::At(moment), Verdict::Forward) = (when, verdict) else { return };
    match judged {
        TimeVerdict::InTime => {}
        TimeVerdict::Untimely(untimely) => {
            let about = explain::About::of(entry);
            let place = (line.number, line.place.clone(), None);
            let report = explain::untimely(plan, about, &untimely, place, Some(line));
            tell(plan, line.row, report, outcome);
        }
        TimeVerdict::NoTime => {
            outcome.counts.malformed += 1;
            let why = "a time of the protocol is negative or no number here: it is not judged".to_owned();
            outcome.notices.push((line.row, Notice::Malformed(line.place.clone(), why)));
        }
    }
    if let (_, Some(running)) = parts(entry) {
        let label = plan.names.label_id(record.label);
        let passed = Passed { channel: record.channel, label, arrived: moment, handed: moment, end: 0 };
        plan.monitor.passed(&mut running.timer, &passed);
        (running.last, running.number) = (line.place.clone(), line.number);
    }
}

fn tell(plan: &Plan, line: u32, report: Report, outcome: &mut Outcome) {
    match (report.certain, report.consequence) {
        (false, _) => outcome.counts.uncertain += 1,
        (true, true) => outcome.counts.consequences += 1,
        (true, false) => outcome.counts.violated += 1,
    }
    if !report.consequence || plan.options.all {
        outcome.notices.push((line, Notice::Violation(Box::new(report))));
    }
}
