//! What is reported of a session: verdicts with their explanation.

use referee_monitor::{Event, Explanation, FieldValue, Handling, Kind, Policy, Report};
use referee_theory::Origin;
use referee_verdict::{VerdictAction, VerdictRecord};
use referee_wire::{Label, Message, MessageId, Sender};

use super::SessionState;
use super::judge::{property_handling, shown};
use crate::direction::DirectionState;
use crate::engine::{RecordedMessage, SessionVerdict};
use crate::property::{Observation, Properties, PropertyFinding};
use crate::redact::HIDDEN;
use crate::rules::TwoPartyRules;

impl SessionState {
    /// Reports `report` about `event`, the codec's message `message`, which was `handled` so.
    #[cold]
    pub(super) fn explain(
        &mut self,
        rules: &TwoPartyRules,
        message: Option<MessageId>,
        (report, handled): (Report, Handling),
        event: &Event<'_>,
        reason: Option<&str>,
    ) {
        match report {
            Report::Violation { violation, consequence } => {
                let mut explanation = rules.monitor.explain(&self.session, &violation, event);
                rules.options.redaction.apply(message, &mut explanation);
                self.report_violation(rules, &explanation, (consequence, handled), reason);
            }
            Report::Fault(fault) => {
                let explanation = rules.monitor.explain_fault(&self.session, &fault, event);
                let mut record = VerdictRecord::from(&explanation);
                record.label = message.map(|id| label(rules, id).to_owned());
                record.got.clone_from(&record.label);
                record.action = action(handled);
                record.event = self.last_event();
                self.report(rules, record, explanation.origin);
            }
        }
    }

    /// Reports the premature end of `sender`, cut off within a message or not.
    #[cold]
    pub(super) fn explain_end(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        (report, handled): (Report, Handling),
        is_cut: bool,
    ) {
        let Report::Violation { violation, consequence } = report else { return };
        let mut explanation = rules.monitor.explain_end(&self.session, &violation, rules.party(sender));
        let within = match self.directions[sender.index()] {
            DirectionState::Ended { within, .. } => within.and_then(|rest| rest.message),
            _ => None,
        };
        let reason = match within {
            Some(id) => {
                // What the protocol expects next comes after that.
                explanation.expected.clear();
                Some(format!("within `{}`, the rest of which was expected", label(rules, id)))
            }
            None => is_cut.then(|| "within a message".to_owned()),
        };
        self.report_violation(rules, &explanation, (consequence, handled), reason.as_deref());
    }

    fn report_violation(
        &mut self,
        rules: &TwoPartyRules,
        explanation: &Explanation,
        (consequence, handled): (bool, Handling),
        reason: Option<&str>,
    ) {
        self.violations += 1;
        let mut record = VerdictRecord::from(explanation);
        let is_end = explanation.kind == Kind::PrematureEnd;
        // An end is no event: it comes where the next one would.
        record.event = self.last_event() + i64::from(is_end);
        record.consequence = consequence;
        // Of an end nothing goes on.
        record.action = action(handled).filter(|action| !is_end || *action == VerdictAction::Closed);
        if let Some(reason) = reason {
            record.message += &format!(": {reason}");
        }
        self.report(rules, record, explanation.origin);
    }

    /// Lets the properties see a message that goes on, and reports what they say. Whether it must not go on.
    pub(super) fn is_violated_by(
        &mut self,
        rules: &TwoPartyRules,
        properties: &Properties,
        (sender, policy): (Sender, Policy),
        message: &Message<'_>,
        fields: &[FieldValue<'_>],
    ) -> bool {
        let observation = observation(rules, sender, message, fields);
        let is_known = matches!(message.label, Label::Known(_));
        let time = self.event_time(sender);
        if let Some(time) = time
            && self.reach(rules, time.at)
        {
            return true;
        }
        let is_suppressed = property_handling(policy) == Handling::Suppress;
        let findings = properties.observe(&mut self.observed, &observation, time, is_suppressed);
        let name = &*shown(rules, message);
        let is_violated = findings.iter().any(PropertyFinding::is_decisive);
        for finding in findings {
            let is_decisive = finding.is_decisive();
            self.violations += u64::from(is_decisive);
            let handled = if is_decisive { property_handling(policy) } else { Handling::Forward };
            let shows_key = rules.options.redaction.is_empty();
            let record = finding.record(name, is_known, action(handled), shows_key);
            self.report(rules, record, Origin::NONE);
        }
        self.report_no_value(rules);
        is_violated
    }

    /// Records `message`, which went on or did not.
    #[cold]
    pub(super) fn record(
        &mut self,
        rules: &TwoPartyRules,
        (sender, forwarded): (Sender, bool),
        message: &Message<'_>,
        fields: &[FieldValue<'_>],
    ) {
        let redaction = &rules.options.redaction;
        let known = match message.label {
            Label::Known(id) => Some(id),
            Label::Unknown(_) => None,
        };
        let mut fields = fields.to_vec();
        for (index, field) in
            fields.iter_mut().enumerate().filter(|(index, _)| redaction.hides(known, *index))
        {
            debug_assert!(!redaction.is_empty(), "field {index} is hidden");
            *field = FieldValue::Str(HIDDEN);
        }
        let observation = observation(rules, sender, message, &fields);
        self.recorded.push(RecordedMessage {
            session: self.link.as_ref().map(|link| link.number()),
            from: observation.from.to_owned(),
            to: observation.to.to_owned(),
            label: shown(rules, message).into_owned(),
            payload: observation.payload(),
            forwarded,
        });
    }

    /// The number of the last event of the session, from 0; −1 before any.
    pub(super) fn last_event(&self) -> i64 {
        i64::try_from(self.session.events()).unwrap_or(i64::MAX) - 1
    }

    pub(super) fn report(&mut self, rules: &TwoPartyRules, mut record: VerdictRecord, origin: Origin) {
        let monitor = &rules.monitor;
        record.role = Some(monitor.vocabulary().role_name(monitor.machine().role()).to_owned());
        let recent = self.recent.list(&rules.codec, &rules.roles);
        self.reports.push(SessionVerdict { record, origin, recent });
    }
}

/// `message` as properties see it.
fn observation<'a>(
    rules: &'a TwoPartyRules,
    sender: Sender,
    message: &Message<'a>,
    fields: &'a [FieldValue<'a>],
) -> Observation<'a> {
    let role = |sender: Sender| rules.roles[sender.index()].as_str();
    let known = match message.label {
        Label::Known(id) => rules.codec.messages().get(id.index()),
        Label::Unknown(_) => None,
    };
    Observation {
        from: role(sender),
        to: role(sender.other()),
        label: rules.codec.name(message.label),
        declared: known.map(|known| &*known.fields).unwrap_or_default(),
        fields,
    }
}

/// What is done with a message that was `handled` so.
fn action(handled: Handling) -> Option<VerdictAction> {
    match handled {
        Handling::Forward => Some(VerdictAction::Forwarded),
        Handling::Suppress => Some(VerdictAction::Discarded),
        Handling::Close => Some(VerdictAction::Closed),
        Handling::Keep => None,
    }
}

fn label(rules: &TwoPartyRules, message: MessageId) -> &str {
    rules.codec.messages().get(message.index()).map_or("?", |known| &known.name)
}
