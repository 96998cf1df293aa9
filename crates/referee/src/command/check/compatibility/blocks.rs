//! Blocks side by side: what is said where the machines alone say nothing.

use referee::Projected;
use referee::check::{self, Defect, Options, Reason, Report, SafeGround, Verdict};

use super::CANCELLED;

/// `report`, of the projections of `protocol`, with an answer where its blocks give one.
pub(super) fn answered_by_blocks(report: Report, protocol: &Projected, options: &Options) -> Report {
    let Some(global) = protocol.global().filter(|global| global.pars().next().is_some()) else {
        return report;
    };
    let Verdict::Unknown { reason, .. } = &report.verdict else { return report };
    let is_mixed = matches!(reason, Reason::NotSessionAutomata(Defect::Mixed { .. }));
    let by_blocks = if options.fair { check::check_blocks(global, options, Some(&CANCELLED)) } else { None };
    if let Some(k) = by_blocks {
        return Report { verdict: Verdict::Safe { k, ground: SafeGround::Blocks }, limit: None, ..report };
    }
    let mut report = report;
    if let (true, Verdict::Unknown { advice, .. }) = (is_mixed, &mut report.verdict) {
        *advice = "blocks of a `par` make such states: only exploring everything can show that it is safe, so let what is sent in loops \
                   wait for answers"
            .to_owned();
    }
    report
}
