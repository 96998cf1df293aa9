//! Violations in words, worked out from the line that broke the protocol.

use referee_monitor::{Event, EventLabel, Kind, Payload, Violation};

use super::careful::Line;
use crate::decode::event::scalar_text;
use crate::decode::fields::Scanner;
use crate::plan::Plan;
use crate::report::{Report, Step};
use crate::sessions::Entry;
use crate::shape::Part;

/// How many characters of a message are shown.
const SHOWN: usize = 60;

/// The names in a line, as it writes them.
#[derive(Default)]
struct Names {
    from: String,
    to: String,
    label: String,
    payload: String,
    end: String,
}

fn names(plan: &Plan, line: &Line<'_>) -> Names {
    if let Some(columns) = line.columns {
        let parts = columns.parts(line.text).unwrap_or_default();
        let part = |part: Part| parts[part as usize].as_deref().unwrap_or_default().to_owned();
        return Names {
            from: part(Part::From),
            to: part(Part::To),
            label: part(Part::Label),
            payload: String::new(),
            end: part(Part::End),
        };
    }
    let Ok((fields, _)) = Scanner::new(&plan.tree).line(line.text.as_bytes(), 0) else {
        return Names::default();
    };
    let part = |part: Part| scalar_text(fields.get(part).of(line.text));
    Names {
        from: part(Part::From),
        to: part(Part::To),
        label: part(Part::Label),
        payload: fields.get(Part::Payload).of(line.text).to_owned(),
        end: part(Part::End),
    }
}

/// The event as it is shown in a diagram.
pub(super) fn step(plan: &Plan, line: &Line<'_>) -> Step {
    let names = names(plan, line);
    if names.label.is_empty() {
        return Step { from: names.end, to: String::new(), message: String::new() };
    }
    let payload = if plan.tree.flat { "" } else { names.payload.as_str() };
    let mut message = names.label;
    if !payload.is_empty() && payload != "null" && payload != "{}" {
        message.push(' ');
        message.push_str(payload);
    }
    if message.chars().count() > SHOWN {
        message = message.chars().take(SHOWN - 1).chain(['…']).collect();
    }
    Step { from: names.from, to: names.to, message }
}

/// The violation that `line` was found to be in the session of `entry`, which has not moved.
pub(super) fn report(
    plan: &Plan,
    line: &Line<'_>,
    entry: &Entry,
    violation: &Violation,
    consequence: bool,
    payload: Payload<'_>,
) -> Report {
    let monitor = &plan.monitor;
    let names = names(plan, line);
    let explanation = if violation.kind == Kind::PrematureEnd {
        monitor.explain_end(&entry.session, violation, line.from)
    } else {
        let to = match names.to.is_empty() {
            true => monitor.opposite(line.from),
            false => plan.names.party_called(&names.to),
        };
        let label = EventLabel::Text(&names.label);
        monitor.explain(&entry.session, violation, &Event { from: line.from, to, label, payload })
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
    let history: Vec<Step> =
        entry.extra.as_deref().map(|extra| extra.history.iter().cloned().collect()).unwrap_or_default();
    let key = String::from_utf8_lossy(&entry.key).into_owned();
    let (assertion, values) = match explanation.assertion {
        Some(failure) => (Some(failure.assertion), failure.values),
        None => (None, Vec::new()),
    };
    Report {
        session: Some(key).filter(|key| !key.is_empty()),
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
        before: entry.events.saturating_sub(history.len() as u64),
        history,
    }
}
