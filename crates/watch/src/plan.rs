//! What all threads share: the monitor, the names, where parts are, and how sessions are spread.

use std::collections::BTreeSet;
use std::sync::Arc;

use ahash::RandomState;
use referee_monitor::{Monitor, Party, Side};
use referee_theory::Role;

use crate::names::Names;
use crate::options::Options;
use crate::shape::Tree;

/// Sessions are spread over this many shards, whatever the number of threads, because what is forgotten
/// when is decided in each shard by itself.
const SHARDS: usize = 64;
/// Below this bound on sessions all are in one shard, so that exactly the longest idle is evicted.
const EXACT: usize = 1 << 16;

/// What does not change while watching.
pub(crate) struct Plan {
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) names: Names,
    pub(crate) tree: Tree,
    pub(crate) options: Options,
    pub(crate) hasher: RandomState,
    /// The names of all fields, if they are members of the line itself.
    pub(crate) flat_fields: BTreeSet<String>,
    // INVARIANT: both are powers of two, and there are at least as many shards as lanes.
    pub(crate) shards: usize,
    /// Shards are worked on in groups, by whichever thread is free.
    pub(crate) lanes: usize,
    /// Whether the protocol has deadlines.
    pub(crate) timed: bool,
    /// How far clocks of inputs that are merged may differ; none where their times order all events.
    pub(crate) skew: Option<i64>,
    /// Whether no event is plain: all are kept to be shown, or have times that are judged.
    pub(crate) careful: bool,
}

impl Plan {
    pub(crate) fn new(monitor: Arc<Monitor>, aliases: &[(String, Role)], options: Options) -> Self {
        let shards = match &options.partitions {
            Some(partitions) => usize::from(partitions.count()).next_power_of_two(),
            None if options.idle_sessions.is_some_and(|limit| limit < EXACT) => 1,
            None => SHARDS,
        };
        let lanes = match options.threads {
            0 | 1 => 1,
            threads => threads.saturating_mul(4).next_power_of_two().min(shards),
        };
        let tree = Tree::new(&options.shape);
        let vocabulary = monitor.vocabulary();
        let messages = monitor.machine().all_transitions().iter().map(|transition| transition.message);
        let specs = messages.map(|message| vocabulary.spec(message));
        let of_calls = options.calls.iter().flat_map(|calls| calls.subs()).flat_map(|sub| {
            let vocabulary = sub.monitor().vocabulary();
            vocabulary.messages().map(|message| vocabulary.spec(message))
        });
        let fields = specs.chain(of_calls).flat_map(|spec| spec.fields.iter());
        let flat_fields =
            fields.filter(|_| tree.flat).filter_map(|field| Some(field.name.as_deref()?.to_owned()));
        let flat_fields = flat_fields.collect();
        let timed = monitor.is_timed();
        Self {
            timed,
            skew: options.skew.map(|skew| i64::try_from(skew.as_nanos()).unwrap_or(i64::MAX)),
            careful: timed || options.history > 0 || options.calls.is_some(),
            names: Names::new(&monitor, options.calls.as_deref(), aliases),
            flat_fields,
            tree,
            monitor,
            options,
            hasher: RandomState::new(),
            shards,
            lanes,
        }
    }

    /// The side of the monitor that `party` is.
    pub(crate) fn side(&self, party: Party) -> Side {
        if self.names.is_process(party) || party == Party::Process {
            Side::Process
        } else {
            Side::Environment
        }
    }

    /// How many sessions one shard may keep.
    pub(crate) fn idle_limit(&self) -> Option<usize> {
        self.options.idle_sessions.map(|limit| limit.div_ceil(self.shards).max(1))
    }

    /// How many sessions one shard remembers after their end.
    pub(crate) fn ended_limit(&self) -> usize {
        self.options.ended_sessions.div_ceil(self.shards)
    }
}
