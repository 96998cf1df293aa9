//! What a property's verdict says, for people.

use referee::monitor::property::{DerivationRule, PropertyVerdict};
use referee::watch::PropertyReport;

use crate::output::{BAD, SOFT, STRONG, WARN, styled};

/// How many events of a derivation are shown; the first and the last.
const SHOWN: usize = 20;

/// The verdict in words, with its derivation if there is one.
pub(super) fn text(report: &PropertyReport) -> String {
    let mut about = Vec::new();
    about.extend(report.session.as_ref().map(|session| format!("session {}", session.escape_debug())));
    about.extend(report.key.as_ref().map(|key| format!("key {}", key.escape_debug())));
    about.push(match report.event {
        -1 => "before any event".to_owned(),
        event => format!("event {event}"),
    });
    let style = match report.verdict {
        PropertyVerdict::Violation => BAD,
        PropertyVerdict::Satisfaction => STRONG,
        PropertyVerdict::ResourceLimit => WARN,
    };
    let place =
        report.place.as_ref().map(|place| format!("{}:{}: ", place.file, place.line)).unwrap_or_default();
    let mut text = format!(
        "{}{} of `{}`, {}\n",
        styled(STRONG, place),
        styled(style, report.verdict.name()),
        report.property.name(),
        about.join(", ")
    );
    if report.verdict == PropertyVerdict::ResourceLimit {
        text += "  no room for more submonitors or keys: nothing more is said about it (--max-instances)\n";
    } else if let Some(got) = &report.got {
        text += &format!("  {got}\n");
    }
    text += &path(report);
    if let Some(why) = report.unexplained {
        text += &format!("  {}\n", styled(SOFT, format!("(no derivation: {why})")));
    }
    text
}

/// The events that led to the verdict, each with what it bound.
fn path(report: &PropertyReport) -> String {
    let Some(derivation) = &report.derivation else { return String::new() };
    let steps: Vec<String> = derivation
        .steps
        .iter()
        .filter_map(|step| match &step.rule {
            DerivationRule::Event { event, bound } => {
                let name =
                    |slot: usize| report.property.slots().get(slot).map_or("_", |variable| &*variable.name);
                let values: Vec<String> =
                    bound.iter().map(|(slot, shown)| format!("{} = {shown}", name(slot.index()))).collect();
                let line = report.history.get(*event).map_or("", |line| line.trim());
                let with =
                    if values.is_empty() { String::new() } else { format!("  where {}", values.join(", ")) };
                Some(format!("    {event:>4}  {line}{}\n", styled(SOFT, with)))
            }
            _ => None,
        })
        .collect();
    if steps.len() <= SHOWN {
        return steps.concat();
    }
    let half = SHOWN / 2;
    let left_out = steps.len() - 2 * half;
    format!(
        "{}          … {left_out} more …\n{}",
        steps[..half].concat(),
        steps[steps.len() - half..].concat()
    )
}
