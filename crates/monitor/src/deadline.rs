//! Deadlines of sessions: who has to speak until when, and since when (`docs/time.md`, section 1).
//!
//! There is no clock here: time is an argument. A [`Timer`] stands beside a session whose protocol has times, and knows of each
//! side when it was handed the last message, and when its own last ones arrived. Who drives a session tells it of every
//! message that was forwarded ([`Monitor::passed`]), asks before the step whether a message is in time
//! ([`Monitor::in_time`]), and asks again when the time that [`Monitor::next_deadline`] gives has passed ([`Monitor::overdue`]).
//!
//! Moments are intervals, and every doubt is in favour of who is judged: see the tables of the document. Nothing is allocated for
//! a message.

mod limits;
mod words;

use referee_theory::timing;
use referee_theory::{State, Transition};

use crate::code::Frame;
use crate::event::{Channel, Payload};
use crate::labels::LabelId;
use crate::monitor::Monitor;
use crate::session::Session;
use crate::verdict::{Kind, NO_FIELD, Side, Violation};

pub(crate) use limits::Row;

/// A moment as far as it is known: not before `earliest`, not after `latest`, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// It was not before.
    pub earliest: i64,
    /// It was not later.
    pub latest: i64,
}

impl Moment {
    /// Exactly this moment.
    #[must_use]
    pub fn at(time: i64) -> Self {
        Self { earliest: time, latest: time }
    }

    /// Not before `earliest`, and it may be still to come: whatever counts from it is in time.
    #[must_use]
    pub fn pending(earliest: i64) -> Self {
        Self { earliest, latest: i64::MAX }
    }

    /// Whether it may be still to come.
    #[must_use]
    pub fn is_pending(self) -> bool {
        self.latest == i64::MAX
    }

    /// One of these moments, it is not known which.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { earliest: self.earliest.min(other.earliest), latest: self.latest.max(other.latest) }
    }
}

/// The times of a monitor's transitions.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    /// One for each transition.
    pub(crate) edges: Box<[EdgeTimes]>,
    /// For each state, its first transition.
    pub(crate) first: Box<[u32]>,
    /// The labels that times count from.
    pub(crate) labels: Box<[u32]>,
}

/// The times of a transition.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EdgeTimes {
    pub(crate) after: Option<Length>,
    pub(crate) within: Option<(Length, From)>,
}

/// How long: a constant in nanoseconds, or code that gives a number of seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    Constant(i64),
    Code(u32),
}

/// What a `within` counts from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    /// The message before.
    Before,
    /// The last message with a label: its place among [`Times::labels`].
    Label(u32),
    /// The last message of the same side.
    Any,
}

/// What is known about the times of one session.
#[derive(Clone, Debug)]
pub struct Timer {
    /// Handed to both sides.
    began: Moment,
    /// What no byte takes longer than between here and a side, in either direction.
    tolerance: i64,
    sides: [SideTimes; 2],
    /// The last message with each of [`Times::labels`].
    labels: Box<[Option<Named>]>,
    /// Whether the obligation of the present state was reported.
    reported: bool,
    /// Whether it was said that a time has no value.
    faulty: bool,
}

/// What one side has received and sent, in the protocol's order.
#[derive(Clone, Copy, Debug, Default)]
struct SideTimes {
    /// The message before the present state.
    before: Option<Row>,
    /// The other side's last message, *o*.
    received: Option<Row>,
    /// The last message of this side before that one.
    answered: Option<Row>,
    /// The last message of this side.
    sent: Option<Row>,
    /// When it could write again.
    writable: Option<i64>,
}

/// A message that a time may count from.
#[derive(Clone, Copy, Debug)]
struct Named {
    sender: Side,
    arrived: Row,
    handed: Row,
}

/// A message that passed.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// Its channel.
    pub channel: Channel,
    /// Its label.
    pub label: LabelId,
    /// When its last byte arrived; pending if it has not.
    pub arrived: Moment,
    /// When its last byte was handed to the other side; pending if it was not.
    pub handed: Moment,
    /// How many bytes its side had sent when it was whole: what a pending handing waits for. [`NOT_WHOLE`] if it is not.
    pub end: u64,
}

/// The end of a message whose last byte has not arrived.
pub const NOT_WHOLE: u64 = u64::MAX;

/// A message that came too late or too early, or did not come in time.
#[derive(Clone, Copy, Debug)]
pub struct Untimely {
    /// In which way, and whose.
    pub violation: Violation,
    /// Whether it is so whatever happened within the intervals that are known. If not, nobody is to blame.
    pub certain: bool,
    /// The last moment at which it would have been in time, or the first.
    pub limit: i64,
    /// How long it may, or has to, take.
    pub length: i64,
    /// What that counts from.
    row: Row,
    /// When it came, if it did.
    came: Option<Moment>,
}

/// What is said about a time.
#[derive(Clone, Copy, Debug)]
pub enum TimeVerdict {
    /// In time, or nothing is said about it.
    InTime,
    /// Not in time.
    Untimely(Untimely),
    /// A time is negative or no number: it is none. Said once for a session; nobody is to blame.
    NoTime,
}

impl Monitor {
    /// Whether messages have times.
    #[must_use]
    #[inline]
    pub fn is_timed(&self) -> bool {
        self.times.is_some()
    }

    /// The times of a session that began when `began` says: it counts as handed to both sides.
    #[must_use]
    pub fn timer(&self, began: Moment, tolerance: i64) -> Timer {
        let labels = self.times.as_ref().map_or(0, |times| times.labels.len());
        Timer {
            began,
            tolerance: tolerance.max(0),
            sides: [SideTimes::default(); 2],
            labels: vec![None; labels].into(),
            reported: false,
            faulty: false,
        }
    }

    /// A message was forwarded, in the protocol's order: what follows may begin with it.
    pub fn passed(&self, timer: &mut Timer, passed: &Passed) {
        let Some(times) = &self.times else { return };
        let sender = side_of(passed.channel);
        let arrived = Row::arrived(passed.arrived, passed.label.0);
        let handed = Row::handed(passed.handed, passed.label.0).ending_at(passed.end);
        let own = &mut timer.sides[index(sender)];
        (own.before, own.sent) = (Some(arrived), Some(arrived));
        let other = &mut timer.sides[index(sender.other())];
        (other.before, other.received, other.answered) = (Some(handed), Some(handed), other.sent);
        if let Some(place) = times.labels.iter().position(|label| *label == passed.label.0) {
            timer.labels[place] = Some(Named { sender, arrived, handed });
        }
        timer.reported = false;
    }

    /// Whether a message whose first byte arrived when `first` says is in time, before it is stepped over. A message that is not
    /// possible is not judged here.
    pub fn in_time(
        &self,
        timer: &mut Timer,
        session: &Session,
        channel: Channel,
        label: LabelId,
        first: Moment,
    ) -> TimeVerdict {
        let Some(times) = &self.times else { return TimeVerdict::InTime };
        let edge = self.table.find(session.state, channel, self.labels.known(label));
        let Some(own) = times.edges.get(edge as usize) else { return TimeVerdict::InTime };
        if timer.reported {
            return TimeVerdict::InTime;
        }
        let side = side_of(channel);
        let mut faulty = false;
        let found = |kind, certain, length, (limit, row)| {
            let violation = Violation { kind, side, field: NO_FIELD, state: session.state, edge };
            let came = Some(first);
            TimeVerdict::Untimely(Untimely { violation, certain, limit, length, row, came })
        };
        match own.within.map(|(length, from)| (self.length(session, length), from)) {
            Some((Ok(Some(length)), from)) => {
                let limit = timer.latest(side, from, length);
                if first.latest > limit.0 {
                    return found(Kind::Deadline, first.earliest > limit.0, length, limit);
                }
            }
            Some((Err(_), _)) => faulty = true,
            Some((Ok(None), _)) | None => {}
        }
        match own.after.map(|length| self.length(session, length)) {
            Some(Ok(Some(length))) => {
                let limit = timer.soonest(side, length);
                if first.earliest < limit.0 {
                    return found(Kind::Early, first.latest < limit.0, length, limit);
                }
            }
            Some(Err(_)) => faulty = true,
            Some(Ok(None)) | None => {}
        }
        timer.fault(faulty)
    }

    /// Until when the side whose turn it is has to speak, if it has to and that was not reported: a message that arrives later is
    /// late. Asked after a step, as long as nothing is known to have passed.
    #[must_use]
    pub fn next_deadline(&self, timer: &Timer, session: &Session) -> Option<i64> {
        self.next_obligation(timer, session).map(|(_, limit)| limit)
    }

    /// The side that has to speak, and [until when](Self::next_deadline). None while what it begins with is pending.
    #[must_use]
    pub fn next_obligation(&self, timer: &Timer, session: &Session) -> Option<(Side, i64)> {
        if timer.reported || !session.ended.is_nobody() {
            return None;
        }
        let found = self.deadline(timer, session).ok().flatten()?;
        (found.limit < i64::MAX).then_some((found.violation.side, found.limit))
    }

    /// The first moment later than `looked` from which on a message is not too early. Whoever looks then whether something has arrived can tell
    /// what came in time from what came too early.
    #[must_use]
    pub fn next_release(&self, timer: &Timer, session: &Session, looked: i64) -> Option<i64> {
        let times = self.times.as_ref().filter(|_| !timer.reported && session.ended.is_nobody())?;
        let first = times.first.get(session.state as usize).copied().unwrap_or(0);
        let release = |(edge, transition): (u32, &Transition)| {
            let after = times.edges.get(edge as usize)?.after?;
            let length = self.length(session, after).ok().flatten()?;
            Some(timer.soonest(side_of_action(transition.action), length).0)
        };
        let releases = (first..).zip(self.transitions(session.state)).filter_map(release);
        releases.filter(|release| *release > looked && *release < i64::MAX).min()
    }

    /// Everything that arrived before `now` is known: whether a deadline has passed. It is reported once.
    pub fn overdue(&self, timer: &mut Timer, session: &Session, now: i64) -> TimeVerdict {
        if timer.reported || !session.ended.is_nobody() {
            return TimeVerdict::InTime;
        }
        match self.deadline(timer, session) {
            Ok(Some(found)) if found.limit < now => {
                timer.reported = true;
                TimeVerdict::Untimely(found)
            }
            Ok(_) => TimeVerdict::InTime,
            Err(_) => timer.fault(true),
        }
    }

    /// The latest of the deadlines of the present state's messages; none if one of them has none.
    fn deadline(&self, timer: &Timer, session: &Session) -> Result<Option<Untimely>, timing::NotATime> {
        let Some(times) = &self.times else { return Ok(None) };
        let transitions = self.transitions(session.state);
        let first = times.first.get(session.state as usize).copied().unwrap_or(0);
        if self.machine.is_accepting(State(session.state)) {
            return Ok(None);
        }
        let mut latest: Option<Untimely> = None;
        for (edge, transition) in (first..).zip(transitions) {
            let own = times.edges.get(edge as usize).and_then(|edge| edge.within);
            let Some((length, from)) = own else { return Ok(None) };
            let Some(length) = self.length(session, length)? else { return Ok(None) };
            let side = side_of_action(transition.action);
            let (limit, row) = timer.latest(side, from, length);
            if latest.is_none_or(|latest| latest.limit < limit) {
                let kind = Kind::Deadline;
                let violation = Violation { kind, side, field: NO_FIELD, state: session.state, edge };
                latest = Some(Untimely { violation, certain: true, limit, length, row, came: None });
            }
        }
        Ok(latest)
    }

    /// The nanoseconds of a time in `session`.
    fn length(&self, session: &Session, length: Length) -> Result<Option<i64>, timing::NotATime> {
        let code = match length {
            Length::Constant(length) => return Ok(Some(length)),
            Length::Code(code) => self.codes.get(code as usize).ok_or(timing::NotATime)?,
        };
        let payload = Payload::Positional(&[]);
        let frame = Frame { payload, names: &[], session, predicates: &self.predicates };
        timing::nanoseconds(&frame.value(code).map_err(|_| timing::NotATime)?)
    }
}

impl Untimely {
    /// When it was due, as far as is known: `limit` without what speaks for who is judged.
    #[must_use]
    pub fn due(&self) -> i64 {
        self.row.earliest().saturating_add(self.length)
    }

    /// Whether it counts from the beginning of the session.
    #[cfg(feature = "network")]
    pub(crate) fn is_from_beginning(&self) -> bool {
        self.row.label == limits::NO_LABEL
    }
}

impl Timer {
    /// The side could write again at `time`: until then it was not read.
    pub fn writable(&mut self, side: Side, time: i64) {
        self.sides[index(side)].writable = Some(time);
    }

    /// The last message of `side` is whole: its last byte arrived when `arrived` says, and the side had sent `end` bytes then.
    pub fn whole(&mut self, side: Side, arrived: Moment, end: u64) {
        let own = &mut self.sides[index(side)];
        for row in [&mut own.before, &mut own.sent, &mut own.answered].into_iter().flatten() {
            row.arrive(arrived);
        }
        let other = &mut self.sides[index(side.other())];
        for row in [&mut other.before, &mut other.received].into_iter().flatten() {
            row.end_at(end);
        }
        for named in self.labels.iter_mut().flatten().filter(|named| named.sender == side) {
            named.arrived.arrive(arrived);
            named.handed.end_at(end);
        }
    }

    /// What the other side had sent up to `end` was handed to `side` when `moment` says.
    pub fn handed(&mut self, side: Side, end: u64, moment: Moment) {
        let own = &mut self.sides[index(side)];
        for row in [&mut own.before, &mut own.received].into_iter().flatten() {
            row.hand(end, moment);
        }
        for named in self.labels.iter_mut().flatten().filter(|named| named.sender != side) {
            named.handed.hand(end, moment);
        }
    }

    /// The obligation of the present state was reported: a message that comes now is judged as without time.
    pub fn report(&mut self) {
        self.reported = true;
    }

    fn fault(&mut self, faulty: bool) -> TimeVerdict {
        if faulty && !std::mem::replace(&mut self.faulty, true) {
            return TimeVerdict::NoTime;
        }
        TimeVerdict::InTime
    }
}

fn index(side: Side) -> usize {
    match side {
        Side::Process => 0,
        Side::Environment => 1,
    }
}

fn side_of(channel: Channel) -> Side {
    if channel.is_incoming() { Side::Environment } else { Side::Process }
}

fn side_of_action(action: referee_theory::Action) -> Side {
    match action {
        referee_theory::Action::Send => Side::Process,
        referee_theory::Action::Receive => Side::Environment,
    }
}
