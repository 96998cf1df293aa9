//! What a worker is told.

use std::time::Duration;

/// Which stream, which group, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where NATS is: `nats://user:password@host:4222`.
    pub url: String,
    /// The stream with the events.
    pub stream: String,
    /// The name of the group.
    pub durable: String,
    /// How many partitions the group has, if it is new; for one that exists, how many it must have.
    pub partitions: Option<u16>,
    /// The subjects of a partition, with `{partition}` for its number, if events are partitioned by subject; else by key.
    pub subjects: Option<String>,
    /// How long after a worker's last sign of life others take over, if the group is new; for one that exists, what it
    /// must be.
    pub lease: Option<Duration>,
    /// End when the group has judged all that was in the stream at the start.
    pub until_end: bool,
    /// What tells one specification from another: all workers of a group must have the same.
    pub specification: u64,
}

/// A new group has this many partitions.
pub const PARTITIONS: u16 = 16;
/// By default others take over after this long.
pub const LEASE: Duration = Duration::from_secs(10);
/// What stands for the number of the partition in [`Settings::subjects`].
pub const PARTITION: &str = "{partition}";
