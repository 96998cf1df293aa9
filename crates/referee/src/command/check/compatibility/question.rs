//! `--property`: what is said of properties of one's own.

use std::fmt::Write as _;

use std::sync::Arc;

use anyhow::Result;
use referee::check::{self, Doubt, Execution, Faults, Judgement, Options, PropertyAnswer};
use referee::theory::property::{EventKind, Pattern, Property, Value};
use referee::theory::{System, Vocabulary};
use referee::view::execution::Run;
use referee::{Projected, view};
use serde_json::{Value as Json, json};

use super::CANCELLED;
use super::answer::{Answer, limit_name};
use super::family::Instances;
use super::progress::ProgressLine;
use crate::Outcome;
use crate::output::{BAD, GOOD, WARN, styled};

/// What is said of a property.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) answer: PropertyAnswer,
    /// The system of which it is said: of several numbers of copies, the first of those about which the answer is worst.
    pub(super) system: System,
    /// The role and the number of its copies, if there may be several.
    pub(super) copies: Option<(String, u16)>,
    /// The names in it that no system has of which it was asked.
    pub(super) remarks: Vec<String>,
}

impl Asked {
    pub(super) fn outcome(&self) -> Outcome {
        match self.answer.judgement {
            Judgement::Holds => Outcome::Holds,
            Judgement::Violated(_) => Outcome::Violated,
            Judgement::Unknown(_) => Outcome::NoAnswer,
        }
    }

    /// With how many copies it is so; nothing of what is so with every number.
    pub(super) fn with_copies(&self) -> String {
        match (&self.copies, self.outcome()) {
            (None, _) | (_, Outcome::Holds) => String::new(),
            (Some((role, copies)), _) => format!(" with {role} × {copies}"),
        }
    }
}

/// How properties are asked.
pub(super) struct Questions<'a> {
    pub(super) properties: &'a [Arc<Property>],
    pub(super) faults: Option<&'a Faults>,
    pub(super) options: &'a Options,
    /// Whether the protocol's calls may be interrupted, which no machine knows of.
    pub(super) is_interrupted: bool,
}

impl Questions<'_> {
    /// What is said of them about `system`.
    pub(super) fn ask(&self, system: &System, observer: &mut ProgressLine) -> Vec<Asked> {
        if self.properties.is_empty() {
            return Vec::new();
        }
        let Self { properties, faults, options, is_interrupted } = *self;
        let answers =
            check::check_properties(system, properties, faults, options, Some(&CANCELLED), observer);
        // A violation without an interruption is one all the same.
        let doubted = |answer: PropertyAnswer| match answer.judgement {
            Judgement::Holds if is_interrupted => {
                PropertyAnswer { judgement: Judgement::Unknown(Doubt::Interrupted), ..answer }
            }
            _ => answer,
        };
        let asked = |(answer, property): (PropertyAnswer, &Arc<Property>)| Asked {
            answer: doubted(answer),
            system: faults.map_or_else(|| system.clone(), |faults| faults.applied(system)),
            copies: None,
            remarks: unknown_names(property, system.vocabulary()),
        };
        answers.into_iter().zip(properties).map(asked).collect()
    }

    /// What is said of them about `system` with each number of copies of a role; of each property the worst.
    pub(super) fn ask_of_each(
        &self,
        system: &System,
        protocol: &Projected,
        instances: &Instances,
        observer: &mut ProgressLine,
    ) -> Result<Vec<Asked>> {
        let mut worst: Vec<Asked> = Vec::new();
        if self.properties.is_empty() {
            return Ok(worst);
        }
        for member in instances.systems(system, protocol)? {
            let (copies, family) = member?;
            let number = |asked| Asked { copies: Some((instances.role().to_owned(), copies)), ..asked };
            let now: Vec<Asked> = self.ask(&family, observer).into_iter().map(number).collect();
            if worst.is_empty() {
                worst = now;
                continue;
            }
            for (before, now) in worst.iter_mut().zip(now) {
                // More copies have more names.
                let remarks = now.remarks.clone();
                if before.outcome().and(now.outcome()) != before.outcome() {
                    *before = now;
                }
                before.remarks = remarks;
            }
        }
        Ok(worst)
    }
}

/// The roles and labels that `property` names and that are not in `vocabulary`: such an event never happens.
fn unknown_names(property: &Property, vocabulary: &Vocabulary) -> Vec<String> {
    let mut unknown = Vec::new();
    for pattern in property.patterns().iter().filter(|pattern| pattern.kind == Some(EventKind::Exchange)) {
        for (what, part) in [("role", &pattern.subject), ("role", &pattern.object), ("label", &pattern.label)]
        {
            let Pattern::Literal(Value::String(name)) = part else { continue };
            let is_known = match what {
                "role" => vocabulary.find_role(name).is_some(),
                _ => vocabulary.find_label(name).is_some(),
            };
            let said = format!("property `{}`: there is no {what} `{name}` in the protocol", property.name());
            if !is_known && !unknown.contains(&said) {
                unknown.push(said);
            }
        }
    }
    unknown
}

impl Answer {
    /// What is said first where only properties fail: the answer about compatibility looks better.
    pub(super) fn failed_text(&self) -> String {
        let violated = |asked: &&Asked| asked.outcome() == Outcome::Violated;
        let failed: Vec<String> =
            self.properties.iter().filter(violated).map(|asked| format!("`{}`", asked.answer.name)).collect();
        let what = match failed.len() {
            0 => return String::new(),
            1 => "property",
            _ => "properties",
        };
        format!("  {} {what} {}\n", styled(BAD, "violated:"), failed.join(", "))
    }

    /// What people read about the properties.
    pub(super) fn properties_text(&self) -> String {
        let mut text = String::new();
        for asked in &self.properties {
            let answer = &asked.answer;
            let (name, copies) = (&answer.name, asked.with_copies());
            asked.remarks.iter().for_each(|remark| text += &format!("  {}\n", styled(WARN, remark)));
            let _ = match &answer.judgement {
                Judgement::Holds => {
                    writeln!(text, "  property `{name}` {}: no execution violates it", styled(GOOD, "holds"))
                }
                Judgement::Violated(execution) if execution.steps.is_empty() => {
                    writeln!(
                        text,
                        "  property `{name}` {}{copies}: it is violated before any message",
                        styled(BAD, "fails")
                    )
                }
                Judgement::Violated(_) => {
                    writeln!(
                        text,
                        "  property `{name}` {}{copies}: this execution violates it\n",
                        styled(BAD, "fails")
                    )
                }
                Judgement::Unknown(doubt) => {
                    writeln!(
                        text,
                        "  property `{name}` is {}{copies}: {}",
                        styled(WARN, "unknown"),
                        why(doubt, answer.k)
                    )
                }
            };
            if let Some(execution) = answer.judgement.execution().filter(|found| !found.steps.is_empty()) {
                text += &self.execution_text(execution, asked);
            }
        }
        text
    }

    fn execution_text(&self, execution: &Execution, asked: &Asked) -> String {
        let certain = asked.outcome() == Outcome::Violated;
        let drawing = self.drawing(&Run::of_execution(execution, &asked.answer.name, certain, &asked.system));
        drawing.lines().fold(String::new(), |text, line| text + "    " + line + "\n") + "\n"
    }

    /// `properties` of the JSON contract.
    pub(super) fn properties_json(&self) -> Vec<Json> {
        let places = |origin| self.places.find(origin);
        let to_json = |Asked { answer, system, copies, remarks }: &Asked| {
            let execution = answer.judgement.execution();
            let reason = match &answer.judgement {
                Judgement::Unknown(doubt) => json!({"code": doubt.code(), "message": why(doubt, answer.k)}),
                Judgement::Holds | Judgement::Violated(_) => Json::Null,
            };
            json!({
                "name": &*answer.name,
                "verdict": answer.judgement.name(),
                "k": answer.k,
                "states": answer.states,
                "reason": reason,
                "copies": copies.as_ref().map(|(_, copies)| copies),
                "remarks": remarks,
                "witness": execution.map(|found| view::witness::execution_to_json(found, system, &places)),
            })
        };
        self.properties.iter().map(to_json).collect()
    }
}

fn why(doubt: &Doubt, k: u32) -> String {
    match doubt {
        Doubt::Bound => format!(
            "no execution with {k} message{} per channel violates it, but some sends find no room: with more room others \
             may",
            if k == 1 { "" } else { "s" }
        ),
        Doubt::Values(_) => {
            "this execution violates it for some values; of assertions only `field == constant` was looked at, others may \
             exclude them"
                .to_owned()
        }
        Doubt::Stopped(stop) => format!("the search was ended at k = {k} (limit: {})", limit_name(*stop)),
        Doubt::Interrupted => {
            "no execution of a call that nobody interrupts violates it; interruptions (`interrupted by`) were not looked at"
                .to_owned()
        }
        Doubt::TooLarge => "it is too large".to_owned(),
        Doubt::NeverViolated => {
            "it says what may be seen (`<…>`), which no execution violates, and `check` asks whether one does: `watch` reports when it is seen"
                .to_owned()
        }
        Doubt::Keyed => {
            "it is about keys of recorded events; of a protocol only `for each session` can be asked"
                .to_owned()
        }
        Doubt::PerProcess => "it is about processes, and a protocol has roles".to_owned(),
        Doubt::Timed => "it speaks of time, and protocols are checked without: watch it".to_owned(),
    }
}
