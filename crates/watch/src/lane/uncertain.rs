//! Sessions of which something was not seen. What that means: `docs/uncertainty.md`.
//!
//! A session is here from the event that was lost until one state is left and all that is bound in it is known.

use referee_monitor::{Payload, Policy, Possible, PossibleVerdict, Verdict};

use super::careful::{Line, Stepped, finish, settle};
use super::{Claim, Outcome, Position, explain};
use crate::decode::Record;
use crate::decode::event::What;
use crate::plan::Plan;
use crate::report::{Notice, Report};
use crate::sessions::{Entry, Sessions, Status, UNSEEN};

/// A session that may be in more states than this is not judged any more.
const MAX_STATES: usize = 1024;

/// An event of the session could not be read.
#[cold]
pub(super) fn lose(
    position: Position<'_>,
    record: &Record,
    sessions: &mut Sessions,
    hint: u32,
    outcome: &mut Outcome,
) {
    let index = sessions.locate(record.hash, position.decoded.key(record), hint);
    catch_up(position.plan, sessions, index);
    widen(position.plan, sessions, index, 1, false);
    let lost = sessions.entry(index).is_some_and(|entry| entry.status == Status::Evicted);
    outcome.counts.unjudged += u64::from(lost);
}

/// Takes note of events of unknown sessions that were lost since the session's last event.
pub(super) fn catch_up(plan: &Plan, sessions: &mut Sessions, index: u32) {
    catch_up_to(plan, sessions, index, sessions.lost);
}

/// Takes note of the first `lost` events of unknown sessions that were lost.
pub(super) fn catch_up_to(plan: &Plan, sessions: &mut Sessions, index: u32, lost: u32) {
    let Some(entry) = sessions.entry(index) else { return };
    let before = std::mem::replace(&mut entry.lost, lost);
    if before == lost || entry.status != Status::Live {
        return;
    }
    if before == UNSEEN {
        entry.extra.get_or_insert_default().possible = Some(plan.monitor.join());
        return;
    }
    widen(plan, sessions, index, lost.saturating_sub(before), true);
}

/// Up to `times` events of the session may have been lost, or, with `claim`, of others.
fn widen(plan: &Plan, sessions: &mut Sessions, index: u32, times: u32, claim: bool) {
    let monitor = &plan.monitor;
    let Some(entry) = sessions.entry(index).filter(|entry| entry.status == Status::Live) else { return };
    let Entry { session, extra, .. } = entry;
    let extra = extra.get_or_insert_default();
    // Which of the messages that wait would have their turn cannot be told any more.
    let mut too_many = !extra.early.is_empty() || plan.options.calls.is_some();
    if !too_many {
        let possible = extra.possible.get_or_insert_with(|| monitor.known(session.clone()));
        monitor.lose(possible, times, claim);
        too_many = possible.states().count() > MAX_STATES;
    }
    if too_many {
        set_aside(sessions, index);
    }
}

/// The session is not judged any more.
fn set_aside(sessions: &mut Sessions, index: u32) {
    sessions.evicted += 1;
    sessions.retire(index, Status::Evicted);
}

/// An event of a session that may be in several states.
#[cold]
pub(super) fn step(
    plan: &Plan,
    event: &Stepped,
    line: &Line<'_>,
    sessions: &mut Sessions,
    index: u32,
    payload: Payload<'_>,
    outcome: &mut Outcome,
) {
    let Some(entry) = sessions.entry(index) else { return };
    let Some(possible) = entry.extra.as_deref_mut().and_then(|extra| extra.possible.as_mut()) else { return };
    let before = possible.clone();
    let verdict = match event.what {
        What::End => plan.monitor.end_possible(possible, line.from),
        _ => plan.monitor.step_possible(possible, event.channel, plan.names.label_id(event.label), payload),
    };
    match verdict {
        PossibleVerdict::Forward { claims: 0 } => {}
        PossibleVerdict::Forward { claims } => {
            let otherwise = Box::new(unexplained(plan, line, entry, &before, payload));
            outcome.claims.push(Claim { line: line.row, event: 0, events: claims, otherwise });
        }
        PossibleVerdict::Violation(violations) => {
            let consequence = entry.session.is_tainted();
            let Some(first) = violations.first() else { return };
            let _ = Policy::Observe.rule(&mut entry.session, Verdict::Violation(*first));
            if consequence {
                outcome.counts.consequences += 1;
            } else {
                outcome.counts.violated += 1;
            }
            if !consequence || plan.options.all {
                let about = explain::About::of(entry);
                let report =
                    explain::uncertain(plan, line, about, &before, &violations, consequence, payload);
                outcome.notices.push((line.row, Notice::Violation(Box::new(report))));
            }
            return;
        }
        PossibleVerdict::Early => {
            outcome.counts.unjudged += 1;
            return set_aside(sessions, index);
        }
        PossibleVerdict::Fault(fault) => {
            return settle(plan, line, sessions, index, Verdict::Fault(fault), payload, outcome);
        }
    }
    resolve(sessions, index);
    finish(plan, sessions, index, outcome);
}

/// If nothing is unknown any more, the session is one like all others.
pub(super) fn resolve(sessions: &mut Sessions, index: u32) {
    let Some(Entry { session, extra, .. }) = sessions.entry(index) else { return };
    let Some(held) = extra.as_deref_mut() else { return };
    let Some(possible) = &held.possible else { return };
    if let Some(only) = possible.only() {
        session.resume(only);
    }
    if possible.certain().is_some() && !possible.is_joined() {
        held.possible = None;
        if held.early.is_empty() && held.history.is_empty() && held.window.is_blank() {
            *extra = None;
        }
    }
}

/// What is said if no lost event is left for the session.
fn unexplained(
    plan: &Plan,
    line: &Line<'_>,
    entry: &Entry,
    before: &Possible,
    payload: Payload<'_>,
) -> Report {
    let about = explain::About::of(entry);
    let mut report = explain::uncertain(plan, line, about, before, &[], false, payload);
    report.sentence += "; more sessions have such a gap than lines could not be read";
    report
}
