//! The network of a protocol's multiparty monitors, as `referee check` asks for it and tells of it.

use std::fmt::Write as _;

use anyhow::Result;
use referee::Projected;
use referee::check;
use referee::monitor::multiparty::RoleMonitor;
use serde_json::{Value, json};

use super::findings::Finding;
use super::{
    Answer, CANCELLED, CompatibilityArguments, Diagrams, PlaceTable, ProgressLine, RoleOptions, has_calls,
};
use crate::Outcome;
use crate::output::{SOFT, WARN, styled};

/// What was asked and answered about the monitors of one protocol.
pub(super) struct NetworkAnswer {
    answer: Answer,
    /// Where monitors follow a branch without knowing which was chosen.
    followed: Vec<Followed>,
}

struct Followed {
    role: String,
    label: String,
    line: usize,
}

impl NetworkAnswer {
    /// Asks about the monitors of `protocol`, if it has relative types. `local` is the answer about its
    /// projections: of two roles these are the monitors.
    pub(super) fn about(
        protocol: &Projected,
        local: Option<&Answer>,
        roles: &RoleOptions<'_>,
        arguments: &CompatibilityArguments,
        diagrams: &mut Diagrams,
    ) -> Result<Option<Self>> {
        let of_two = protocol.global().is_some_and(|global| global.participants().len() <= 2);
        if let Some(local) = local
            && of_two
            && protocol.relative_types().is_ok()
        {
            let answer = Answer { copied: Vec::new(), ..local.clone() };
            return Ok(Some(Self { answer, followed: Vec::new() }));
        }
        let mut observer = ProgressLine::new(protocol.name().unwrap_or(protocol.source().name()));
        let network = protocol.network(&arguments.options(), Some(&CANCELLED), &mut observer);
        observer.finish();
        let Ok(network) = network else { return Ok(None) };
        let of_monitor = |monitor: &RoleMonitor| {
            let vocabulary = monitor.vocabulary();
            let followed = monitor.followed().iter().map(|followed| Followed {
                role: vocabulary.role_name(monitor.role()).to_owned(),
                label: vocabulary.label_of(followed.message).to_owned(),
                line: protocol.position(followed.origin).line,
            });
            followed.collect::<Vec<_>>()
        };
        let followed = network.monitors().iter().flat_map(of_monitor).collect();
        let system = roles.waiting(network.system())?;
        let options = arguments.options();
        let report = match roles.may_wait.is_empty() && options.fair {
            true => network.report().clone(),
            false => check::check(&system, &options, Some(&CANCELLED), &mut ()),
        };
        let drawn = diagrams.draw(&report, &[], &system, protocol);
        let places = PlaceTable::of(&system, protocol, &[]);
        let CompatibilityArguments { stable, explain, .. } = *arguments;
        let answer = Answer {
            system,
            report,
            fair: options.fair,
            agnostic: None,
            explain,
            stable,
            drawn,
            places,
            faults: None,
            properties: Vec::new(),
            with: Vec::new(),
            fixes: Vec::new(),
            family: Vec::new(),
            copied: Vec::new(),
            interruptions: Vec::new(),
            has_calls: has_calls(protocol),
        };
        Ok(Some(Self { answer, followed }))
    }

    pub(super) fn outcome(&self) -> Outcome {
        self.answer.outcome()
    }

    /// As `compatibility`, and the branches that are followed.
    pub(super) fn to_json(&self) -> Value {
        let mut value = self.answer.to_json();
        let followed = |followed: &Followed| json!({"role": followed.role, "label": followed.label, "line": followed.line});
        value["follows"] = self.followed.iter().map(followed).collect();
        value
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        self.answer.findings()
    }

    /// What people read.
    pub(super) fn to_text(&self) -> String {
        let mut text =
            format!("  {}\n", styled(SOFT, "the network of its monitors, dependency messages included:"));
        for line in self.answer.to_text().lines() {
            let _ = writeln!(text, "  {line}");
        }
        for Followed { role, label, line } in &self.followed {
            let what = format!(
                "{role} does not learn what is chosen on line {line}: its monitor keeps to the order of branch `{label}`"
            );
            let _ = writeln!(text, "    {}", styled(WARN, what));
        }
        text
    }
}
