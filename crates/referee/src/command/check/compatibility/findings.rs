//! What is wrong, one by one: for formats that list problems with their places (`../ci.rs`).

use referee::check::{Judgement, Step, Verdict, Witness};
use referee::theory::System;
use referee::view::witness::{Place, hint};

use super::answer::Answer;
use super::{About, Answers, faults};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Level {
    Error,
    Warning,
    Note,
}

/// One problem.
pub(crate) struct Finding {
    pub(crate) level: Level,
    /// A code of a diagnostic, a kind of violation, or a reason why there is no answer.
    pub(crate) rule: String,
    pub(crate) message: String,
    /// Where it is, if the text has such a place.
    pub(crate) place: Option<Place>,
    /// What leads there, each step where the text has it.
    pub(crate) steps: Vec<(String, Place)>,
}

impl Answers {
    /// Everything that is unsafe, violated or unknown.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        self.all.iter().flat_map(About::findings).collect()
    }
}

impl About {
    fn findings(&self) -> Vec<Finding> {
        match (&self.local, &self.monitors) {
            (Some(local), _) => local.findings(),
            (None, Some(monitors)) => monitors.findings(),
            (None, None) => Vec::new(),
        }
    }
}

impl Answer {
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut all = Vec::new();
        match &self.report.verdict {
            Verdict::Safe { .. } => {}
            Verdict::Unsafe { .. } => {
                all.extend(self.witnesses().into_iter().map(|found| self.violation(found)))
            }
            Verdict::Unknown { reason, explanation, advice, .. } => all.push(Finding {
                level: Level::Warning,
                rule: reason.code().to_owned(),
                message: format!("unknown: {explanation}. What to do: {advice}"),
                place: match self.report.verdict.witness() {
                    Some(witness) => self.last_place(&witness.steps),
                    None => self.last_place(&reason.actions()),
                },
                steps: Vec::new(),
            }),
        }
        all.iter_mut().for_each(|finding| finding.message += &self.assumptions());
        for asked in &self.properties {
            let answer = &asked.answer;
            let (level, what) = match answer.judgement {
                Judgement::Holds => continue,
                Judgement::Violated(_) => (Level::Error, "is violated"),
                Judgement::Unknown(_) => (Level::Warning, "is not known to hold"),
            };
            let steps = answer.judgement.execution().map_or(&[][..], |execution| &execution.steps);
            all.push(Finding {
                level,
                rule: "property".to_owned(),
                message: format!(
                    "property `{}` {what}{}{}",
                    answer.name,
                    asked.with_copies(),
                    self.under_faults()
                ),
                place: self.last_place(steps),
                steps: self.described(steps, &asked.system),
            });
        }
        all.extend(self.properties.iter().flat_map(|asked| &asked.remarks).map(|remark| Finding {
            level: Level::Warning,
            rule: "property".to_owned(),
            message: remark.clone(),
            place: None,
            steps: Vec::new(),
        }));
        all
    }

    /// Under which faults and with how many copies that is so.
    fn assumptions(&self) -> String {
        let copies = self.family.iter().find(|member| member.verdict == self.report.verdict.name());
        let copies = copies.map(|member| format!(" (with {} × {})", member.role, member.copies));
        self.under_faults() + &copies.unwrap_or_default()
    }

    fn under_faults(&self) -> String {
        let faults = self.faults.as_ref().map(|found| faults::text(found, self.system.vocabulary()));
        faults.map(|what| format!(" (with {what})")).unwrap_or_default()
    }

    fn violation(&self, witness: &Witness) -> Finding {
        let hint = hint(witness, &self.system).map_or(String::new(), |hint| format!(". {hint}"));
        // Where somebody waits for something else, that is the place; otherwise where it went wrong.
        let offers = witness.end.standings.iter().filter(|standing| Some(standing.role) == witness.role());
        let waits =
            offers.flat_map(|standing| &standing.offers).find_map(|step| self.places.find(step.origin));
        Finding {
            level: Level::Error,
            rule: witness.violation.map_or(witness.property.name(), |violation| violation.name()).to_owned(),
            message: format!("{}{hint}", witness.explanation),
            place: waits.or_else(|| self.last_place(&witness.steps)),
            steps: self.described(&witness.steps, &self.system),
        }
    }

    fn last_place(&self, steps: &[Step]) -> Option<Place> {
        steps.iter().rev().find_map(|step| self.places.find(step.origin))
    }

    fn described(&self, steps: &[Step], system: &System) -> Vec<(String, Place)> {
        let vocabulary = system.vocabulary();
        let described = |step: &Step| {
            let place = self.places.find(step.origin)?;
            let (role, peer) = (vocabulary.role_name(step.role), vocabulary.role_name(step.peer));
            Some((
                format!("{role}: {peer}{}{}", step.action.symbol(), vocabulary.label_of(step.message)),
                place,
            ))
        };
        steps.iter().filter_map(described).collect()
    }
}
