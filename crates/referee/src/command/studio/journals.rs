//! The verdicts of a journal, each with the messages before it, to step through.

use std::path::Path;

use anyhow::{Context as _, Result};
use referee::guard::journal::{Entry, Found, verify};
use referee::guard::report::{Report, VerdictReport};
use referee::studio::{StepAction, StepView, Trace, TraceKind};

/// So many verdicts of a journal are shown: the last ones.
const MAX_TRACES: usize = 1_000;

pub(super) fn traces(folder: &Path) -> Result<Vec<Trace>> {
    let mut traces = Vec::new();
    let each = &mut |found: Found<'_>| {
        if let Found::Record(content) = found
            && let Ok(Entry { report: Report::Verdict(verdict), .. }) = Entry::read(content)
        {
            traces.push(trace(&verdict));
        }
        Ok(())
    };
    verify(folder, each).with_context(|| format!("cannot read the journal in `{}`", folder.display()))?;
    if traces.len() > MAX_TRACES {
        traces.drain(..traces.len() - MAX_TRACES);
    }
    Ok(traces)
}

/// The messages before a verdict, and then the verdict.
fn trace(verdict: &VerdictReport) -> Trace {
    let record = &verdict.record;
    let split: Vec<(String, String)> = verdict
        .recent
        .iter()
        .map(|line| match line.split_once(": ") {
            Some((role, message)) => (role.to_owned(), message.to_owned()),
            None => (String::new(), line.clone()),
        })
        .collect();
    let mut roles: Vec<String> = Vec::new();
    let named = split.iter().map(|(role, _)| role).chain(record.role.iter()).chain(record.blame.iter());
    for role in named.filter(|role| !role.is_empty()) {
        if !roles.contains(role) {
            roles.push(role.clone());
        }
    }
    // A journal knows who sends; between two it is clear to whom.
    let other = |role: &str| match &roles[..] {
        [one, other] => Some(if role == one { other.clone() } else { one.clone() }),
        _ => None,
    };
    let step = |(role, message): &(String, String)| StepView {
        role: role.clone(),
        action: StepAction::Exchange,
        peer: other(role),
        label: message.split('(').next().unwrap_or_default().to_owned(),
        text: message.clone(),
        ..StepView::default()
    };
    let mut steps: Vec<StepView> = split.iter().map(step).collect();
    let blame = record.blame.clone().unwrap_or_default();
    steps.push(StepView {
        peer: other(&blame),
        role: blame,
        action: if record.got.is_some() { StepAction::Exchange } else { StepAction::End },
        label: record.label.clone().unwrap_or_default(),
        text: record.got.clone().unwrap_or_else(|| "ends".to_owned()),
        wrong: true,
        bindings: record.values.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
        note: record.time.clone(),
        ..StepView::default()
    });
    Trace {
        kind: TraceKind::Journal,
        title: format!("{} at {}", record.kind, verdict.listener),
        explanation: record.message.clone(),
        session: record.session.clone(),
        roles,
        steps,
        ending: record.expected.iter().map(|expected| format!("expected: {expected}")).collect(),
        ..Trace::default()
    }
}
