//! When properties of a connection want to be told what time it is, and what they say then (`docs/time.md`, section 2, "In guards").
//!
//! An event's time is when its first byte was read. All events before a time are known once everything was read, of both sides, that
//! had arrived by then. A deadline is missed for certain if it is before that time. Times are exact if what comes is read
//! at once; after an event of which that is not known, what depends on when events came is in doubt for as long as it can depend on that
//! one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::{Entry, Family, Observed, Properties, PropertyFinding};

/// When a message came, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTime {
    /// Then, but not before what came before it.
    pub at: i64,
    /// Whether it was read at once.
    pub is_exact: bool,
}

/// The timers of a connection.
#[derive(Debug)]
pub(super) struct Clock {
    timers: BinaryHeap<Reverse<Timer>>,
    /// Something about times had no value.
    pub(super) fault: bool,
    /// That was reported.
    is_fault_reported: bool,
    /// All events before this are known.
    reached: i64,
}

/// Of each instance at most one is that of its entry; others are stale.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    deadline: i64,
    family: usize,
    key: Arc<str>,
}

/// With more timers than this beyond the instances, stale ones are dropped.
const MAX_STALE: usize = 64;

impl Default for Clock {
    fn default() -> Self {
        Self { timers: BinaryHeap::new(), fault: false, is_fault_reported: false, reached: i64::MIN }
    }
}

impl Clock {
    /// Sees to it that the instance is told as soon as `deadline` has passed.
    pub(super) fn wake(&mut self, entry: &mut Entry, deadline: Option<i64>, family: usize, key: &str) {
        if let Some(deadline) = deadline.filter(|deadline| *deadline < entry.wakes) {
            entry.wakes = deadline;
            self.timers.push(Reverse(Timer { deadline, family, key: key.into() }));
        }
    }
}

impl Entry {
    /// Whether what the property `member` says at `time` may depend on when exactly something came.
    pub(super) fn is_doubtful(&self, member: usize, time: i64) -> bool {
        self.doubts.get(member).is_some_and(|until| time <= *until)
    }
}

impl Family {
    /// Remembers for how long an event that came at `time` leaves in doubt what depends on when it came.
    pub(super) fn note_doubt(&self, entry: &mut Entry, time: Option<EventTime>) {
        let Some(EventTime { at, is_exact: false }) = time else { return };
        if entry.doubts.is_empty() {
            entry.doubts = vec![i64::MIN; self.horizons.len()].into();
        }
        for (until, horizon) in entry.doubts.iter_mut().zip(&self.horizons) {
            if *horizon > 0 {
                *until = (*until).max(at.saturating_add(*horizon));
            }
        }
    }
}

impl Observed {
    /// When the next deadline passes: the properties want to be told as soon as all events up to then are known.
    #[must_use]
    pub fn next_deadline(&self) -> Option<i64> {
        self.clock.timers.peek().map(|Reverse(timer)| timer.deadline)
    }

    /// The time before which all events are known.
    #[must_use]
    pub fn reached(&self) -> i64 {
        self.clock.reached
    }

    /// Whether something about times had no value since this was asked, for the first time in this connection.
    pub fn take_fault(&mut self) -> bool {
        let fault = std::mem::take(&mut self.clock.fault);
        fault && !std::mem::replace(&mut self.clock.is_fault_reported, true)
    }
}

impl Properties {
    /// All events before `time` are known, for certain those before `seen`: what the properties say whose deadlines have passed.
    pub fn reach(&self, observed: &mut Observed, time: i64, seen: i64) -> Vec<PropertyFinding> {
        let mut findings = Vec::new();
        observed.clock.reached = observed.clock.reached.max(time);
        while let Some(Reverse(timer)) = observed.clock.timers.peek()
            && timer.deadline < time
        {
            let Some(Reverse(timer)) = observed.clock.timers.pop() else { break };
            self.pass(observed, &timer, (time, seen), &mut findings);
        }
        drop_stale(observed);
        findings
    }

    /// The time of `timer` is over.
    fn pass(
        &self,
        observed: &mut Observed,
        timer: &Timer,
        (time, seen): (i64, i64),
        findings: &mut Vec<PropertyFinding>,
    ) {
        let Timer { deadline, family: number, key } = timer;
        let (Some(family), Some(instances)) =
            (self.families.get(*number), observed.families.get_mut(*number))
        else {
            return;
        };
        let Some(entry) = instances.by_key.get_mut(key).filter(|entry| entry.wakes == *deadline) else {
            return;
        };
        entry.wakes = i64::MAX;
        let Some(bundle) = &mut entry.bundle else { return };
        let step = family.properties.advance(&mut instances.memories, bundle, time);
        instances.held = instances.held.saturating_add_signed(step.grown);
        let (is_done, next) = (bundle.is_done(), family.properties.next_deadline(bundle));
        for (member, verdict) in &step.verdicts {
            let reason = instances.memories.take_reason(*member);
            let Some(finding) = family.finding(*member, *verdict, Some(key)) else { continue };
            let missed = reason.as_ref().and_then(|reason| reason.deadline).unwrap_or(*deadline);
            findings.push(PropertyFinding {
                event: i64::try_from(entry.events).unwrap_or(i64::MAX) - 1,
                reason: reason.map(|reason| reason.sentence),
                is_by_time: true,
                certain: missed < seen && !entry.is_doubtful(*member, missed),
                ..finding
            });
        }
        if is_done {
            // The key itself is still kept.
            instances.held += 1;
            entry.bundle = None;
        } else {
            observed.clock.wake(entry, next, *number, key);
        }
    }
}

/// Deadlines that come sooner and sooner leave timers behind: no more of them than there are instances.
fn drop_stale(observed: &mut Observed) {
    let Observed { families, clock, .. } = observed;
    let instances: usize = families.iter().map(|family| family.by_key.len()).sum();
    if clock.timers.len() <= instances + MAX_STALE {
        return;
    }
    clock.timers.retain(|Reverse(timer)| {
        let entry = families.get(timer.family).and_then(|family| family.by_key.get(&timer.key));
        entry.is_some_and(|entry| entry.wakes == timer.deadline)
    });
}
