//! What the judge tells of a session: verdicts with their explanation, and how it stands.

use std::time::SystemTime;

use referee_monitor::property::PropertyVerdict;
use referee_monitor::{Event, Explanation, FieldValue, Handling, Kind};
use referee_wire::{Label, Message, Sender};
use serde_json::{Value, json};

use super::{Case, Judge, party, property_handling, shown};
use crate::plan::Plan;
use crate::property::{Observation, Properties};
use crate::report::{Report, VerdictAction, VerdictClass, VerdictRecord, VerdictReport, timestamp};

impl Case {
    /// Tells of `report` about `event`, the codec's message `message`, which was `handled` so.
    #[cold]
    pub(super) fn tell(
        &mut self,
        plan: &Plan,
        message: Option<usize>,
        (report, handled): (referee_monitor::Report, Handling),
        event: &Event<'_>,
        reason: Option<&str>,
    ) {
        let monitor = &plan.protocol.monitor;
        match report {
            referee_monitor::Report::Violation { violation, consequence } => {
                let mut explanation = monitor.explain(&self.session, &violation, event);
                plan.redaction.apply(message, &mut explanation);
                self.tell_violation(plan, &explanation, (consequence, handled), reason);
            }
            referee_monitor::Report::Fault(fault) => {
                let explanation = monitor.explain_fault(&self.session, &fault, event);
                let mut verdict = VerdictRecord::from(&explanation);
                verdict.label = message.map(|index| label(plan, index).to_owned());
                verdict.got.clone_from(&verdict.label);
                verdict.rule = plan.protocol.location(explanation.origin);
                verdict.action = action(handled);
                verdict.event = self.last_event();
                self.counters.note_verdict("", &verdict.kind, verdict.label.as_deref().unwrap_or("?"));
                self.report(plan, verdict);
            }
        }
    }

    /// Tells of the premature end of `sender`, `cut` off within a message or not.
    #[cold]
    pub(super) fn tell_end(
        &mut self,
        plan: &Plan,
        sender: Sender,
        (report, handled): (referee_monitor::Report, Handling),
        cut: bool,
    ) {
        if let referee_monitor::Report::Violation { violation, consequence } = report {
            let who = party(plan.side(sender));
            let mut explanation = plan.protocol.monitor.explain_end(&self.session, &violation, who);
            let flow = self.flows[sender.index()];
            // What the protocol expects next comes after that.
            let reason = match flow.message.filter(|_| flow.within) {
                Some(index) => {
                    explanation.expected.clear();
                    Some(format!("within `{}`, the rest of which was expected", label(plan, index)))
                }
                None => cut.then(|| "within a message".to_owned()),
            };
            self.tell_violation(plan, &explanation, (consequence, handled), reason.as_deref());
        }
    }

    fn tell_violation(
        &mut self,
        plan: &Plan,
        explanation: &Explanation,
        (consequence, handled): (bool, Handling),
        reason: Option<&str>,
    ) {
        self.violations += 1;
        let mut verdict = VerdictRecord::from(explanation);
        let is_end = explanation.kind == Kind::PrematureEnd;
        // An end is no event: it comes where the next one would.
        verdict.event = self.last_event() + i64::from(is_end);
        verdict.consequence = consequence;
        // Of an end nothing goes on.
        verdict.action = action(handled).filter(|action| !is_end || *action == VerdictAction::Closed);
        verdict.rule = plan.protocol.location(explanation.origin);
        if let Some(reason) = reason {
            verdict.message += &format!(": {reason}");
        }
        let got = verdict.got.as_deref().unwrap_or("");
        let known = plan.codec.messages().iter().any(|message| *message.name == *got);
        let shown = if known || got.is_empty() { got } else { "?" };
        self.counters.note_verdict(verdict.blame.as_deref().unwrap_or(""), &verdict.kind, shown);
        self.report(plan, verdict);
    }

    /// Lets the properties see a message that goes on, and tells what they say. Whether one is violated.
    pub(super) fn is_violated_by(
        &mut self,
        plan: &Plan,
        properties: &Properties,
        sender: Sender,
        message: &Message<'_>,
        fields: &[FieldValue<'_>],
    ) -> bool {
        let roles = &plan.protocol.roles;
        let role = |sender: Sender| roles.get(sender.index()).map(String::as_str).unwrap_or_default();
        let known = match message.label {
            Label::Known(id) => plan.codec.messages().get(id.index()),
            Label::Unknown(_) => None,
        };
        let observation = Observation {
            from: role(sender),
            to: role(sender.other()),
            label: plan.codec.name(message.label),
            declared: known.map(|known| &*known.fields).unwrap_or_default(),
            fields,
        };
        let findings = properties.observe(&mut self.observed, &observation);
        let name = &*shown(plan, message);
        let is_violated = findings.iter().any(|finding| finding.verdict == PropertyVerdict::Violation);
        for finding in findings {
            let (class, counted) = class(finding.verdict);
            let message = match finding.verdict {
                PropertyVerdict::Violation => format!("`{name}` violates property `{}`", finding.property),
                PropertyVerdict::Satisfaction => {
                    format!("`{name}` satisfies property `{}`", finding.property)
                }
                PropertyVerdict::ResourceLimit => {
                    format!(
                        "no room for property `{}` (limits.instances): no more is said of it",
                        finding.property
                    )
                }
            };
            let verdict = VerdictRecord {
                verdict: class,
                kind: "property".to_owned(),
                property: Some(finding.property.to_string()),
                // A key is part of a payload.
                key: finding.key.filter(|_| plan.redaction.is_empty()),
                event: i64::try_from(finding.event).unwrap_or(i64::MAX),
                label: known.map(|_| name.to_owned()),
                got: Some(name.to_owned()),
                action: match finding.verdict {
                    PropertyVerdict::Violation => action(property_handling(plan.policy)),
                    PropertyVerdict::Satisfaction | PropertyVerdict::ResourceLimit => {
                        Some(VerdictAction::Forwarded)
                    }
                },
                message,
                ..VerdictRecord::default()
            };
            self.violations += u64::from(finding.verdict == PropertyVerdict::Violation);
            self.counters.note_verdict("", counted, if known.is_some() { name } else { "?" });
            self.report(plan, verdict);
        }
        is_violated
    }

    /// The number of the last event of the session, from 0; −1 before any.
    fn last_event(&self) -> i64 {
        i64::try_from(self.session.events()).unwrap_or(i64::MAX) - 1
    }

    /// Keeps `verdict` to be told, with when and where it was found.
    fn report(&mut self, plan: &Plan, mut verdict: VerdictRecord) {
        let monitor = &plan.protocol.monitor;
        verdict.time = Some(timestamp(SystemTime::now()));
        verdict.session = Some(self.id.to_string());
        verdict.source = Some(self.source.clone());
        verdict.role = Some(monitor.vocabulary().role_name(monitor.machine().role()).to_owned());
        self.reports.push(Report::Verdict(Box::new(VerdictReport {
            listener: plan.name.clone(),
            record: verdict,
            policy: plan.policy_name().to_owned(),
            recent: self.recent.list(&plan.codec, &plan.protocol.roles),
        })));
    }
}

impl Judge {
    /// How the session stands, for `/sessions`.
    pub(crate) fn describe(&self) -> Value {
        let monitor = &self.plan.protocol.monitor;
        let expected = monitor.explain_expected(&self.session);
        let expected: Vec<&str> = expected.iter().map(|expected| &*expected.signature).collect();
        json!({
            "listener": self.plan.name,
            "session": self.id.to_string(),
            "source": self.source,
            "state": monitor.machine().state_name(self.session.state()),
            "expected": expected,
            "over": self.is_over(),
            "inspecting": self.inspecting,
            "messages": self.judged,
            "violations": self.violations,
            "recent": self.recent.list(&self.plan.codec, &self.plan.protocol.roles),
        })
    }
}

/// What records and metrics call a verdict of a property.
fn class(verdict: PropertyVerdict) -> (VerdictClass, &'static str) {
    match verdict {
        PropertyVerdict::Violation => (VerdictClass::Violation, "property"),
        PropertyVerdict::Satisfaction => (VerdictClass::Satisfaction, "satisfaction"),
        PropertyVerdict::ResourceLimit => (VerdictClass::ResourceLimit, "resource-limit"),
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

fn label(plan: &Plan, index: usize) -> &str {
    plan.codec.messages().get(index).map_or("?", |known| &known.name)
}
