//! A report for people.

use std::fmt;

use super::{Report, Timing};
use crate::coverage::Count;
use crate::mutation::Reaction;

/// How many transitions that were not taken are listed.
const MAX_LISTED: usize = 30;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { role, peer, sessions, sent, received, .. } = self;
        let of = |count: Count| format!("{} of {}", count.covered, count.total);
        writeln!(f, "{role} against {peer}: {sessions} sessions, {sent} messages sent, {received} received")?;
        writeln!(
            f,
            "covered: {} states, {} transitions, {} branches",
            of(self.states),
            of(self.transitions),
            of(self.branches)
        )?;
        for missing in self.uncovered.iter().take(MAX_LISTED) {
            writeln!(f, "  not {} in {}: {}", missing.message, missing.state, missing.reason)?;
        }
        if let Some(more) = self.uncovered.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
            writeln!(f, "  and {more} more; `--format json` has them all")?;
        }
        self.write_timings(f)?;
        self.write_mutations(f)?;
        for reason in &self.not_judged {
            writeln!(f, "not judged: {reason}")?;
        }
        if let Some(limit) = self.limit {
            writeln!(f, "stopped: {limit}")?;
        }
        self.write_finding(f)
    }
}

impl Report {
    fn write_timings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slowest = self.timings.iter().max_by_key(|timing| timing.most);
        let Some(Timing { label, most, .. }) = slowest else { return Ok(()) };
        let mut medians: Vec<u64> = self.timings.iter().map(|timing| timing.median).collect();
        medians.sort_unstable();
        let median = medians.get(medians.len() / 2).copied().unwrap_or(0);
        writeln!(f, "answers took {} as a rule, {} at most (`{label}`)", time(median), time(*most))
    }

    fn write_mutations(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mutations.is_empty() {
            return Ok(());
        }
        let count = |reaction: fn(&Reaction) -> bool| {
            self.mutations.iter().filter(|outcome| reaction(&outcome.reaction)).count()
        };
        let refused = count(|reaction| matches!(reaction, Reaction::Refused(_)));
        let closed = count(|reaction| matches!(reaction, Reaction::Closed));
        writeln!(
            f,
            "wrong messages: {} sent, {refused} refused, {closed} answered by closing",
            self.mutations.len()
        )?;
        for outcome in &self.mutations {
            let what = match &outcome.reaction {
                Reaction::Refused(_) | Reaction::Closed => continue,
                Reaction::Accepted(answer) => format!("answered with {answer}, which is no refusal"),
                Reaction::Ignored => "no answer".to_owned(),
                Reaction::Unknown(answer) => {
                    format!("answered with {answer}: say with `--refusal` what refuses")
                }
            };
            writeln!(f, "  {} in {}: {what}", outcome.wrong, outcome.state)?;
        }
        Ok(())
    }

    fn write_finding(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(finding) = &self.finding else { return writeln!(f, "no deviation found") };
        writeln!(f, "deviation: {}", finding.verdict.message)?;
        if let Some(rule) = &finding.verdict.rule {
            writeln!(f, "  rule: {rule}")?;
        }
        for line in &finding.trace {
            writeln!(f, "  {line}")?;
        }
        if let Some(label) = &finding.verdict.got {
            writeln!(f, "  {}: {label}    <- here", self.peer)?;
        }
        let again = if finding.reproduced { "seen again" } else { "not seen again" };
        writeln!(f, "  {again} when replayed; {} messages left out", finding.shortened_by)
    }
}

fn time(micros: u64) -> String {
    match micros {
        0..=9_999 => format!("{micros} µs"),
        10_000..=9_999_999 => format!("{} ms", micros / 1000),
        _ => format!("{} s", micros / 1_000_000),
    }
}
