//! The times of a session: when its messages arrived and were handed on, what the monitor says about that, and what is done then.

use std::collections::VecDeque;

use referee_monitor::{
    Kind, LabelId, Moment, NOT_WHOLE, Passed, Policy, Ruling, Side, TimeVerdict, Timer, Untimely, Verdict,
};
use referee_theory::Origin;
use referee_verdict::{EndReason, VerdictAction, VerdictClass, VerdictRecord};
use referee_wire::{Message, Sender};

use super::SessionState;
use crate::deadline::{Arrival, Deadlines, Seen};
use crate::direction::{DirectionState, Fate};
use crate::rules::TwoPartyRules;

const NO_TIME: &str =
    "nobody is to blame: a time of the protocol is negative or no number here: it is not judged";
const IN_DOUBT: &str = "; the guard did not see exactly enough when, so nobody is blamed";
const NOT_DECIDED: &str = "; the session ended before the guard could tell, so nobody is blamed";

/// What is known about the times of a session.
#[derive(Clone, Debug)]
pub(super) struct SessionTimes {
    timer: Timer,
    /// The messages that were forwarded before their turn, as in the session's lead.
    lead: VecDeque<LeadMessage>,
    /// By sender.
    streams: [StreamTimes; 2],
    /// A message that came too early waits: whose, and until when.
    held: Option<(Sender, i64)>,
    /// What had to wait until then is in time.
    released: i64,
    /// When it was last looked whether something had come.
    looked: i64,
    /// The deadline of the present state has passed for the side that waits, and the session is closed for it.
    pub(super) unanswered: Option<Sender>,
}

/// A message that was forwarded before its turn.
#[derive(Clone, Copy, Debug)]
struct LeadMessage {
    sender: Sender,
    label: LabelId,
    arrived: Moment,
    end: u64,
}

/// What one side has sent.
#[derive(Clone, Copy, Debug)]
struct StreamTimes {
    /// When the bytes arrived that are shown.
    arrival: Arrival,
    /// How many bytes were to go on.
    forwarded: u64,
    /// So many had been handed, and were not before.
    handed: (u64, u64),
    /// When those between were.
    handing: Moment,
}

impl SessionTimes {
    pub(super) fn new(rules: &TwoPartyRules, began: Moment) -> Self {
        let stream =
            StreamTimes { arrival: Arrival::at(began), forwarded: 0, handed: (0, 0), handing: began };
        Self {
            timer: rules.monitor.timer(began, rules.options.tolerance),
            lead: VecDeque::new(),
            streams: [stream; 2],
            held: None,
            released: i64::MIN,
            looked: i64::MIN,
            unanswered: None,
        }
    }

    pub(super) fn note_arrival(&mut self, sender: Sender, arrival: Arrival) {
        self.streams[sender.index()].arrival = arrival;
    }

    /// All that was forwarded to `side`, the receiver of what `sender` sends, up to `end` was handed when `moment` says.
    pub(super) fn note_handed(&mut self, sender: Sender, side: Side, end: u64, moment: Moment) {
        let stream = &mut self.streams[sender.index()];
        stream.handed = (stream.handed.1, end);
        stream.handing = moment;
        self.timer.handed(side, end, moment);
    }

    pub(super) fn note_writable(&mut self, side: Side, time: i64) {
        self.timer.writable(side, time);
    }

    /// When a message of `sender` that ends with byte `end` was handed on, as far as that is known.
    fn handing(&self, sender: Sender, end: u64, arrived: Moment) -> Moment {
        let stream = &self.streams[sender.index()];
        let (before, until) = stream.handed;
        if end > until {
            Moment::pending(arrived.earliest)
        } else if end > before {
            stream.handing
        } else {
            Moment { earliest: arrived.earliest, latest: stream.handing.latest }
        }
    }

    fn pass(&mut self, rules: &TwoPartyRules, message: LeadMessage) {
        let LeadMessage { sender, label, arrived, end } = message;
        let channel = rules.ahead.channel(rules.side(sender));
        let handed = self.handing(sender, end, arrived);
        rules.monitor.passed(&mut self.timer, &Passed { channel, label, arrived, handed, end });
    }

    /// So many bytes of `sender` were decided and go on.
    pub(super) fn note_forwarded(&mut self, sender: Sender, count: usize) {
        self.streams[sender.index()].forwarded += count as u64;
    }
}

impl SessionState {
    /// A part of a message of `sender` that was decided before.
    pub(super) fn note_part(&mut self, rules: &TwoPartyRules, sender: Sender, fate: Fate, count: usize) {
        let is_within = matches!(self.directions[sender.index()], DirectionState::WithinMessage(_));
        let Some(times) = &mut self.times else { return };
        if fate == Fate::Forward {
            times.note_forwarded(sender, count);
        }
        if is_within {
            return;
        }
        let stream = &times.streams[sender.index()];
        let (arrived, end) = (stream.arrival.any, stream.forwarded);
        if let Some(last) =
            times.lead.back_mut().filter(|last| last.sender == sender && last.end == NOT_WHOLE)
        {
            (last.arrived, last.end) = (arrived, end);
        }
        times.timer.whole(rules.side(sender), arrived, end);
    }

    /// What is said about the time of a message, before it is stepped over.
    pub(super) fn time_verdict(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        label: LabelId,
    ) -> TimeVerdict {
        let side = rules.side(sender);
        if !self.is_time_judged() || !rules.ahead.is_turn(&self.session, side) {
            return TimeVerdict::InTime;
        }
        let Some(times) = &mut self.times else { return TimeVerdict::InTime };
        let first = times.streams[sender.index()].arrival.first;
        let channel = rules.ahead.channel(side);
        match rules.monitor.in_time(&mut times.timer, &self.session, channel, label, first) {
            TimeVerdict::Untimely(early) if is_early(&early) && early.limit <= times.released => {
                TimeVerdict::InTime
            }
            verdict => verdict,
        }
    }

    /// What was let through although it is wrong, or could not be judged, leaves nobody knows whose turn.
    fn is_time_judged(&self) -> bool {
        self.inspecting && !self.session.is_tainted() && !self.session.is_lost() && !self.session.is_halted()
    }

    /// Whether a message of `sender` is too early and waits for its time.
    pub(super) fn waits(&mut self, rules: &TwoPartyRules, sender: Sender, verdict: &TimeVerdict) -> bool {
        let TimeVerdict::Untimely(untimely) = verdict else { return false };
        let holds = rules.options.deadlines == Deadlines::Enforce && rules.options.policy == Policy::Drop;
        let Some(times) = self.times.as_mut().filter(|_| holds && is_early(untimely)) else { return false };
        if times.held.replace((sender, untimely.limit)).is_none() {
            self.report_untimely(rules, untimely, None, IN_DOUBT);
        }
        true
    }

    /// A message was judged: `lead` messages had been sent ahead before. Its time begins what follows, if it goes on.
    pub(super) fn note_passed(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        label: LabelId,
        message: &Message<'_>,
        lead: usize,
    ) {
        let Some(times) = &mut self.times else { return };
        let stream = &times.streams[sender.index()];
        let arrived = stream.arrival.any;
        let passed = if message.has_body {
            LeadMessage { sender, label, arrived: Moment::pending(arrived.earliest), end: NOT_WHOLE }
        } else {
            LeadMessage { sender, label, arrived, end: stream.forwarded + message.bytes as u64 }
        };
        if times.held.is_some_and(|(who, _)| who == sender) {
            times.held = None;
        }
        if self.lead.len() > lead {
            times.lead.push_back(passed);
            return;
        }
        times.pass(rules, passed);
        // What the other side had sent ahead has its turn now.
        for _ in self.lead.len()..lead {
            if let Some(message) = times.lead.pop_front() {
                times.pass(rules, message);
            }
        }
    }

    /// What is to be done with a message that would go on, which `ruling` says, but may not be in time.
    pub(super) fn rule_on_time(
        &mut self,
        rules: &TwoPartyRules,
        verdict: TimeVerdict,
        ruling: Ruling,
    ) -> Ruling {
        match verdict {
            TimeVerdict::InTime => ruling,
            TimeVerdict::NoTime => {
                self.report_no_time(rules);
                ruling
            }
            TimeVerdict::Untimely(untimely) => {
                let closes = enforces(rules) && untimely.certain;
                let action = if closes { VerdictAction::Closed } else { VerdictAction::Forwarded };
                self.report_untimely(rules, &untimely, Some(action), IN_DOUBT);
                if !closes {
                    return ruling;
                }
                let verdict = Verdict::Violation(untimely.violation);
                Ruling { report: None, ..rules.options.policy.rule(&mut self.session, verdict) }
            }
        }
    }

    /// Until when somebody has to speak, and who; or until when a message is held, of nobody in particular.
    fn wanted(&self, rules: &TwoPartyRules) -> Option<(i64, Option<Sender>)> {
        let times = self.times.as_ref()?;
        if !self.is_time_judged() || self.directions.iter().any(DirectionState::is_ended) {
            return None;
        }
        if let Some((_, time)) = times.held {
            return Some((time, None));
        }
        let (side, limit) = rules.monitor.next_obligation(&times.timer, &self.session)?;
        let sender = Sender::BOTH.into_iter().find(|sender| rules.side(*sender) == side);
        Some((limit.saturating_add(1), sender))
    }

    /// When it wants to be asked.
    pub(super) fn wake_at(&self, rules: &TwoPartyRules) -> Option<i64> {
        let wanted = self.wanted(rules).map(|(time, _)| time);
        wanted.into_iter().chain(self.next_release(rules)).chain(self.next_property_deadline()).min()
    }

    /// When it matters next whether something has come, for it would be too early before that.
    fn next_release(&self, rules: &TwoPartyRules) -> Option<i64> {
        let times = self.times.as_ref().filter(|_| self.is_time_judged())?;
        rules.monitor.next_release(&times.timer, &self.session, times.looked)
    }

    /// It is `now`, and so much has been `seen` of both sides.
    pub(super) fn wake(&mut self, rules: &TwoPartyRules, now: i64, seen: [Seen; 2]) -> Result<(), EndReason> {
        if let Some(times) = &mut self.times {
            times.looked = seen.map(|seen| seen.read.unwrap_or(now)).into_iter().min().unwrap_or(now);
        }
        match self.wanted(rules) {
            Some((time, None)) if time <= now => {
                // What was held is shown again.
                if let Some(times) = &mut self.times {
                    (times.held, times.released) = (None, now);
                }
                self.progress += 1;
            }
            Some((time, Some(sender))) => {
                if let Some(decided) = seen[sender.index()].decided.filter(|decided| time <= *decided) {
                    self.overdue(rules, sender, decided)?;
                }
            }
            _ => {}
        }
        self.reach_seen(rules, now, seen)
    }

    /// All that `sender`, whose turn it is, had sent before `now` was decided, and the deadline of this state is over.
    fn overdue(&mut self, rules: &TwoPartyRules, sender: Sender, now: i64) -> Result<(), EndReason> {
        let Some(times) = &mut self.times else { return Ok(()) };
        match rules.monitor.overdue(&mut times.timer, &self.session, now) {
            TimeVerdict::InTime => Ok(()),
            TimeVerdict::NoTime => {
                self.report_no_time(rules);
                Ok(())
            }
            TimeVerdict::Untimely(untimely) => {
                times.unanswered = Some(sender.other());
                let closes = enforces(rules);
                self.report_untimely(rules, &untimely, closes.then_some(VerdictAction::Closed), IN_DOUBT);
                if !closes {
                    return Ok(());
                }
                let verdict = Verdict::Violation(untimely.violation);
                let _ = rules.options.policy.rule(&mut self.session, verdict);
                Err(EndReason::Violation)
            }
        }
    }

    /// The session ends at `now`: a deadline that has passed, and was not decided, is reported without blame.
    pub(super) fn expire(&mut self, rules: &TwoPartyRules, now: i64, seen: [Seen; 2]) {
        self.expire_properties(rules, now, seen);
        if self.wanted(rules).is_none_or(|(time, sender)| time > now || sender.is_none()) {
            return;
        }
        let Some(times) = &mut self.times else { return };
        if let TimeVerdict::Untimely(mut untimely) =
            rules.monitor.overdue(&mut times.timer, &self.session, now)
        {
            untimely.certain = false;
            self.report_untimely(rules, &untimely, None, NOT_DECIDED);
        }
    }

    #[cold]
    fn report_untimely(
        &mut self,
        rules: &TwoPartyRules,
        untimely: &Untimely,
        action: Option<VerdictAction>,
        doubt: &str,
    ) {
        let explanation = rules.monitor.explain_time(&self.session, untimely);
        let mut record = VerdictRecord::from(&explanation);
        record.event = self.last_event();
        record.certain = untimely.certain;
        record.action = action;
        if untimely.certain {
            self.violations += 1;
        } else {
            record.paper_rule = None;
            record.message += doubt;
        }
        self.report(rules, record, explanation.origin);
    }

    #[cold]
    fn report_no_time(&mut self, rules: &TwoPartyRules) {
        let (kind, message) = ("time".to_owned(), NO_TIME.to_owned());
        let event = self.last_event();
        let record =
            VerdictRecord { verdict: VerdictClass::Fault, kind, event, message, ..VerdictRecord::default() };
        self.report(rules, record, Origin::NONE);
    }
}

fn is_early(untimely: &Untimely) -> bool {
    untimely.violation.kind == Kind::Early
}

/// Whether a missed deadline ends the session.
fn enforces(rules: &TwoPartyRules) -> bool {
    rules.options.deadlines == Deadlines::Enforce && rules.options.policy == Policy::Halt
}
