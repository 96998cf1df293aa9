//! What can be chosen about watching.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use referee_monitor::KeyedMonitor;

use crate::checkpoint::Checkpoint;
pub use crate::input::extracting::{EventBatch, EventDecoder, EventReader};
pub use crate::input::merge::MergeMode;
use crate::partitions::Partitions;
use crate::shape::Shape;

/// In which form events come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventsFormat {
    /// One JSON object per line.
    #[default]
    JsonLines,
    /// Comma-separated values with a header.
    Csv,
    /// One plain action per line: `a?alpha`, `b!{ok,7}`. For properties only.
    Actions,
    /// The log of detectEr: `send(<0.1.0>,<0.2.0>,hello)`. For properties only.
    Detecter,
}

/// What ends a session whose key may be used again.
#[derive(Clone, Debug, Default)]
pub struct SessionEnds {
    /// No event for this long, by the times of events.
    pub idle: Option<Duration>,
    /// An event with one of these labels.
    pub labels: Vec<String>,
}

impl SessionEnds {
    /// Whether anything does.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.idle.is_some() || !self.labels.is_empty()
    }
}

/// How to watch. The verdicts, and the order in which they come, do not depend on `threads` or `chunk`.
#[derive(Clone, Debug)]
pub struct Options {
    /// In which form events come.
    pub format: EventsFormat,
    /// What makes events of the input, where its lines are not events as they stand.
    pub source: Option<Arc<dyn EventReader>>,
    /// Where the parts of an event are.
    pub shape: Shape,
    /// How many threads work.
    pub threads: usize,
    /// Keep at most this many sessions that are not over; the longest idle go first. Without it all are kept.
    pub idle_sessions: Option<usize>,
    /// Remember at most this many sessions that are over or were evicted, so that what still comes is not
    /// taken for a new session.
    pub ended_sessions: usize,
    /// Put events in the order of their times, if they are at most this late.
    pub reorder: Option<Duration>,
    /// Whether several inputs are merged by time.
    pub merge: MergeMode,
    /// Events of inputs that are merged may have come in any order that their times allow, if clocks differ by no more than this;
    /// without it, the order of their times is taken to be theirs. Not for protocols with deadlines, nor with `session_ends`.
    pub skew: Option<Duration>,
    /// How many sets of events that can come first are followed, of events that are not ordered among themselves.
    pub max_orders: usize,
    /// Sessions may have begun before the first event: each starts in every state.
    pub join: bool,
    /// What ends a session, so that the next event with its key begins another.
    pub session_ends: SessionEnds,
    /// What time it is at the end of the input: deadlines before it have passed. In nanoseconds since 1970.
    pub until: Option<i64>,
    /// What may pass, at most, between an event and its time in the log, in either direction: deadlines of a protocol are longer by it.
    pub tolerance: Duration,
    /// Report every violation, not only the first of each session.
    pub all: bool,
    /// How many events of a session are kept to be shown with a violation.
    pub history: usize,
    /// Lines that are longer are malformed.
    pub max_line: usize,
    /// Go on with what is appended to the files.
    pub follow: bool,
    /// While following, go by the clock when nothing comes: a deadline passes, and what is held back to be put in order goes on.
    pub clock: bool,
    /// Set it to end early, as if the input had ended.
    pub stop: Arc<AtomicBool>,
    /// Whether events are messages of a protocol, with a sender and a label. Properties take any event.
    pub messages: bool,
    /// Events are a guard's records: one with `"forwarded": false` is judged, and has not happened for what comes later.
    pub replay: bool,
    /// How many submonitors and keys of properties are kept.
    pub max_instances: usize,
    /// What is kept on disk, so that another goes on where this one stops. All inputs are files that are followed.
    pub checkpoint: Option<Arc<Checkpoint>>,
    /// Which keys to look at, when others look at the rest. What is forgotten is then decided in each partition by itself.
    pub partitions: Option<Arc<Partitions>>,
    /// The monitor of a protocol that opens sub-sessions, whose parent's monitor is watched with.
    pub calls: Option<Arc<KeyedMonitor>>,
    /// How much is read at a time.
    pub chunk: usize,
}

/// By default lines may be this long.
pub const MAX_LINE: usize = 16 << 20;
/// The longest line that can be allowed.
pub const LONGEST_LINE: usize = 1 << 30;
/// By default this many sessions are remembered after their end.
pub const ENDED_SESSIONS: usize = 1 << 20;

/// By default this many sets of events are followed.
pub const MAX_ORDERS: usize = 10_000;

/// By default this many submonitors and keys of properties are kept.
pub const MAX_INSTANCES: usize = 1 << 24;

impl Default for Options {
    fn default() -> Self {
        Self {
            format: EventsFormat::JsonLines,
            source: None,
            shape: Shape::default(),
            threads: 1,
            idle_sessions: None,
            ended_sessions: ENDED_SESSIONS,
            reorder: None,
            merge: MergeMode::default(),
            skew: None,
            max_orders: MAX_ORDERS,
            session_ends: SessionEnds::default(),
            join: false,
            until: None,
            tolerance: Duration::ZERO,
            all: false,
            history: 0,
            max_line: MAX_LINE,
            follow: false,
            clock: false,
            stop: Arc::default(),
            messages: true,
            replay: false,
            max_instances: MAX_INSTANCES,
            checkpoint: None,
            partitions: None,
            calls: None,
            chunk: 256 * 1024,
        }
    }
}
