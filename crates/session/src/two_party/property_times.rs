//! The times of a session's properties: when messages came, and up to when all are known (`docs/time.md`, section 2, "In guards").

use referee_monitor::{Moment, Policy};
use referee_theory::Origin;
use referee_verdict::{EndReason, VerdictAction, VerdictClass, VerdictRecord};
use referee_wire::Sender;

use super::SessionState;
use crate::deadline::{Arrival, Seen};
use crate::engine::{Action, HoldUntil};
use crate::property::{EventTime, PropertyFinding};
use crate::rules::TwoPartyRules;

const NO_VALUE: &str = "nobody is to blame: a guard or duration of a property that computes with times has no value here, \
                        or a duration is negative: what depends on it is not judged";

/// What is known about the times of a session's messages.
#[derive(Clone, Debug)]
pub(super) struct PropertyTimes {
    /// What the clock of deadlines lacks to nanoseconds since 1970.
    epoch: i64,
    /// Of what each side has sent and was shown last.
    arrivals: [Arrival; 2],
    /// Whether a message of the client, and of the server, has begun and is not whole.
    is_partial: [bool; 2],
    /// All that had arrived before was read, of each side.
    seen: [i64; 2],
}

impl PropertyTimes {
    pub(super) fn new(began: Moment, epoch: i64) -> Self {
        Self { epoch, arrivals: [Arrival::at(began); 2], is_partial: [false; 2], seen: [began.earliest; 2] }
    }

    pub(super) fn note_arrival(&mut self, sender: Sender, arrival: Arrival) {
        self.arrivals[sender.index()] = arrival;
    }

    fn note_seen(&mut self, seen: [Seen; 2]) {
        for (known, new) in self.seen.iter_mut().zip(seen) {
            *known = new.read.map_or(*known, |read| read.max(*known));
        }
    }

    /// All that began to arrive before this is known for certain.
    fn certain(&self) -> i64 {
        let of = |side: usize| {
            let began = self.is_partial[side].then_some(self.arrivals[side].first.earliest);
            began.map_or(self.seen[side], |began| began.min(self.seen[side]))
        };
        of(0).min(of(1)).saturating_add(self.epoch)
    }
}

impl SessionState {
    /// What `sender` has sent is to be treated so: whether it has begun a message that is not whole.
    #[inline]
    pub(super) fn note_partial(&mut self, sender: Sender, action: Action) {
        if let Some(times) = &mut self.property_times {
            times.is_partial[sender.index()] = matches!(action, Action::Hold(HoldUntil::Length(_)));
        }
    }

    /// When the properties want to be told what time it is.
    pub(super) fn next_property_deadline(&self) -> Option<i64> {
        let times = self.property_times.as_ref()?;
        let deadline = self.observed.next_deadline()?;
        Some(deadline.saturating_sub(times.epoch).saturating_add(1))
    }

    /// When the message of `sender` that is judged came: not before what came before it.
    pub(super) fn event_time(&self, sender: Sender) -> Option<EventTime> {
        let times = self.property_times.as_ref()?;
        let Arrival { first, is_prompt, .. } = times.arrivals[sender.index()];
        let read = first.latest.saturating_add(times.epoch);
        Some(EventTime { at: read.max(self.observed.reached()), is_exact: is_prompt })
    }

    /// It is `now`, and so much was `seen`: the properties are told up to when everything is known. Of a message that has begun and is not
    /// whole, when it began; what waits for its turn happens when that comes.
    pub(super) fn reach_seen(
        &mut self,
        rules: &TwoPartyRules,
        now: i64,
        seen: [Seen; 2],
    ) -> Result<(), EndReason> {
        let Some(times) = &mut self.property_times else { return Ok(()) };
        times.note_seen(seen);
        let until = Sender::BOTH.map(|sender| {
            let side = sender.index();
            let is_over = self.directions[side].is_ended();
            let known = if seen[side].is_blind || is_over { Some(now) } else { seen[side].read };
            let began = times.is_partial[side] && !is_over;
            known.map(|known| if began { known.min(times.arrivals[side].first.latest) } else { known })
        });
        let [Some(client), Some(server)] = until else { return Ok(()) };
        let reached = client.min(server).saturating_add(times.epoch);
        if self.reach(rules, reached) { Err(EndReason::Violation) } else { Ok(()) }
    }

    /// A side ends: whoever was to say something by now has not.
    pub(super) fn expire_properties(&mut self, rules: &TwoPartyRules, now: i64, seen: [Seen; 2]) {
        let Some(times) = &mut self.property_times else { return };
        times.note_seen(seen);
        let reached = now.saturating_add(times.epoch);
        self.reach_in(rules, reached, false);
    }

    /// All events before `time` are known: reports what the properties say. Whether the session is to be closed for it.
    pub(super) fn reach(&mut self, rules: &TwoPartyRules, time: i64) -> bool {
        let halts = rules.options.policy == Policy::Halt && rules.options.refusals.is_none();
        self.reach_in(rules, time, halts)
    }

    fn reach_in(&mut self, rules: &TwoPartyRules, time: i64, halts: bool) -> bool {
        let (Some(times), Some(properties)) = (&self.property_times, &rules.options.properties) else {
            return false;
        };
        let findings = properties.reach(&mut self.observed, time, times.certain());
        let closes = halts && findings.iter().any(PropertyFinding::is_decisive);
        for finding in findings {
            self.report_silence(rules, finding, halts);
        }
        closes
    }

    #[cold]
    fn report_silence(&mut self, rules: &TwoPartyRules, finding: PropertyFinding, halts: bool) {
        self.violations += u64::from(finding.is_decisive());
        let violated = (halts && finding.is_decisive()).then_some(VerdictAction::Closed);
        let record = finding.record("", false, violated, rules.options.redaction.is_empty());
        self.report(rules, record, Origin::NONE);
    }

    /// Reports that something about times had no value, once.
    pub(super) fn report_no_value(&mut self, rules: &TwoPartyRules) {
        if self.property_times.is_none() || !self.observed.take_fault() {
            return;
        }
        let (kind, message) = ("time".to_owned(), NO_VALUE.to_owned());
        let event = self.last_event();
        let record =
            VerdictRecord { verdict: VerdictClass::Fault, kind, event, message, ..VerdictRecord::default() };
        self.report(rules, record, Origin::NONE);
    }
}
