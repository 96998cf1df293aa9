//! Watching a stream of NATS JetStream: a group of workers shares the keys of the events, and each verdict is given once.
//!
//! Keys belong to partitions, partitions to workers ([`run`] is one worker). A worker reads the stream in order, steps the
//! monitors of its partitions, and publishes verdicts to a stream of the group, each message only if the last one of
//! its partition is the one it knows of. What a partition's verdicts are depends on the events alone, so whoever takes
//! a partition over reads the events again and goes on behind the last verdict that is out. There is no monitor
//! here: whoever calls [`run`] brings one. `docs/adr/0011-watching-jetstream.md` has the reasons.
//!
//! Reading order: [`settings`], `group` (what the broker keeps), `member` (who is alive), `balance` (who takes what),
//! `source` (events), `outlet` (verdicts), `pipeline`, `worker`.

mod balance;
mod error;
mod group;
mod member;
mod outlet;
mod pipeline;
pub mod settings;
mod source;
mod worker;

pub use error::GroupError;
pub use settings::Settings;
pub use worker::{Calls, Judge, run};
