//! The last events of a session that broke its protocol, as a sequence diagram.

use referee_draw::{Message, MessageStyle, Participant, ParticipantId, Sequence};
use referee_watch::{Report, visible};

/// The chart of the events that `report` has kept, the wrong one marked. `roles` are the protocol's, in order,
/// and `role_called` gives the role behind a name in the events.
#[must_use]
pub fn chart(report: &Report, roles: &[&str], role_called: &dyn Fn(&str) -> String) -> Sequence {
    let title = match &report.session {
        Some(session) => format!("session {}", session.escape_debug()),
        None => "session".to_owned(),
    };
    let mut chart = Sequence::new(title);
    let mut known: Vec<(String, ParticipantId)> = Vec::new();
    for role in roles {
        let id = chart.add_participant(Participant::new(*role));
        known.push(((*role).to_owned(), id));
    }
    if report.before > 0 {
        let events = if report.before == 1 { "event" } else { "events" };
        chart.divider(format!("{} {events} before", report.before));
    }
    let last = report.history.len().saturating_sub(1);
    for (index, step) in report.history.iter().enumerate() {
        let mut participant = |name: &str| {
            let role = role_called(name);
            match known.iter().find(|(known, _)| *known == role) {
                Some((_, id)) => *id,
                None => {
                    let id = chart.add_participant(Participant::new(&*role));
                    known.push((role, id));
                    id
                }
            }
        };
        let from = participant(&step.from);
        if step.message.is_empty() {
            chart.note([from], format!("{} ended", step.from));
            continue;
        }
        let to = match (step.to.is_empty(), roles) {
            (false, _) => participant(&step.to),
            // It does not say, so it is the other one of two.
            (true, [one, other]) => participant(if role_called(&step.from) == **one { other } else { one }),
            (true, _) => from,
        };
        let wrong = index == last;
        let style = if wrong { MessageStyle::Failed } else { MessageStyle::Normal };
        chart.message(Message::new(from, to, step.message.as_str()).style(style));
    }
    let over: Vec<ParticipantId> = known.iter().map(|(_, id)| *id).collect();
    chart.note(over, &*visible(&report.sentence));
    chart
}
