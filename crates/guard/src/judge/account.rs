//! What the judge tells of a session: verdicts with their explanation, and how it stands.

use std::time::SystemTime;

use referee_monitor::property::PropertyVerdict;
use referee_monitor::{Event, Explanation, FaultKind, FieldValue, Kind};
use referee_theory::expr::Value as Datum;
use referee_wire::{Label, Message, Sender};
use serde_json::{Map, Value, json};

use super::{Case, Judge, party, shown};
use crate::plan::Plan;
use crate::property::{Observation, Properties};
use crate::report::{Report, VerdictReport, timestamp};

impl Case {
    /// Tells of `report` about `event`, the codec's message `message`.
    #[cold]
    pub(super) fn tell(
        &mut self,
        plan: &Plan,
        message: Option<usize>,
        report: referee_monitor::Report,
        event: &Event<'_>,
        reason: Option<&str>,
    ) {
        let monitor = &plan.protocol.monitor;
        match report {
            referee_monitor::Report::Violation { violation, consequence } => {
                let mut explanation = monitor.explain(&self.session, &violation, event);
                plan.redaction.apply(message, &mut explanation);
                self.tell_violation(plan, &explanation, consequence, reason);
            }
            referee_monitor::Report::Fault(fault) => {
                let explanation = monitor.explain_fault(&self.session, &fault, event);
                let kind = match fault.kind {
                    FaultKind::Predicate => "predicate",
                    FaultKind::TooManyEarly => "too-many-early",
                    FaultKind::UnnamedPeer => "unnamed-peer",
                };
                let mut verdict = self.verdict_report(plan, "fault", kind);
                verdict.state = explanation.state;
                verdict.rule = plan.protocol.place(explanation.origin);
                let why = explanation.assertion.as_ref().and_then(|assertion| assertion.error.clone());
                verdict.assertion = explanation.assertion.map(|assertion| assertion.assertion);
                verdict.message = match (&verdict.assertion, why) {
                    (Some(assertion), Some(why)) => {
                        format!("nobody is to blame: whether `{assertion}` holds could not be told: {why}")
                    }
                    _ => format!("nobody is to blame: the monitor could not tell ({kind})"),
                };
                self.counters.note_verdict("", kind, message.map_or("?", |index| label(plan, index)));
                self.reports.push(Report::Verdict(Box::new(verdict)));
            }
        }
    }

    /// Tells of the premature end of `sender`, `cut` off within a message or not.
    #[cold]
    pub(super) fn tell_end(
        &mut self,
        plan: &Plan,
        sender: Sender,
        report: referee_monitor::Report,
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
            self.tell_violation(plan, &explanation, consequence, reason.as_deref());
        }
    }

    fn tell_violation(
        &mut self,
        plan: &Plan,
        explanation: &Explanation,
        consequence: bool,
        reason: Option<&str>,
    ) {
        self.violations += 1;
        let mut verdict = self.verdict_report(plan, "violation", explanation.kind.name());
        if explanation.kind == Kind::PrematureEnd && verdict.event >= 0 {
            // An end is no event: it comes where the next one would.
            verdict.event += 1;
        }
        verdict.blame = explanation.blame.as_deref().map(str::to_owned);
        verdict.state.clone_from(&explanation.state);
        verdict.expected = explanation.expected.iter().map(|expected| expected.label.clone()).collect();
        verdict.got.clone_from(&explanation.got);
        verdict.consequence = consequence;
        verdict.rejection = Some(explanation.rejection.name().to_owned());
        verdict.rule = plan.protocol.place(explanation.origin);
        if let Some(assertion) = &explanation.assertion {
            verdict.assertion = Some(assertion.assertion.clone());
            verdict.values =
                assertion.values.iter().map(|(name, value)| (name.to_string(), data(value))).collect();
        }
        verdict.message = match reason {
            Some(reason) => format!("{explanation}: {reason}"),
            None => explanation.to_string(),
        };
        let got = verdict.got.as_deref().unwrap_or("");
        let known = plan.codec.messages().iter().any(|message| *message.name == *got);
        let shown = if known || got.is_empty() { got } else { "?" };
        self.counters.note_verdict(verdict.blame.as_deref().unwrap_or(""), &verdict.kind, shown);
        self.reports.push(Report::Verdict(Box::new(verdict)));
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
            let mut verdict = self.verdict_report(plan, finding.verdict.name(), "property");
            verdict.event = i64::try_from(finding.event).unwrap_or(i64::MAX);
            verdict.got = Some(name.to_owned());
            verdict.message = match finding.verdict {
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
            verdict.property = Some(finding.property.to_string());
            // A key is part of a payload.
            verdict.key = finding.key.filter(|_| plan.redaction.is_empty());
            self.violations += u64::from(finding.verdict == PropertyVerdict::Violation);
            self.counters.note_verdict("", kind(finding.verdict), if known.is_some() { name } else { "?" });
            self.reports.push(Report::Verdict(Box::new(verdict)));
        }
        is_violated
    }

    fn verdict_report(&self, plan: &Plan, verdict: &str, kind: &str) -> VerdictReport {
        VerdictReport {
            time: timestamp(SystemTime::now()),
            listener: plan.name.clone(),
            session: self.id,
            source: self.source.clone(),
            verdict: verdict.to_owned(),
            kind: kind.to_owned(),
            event: i64::try_from(self.session.events()).unwrap_or(i64::MAX) - 1,
            policy: plan.policy_name().to_owned(),
            recent: self.recent.list(&plan.codec, &plan.protocol.roles),
            ..VerdictReport::default()
        }
    }
}

impl Judge {
    /// How the session stands, for `/sessions`.
    pub(crate) fn describe(&self) -> Value {
        let monitor = &self.plan.protocol.monitor;
        let expected: Vec<&str> = monitor
            .expected(&self.session)
            .iter()
            .map(|transition| monitor.vocabulary().label_of(transition.message))
            .collect();
        json!({
            "listener": self.plan.name,
            "session": self.id,
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

/// What metrics call a verdict of a property.
fn kind(verdict: PropertyVerdict) -> &'static str {
    match verdict {
        PropertyVerdict::Violation => "property",
        PropertyVerdict::Satisfaction => "satisfaction",
        PropertyVerdict::ResourceLimit => "resource-limit",
    }
}

fn label(plan: &Plan, index: usize) -> &str {
    plan.codec.messages().get(index).map_or("?", |known| &known.name)
}

/// A value of a payload variable. Floats that JSON cannot write, and bytes, are text.
fn data(value: &Datum) -> Value {
    match value {
        Datum::Unit => Value::Null,
        Datum::Bool(value) => (*value).into(),
        Datum::Int(value) => (*value).into(),
        Datum::Float(value) => {
            serde_json::Number::from_f64(*value).map_or_else(|| value.to_string().into(), Value::Number)
        }
        Datum::String(text) | Datum::Opaque(text) => text.to_string().into(),
        Datum::Bytes(_) => value.to_string().into(),
        Datum::List(values) | Datum::Tuple(values) => values.iter().map(data).collect(),
        Datum::Record(fields) => Value::Object(
            fields.iter().map(|(name, value)| (name.to_string(), data(value))).collect::<Map<_, _>>(),
        ),
    }
}
