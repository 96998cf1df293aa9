//! What all events came to.

use std::fmt::Write as _;

use indicatif::HumanCount;
use referee::watch::{Ranking, Summary, Unseen, visible};

use crate::output::{BAD, GOOD, SOFT, STRONG, styled};

/// How many entries of a ranking are shown.
const SHOWN: usize = 5;

/// For people.
pub(super) fn text(summary: &Summary) -> String {
    let counts = &summary.counts;
    let mut text = String::new();
    let verdict = match counts.violated {
        0 => styled(GOOD, "no violation"),
        1 => styled(BAD, "1 session with a violation"),
        many => styled(BAD, format!("{} sessions with a violation", HumanCount(many))),
    };
    let about = format!("{} in {}", number(counts.events, "event"), number(counts.sessions, "session"));
    let _ = writeln!(text, "{}: {verdict}", styled(STRONG, about));
    let mut states =
        vec![format!("{} over", HumanCount(counts.ended)), format!("{} open", HumanCount(summary.open))];
    if counts.evicted > 0 {
        states.push(format!("{} dropped", HumanCount(counts.evicted)));
    }
    if counts.unanswered > 0 {
        states.push(format!("{} not judged", HumanCount(counts.unanswered)));
    }
    row(&mut text, "sessions", &states.join(", "));
    if counts.ignored > 0 {
        row(&mut text, "ignored", &format!("{} between other roles", number(counts.ignored, "event")));
    }
    if counts.violated > 0 {
        row(&mut text, "by kind", &ranked(&summary.kinds));
        row(&mut text, "by role", &ranked(&summary.blamed));
        row(&mut text, "by label", &ranked(&summary.labels));
        row(&mut text, "by state", &ranked(&summary.states));
    }
    if counts.consequences > 0 {
        row(
            &mut text,
            "later",
            &format!("{} in the same sessions", number(counts.consequences, "violation")),
        );
    }
    if counts.excused > 0 {
        let gaps =
            format!("{} that only a line explains that could not be read", number(counts.excused, "session"));
        row(&mut text, "gaps", &gaps);
    }
    if counts.malformed > 0 {
        row(&mut text, "no events", &number(counts.malformed, "line"));
    }
    text
}

/// For people, when properties were watched.
pub(super) fn of_properties(summary: &Summary) -> String {
    let counts = &summary.counts;
    let verdict = match counts.violated {
        0 => styled(GOOD, "no violation"),
        many => styled(BAD, number(many, "violation")),
    };
    let about = format!("{} in {}", number(counts.events, "event"), number(counts.sessions, "instance"));
    let mut text = format!("{}: {verdict}\n", styled(STRONG, about));
    if counts.violated > 0 {
        row(&mut text, "by name", &ranked(&summary.properties));
    }
    if counts.ignored > 0 {
        row(&mut text, "without a key", &number(counts.ignored, "event"));
    }
    if counts.uncertain > 0 {
        row(
            &mut text,
            "perhaps",
            &format!("{}, after what could not be read", number(counts.uncertain, "verdict")),
        );
    }
    if counts.satisfied > 0 {
        row(&mut text, "satisfied", &number(counts.satisfied, "instance"));
    }
    if counts.limited > 0 {
        row(&mut text, "given up", &number(counts.limited, "instance"));
    }
    if counts.malformed > 0 {
        row(&mut text, "no events", &number(counts.malformed, "line"));
    }
    text
}

/// What may make the answer less than it seems.
pub(super) fn warnings(summary: &Summary, limit: Option<u32>) -> Vec<String> {
    let counts = &summary.counts;
    let mut warnings = Vec::new();
    if counts.evicted > 0 {
        let why = match limit {
            Some(limit) => format!("to keep at most {}", HumanCount(u64::from(limit))),
            None => "with too many messages before their turn".to_owned(),
        };
        warnings.push(format!(
            "dropped {} {why}; {} of dropped sessions could not be judged",
            number(counts.evicted, "idle session"),
            number(counts.unjudged, "later event"),
        ));
    }
    if counts.events == 0 && counts.malformed == 0 {
        warnings.push("there was no event, so nothing was judged".to_owned());
    }
    if counts.malformed > 0 && counts.events > 0 {
        warnings.push(format!(
            "{} could not be read as events, so what they said was not judged (exit status 3, unless --lenient or --strict); \
             the first are shown above",
            number(counts.malformed, "line")
        ));
    }
    if counts.events == 0 && counts.malformed > 0 {
        warnings.push(
            "none of the lines is an event, so nothing was judged; for CSV say --events-format csv, for logs of another \
             shape --from, --label and --payload"
                .to_owned(),
        );
    }
    if counts.limited > 0 {
        let more = format!("nor were {} of keys that had no room at all", number(counts.unjudged, "event"));
        warnings.push(format!(
            "there was no room for more submonitors or keys (--max-instances): {} were not judged any further, {more}",
            number(counts.limited, "instance"),
        ));
    }
    if counts.events > 0 && counts.ignored == counts.events && counts.sessions == 0 {
        warnings.push("no event concerns anybody, so nothing was judged: is the key after `for each`, or the role, the right one?".to_owned());
    }
    if summary.ties > 0 && counts.violations() > 0 {
        warnings.push(format!(
            "{} of different inputs have the time of the one before: which came first is not known, so who is blamed for an order may \
             not be right",
            number(summary.ties, "event")
        ));
    }
    if summary.pending > 0 {
        warnings.push(format!(
            "{} had not passed when the input ended; --until TIME or --now says what time it is",
            number(summary.pending, "deadline")
        ));
    }
    if counts.events > 0 {
        warnings.extend(summary.unseen.iter().map(unseen));
    }
    if summary.late > 0 {
        warnings.push(format!("could not put {} in order: too late", number(summary.late, "event")));
    }
    if summary.held > 0 {
        warnings.push(format!(
            "{} will be judged when later ones have come (--reorder)",
            number(summary.held, "event")
        ));
    }
    warnings
}

/// What no event had.
fn unseen(unseen: &Unseen) -> String {
    let Unseen { kind, name, compared, alike } = unseen;
    if let Some((with, was)) = compared {
        return format!(
            "`{name}` is compared with {with}, and was {was} wherever it was: that is never true"
        );
    }
    let hint =
        alike.as_ref().map(|alike| format!("; did you mean `{}`?", visible(alike))).unwrap_or_default();
    format!("no event has the {} `{}`, which a property asks for{hint}", kind.name(), visible(name))
}

fn row(text: &mut String, title: &str, content: &str) {
    let _ = writeln!(text, "  {} {content}", styled(SOFT, format!("{title:<9}")));
}

fn ranked(ranking: &Ranking) -> String {
    let sorted = ranking.sorted();
    let mut parts: Vec<String> = sorted
        .iter()
        .take(SHOWN)
        .map(|(name, count)| {
            let name = if name.is_empty() { "()" } else { name };
            format!("{} {}", name.escape_debug(), HumanCount(*count))
        })
        .collect();
    if sorted.len() > SHOWN {
        parts.push(format!("{} others", sorted.len() - SHOWN));
    }
    parts.join(", ")
}

fn number(count: u64, what: &str) -> String {
    format!("{} {what}{}", HumanCount(count), if count == 1 { "" } else { "s" })
}
