//! Deadlines of one role's component: until when it has to speak, and what is said when it did not (`docs/time.md`, section 1).
//!
//! Each monitor judges its own component only, and by the clock of its own host: what begins with a message of another role begins
//! when that message was handed to the component. Time is an argument here, as in [`crate::deadline`], whose tables decide.

use referee_theory::Role;
use smallvec::SmallVec;

use super::notice::{Breach, Notice};
use super::run::{Effect, Run, Status};
use super::step::Out;
use super::{Dependencies, Duty, Engine};
use crate::deadline::{Moment, NOT_WHOLE, Passed, TimeVerdict, Timer, Untimely};
use crate::event::{Channel, Event, EventLabel};
use crate::labels::LabelId;
use crate::policy::Policy;
use crate::verdict::{Kind, Side};

const NO_TIME: &str =
    "nobody is to blame: a time of the protocol is negative or no number here: it is not judged";

/// How the times of a role are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judging {
    /// What no byte takes longer than between the monitor and its component, in either direction, in nanoseconds.
    pub tolerance: i64,
    /// Whether a missed deadline is treated as a violation.
    pub enforces: bool,
}

/// When a message of the component arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalTimes {
    /// Its first byte.
    pub first: Moment,
    /// Its last byte.
    pub last: Moment,
}

/// The times of one session at one role.
#[derive(Clone, Debug)]
pub(super) struct RunTimes {
    timer: Timer,
    /// When the message arrived that the component sends.
    pub(super) offered: Option<ArrivalTimes>,
    /// How many messages and dependencies the component was given.
    given: u64,
    /// What time it was when the monitor was last told something.
    now: i64,
}

impl Engine {
    /// Whether the component has times, and they are judged.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.settings.judging.is_some() && self.monitor.is_timed()
    }

    /// `run` begins, when `began` says.
    pub fn begin_times<T>(&self, run: &mut Run<T>, began: Moment) {
        let Some(judging) = self.settings.judging.filter(|_| self.monitor.is_timed()) else { return };
        let timer = self.monitor.timer(began, judging.tolerance);
        run.times = Some(Box::new(RunTimes { timer, offered: None, given: 0, now: began.latest }));
    }

    /// It is `now`, before something arrives.
    pub fn note_time<T>(&self, run: &mut Run<T>, now: i64) {
        run.times.iter_mut().for_each(|times| times.now = now);
    }

    /// The component's next message arrived then.
    pub fn note_offer<T>(&self, run: &mut Run<T>, arrival: ArrivalTimes) {
        run.times.iter_mut().for_each(|times| times.offered = Some(arrival));
    }

    /// The first `given` messages and dependencies were handed to the component, and those that had not been before, when `moment` says.
    pub fn note_handed<T>(&self, run: &mut Run<T>, given: u64, moment: Moment) {
        run.times.iter_mut().for_each(|times| times.timer.handed(Side::Process, given, moment));
    }

    /// The component could write again at `time`: until then it was not read.
    pub fn note_writable<T>(&self, run: &mut Run<T>, time: i64) {
        run.times.iter_mut().for_each(|times| times.timer.writable(Side::Process, time));
    }

    /// The component is at another connection now, or it is not known what it was given: its times are not judged any more.
    pub fn forget_times<T>(&self, run: &mut Run<T>) {
        run.times = None;
    }

    /// Until when the component has to speak: a message that arrives later is late. None while what that counts from is pending.
    #[must_use]
    pub fn next_deadline<T>(&self, run: &Run<T>) -> Option<i64> {
        let times = run.times.as_ref().filter(|_| self.is_its_turn(run) && run.waiting_of(None) == 0)?;
        self.monitor.next_deadline(&times.timer, &run.session)
    }

    /// The first moment later than `looked` at which it matters whether the component has said something: see [`Monitor::next_release`].
    ///
    /// [`Monitor::next_release`]: crate::Monitor::next_release
    #[must_use]
    pub fn next_release<T>(&self, run: &Run<T>, looked: i64) -> Option<i64> {
        let times = run.times.as_ref().filter(|_| self.is_its_turn(run) && run.waiting_of(None) == 0)?;
        self.monitor.next_release(&times.timer, &run.session, looked)
    }

    /// Everything that the component had sent before `now` was seen.
    pub fn overdue<T>(&self, run: &mut Run<T>, now: i64, out: Out<'_, T>) {
        self.look(run, now, true, out);
    }

    /// The component's connection ends at `now`: whether a deadline that has passed was missed cannot be told any more.
    pub fn expire<T>(&self, run: &mut Run<T>, now: i64, out: Out<'_, T>) {
        self.look(run, now, false, out);
    }

    fn look<T>(&self, run: &mut Run<T>, now: i64, is_certain: bool, out: Out<'_, T>) {
        if self.next_deadline(run).is_none_or(|limit| limit >= now) {
            return;
        }
        let Some(mut times) = run.times.take() else { return };
        let verdict = self.monitor.overdue(&mut times.timer, &run.session, now);
        run.times = Some(times);
        match verdict {
            TimeVerdict::InTime => {}
            TimeVerdict::NoTime => out(self.no_time(run)),
            TimeVerdict::Untimely(mut untimely) => {
                untimely.certain &= is_certain;
                let effect = self.untimely(run, &untimely);
                out(effect);
            }
        }
    }

    /// Whether the component has to speak now, as far as is known.
    fn is_its_turn<T>(&self, run: &Run<T>) -> bool {
        run.status == Status::Running
            && !run.adrift
            && !run.session.is_tainted()
            && matches!(self.duty(run.session.state), Duty::Send)
    }

    /// What is said about the time of what the component sends, before it is stepped over.
    pub(super) fn time_verdict<T>(&self, run: &mut Run<T>, event: &Event<'_>) -> TimeVerdict {
        if run.times.is_none() || !self.is_its_turn(run) {
            return TimeVerdict::InTime;
        }
        let (channel, label) = self.channel_and_label(event);
        let Some(times) = &mut run.times else { return TimeVerdict::InTime };
        let Some(offered) = times.offered else { return TimeVerdict::InTime };
        match self.monitor.in_time(&mut times.timer, &run.session, channel, label, offered.first) {
            // When a component was connected that waited for its session is not known, nor what it knows of what it is not told.
            TimeVerdict::Untimely(early)
                if early.violation.kind == Kind::Early
                    && (early.is_from_beginning() || self.settings.dependencies == Dependencies::Hide) =>
            {
                TimeVerdict::InTime
            }
            verdict => verdict,
        }
    }

    fn channel_and_label(&self, event: &Event<'_>) -> (Channel, LabelId) {
        let label = match event.label {
            EventLabel::Text(label) => self.monitor.label(label),
            EventLabel::Known(label) => label,
            EventLabel::Malformed(_) => LabelId::UNKNOWN,
        };
        (self.monitor.channel(event.from, event.to), label)
    }

    /// The component's message was right, and goes on.
    pub(super) fn note_sent<T>(&self, run: &mut Run<T>, event: &Event<'_>) {
        let (channel, label) = self.channel_and_label(event);
        let Some(times) = &mut run.times else { return };
        let Some(ArrivalTimes { last: arrived, .. }) = times.offered.take() else { return };
        let handed = Moment::pending(i64::MIN);
        self.monitor.passed(&mut times.timer, &Passed { channel, label, arrived, handed, end: NOT_WHOLE });
    }

    /// A message or dependency is given to the component.
    pub(super) fn note_given<T>(&self, run: &mut Run<T>) {
        run.times.iter_mut().for_each(|times| times.given += 1);
    }

    /// Its turn had come: what the component has to send begins with it, or, `hidden` from the component, now.
    pub(super) fn note_received<T>(&self, run: &mut Run<T>, channel: Channel, label: LabelId, hidden: bool) {
        let Some(times) = &mut run.times else { return };
        let (handed, end) = match hidden {
            true => (Moment { earliest: times.now, latest: times.now }, times.given),
            false => (Moment::pending(i64::MIN), times.given),
        };
        let arrived = Moment::pending(i64::MIN);
        self.monitor.passed(&mut times.timer, &Passed { channel, label, arrived, handed, end });
    }

    /// As [`note_received`](Self::note_received), of a message that is given.
    pub(super) fn note_received_message<T>(&self, run: &mut Run<T>, event: &Event<'_>) {
        if run.times.is_some() {
            let (channel, label) = self.channel_and_label(event);
            self.note_received(run, channel, label, false);
        }
    }

    /// What is not in time is reported, or ends the session, as is asked for.
    pub(super) fn untimely<T>(&self, run: &mut Run<T>, untimely: &Untimely) -> Effect<T> {
        let enforces = self.settings.judging.is_some_and(|judging| judging.enforces);
        let halted = enforces && untimely.certain && self.settings.policy == Policy::Halt;
        let explained = self.in_words(self.monitor.explain_time(&run.session, untimely));
        let blamed: &[Role] = if untimely.certain { &[self.role] } else { &[] };
        let notice = Box::new(Notice {
            reporter: self.role,
            blamed: SmallVec::from_slice(blamed),
            breach: Breach::Kind(untimely.violation.kind),
            rule: None,
            state: Some(explained.state.clone()),
            origin: explained.origin,
            expected: explained.expected.iter().map(|expected| expected.signature.clone()).collect(),
            got: explained.got.clone(),
            assertion: None,
            values: Vec::new(),
            property: None,
            sentence: explained.to_string(),
            outline: explained.to_string(),
            parties: SmallVec::from_slice(&[self.role]),
            event: run.session.events().saturating_sub(1),
            consequence: false,
            halted,
        });
        run.session.violations = run.session.violations.saturating_add(u16::from(untimely.certain));
        if halted {
            self.halt(run);
            return Effect::Report(notice);
        }
        Effect::Untimely { notice, certain: untimely.certain }
    }

    pub(super) fn no_time<T>(&self, run: &Run<T>) -> Effect<T> {
        let notice = Notice::fault(self.role, NO_TIME.to_owned(), run.session.events(), false);
        Effect::Untimely { notice: Box::new(notice), certain: true }
    }
}
