//! One message of a session between two parties: the monitor's verdict, the policy, the properties.

use std::borrow::Cow;

use referee_monitor::{
    Event, EventLabel, FieldValue, Handling, LabelId, Party, Payload, Policy, Report, Ruling, Verdict,
};
use referee_verdict::EndReason;
use referee_wire::{Label, Message, Sender};

use super::SessionState;
use crate::direction::{Fate, Rest};
use crate::engine::{Action, Decision};
use crate::rules::TwoPartyRules;

impl SessionState {
    #[inline]
    pub(super) fn message(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        may_be_early: bool,
        message: &Message<'_>,
        fields: &[FieldValue<'_>],
    ) -> Decision {
        let known = match message.label {
            Label::Known(id) => Some(id),
            Label::Unknown(_) => None,
        };
        let policy = self.policy(rules, sender, known);
        let payload = Payload::Positional(fields);
        // A message that only a property suppresses has not happened.
        let before = (rules.options.properties.is_some() && policy == Policy::Drop)
            .then(|| (self.session.clone(), self.lead.clone(), self.times.clone()));
        let mut ruling = if message.aside || self.borrowed.is_lost() {
            Ruling { handling: Handling::Forward, report: None }
        } else {
            let label = known.and_then(|id| rules.labels.get(id.index())).copied();
            let label = label.unwrap_or(LabelId::UNKNOWN);
            if self.times.is_some() {
                self.timed_ruling(rules, (sender, may_be_early, policy), label, message, payload)
            } else {
                let verdict = self.verdict(rules, sender, may_be_early, label, payload);
                policy.rule(&mut self.session, verdict)
            }
        };
        if ruling.handling == Handling::Keep {
            return self.hold(rules, sender).into();
        }
        self.judged += 1;
        let is_fault = matches!(ruling.report, Some(Report::Fault(_)));
        let misfits = ruling.report.is_some();
        if let Some(report) = ruling.report {
            let text = shown(rules, message);
            let event = event(rules, sender, EventLabel::Text(&text), payload);
            self.explain(rules, known, (report, ruling.handling), &event, None);
        }
        self.recent.push(rules, sender, known, fields, misfits);
        if let (Some(properties), Handling::Forward) = (&rules.options.properties, ruling.handling)
            && self.is_violated_by(rules, properties, (sender, policy), message, fields)
        {
            ruling.handling = property_handling(policy);
            if let (Some(before), Handling::Suppress) = (before, ruling.handling) {
                (self.session, self.lead, self.times) = before;
            }
        }
        if rules.options.record && !message.aside {
            self.record(rules, (sender, ruling.handling == Handling::Forward), message, fields);
        }
        let action = match ruling.handling {
            Handling::Close if is_fault => Action::Close(EndReason::Fault),
            Handling::Close => Action::Close(EndReason::Violation),
            // The others of its array are not to go on without it.
            Handling::Suppress if self.connection.is_in_batch(sender) => Action::Close(EndReason::Violation),
            Handling::Suppress if rules.options.refusals.is_some() => self.refuse(rules, sender, message),
            handling => self.take(rules, sender, message, handling == Handling::Forward),
        };
        if is_fault && ruling.handling != Handling::Close {
            // Where the sides are now nobody knows: whatever is said of what follows could blame the innocent.
            self.stop_inspecting("a function gave no answer");
        }
        Decision { action, message: known }
    }

    /// What is to be done with a message where times matter.
    fn timed_ruling(
        &mut self,
        rules: &TwoPartyRules,
        (sender, may_be_early, policy): (Sender, bool, Policy),
        label: LabelId,
        message: &Message<'_>,
        payload: Payload<'_>,
    ) -> Ruling {
        let in_time = self.time_verdict(rules, sender, label);
        if self.waits(rules, sender, &in_time) {
            return Ruling { handling: Handling::Keep, report: None };
        }
        let lead = self.lead.len();
        let verdict = self.verdict(rules, sender, may_be_early, label, payload);
        let ruling = policy.rule(&mut self.session, verdict);
        if verdict != Verdict::Forward {
            return ruling;
        }
        self.note_passed(rules, sender, label, message, lead);
        self.rule_on_time(rules, in_time, ruling)
    }

    /// Takes `message` off the connection, to be `forwarded` or not.
    #[inline]
    pub(super) fn take(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        message: &Message<'_>,
        forwarded: bool,
    ) -> Action {
        rules.codec.take(&mut self.connection, sender, message.after, forwarded);
        let known = match message.label {
            Label::Known(id) => Some(id),
            Label::Unknown(_) => None,
        };
        let asks = forwarded && known.is_some_and(|id| rules.readings.asks(id));
        let fate = if forwarded { Fate::Forward } else { Fate::Discard };
        let rest = Rest { message: known, fate, asks, part: 0, is_last_part: false };
        self.direction(sender).decided(message.has_body.then_some(rest), asks);
        if forwarded {
            self.progress += 1;
            if let Some(times) = &mut self.times {
                times.note_forwarded(sender, message.bytes);
            }
            Action::Forward(message.bytes)
        } else {
            Action::Discard(message.bytes)
        }
    }

    #[inline]
    pub(super) fn verdict(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        may_be_early: bool,
        label: LabelId,
        payload: Payload<'_>,
    ) -> Verdict {
        let side = rules.side(sender);
        // What the protocol has nowhere is wrong whenever it comes.
        let waits = may_be_early && label != LabelId::UNKNOWN;
        if waits || rules.ahead.is_turn(&self.session, side) {
            let (session, lead) = (&mut self.session, &mut self.lead);
            let verdict = rules.ahead.judge(&rules.monitor, session, lead, side, label, payload);
            // Of blocks side by side, what only another block's turn would allow.
            if verdict != Verdict::Early || waits {
                return verdict;
            }
        }
        let channel = rules.ahead.channel(side);
        rules.monitor.step_interned(&mut self.session, channel, label, payload)
    }

    /// The guard's own limit is reached: nobody is to blame.
    #[cold]
    pub(super) fn too_long(&mut self, rules: &TwoPartyRules, reason: Cow<'static, str>) -> Action {
        let note = match reason {
            Cow::Borrowed(reason) => reason,
            Cow::Owned(_) => "a message was longer than the limit",
        };
        if rules.options.pass_beyond_limit || rules.options.policy == Policy::Observe {
            self.stop_inspecting(note);
            return Action::ForwardAll;
        }
        self.note = Some(note);
        Action::Close(EndReason::MessageLimit)
    }

    #[cold]
    pub(super) fn malformed(&mut self, rules: &TwoPartyRules, sender: Sender, reason: &str) -> Action {
        let event = event(rules, sender, EventLabel::Malformed(reason), Payload::Malformed(reason));
        let ruling = rules.monitor.supervise(rules.options.policy, &mut self.session, &event);
        self.judged += 1;
        if let Some(report) = ruling.report {
            self.explain(rules, None, (report, ruling.handling), &event, Some(reason));
        }
        match ruling.handling {
            // Where the next message begins cannot be told.
            Handling::Forward => {
                self.stop_inspecting("something could not be decoded");
                Action::ForwardAll
            }
            Handling::Keep => self.hold(rules, sender),
            Handling::Suppress | Handling::Close => Action::Close(EndReason::Violation),
        }
    }
}

/// What `message` may be called in reports.
pub(super) fn shown<'a>(rules: &'a TwoPartyRules, message: &Message<'a>) -> Cow<'a, str> {
    let text = rules.codec.name(message.label);
    match message.label {
        Label::Known(_) => text.into(),
        Label::Unknown(_) => rules.options.redaction.show(text, message.bytes),
    }
}

/// What becomes of a message that violates a property.
pub(super) fn property_handling(policy: Policy) -> Handling {
    match policy {
        Policy::Halt => Handling::Close,
        Policy::Drop => Handling::Suppress,
        Policy::Observe => Handling::Forward,
    }
}

fn event<'a>(
    rules: &TwoPartyRules,
    sender: Sender,
    label: EventLabel<'a>,
    payload: Payload<'a>,
) -> Event<'a> {
    let [from, to]: [Party; 2] = [sender, sender.other()].map(|sender| rules.party(sender));
    Event { from, to, label, payload }
}
