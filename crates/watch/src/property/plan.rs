//! What all threads share: the monitors, grouped by what their instances are keyed by.

use std::sync::Arc;

use ahash::RandomState;
use referee_monitor::property::{Indifference, PropertyFamily, PropertyMonitor};
use referee_theory::property::{Again, Key, Property, Scope};

use super::event::Reader;
use super::unseen::Wanted;
use crate::options::Options;
use crate::shape::Tree;

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

impl KeyedBy {
    pub(super) fn of(property: &Property) -> Self {
        match property.scope() {
            Scope::Stream => Self::Session,
            Scope::PerKey(keys) => Self::Keys(keys.clone()),
            Scope::PerProcess(_) => Self::Process,
        }
    }
}

/// Properties whose instances have the same keys.
pub(super) struct Family {
    pub(super) keyed_by: KeyedBy,
    pub(super) properties: PropertyFamily,
    /// The position of each among all properties.
    pub(super) numbers: Vec<usize>,
    /// Whether one of them speaks of time.
    pub(super) timed: bool,
    /// Which events nobody asks for, and where among the members that steps read the one is that tells.
    pub(super) indifference: Option<(usize, Indifference)>,
    /// Whether instances begin anew after a verdict: then it is the only property of its family.
    pub(super) again: Again,
}

impl Family {
    /// From which time on an instance begins anew that gave its verdict at `time`; `None` if it does not.
    pub(super) fn begins_anew(&self, time: i64) -> Option<i64> {
        match self.again {
            Again::Never => None,
            Again::EachTime => Some(i64::MIN),
            Again::After(wait) => Some(time.saturating_add(wait)),
        }
    }
}

/// Monitors with their positions among all.
type Numbered = Vec<(usize, Arc<PropertyMonitor>)>;

/// What does not change while watching.
pub(super) struct PropertyPlan {
    pub(super) families: Vec<Family>,
    pub(super) reader: Reader,
    pub(super) options: Options,
    pub(super) hasher: RandomState,
    // INVARIANT: both are powers of two, and there are at least as many shards as lanes.
    pub(super) shards: usize,
    pub(super) lanes: usize,
    /// Whether a property speaks of time.
    pub(super) timed: bool,
    /// Names that properties ask for.
    pub(super) wanted: Wanted,
    /// Where lines have their parts, and the key of the only family, if that is one member of the line.
    pub(super) tree: Tree,
}

impl PropertyPlan {
    pub(super) fn new(monitors: Vec<Arc<PropertyMonitor>>, options: Options) -> Self {
        let shards = match &options.partitions {
            Some(partitions) => usize::from(partitions.count()).next_power_of_two(),
            None if options.max_instances < EXACT => 1,
            None => SHARDS,
        };
        let lanes = match options.threads {
            0 | 1 => 1,
            threads => threads.saturating_mul(4).next_power_of_two().min(shards),
        };
        let properties = monitors.iter().map(|monitor| &**monitor.property());
        let reader = Reader::new(options.format, &options.shape, options.replay, properties);
        let wanted = Wanted::new(monitors.iter().map(|monitor| &**monitor.property()), options.format);
        let mut groups: Vec<(KeyedBy, Numbered)> = Vec::new();
        for (number, monitor) in monitors.into_iter().enumerate() {
            let keyed_by = KeyedBy::of(monitor.property());
            let is_once = monitor.property().again() == Again::Never;
            let same = |(known, members): &&mut (KeyedBy, Numbered)| {
                let mut others = members.iter().map(|(_, other)| other.property().again());
                *known == keyed_by && others.all(|again| again == Again::Never)
            };
            match groups.iter_mut().find(|group| is_once && same(group)) {
                Some((_, members)) => members.push((number, monitor)),
                None => groups.push((keyed_by, vec![(number, monitor)])),
            }
        }
        let family = |(keyed_by, members): (KeyedBy, Numbered)| {
            let (numbers, members): (_, Vec<Arc<PropertyMonitor>>) = members.into_iter().unzip();
            let again = members.first().map_or(Again::Never, |monitor| monitor.property().again());
            let properties = PropertyFamily::new(members);
            let timed = properties.is_timed() || matches!(again, Again::After(_));
            // Lines that are kept for explanations are all stepped over.
            let indifference = properties.indifference().filter(|_| options.history == 0);
            let indifference = indifference.and_then(|found| Some((reader.place_of(&found.key)?, found)));
            Family { keyed_by, timed, indifference, properties, numbers, again }
        };
        let families: Vec<Family> = groups.into_iter().map(family).collect();
        let timed = families.iter().any(|family| family.timed);
        let tree = match families.as_slice() {
            [Family { keyed_by: KeyedBy::Keys(keys), .. }] => match &**keys {
                [key] if key.steps().len() == 1 => {
                    reader.tree.with_key(key.steps().iter().map(|step| &**step))
                }
                _ => reader.tree.clone(),
            },
            _ => reader.tree.clone(),
        };
        Self { tree, timed, wanted, families, reader, hasher: RandomState::new(), shards, lanes, options }
    }

    /// How many submonitors one shard may keep.
    pub(super) fn limit(&self) -> usize {
        self.options.max_instances.div_ceil(self.shards).max(1)
    }
}
