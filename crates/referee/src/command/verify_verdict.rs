//! `referee verify-verdict`: is a verdict about a property what it claims to be?

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use referee::Language;
use referee::monitor::property::{Derivation, DerivationRule, DerivationStep};
use referee::theory::property::{FormulaId, Property, Slot};
use referee::watch::{Options, recheck};
use serde_json::Value;

use super::watch::{Form, Pointers, property};
use crate::output::{self, BAD, GOOD, styled};
use crate::{Outcome, input};

/// Check verdicts of `watch --property --explain --format json` again, from their derivations.
///
/// Each line is a verdict with the events that led to it and the rules of the definition that were used. The check
/// is slow and simple, and shares nothing with the monitors. Exit status: 0 every derivation is one; 1 some are not;
/// 2 a line is no verdict with a derivation.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The properties that the verdicts are about.
    #[arg(long, value_name = "FILE", required = true)]
    property: Vec<PathBuf>,
    /// The language of the properties, where the extension does not tell.
    #[arg(long, value_name = "LANGUAGE", value_parser = input::parse_language)]
    language: Option<Language>,
    /// The verdicts, one JSON object per line; `-` is standard input.
    #[arg(value_name = "VERDICTS", default_value = "-")]
    verdicts: PathBuf,
    /// In which form the events came.
    #[arg(long, value_enum, default_value_t = Form::Jsonl)]
    events_format: Form,
    #[command(flatten)]
    pointers: Pointers,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.events_format == Form::Csv {
        bail!("rows of CSV cannot be checked without their header: watch JSON lines instead");
    }
    let Some(properties) = property::load(&arguments.property, arguments.language)? else {
        return Ok(Outcome::WrongInput);
    };
    let mut names = HashSet::new();
    if let Some(twice) = properties.iter().find(|property| !names.insert(Arc::clone(property.name()))) {
        bail!("two properties are called `{}`: a verdict could be about either", twice.name());
    }
    let options = Options {
        format: arguments.events_format.into(),
        shape: arguments.pointers.shape(),
        ..Options::default()
    };
    let name = arguments.verdicts.display().to_string();
    let reader: Box<dyn Read> = match name.as_str() {
        "-" => Box::new(std::io::stdin()),
        path => Box::new(std::fs::File::open(path).with_context(|| format!("cannot open `{path}`"))?),
    };
    let mut outcome = Outcome::Holds;
    for (number, line) in BufReader::new(reader).lines().enumerate() {
        let line = line.with_context(|| format!("cannot read `{name}`"))?;
        if line.trim().is_empty() {
            continue;
        }
        let place = format!("{name}:{}", number + 1);
        let verdict: Value = serde_json::from_str(&line).with_context(|| format!("{place}: not JSON"))?;
        match check(&properties, &verdict, &options).with_context(|| place.clone())? {
            Ok(said) => output::print(&format!("{place}: {} {said}\n", styled(GOOD, "derived")))?,
            Err(why) => {
                output::print(&format!("{place}: {} {why}\n", styled(BAD, "not derived")))?;
                outcome = Outcome::Violated;
            }
        }
    }
    Ok(outcome)
}

/// What `verdict` says if it is derived; why it is not, if it is not.
fn check(properties: &[Arc<Property>], verdict: &Value, options: &Options) -> Result<Result<String, String>> {
    let name = verdict["property"].as_str().context("it names no property")?;
    let property = properties.iter().find(|property| &**property.name() == name);
    let property = property.with_context(|| format!("there is no property `{name}`"))?;
    let Some(steps) = verdict["derivation"].as_array() else {
        bail!("it has no derivation: watch with --explain");
    };
    let events = verdict["events"].as_array().context("it has no events")?;
    let lines: Vec<&str> =
        events.iter().map(|line| line.as_str().context("an event is no text")).collect::<Result<_>>()?;
    let steps = steps.iter().map(step).collect::<Result<_>>().context("its derivation")?;
    let derivation = Derivation { steps };
    let checked = match recheck(property, &lines, options, &derivation) {
        Ok(checked) => checked,
        Err(why) => return Ok(Err(why)),
    };
    let derived = checked.verdict;
    if verdict["verdict"].as_str() != Some(derived.name()) {
        return Ok(Err(format!("what follows is a {}", derived.name())));
    }
    for (what, is) in [("session", &checked.session), ("key", &checked.key)] {
        if verdict[what].as_str() != is.as_deref() && !lines.is_empty() {
            let is = is.as_deref().unwrap_or("none");
            return Ok(Err(format!("the {what} of these events is {is}, not {}", verdict[what])));
        }
    }
    let mut values = serde_json::Map::new();
    for (name, shown) in output::json::values(property, &derivation) {
        values.insert(name.to_owned(), shown.into());
    }
    if verdict["values"].as_object() != Some(&values) {
        return Ok(Err(format!("the values are {}", Value::Object(values))));
    }
    let last = lines.len() as i64 - 1;
    if verdict["event"].as_i64() != Some(last) {
        return Ok(Err(format!("what follows is a {} at event {last}", derived.name())));
    }
    Ok(Ok(format!(
        "{} of `{name}` at event {last}, in {} steps",
        derived.name(),
        verdict["derivation"].as_array().map_or(0, Vec::len)
    )))
}

fn step(step: &Value) -> Result<DerivationStep> {
    let number =
        |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok()).context("a number is missing");
    let rule = match step["rule"].as_str() {
        Some("verdict") => DerivationRule::Verdict,
        Some("all") => DerivationRule::All,
        Some("part") => DerivationRule::Part(number(&step["part"])? as usize),
        Some("event") => {
            let bound = step["bound"].as_array().context("an event binds nothing")?;
            let pair = |pair: &Value| {
                let shown = pair[1].as_str().context("a value is missing")?;
                Ok((Slot(number(&pair[0])?), shown.to_owned()))
            };
            let bound = bound.iter().map(pair).collect::<Result<_>>()?;
            DerivationRule::Event { event: number(&step["event"])? as usize, bound }
        }
        _ => bail!("there is no such rule"),
    };
    Ok(DerivationStep { node: FormulaId(number(&step["node"])?), rule })
}
