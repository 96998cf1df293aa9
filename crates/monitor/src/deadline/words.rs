//! What was not in time, in words.

use referee_theory::time;

use super::limits::NO_LABEL;
use super::{Moment, Untimely};
use crate::event::{Event, EventLabel, Party, Payload};
use crate::explain::Explanation;
use crate::labels::LabelId;
use crate::monitor::Monitor;
use crate::session::Session;
use crate::verdict::Kind;

impl Monitor {
    /// Explains `untimely`, which was found in `session`. Who is not certain to be late or early is not blamed.
    #[must_use]
    pub fn explain_time(&self, session: &Session, untimely: &Untimely) -> Explanation {
        let label = EventLabel::Malformed("");
        let event =
            Event { from: Party::Process, to: Party::Environment, label, payload: Payload::Positional(&[]) };
        let mut explanation = self.explain(session, &untimely.violation, &event);
        let transition = self.machine.all_transitions().get(untimely.violation.edge as usize);
        let own = transition.map(|transition| self.vocabulary.label_of(transition.message));
        explanation.got = own.filter(|_| untimely.came.is_some()).map(str::to_owned);
        explanation.blame =
            self.blamed(untimely.violation.side, transition, None).filter(|_| untimely.certain);
        explanation.time = Some(self.sentence(untimely, own.unwrap_or_default()));
        explanation
    }

    /// "no `Reply` came within 5 s of `Request`".
    fn sentence(&self, untimely: &Untimely, own: &str) -> String {
        let length = time::words(untimely.length);
        let since = match self.labels.text(LabelId(untimely.row.label)) {
            Some(label) if untimely.row.label != NO_LABEL => format!("`{label}`"),
            _ => "the beginning of the session".to_owned(),
        };
        let Some(came) = untimely.came else {
            let transitions = self.transitions(untimely.violation.state).iter();
            let labels: Vec<String> =
                transitions.map(|it| format!("`{}`", self.vocabulary.label_of(it.message))).collect();
            return format!("no {} came within {length} of {since}", labels.join(" or "));
        };
        let passed = passed(came, untimely.row.moment(), untimely);
        match (untimely.violation.kind, untimely.certain) {
            (Kind::Early, true) => {
                format!("`{own}` came {passed} after {since}, before {length} had passed")
            }
            (Kind::Early, false) => {
                format!("`{own}` came {passed} after {since}, perhaps before {length} had passed")
            }
            (_, true) => format!("`{own}` came {passed} after {since}, and not within {length}"),
            (_, false) => format!("`{own}` came {passed} after {since}, perhaps not within {length}"),
        }
    }
}

/// How long after `since` it `came`, in words: as exactly as is known, and as far as the verdict depends on it.
fn passed(came: Moment, since: Moment, untimely: &Untimely) -> String {
    let least = came.earliest.saturating_sub(since.latest).max(0);
    let most = came.latest.saturating_sub(since.earliest).max(0);
    let written = came.earliest.saturating_sub(since.earliest);
    let is_as_written =
        came.latest.saturating_sub(came.earliest) == since.latest.saturating_sub(since.earliest);
    match (untimely.certain, &untimely.violation.kind) {
        (true, _) if is_as_written => time::words(written),
        (false, _) if is_as_written => format!("about {}", time::words(written)),
        (true, Kind::Early) => format!("at most {}", time::words(most)),
        // Not before a look that showed nothing.
        (true, _) => time::words(written),
        (false, _) => format!("between {} and {}", time::words(least), time::words(most)),
    }
}
