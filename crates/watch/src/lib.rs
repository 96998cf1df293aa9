//! Watching: monitors over recorded events, millions a second, in parallel by session.
//!
//! An event is a JSON object on a line of its own, or a row of CSV:
//!
//! `{"session":"42","from":"client","to":"server","label":"Auth","payload":{"uname":"bob"},"time":"…"}`
//!
//! and `{"session":"42","end":"client"}` says that a side has ended. [`watch`] reads events, keeps one session
//! of the monitor for each session key, and tells an [`Observer`] what is wrong, in the order of the input and
//! always the same, however many threads work. Memory is bounded by the number of sessions, not by the length
//! of the input.
//!
//! There are two stages. The first (`decode`) finds the parts of each line without building anything and
//! resolves names; any thread can do it for any chunk of lines. The second (`lane`) decodes payloads into the
//! monitor's values and steps; the sessions of a lane see their events in order.
//!
//! Reading order: [`report`], [`options`], [`shape`], `run`; then `input`, `decode`, `lane`, `sessions`, `scan`.

pub mod checkpoint;
mod decode;
mod error;
mod held;
mod input;
mod lane;
mod names;
pub mod options;
pub mod partitions;
mod payload;
mod plan;
mod property;
pub mod report;
mod run;
mod scan;
mod sessions;
pub mod shape;

pub use checkpoint::{Checkpoint, Told};
pub use error::WatchError;
pub use input::{Input, Messages};
pub use options::{EventBatch, EventDecoder, EventReader, EventsFormat, MergeMode, Options, SessionEnds};
pub use partitions::Partitions;
pub use property::{recheck, watch_properties};
pub use report::{
    Counts, Notice, Observer, Place, Progress, PropertyReport, Ranking, Report, Step, Summary, Unanswered,
    Unseen, UnseenKind, visible,
};
pub use run::watch;
pub use shape::{BadPointer, Pointer, Shape};
