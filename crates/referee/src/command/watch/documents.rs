//! Documents for programs that say what it all came to: SARIF 2.1.0 for continuous integration, and the summary as JSON.

use referee::watch::{Place, PropertyReport, Ranking, Report, Summary};
use serde_json::{Value, json};

use crate::output::sarif;

/// More verdicts than this are only counted in a SARIF document: those who read them take no more.
pub(super) const MAX_RESULTS: usize = 5000;

/// One violation as a result of SARIF.
pub(super) fn violation(report: &Report) -> Value {
    result(&format!("protocol/{}", report.kind.name()), "error", &report.sentence, Some(&report.place))
}

/// One verdict of a property as a result of SARIF.
pub(super) fn property(report: &PropertyReport) -> Value {
    let level = if report.certain { "error" } else { "warning" };
    let sentence = report.sentence.as_ref().map(|sentence| format!(": {sentence}")).unwrap_or_default();
    let text = format!("{} of property `{}`{sentence}", report.verdict.name(), report.property.name());
    result(&format!("property/{}", report.property.name()), level, &text, report.place.as_ref())
}

/// A line that could not be read.
pub(super) fn unreadable(place: &Place, why: &str) -> Value {
    result("not-judged", "note", why, Some(place))
}

fn result(rule: &str, level: &str, text: &str, place: Option<&Place>) -> Value {
    let location = |place: &Place| {
        json!({"physicalLocation": {
            "artifactLocation": sarif::artifact_location(&place.file),
            "region": {"startLine": place.line},
        }})
    };
    let locations: Vec<Value> = place.map(location).into_iter().collect();
    json!({"ruleId": rule, "level": level, "message": {"text": text}, "locations": locations})
}

/// What all events came to.
pub(super) fn summary(summary: &Summary) -> Value {
    let counts = &summary.counts;
    let ranking = |ranking: &Ranking| -> Value {
        ranking.sorted().into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect()
    };
    json!({
        "events": counts.events,
        "ignored": counts.ignored,
        "sessions": {"started": counts.sessions, "over": counts.ended, "open": summary.open, "dropped": counts.evicted},
        "violations": {"first": counts.violated, "consequences": counts.consequences},
        "by_kind": ranking(&summary.kinds),
        "by_role": ranking(&summary.blamed),
        "by_label": ranking(&summary.labels),
        "by_state": ranking(&summary.states),
        "by_property": ranking(&summary.properties),
        "satisfied": counts.satisfied,
        "not_judged": {
            "lines": counts.malformed,
            "lines_of_unknown_sessions": counts.lost_anywhere,
            "sessions_with_gaps": counts.excused,
            "events_of_dropped_sessions": counts.unjudged,
            "sessions_without_answer": counts.unanswered,
            "uncertain_verdicts": counts.uncertain,
            "without_room": counts.limited,
        },
        "pending_deadlines": summary.pending,
        "late": summary.late,
        "held": summary.held,
        "ties": summary.ties,
        "bytes": summary.bytes,
    })
}
