//! Monitors on RelaMon's wire: JSON over HTTP, first the label, then the value, one session for each process, so that
//! its components and monitors and these can be mixed. Bodies go on as the bytes that came.
//!
//! Reading order: `member` (what is to be run, and RelaMon's files), `envelope` (one HTTP body), `station` (one role's
//! monitor, without I/O), `line` and `courier` (what is posted), `counter` (what is taken), `serve` (a session from start to end).

mod counter;
mod courier;
mod envelope;
mod line;
mod member;
mod serve;
mod station;

use super::{protocol, violation};

pub use member::{Choices, Member, read_relamon};
pub use serve::{Ending, run};
