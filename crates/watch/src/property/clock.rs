//! The time up to which all events are known, and the instances that want to be told of it.
//!
//! Events come in the order of their times (`--reorder` puts them in it), so that the latest time read is that time: the watermark. A
//! deadline has passed when the watermark is later. Which line was the first to be later does not depend on threads or chunks,
//! and neither does what is told.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use referee_monitor::property::{PropertyVerdict, Reason};
use referee_theory::time;

use super::instances::Entry;
use super::lane::Lane;
use super::plan::{Family, KeyedBy, PropertyPlan};
use crate::lane::Outcome;
use crate::report::{Notice, Place, PropertyReport};

/// The time of a lane.
pub(super) struct Clock {
    /// All events before this time have been read.
    pub(super) watermark: i64,
    timers: Timers,
}

/// Timers. Of each instance at most one is that of its entry; others are stale.
#[derive(Default)]
struct Timers {
    /// Those that came in their order, as where all durations are the same.
    ordered: VecDeque<Timer>,
    others: BinaryHeap<Reverse<Timer>>,
}

impl Timers {
    #[inline]
    fn push(&mut self, timer: Timer) {
        if self.ordered.back().is_none_or(|last| *last <= timer) {
            self.ordered.push_back(timer);
        } else {
            self.others.push(Reverse(timer));
        }
    }

    #[inline]
    fn first(&self) -> Option<Timer> {
        let other = self.others.peek().map(|Reverse(timer)| *timer);
        self.ordered.front().copied().into_iter().chain(other).min()
    }

    fn pop(&mut self) -> Option<Timer> {
        let first = self.first()?;
        if self.ordered.front() == Some(&first) {
            self.ordered.pop_front()
        } else {
            self.others.pop().map(|Reverse(timer)| timer)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timer {
    deadline: i64,
    /// The number of the shard within its lane.
    pub(super) shard: u16,
    pub(super) family: u16,
    pub(super) index: u32,
}

impl Default for Clock {
    fn default() -> Self {
        Self { watermark: i64::MIN, timers: Timers::default() }
    }
}

impl Clock {
    /// Sees to it that the instance is told as soon as `deadline` has passed.
    #[inline]
    pub(super) fn wake(
        &mut self,
        entry: &mut Entry,
        deadline: Option<i64>,
        (shard, family, index): (u16, u16, u32),
    ) {
        if let Some(deadline) = deadline.filter(|deadline| *deadline < entry.wakes) {
            entry.wakes = deadline;
            self.timers.push(Timer { deadline, shard, family, index });
        }
    }

    /// When the next timer passes.
    fn next(&self) -> Option<i64> {
        self.timers.first().map(|timer| timer.deadline)
    }

    /// The next timer that has passed.
    fn due(&mut self) -> Option<Timer> {
        self.timers.first().filter(|first| first.deadline < self.watermark)?;
        self.timers.pop()
    }
}

/// How much later than its time a line may be written, where `--reorder` does not say.
const DELAY: i64 = 1_000_000_000;

impl Lane {
    /// Nothing has come, and it is `now`: tells whose deadlines have passed. The watermark goes no further than these, so that what
    /// is written late is still judged where nothing was said.
    pub(super) fn tick(&mut self, plan: &PropertyPlan, now: i64, outcome: &mut Outcome) {
        let delay =
            plan.options.reorder.map_or(DELAY, |window| i64::try_from(window.as_nanos()).unwrap_or(i64::MAX));
        while let Some(deadline) = self.clock.next().filter(|deadline| *deadline < now.saturating_sub(delay))
        {
            self.reach(plan, deadline.saturating_add(1), None, 0, outcome);
        }
    }

    /// The watermark is `time` now: tells whose deadlines have passed. `place` is that of the line that says so.
    pub(super) fn reach(
        &mut self,
        plan: &PropertyPlan,
        time: i64,
        place: Option<&dyn Fn() -> Place>,
        line: u32,
        outcome: &mut Outcome,
    ) {
        if time <= self.clock.watermark {
            return;
        }
        self.clock.watermark = time;
        while let Some(timer) = self.clock.due() {
            let Timer { deadline, shard: number, family: at, index } = timer;
            let any_lost = self.lost.get(usize::from(at)).copied().unwrap_or(false);
            let (Some(shard), Some(family), Some(memories)) = (
                self.shards.get_mut(usize::from(number)),
                plan.families.get(usize::from(at)),
                self.memories.get_mut(usize::from(at)),
            ) else {
                continue;
            };
            let Some(entry) =
                shard.families.get_mut(usize::from(at)).and_then(|instances| instances.entry(index))
            else {
                continue;
            };
            if entry.wakes != deadline {
                continue;
            }
            entry.wakes = i64::MAX;
            let Some(bundle) = &mut entry.bundle else { continue };
            let step = family.properties.advance(memories, bundle, time);
            shard.held = shard.held.saturating_add_signed(step.grown);
            let (is_done, next) = (bundle.is_done(), family.properties.next_deadline(bundle));
            for (member, verdict) in &step.verdicts {
                let reason = memories.take_reason(*member);
                let Some(mut report) = report(family, *member, *verdict, entry, reason) else { continue };
                report.certain = !(entry.lost || any_lost);
                report.lost_elsewhere = (any_lost && !entry.lost).then_some(at);
                report.place = place.map(|place| place());
                let (is_open, notice) = (report.lost_elsewhere.is_some(), Notice::Property(Box::new(report)));
                if !is_open {
                    outcome.counts.count(&notice);
                }
                outcome.notices.push((line, notice));
            }
            if is_done {
                // The key itself is still kept.
                shard.held += 1;
                entry.anew = family.begins_anew(deadline).filter(|_| !step.verdicts.is_empty());
                entry.rests = false;
                entry.bundle = None;
                entry.history = None;
            } else {
                self.clock.wake(entry, next, (number, at, index));
            }
        }
    }

    /// How many instances wait for a deadline.
    pub(super) fn waiting(&self, plan: &PropertyPlan) -> u64 {
        let of = |shard: &super::lane::Shard| {
            let families = shard.families.iter().zip(&plan.families);
            let waits = |(instances, family): (&super::instances::Instances, &Family)| {
                let bundles = instances.entries().iter().filter_map(|entry| entry.bundle.as_ref());
                bundles.filter(|bundle| family.properties.next_deadline(bundle).is_some()).count() as u64
            };
            families.map(waits).sum::<u64>()
        };
        self.shards.iter().map(of).sum()
    }
}

/// What the instance of `entry` says when its time is over, and why.
fn report(
    family: &Family,
    member: usize,
    verdict: PropertyVerdict,
    entry: &Entry,
    reason: Option<Reason>,
) -> Option<PropertyReport> {
    let monitor = family.properties.monitors().get(member)?;
    let deadline = reason.as_ref().and_then(|reason| reason.deadline);
    let by_session = family.keyed_by == KeyedBy::Session;
    let key = String::from_utf8_lossy(&entry.key).into_owned();
    let key = Some(key).filter(|key| !(by_session && key.is_empty()));
    Some(PropertyReport {
        number: *family.numbers.get(member)?,
        property: Arc::clone(monitor.property()),
        verdict,
        certain: true,
        session: key.clone().filter(|_| by_session),
        key: key.filter(|_| !by_session),
        event: i64::try_from(entry.events).unwrap_or(i64::MAX) - 1,
        got: None,
        place: None,
        time: deadline.map(time::show),
        history: entry.history.as_ref().map(|history| history.lines.clone()).unwrap_or_default(),
        derivation: None,
        unexplained: None,
        deadline,
        sentence: reason.map(|reason| reason.sentence),
        lost_elsewhere: None,
    })
}
