//! Lost events that may have been of any session, or of any instance of a property: each explains what is wrong with one of them, so it is
//! given away once, in the order of the log. Otherwise one line that cannot be read would disarm the log for good.
//!
//! Where keys are shared out among several processes, each partition gives away all of them: what is said of one does not depend on which others
//! are judged beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::partitions::Partitions;
use crate::report::PropertyReport;

/// What was lost, and who has claimed it.
#[derive(Default)]
pub(super) struct Claims {
    partitions: Option<Arc<Partitions>>,
    /// Lost events of unknown sessions.
    pub(super) lost: u64,
    /// How many sessions of each partition have claimed.
    taken: BTreeMap<u16, u64>,
    /// Lost events of unknown instances, of each family of properties.
    lost_of_family: BTreeMap<u16, u64>,
    /// The instances of each partition and property that have claimed one: no more of them than events were lost.
    instances: BTreeMap<(u16, usize), BTreeSet<Box<str>>>,
}

impl Claims {
    pub(super) fn new(partitions: Option<Arc<Partitions>>) -> Self {
        Self { partitions, ..Self::default() }
    }

    fn partition(&self, key: &str) -> u16 {
        self.partitions.as_ref().map_or(0, |partitions| partitions.of(key.as_bytes()))
    }

    /// Whether there are `count` lost events left to explain the session.
    pub(super) fn claim(&mut self, session: Option<&str>, count: u64) -> bool {
        let partition = self.partition(session.unwrap_or_default());
        let taken = self.taken.entry(partition).or_default();
        let is_explained = *taken + count <= self.lost;
        *taken += if is_explained { count } else { 0 };
        is_explained
    }

    /// An event of some instance of the family was lost.
    pub(super) fn lose(&mut self, family: u16) {
        *self.lost_of_family.entry(family).or_default() += 1;
    }

    /// Whether a lost event of an unknown instance may be what the report is about.
    pub(super) fn explains(&mut self, report: &PropertyReport) -> bool {
        let Some(family) = report.lost_elsewhere else { return false };
        let key = report.key.as_deref().or(report.session.as_deref()).unwrap_or_default();
        let lost = self.lost_of_family.get(&family).copied().unwrap_or_default();
        let partition = self.partition(key);
        let known = self.instances.entry((partition, report.number)).or_default();
        known.contains(key) || (known.len() as u64) < lost && known.insert(key.into())
    }
}
