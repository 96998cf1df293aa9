//! What all threads share: the monitors, grouped by what their instances are keyed by.

use std::sync::Arc;

use ahash::RandomState;
use referee_monitor::property::PropertyMonitor;
use referee_theory::property::{Key, Property, Scope};

use super::event::Reader;
use crate::options::Options;

/// Instances are spread over this many shards, whatever the number of threads.
const SHARDS: usize = 64;
/// Below this bound on instances all are in one shard, so that the bound is exact.
const EXACT: usize = 1 << 16;

/// What the instances of some properties are keyed by.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum KeyedBy {
    /// The session of the event.
    Session,
    /// Values in the event.
    Keys(Box<[Key]>),
    /// Who did it.
    Process,
}

/// Properties whose instances have the same keys.
pub(super) struct Family {
    pub(super) keyed_by: KeyedBy,
    /// Positions in [`PropertyPlan::monitors`].
    pub(super) members: Vec<usize>,
}

/// What does not change while watching.
pub(super) struct PropertyPlan {
    pub(super) monitors: Vec<Arc<PropertyMonitor>>,
    pub(super) families: Vec<Family>,
    pub(super) reader: Reader,
    pub(super) options: Options,
    pub(super) hasher: RandomState,
    // INVARIANT: both are powers of two, and there are at least as many shards as lanes.
    pub(super) shards: usize,
    pub(super) lanes: usize,
}

impl PropertyPlan {
    pub(super) fn new(monitors: Vec<Arc<PropertyMonitor>>, options: Options) -> Self {
        let shards = if options.max_instances < EXACT { 1 } else { SHARDS };
        let lanes = match options.threads {
            0 | 1 => 1,
            threads => threads.saturating_mul(4).next_power_of_two().min(shards),
        };
        let mut families: Vec<Family> = Vec::new();
        for (at, monitor) in monitors.iter().enumerate() {
            let keyed_by = match monitor.property().scope() {
                Scope::Stream => KeyedBy::Session,
                Scope::PerKey(keys) => KeyedBy::Keys(keys.clone()),
                Scope::PerProcess(_) => KeyedBy::Process,
            };
            match families.iter_mut().find(|family| family.keyed_by == keyed_by) {
                Some(family) => family.members.push(at),
                None => families.push(Family { keyed_by, members: vec![at] }),
            }
        }
        let asked = monitors.iter().flat_map(|monitor| asked(monitor.property()));
        let reader = Reader::new(options.format, &options.shape, asked);
        Self { families, reader, hasher: RandomState::new(), shards, lanes, options, monitors }
    }

    /// How many submonitors one shard may keep.
    pub(super) fn limit(&self) -> usize {
        self.options.max_instances.div_ceil(self.shards).max(1)
    }
}

/// The members of lines that `property` asks for.
pub(super) fn asked(property: &Property) -> impl Iterator<Item = String> {
    let scope: &[Key] = match property.scope() {
        Scope::PerKey(keys) => keys,
        Scope::Stream | Scope::PerProcess(_) => &[],
    };
    let patterns = property.patterns().iter().flat_map(|pattern| &*pattern.keys).map(|(key, _)| key);
    scope.iter().chain(patterns).filter_map(|key| key.steps().first()).map(ToString::to_string)
}
