//! Violations in words, worked out from the line that broke the protocol.

use std::collections::VecDeque;

use bumpalo::Bump;
use referee_monitor::{Event, EventLabel, Fault, FieldValue, Kind, Party, Payload, Session, Violation};

use super::careful::Line;
use super::json_payload;
use crate::decode::csv::Columns;
use crate::decode::event::scalar_text;
use crate::decode::fields::Scanner;
use crate::held::Kept;
use crate::payload::INLINE;
use crate::plan::Plan;
use crate::report::{Report, Step, Unanswered};
use crate::shape::Part;

/// How many characters of a message are shown.
const SHOWN: usize = 60;
/// And of a name.
const NAME_SHOWN: usize = 256;

/// The names in a line, as it writes them.
#[derive(Default)]
struct Names {
    from: String,
    to: String,
    label: String,
    payload: String,
    end: String,
}

fn names(plan: &Plan, text: &str, columns: Option<&Columns>) -> Names {
    if let Some(columns) = columns {
        let parts = columns.parts(text).unwrap_or_default();
        let part = |part: Part| parts[part as usize].as_deref().unwrap_or_default().to_owned();
        return Names {
            from: part(Part::From),
            to: part(Part::To),
            label: part(Part::Label),
            payload: String::new(),
            end: part(Part::End),
        };
    }
    let Ok((fields, _)) = Scanner::new(&plan.tree).line(text.as_bytes(), 0) else {
        return Names::default();
    };
    let part = |part: Part| scalar_text(fields.get(part).of(text));
    Names {
        from: part(Part::From),
        to: part(Part::To),
        label: part(Part::Label),
        payload: fields.get(Part::Payload).of(text).to_owned(),
        end: part(Part::End),
    }
}

/// The event as it is shown in a diagram.
pub(super) fn step(plan: &Plan, line: &Line<'_>) -> Step {
    let names = names(plan, line.text, line.columns.map(|columns| &**columns));
    if names.label.is_empty() {
        return Step { from: shortened(names.end, NAME_SHOWN), to: String::new(), message: String::new() };
    }
    let payload = if plan.tree.flat { "" } else { names.payload.as_str() };
    let mut message = names.label;
    if !payload.is_empty() && payload != "null" && payload != "{}" {
        message.push(' ');
        message.push_str(payload);
    }
    Step {
        from: shortened(names.from, NAME_SHOWN),
        to: shortened(names.to, NAME_SHOWN),
        message: shortened(message, SHOWN),
    }
}

/// `text`, or its beginning.
fn shortened(text: String, most: usize) -> String {
    if text.chars().nth(most).is_none() { text } else { text.chars().take(most - 1).chain(['…']).collect() }
}

/// A session, to be told about.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) session: &'a Session,
    pub(super) key: &'a [u8],
    /// How many events it has had.
    pub(super) events: u64,
    pub(super) history: &'a VecDeque<Step>,
}

impl About<'_> {
    fn key(&self) -> Option<String> {
        (!self.key.is_empty()).then(|| String::from_utf8_lossy(self.key).into_owned())
    }
}

/// Shows the message `kept` as an event.
pub(super) fn lend(plan: &Plan, kept: &Kept, look: &mut dyn FnMut(&Event<'_>)) {
    let text = &*kept.text;
    let bump = Bump::new();
    let mut values = [FieldValue::Unit; INLINE];
    let written = names(plan, text, kept.columns.as_deref());
    let number = plan.names.label_called(&written.label);
    let payload = match &kept.columns {
        Some(columns) => columns.payload(text, plan.names.fields(number), &bump),
        None => json_payload(plan, &written.payload, number, &mut values, &bump)
            .unwrap_or(Payload::Malformed("it could not be decoded")),
    };
    let to = receiver(plan, kept.from, &written.to);
    look(&Event { from: kept.from, to, label: EventLabel::Text(&written.label), payload });
}

fn receiver(plan: &Plan, from: Party, written: &str) -> Party {
    if written.is_empty() { plan.monitor.opposite(from) } else { plan.names.party_called(written) }
}

/// That `line` could not be judged.
pub(super) fn unanswered(
    plan: &Plan,
    line: &Line<'_>,
    about: About<'_>,
    fault: &Fault,
    payload: Payload<'_>,
) -> Unanswered {
    let names = names(plan, line.text, line.columns.map(|columns| &**columns));
    let to = receiver(plan, line.from, &names.to);
    let event = Event { from: line.from, to, label: EventLabel::Text(&names.label), payload };
    let explanation = plan.monitor.explain_fault(about.session, fault, &event);
    Unanswered {
        session: about.key(),
        event: line.number,
        sentence: explanation.to_string(),
        origin: explanation.origin,
        place: line.place.clone(),
    }
}

/// The violation that `line` was found to be in a session, which has not moved.
pub(super) fn report(
    plan: &Plan,
    line: &Line<'_>,
    about: About<'_>,
    violation: &Violation,
    consequence: bool,
    payload: Payload<'_>,
) -> Report {
    let monitor = &plan.monitor;
    let names = names(plan, line.text, line.columns.map(|columns| &**columns));
    let explanation = if violation.kind == Kind::PrematureEnd {
        monitor.explain_end(about.session, violation, line.from)
    } else {
        let to = receiver(plan, line.from, &names.to);
        let label = EventLabel::Text(&names.label);
        monitor.explain(about.session, violation, &Event { from: line.from, to, label, payload })
    };
    let mut sentence = explanation.to_string();
    let who = if names.from.is_empty() { names.end } else { names.from };
    let blame = match explanation.blame {
        Some(role) => role.to_string(),
        None => {
            sentence = sentence.replacen("the environment", &who, 1);
            who
        }
    };
    let history: Vec<Step> = about.history.iter().cloned().collect();
    let (assertion, values) = match explanation.assertion {
        Some(failure) => (Some(failure.assertion), failure.values),
        None => (None, Vec::new()),
    };
    Report {
        session: about.key(),
        kind: explanation.kind,
        blame,
        rejection: explanation.rejection,
        event: line.number,
        state: explanation.state,
        expected: explanation.expected,
        got: explanation.got,
        assertion,
        values,
        consequence,
        sentence,
        origin: explanation.origin,
        place: line.place.clone(),
        before: about.events.saturating_sub(history.len() as u64),
        history,
    }
}
