//! What was found out about one system, for programs: `compatibility` of the JSON contract (`../schema.json`).

use referee::check::{BoundReport, Edit, Growth, Reason, Reduction, Step, Verdict, Witness};
use referee::view;
use serde_json::{Value, json};

use super::answer::{Answer, limit_name, real_by, rests_on};
use super::family::Member;
use super::faults;
use super::substitute::Substituted;

impl Answer {
    /// The `compatibility` object of the JSON contract.
    pub(super) fn to_json(&self) -> Value {
        let report = &self.report;
        let rests_on = match &report.verdict {
            Verdict::Safe { ground, .. } => Some(rests_on(ground)),
            Verdict::Unsafe { ground, .. } => Some(real_by(ground)),
            Verdict::Unknown { .. } => None,
        };
        let places = |origin| self.places.find(origin);
        let to_json = |witness: &Witness| view::witness::to_json(witness, &self.system, &places);
        let witness = report.verdict.witness().map(to_json);
        let witnesses: Vec<Value> = self.witnesses().into_iter().map(to_json).collect();
        json!({
            "csa": report.shape.is_csa(),
            "send_directed": report.shape.is_send_directed(),
            "receive_directed": report.shape.is_receive_directed(),
            "bounds": report.bounds.iter().map(|bound| bound_json(bound, self.has_calls)).collect::<Vec<_>>(),
            "least_k": report.least_k(),
            "verdict": report.verdict.name(),
            "faults": self.faults.as_ref().map(|found| faults::to_json(found, self.system.vocabulary())),
            "properties": self.properties_json(),
            "fixes": self.fixes.iter().map(|edit| self.fix_json(edit)).collect::<Vec<_>>(),
            "instances": self.family.iter().map(Member::to_json).collect::<Vec<_>>(),
            "with": self.with.iter().map(Substituted::to_json).collect::<Vec<_>>(),
            "may_wait": self.may_wait(),
            "fair": self.fair,
            "untimed": self.system.vocabulary().is_timed(),
            "uninterrupted": !self.interruptions.is_empty(),
            "complete": self.complete(),
            "largest_queue": report.complete.filter(|_| !self.has_calls).map(|found| found.largest_queue),
            "limit": report.limit.map(|(stop, _)| limit_name(stop)),
            "rests_on": rests_on,
            "reason": self.reason_json(),
            "bound_agnostic": self.agnostic.flatten(),
            "witness": witness,
            "witnesses": witnesses,
            "drawn": self.drawn,
        })
    }

    /// Whether everything there is was explored, if that was asked; not known where calls run beside it.
    fn complete(&self) -> Option<bool> {
        let asked = |bound: &BoundReport| bound.complete.is_some();
        let report = &self.report;
        let is_asked = report.complete.is_some() || report.bounds.iter().any(asked);
        (is_asked && !self.has_calls).then_some(report.complete.is_some())
    }

    fn fix_json(&self, edit: &Edit) -> Value {
        let place = self.places.find(edit.origin(&self.system));
        json!({
            "role": self.system.vocabulary().role_name(edit.role()),
            "action": edit.name(),
            "message": edit.text(&self.system),
            "file": place.as_ref().and_then(|place| place.file.as_deref()),
            "line": place.as_ref().map(|place| place.line),
            "column": place.as_ref().map(|place| place.column),
            "end_line": place.as_ref().map(|place| place.end_line),
            "end_column": place.as_ref().map(|place| place.end_column),
        })
    }

    /// Why there is no answer, if there is none.
    fn reason_json(&self) -> Value {
        let Verdict::Unknown { reason, explanation, advice, growth } = &self.report.verdict else {
            return Value::Null;
        };
        let vocabulary = self.system.vocabulary();
        let witness = self.report.verdict.witness();
        let (role, k) = match (reason, witness) {
            (Reason::NotSessionAutomata(defect), _) => (Some(defect.role()), None),
            (Reason::Stopped { k, .. } | Reason::FalseAlarm { k }, _) => (None, Some(*k)),
            (_, Some(witness)) => (witness.role(), Some(witness.bound)),
            _ => (None, None),
        };
        let last = self.report.bounds.last().map(|bound| bound.k);
        let steps = |steps: &[Step]| -> Vec<Value> {
            let places = |origin| self.places.find(origin);
            steps.iter().map(|step| view::witness::step_to_json(step, &self.system, &places)).collect()
        };
        let growth_json = |growth: &Growth| {
            json!({
                "from": growth.from.map(|role| vocabulary.role_name(role)),
                "to": vocabulary.role_name(growth.to),
                "approach": steps(&growth.approach),
                "cycle": steps(&growth.cycle),
                "no_bound_suffices": growth.no_bound_suffices,
            })
        };
        json!({
            "code": reason.code(),
            "role": role.map(|role| vocabulary.role_name(role)),
            "k": k.or(last),
            "actions": steps(&reason.actions()),
            "message": explanation,
            "advice": advice,
            "growth": growth.as_deref().map(growth_json),
        })
    }
}

/// What was found at `bound`; what is complete by itself is not if there are calls (`has_calls`) beside it.
fn bound_json(bound: &BoundReport, has_calls: bool) -> Value {
    json!({
        "k": bound.k,
        "states": bound.states,
        "transitions": bound.transitions,
        "representatives": bound.representatives,
        "obi": bound.obi,
        "sibi": bound.sibi,
        "cibi": bound.cibi,
        "exhaustive": bound.exhaustive,
        "safe": bound.safe(),
        "stable": bound.stable,
        "complete": bound.complete.filter(|_| !has_calls),
        "largest_queue": bound.largest_queue.filter(|_| !has_calls),
        "reduction": match bound.reduction {
            Reduction::Sound => "sound",
            Reduction::Paper => "paper",
            Reduction::None => "none",
        },
        "memory": bound.memory,
    })
}
