//! `--property`: what is said of properties of one's own.

use std::fmt::Write as _;

use referee::check::{Doubt, Execution, Judgement, PropertyAnswer};
use referee::theory::Vocabulary;
use referee::theory::property::{EventKind, Pattern, Property, Value};
use referee::view;
use referee::view::execution::Run;
use serde_json::{Value as Json, json};

use super::answer::{Answer, limit_name};
use crate::Outcome;
use crate::output::{BAD, GOOD, WARN, styled};

pub(super) fn outcome(answer: &PropertyAnswer) -> Outcome {
    match answer.judgement {
        Judgement::Holds => Outcome::Holds,
        Judgement::Violated(_) => Outcome::Violated,
        Judgement::Unknown(_) => Outcome::NoAnswer,
    }
}

/// The roles and labels that `property` names and that are not in `vocabulary`: such an event never happens.
pub(super) fn unknown_names(property: &Property, vocabulary: &Vocabulary) -> Vec<String> {
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
        let violated = |answer: &&PropertyAnswer| matches!(answer.judgement, Judgement::Violated(_));
        let failed: Vec<String> =
            self.properties.iter().filter(violated).map(|answer| format!("`{}`", answer.name)).collect();
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
        for (answer, remarks) in self.properties.iter().zip(&self.remarks) {
            let name = &answer.name;
            remarks.iter().for_each(|remark| text += &format!("  {}\n", styled(WARN, remark)));
            let _ = match &answer.judgement {
                Judgement::Holds => {
                    writeln!(text, "  property `{name}` {}: no execution violates it", styled(GOOD, "holds"))
                }
                Judgement::Violated(_) => {
                    writeln!(
                        text,
                        "  property `{name}` {}: this execution violates it\n",
                        styled(BAD, "fails")
                    )
                }
                Judgement::Unknown(doubt) => {
                    writeln!(
                        text,
                        "  property `{name}` is {}: {}",
                        styled(WARN, "unknown"),
                        why(doubt, answer.k)
                    )
                }
            };
            if let Some(execution) = answer.judgement.execution() {
                let certain = matches!(answer.judgement, Judgement::Violated(_));
                text += &self.execution_text(execution, name, certain);
            }
        }
        text
    }

    fn execution_text(&self, execution: &Execution, name: &str, certain: bool) -> String {
        let drawing = self.drawing(&Run::of_execution(execution, name, certain, &self.system));
        drawing.lines().fold(String::new(), |text, line| text + "    " + line + "\n") + "\n"
    }

    /// `properties` of the JSON contract.
    pub(super) fn properties_json(&self) -> Vec<Json> {
        let places = |origin| self.places.find(origin);
        let to_json = |(answer, remarks): (&PropertyAnswer, &Vec<String>)| {
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
                "remarks": remarks,
                "witness": execution.map(|found| view::witness::execution_to_json(found, &self.system, &places)),
            })
        };
        self.properties.iter().zip(&self.remarks).map(to_json).collect()
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
            "this execution violates it for some values that its messages may carry".to_owned()
        }
        Doubt::Stopped(stop) => format!("the search was ended at k = {k} (limit: {})", limit_name(*stop)),
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
