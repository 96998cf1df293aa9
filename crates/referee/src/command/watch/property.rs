//! Properties to watch, and what their verdicts say, for people.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use referee::monitor::property::{DerivationRule, PropertyMonitor, PropertyProblem, PropertyVerdict};
use referee::theory::property::Property;
use referee::watch::{PropertyReport, visible};
use referee::wire::preset;
use referee::{Language, Parsed};

use crate::input;
use crate::output::{self, BAD, SOFT, STRONG, WARN, styled};

/// The properties in `files`; `None` if there are errors, which have then been shown.
pub(crate) fn load(files: &[PathBuf], language: Option<Language>) -> Result<Option<Vec<Arc<Property>>>> {
    let mut properties = Vec::new();
    let mut usable = true;
    for path in files {
        if let Some(name) = path.to_str().and_then(|path| path.strip_prefix("preset:")) {
            let rules = preset::find(name).map_or("", |preset| preset.rules);
            let Some(rules) = Some(rules).filter(|rules| !rules.is_empty()) else {
                bail!("`preset:{name}` has no rules");
            };
            let read = Parsed::new(rules, Language::Hml).well_formed();
            let read = read.map_err(|_| anyhow!("the rules of `preset:{name}` cannot be read"))?;
            properties.extend(read.properties().unwrap_or_default().iter().cloned());
            continue;
        }
        let language = Some(language.unwrap_or(Language::Hml));
        let Some(well_formed) = input::well_formed(path, language, &input::Imports::default())? else {
            usable = false;
            continue;
        };
        let analysed = well_formed.analysed();
        if !analysed.diagnostics().is_empty() {
            output::show_diagnostics(analysed.source(), analysed.diagnostics())?;
        }
        match well_formed.properties() {
            Some(found) => properties.extend(found.iter().cloned()),
            None => usable = false,
        }
    }
    Ok(usable.then_some(properties))
}

/// The monitors of `properties`; one that can never say anything is left out, with a warning.
pub(super) fn monitors(properties: &[Arc<Property>]) -> Result<Vec<Arc<PropertyMonitor>>> {
    let mut monitors = Vec::new();
    for property in properties {
        match PropertyMonitor::new(Arc::clone(property)) {
            Ok(monitor) => monitors.push(Arc::new(monitor)),
            Err(problem @ PropertyProblem::NoVerdict { .. }) => {
                output::remark(&format!("{}: {problem}", styled(WARN, "warning")));
            }
            Err(problem) => return Err(problem.into()),
        }
    }
    Ok(monitors)
}

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
    if !report.certain {
        text += "  perhaps: an event before it could not be read\n";
    }
    if report.verdict == PropertyVerdict::ResourceLimit {
        text += "  no room for more submonitors or keys: nothing more is said about it (--max-instances)\n";
    } else if let Some(sentence) = &report.sentence {
        text += &format!("  {}\n", visible(sentence));
    } else if let Some(got) = &report.got {
        text += &format!("  {}\n", visible(got));
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
