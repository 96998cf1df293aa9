//! Violations in words, worked out from the line that broke the protocol.

use std::collections::VecDeque;

use bumpalo::Bump;
use referee_monitor::{
    Event, EventLabel, Explanation, Fault, FieldValue, Kind, Party, Payload, Possible, Session, Untimely,
    Violation,
};

use super::careful::Line;
use super::json_payload;
use crate::decode::csv::Columns;
use crate::decode::event::scalar_text;
use crate::decode::fields::Scanner;
use crate::held::Kept;
use crate::payload::INLINE;
use crate::plan::Plan;
use crate::report::{Place, Report, Step, Unanswered, visible};
use crate::sessions::Entry;
use crate::shape::Part;

/// How many characters of a message are shown.
const SHOWN: usize = 60;
/// And of a name.
const NAME_SHOWN: usize = 256;

/// The names in a line, as it writes them.
#[derive(Default)]
pub(super) struct Names {
    from: String,
    to: String,
    pub(super) label: String,
    payload: String,
    end: String,
    time: String,
}

pub(super) fn names(plan: &Plan, text: &str, columns: Option<&Columns>) -> Names {
    if let Some(columns) = columns {
        let parts = columns.parts(text).unwrap_or_default();
        let part = |part: Part| parts[part as usize].as_deref().unwrap_or_default().to_owned();
        return Names {
            from: part(Part::From),
            to: part(Part::To),
            label: part(Part::Label),
            payload: String::new(),
            end: part(Part::End),
            time: part(Part::Time),
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
        time: part(Part::Time),
    }
}

/// The event as it is shown in a diagram.
pub(super) fn step(plan: &Plan, line: &Line<'_>) -> Step {
    let names = names(plan, line.text, line.columns.map(|columns| &**columns));
    if names.label.is_empty() {
        return Step {
            from: shortened(visible(&names.end).into_owned(), NAME_SHOWN),
            to: String::new(),
            message: String::new(),
        };
    }
    let payload = if plan.tree.flat { "" } else { names.payload.as_str() };
    let mut message = names.label;
    if !payload.is_empty() && payload != "null" && payload != "{}" {
        message.push(' ');
        message.push_str(payload);
    }
    let shown = |text: &str, most| shortened(visible(text).into_owned(), most);
    Step {
        from: shown(&names.from, NAME_SHOWN),
        to: shown(&names.to, NAME_SHOWN),
        message: shown(&message, SHOWN),
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

impl<'a> About<'a> {
    /// The session of `entry`.
    pub(super) fn of(entry: &'a Entry) -> Self {
        static NO_HISTORY: VecDeque<Step> = VecDeque::new();
        let history = entry.extra.as_deref().map_or(&NO_HISTORY, |extra| &extra.history);
        Self { session: &entry.session, key: &entry.key, events: entry.events, history }
    }

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

/// Keeps the event to be shown later, if events are.
pub(super) fn remember(plan: &Plan, line: &Line<'_>, entry: &mut Entry) {
    let most = plan.options.history;
    if most == 0 {
        return;
    }
    let history = &mut entry.extra.get_or_insert_default().history;
    if history.len() == most {
        history.pop_front();
    }
    history.push_back(step(plan, line));
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
    let sentence = explanation.to_string();
    of((explanation, sentence), names, about, line, consequence)
}

/// The violation that was explained, of a line in which `names` stand.
pub(super) fn of(
    (explanation, mut sentence): (Explanation, String),
    names: Names,
    about: About<'_>,
    line: &Line<'_>,
    consequence: bool,
) -> Report {
    let who = if names.from.is_empty() { names.end } else { names.from };
    let blame = Some(match explanation.blame {
        Some(role) => role.to_string(),
        None => {
            sentence = sentence.replacen("the environment", &who, 1);
            who
        }
    });
    let history: Vec<Step> = about.history.iter().cloned().collect();
    let (assertion, values) = match explanation.assertion {
        Some(failure) => (Some(failure.assertion), failure.values),
        None => (None, Vec::new()),
    };
    Report {
        session: about.key(),
        key: None,
        kind: explanation.kind,
        blame,
        rejection: Some(explanation.rejection),
        event: line.number,
        state: Some(explanation.state),
        expected: explanation.expected,
        got: explanation.got,
        assertion,
        values,
        consequence,
        sentence,
        origin: explanation.origin,
        place: line.place.clone(),
        time: Some(names.time).filter(|time| !time.is_empty()),
        before: about.events.saturating_sub(history.len() as u64),
        history,
        certain: true,
        deadline: None,
    }
}

/// A message that was not in time, or did not come: which event of the session it is about, where that was read, and the
/// deadline that passed. `line` is the message, if it came.
pub(super) fn untimely(
    plan: &Plan,
    about: About<'_>,
    untimely: &Untimely,
    (event, place, deadline): (u64, Place, Option<i64>),
    line: Option<&Line<'_>>,
) -> Report {
    let explanation = plan.monitor.explain_time(about.session, untimely);
    let written = line.map(|line| names(plan, line.text, line.columns.map(|columns| &**columns)).time);
    let mut sentence = explanation.to_string();
    if !untimely.certain {
        sentence += "; the times are not written exactly enough to say so, so nobody is blamed";
    }
    let history: Vec<Step> = about.history.iter().cloned().collect();
    Report {
        session: about.key(),
        key: None,
        kind: explanation.kind,
        rejection: explanation.blame.is_some().then_some(explanation.rejection),
        blame: explanation.blame.map(|role| role.to_string()),
        event,
        state: Some(explanation.state),
        expected: explanation.expected,
        got: explanation.got,
        assertion: None,
        values: Vec::new(),
        consequence: about.session.is_tainted(),
        sentence,
        origin: explanation.origin,
        place,
        time: written.or_else(|| deadline.map(referee_theory::time::show)).filter(|time| !time.is_empty()),
        before: about.events.saturating_sub(history.len() as u64),
        history,
        certain: untimely.certain,
        deadline,
    }
}

/// The violation that `line` was found to be in each of the states of `possible`, which the session may have been in.
pub(super) fn uncertain(
    plan: &Plan,
    line: &Line<'_>,
    about: About<'_>,
    possible: &Possible,
    violations: &[Violation],
    consequence: bool,
    payload: Payload<'_>,
) -> Report {
    let monitor = &plan.monitor;
    if let (Some(session), [violation]) = (possible.only(), violations) {
        let about = About { session, ..about };
        let mut report = report(plan, line, about, violation, consequence, payload);
        if violation.kind == Kind::Assertion && possible.is_partly_unknown() {
            // Which part of it fails was worked out with values that are not known.
            report.values.clear();
            let got = report.got.as_deref().unwrap_or_default();
            report.sentence = format!("`{got}` breaks its assertion, whatever was lost before it");
        }
        if possible.is_joined() {
            (report.blame, report.rejection) = (None, None);
            report.sentence +=
                "; the session may have begun before its first event here, so nobody is blamed";
        }
        return report;
    }
    let names = names(plan, line.text, line.columns.map(|columns| &**columns));
    let is_end = names.label.is_empty();
    let mut kinds = violations.iter().map(|violation| violation.kind);
    let first = kinds.next().unwrap_or(Kind::Order);
    let kind = if kinds.all(|kind| kind == first) { first } else { Kind::Order };
    let mut expected = Vec::new();
    for session in possible.sessions() {
        for candidate in monitor.explain_expected(session) {
            if !expected.contains(&candidate) {
                expected.push(candidate);
            }
        }
    }
    let got = if is_end {
        format!("the end of {}", names.end)
    } else {
        format!("`{}` from {}", names.label, names.from)
    };
    let states: Vec<String> = possible.states().map(|state| monitor.machine().state_name(state)).collect();
    let sentence = match &*states {
        [only] => format!("{got} is not possible in state {only}"),
        states => format!(
            "{got} is possible in none of the states that the session may be in: {}",
            shortened(states.join(", "), NAME_SHOWN)
        ),
    };
    let history: Vec<Step> = about.history.iter().cloned().collect();
    Report {
        session: about.key(),
        key: None,
        kind,
        blame: None,
        rejection: None,
        event: line.number,
        state: None,
        expected,
        got: (!is_end).then_some(names.label),
        assertion: None,
        values: Vec::new(),
        consequence,
        sentence,
        origin: referee_theory::Origin::NONE,
        place: line.place.clone(),
        time: Some(names.time).filter(|time| !time.is_empty()),
        before: about.events.saturating_sub(history.len() as u64),
        history,
        certain: true,
        deadline: None,
    }
}
