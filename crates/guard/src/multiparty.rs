//! Multiparty guards: beside each component of a protocol one monitor, and the monitors talk to each other
//! (RV'23).
//!
//! What a monitor decides is [`referee_monitor::multiparty::Engine`]'s; here are the bytes. On the wire everything
//! is as RelaMon has it, so that its components and monitors and these can be mixed: JSON over HTTP, first the
//! label, then the value. Messages go on as the bytes that came.
//!
//! Reading order: `member` (what is to be run, and RelaMon's files), `envelope` (one HTTP body), `station` (one role's
//! monitor, without I/O), `courier` (what is posted), `counter` (what is taken), `serve` (a session from start to end).

mod counter;
mod courier;
mod envelope;
mod member;
mod serve;
mod station;
mod violation;

pub use member::{Choices, Member, Unusable, read_relamon};
pub use serve::{Ending, run};
