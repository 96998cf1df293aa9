//! `--property`: what is said of properties of one's own.

use std::fmt::Write as _;

use referee::check::{Doubt, Execution, Judgement, PropertyAnswer};
use referee::view;
use referee::view::execution::Run;
use serde_json::{Value, json};

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

impl Answer {
    /// What people read about the properties.
    pub(super) fn properties_text(&self) -> String {
        let mut text = String::new();
        for answer in &self.properties {
            let name = &answer.name;
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
                text += &self.execution_text(execution, name);
            }
        }
        text
    }

    fn execution_text(&self, execution: &Execution, name: &str) -> String {
        let drawing = self.drawing(&Run::of_execution(execution, name, &self.system));
        drawing.lines().fold(String::new(), |text, line| text + "    " + line + "\n") + "\n"
    }

    /// `properties` of the JSON contract.
    pub(super) fn properties_json(&self) -> Vec<Value> {
        let places = |origin| self.places.find(origin);
        let to_json = |answer: &PropertyAnswer| {
            let execution = answer.judgement.execution();
            let reason = match &answer.judgement {
                Judgement::Unknown(doubt) => json!({"code": doubt.code(), "message": why(doubt, answer.k)}),
                Judgement::Holds | Judgement::Violated(_) => Value::Null,
            };
            json!({
                "name": &*answer.name,
                "verdict": answer.judgement.name(),
                "k": answer.k,
                "states": answer.states,
                "reason": reason,
                "witness": execution.map(|found| view::witness::execution_to_json(found, &self.system, &places)),
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
            "this execution violates it for some values that its messages may carry".to_owned()
        }
        Doubt::Stopped(stop) => format!("the search was ended at k = {k} (limit: {})", limit_name(*stop)),
        Doubt::TooLarge => "it is too large".to_owned(),
        Doubt::NeverViolated => {
            "it can only be satisfied, and `check` asks whether an execution violates it".to_owned()
        }
        Doubt::Keyed => {
            "it is about keys of recorded events; of a protocol only `for each session` can be asked"
                .to_owned()
        }
        Doubt::PerProcess => "it is about processes, and a protocol has roles".to_owned(),
    }
}
