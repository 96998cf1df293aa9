//! What generated endpoints need at run time.
//!
//! `referee generate rust FILE --role R` writes one source file for a role: a type for each state, a method for each message that
//! may be sent there, `recv` where messages are awaited. That file holds the whole protocol and does no I/O; it moves messages through a
//! [`Link`], and this crate has the links:
//!
//! | link | feature | what its steps return |
//! |---|---|---|
//! | [`Blocking`] over any `Read + Write`, one stream for each peer | `std` | `Result` |
//! | [`Local`] between threads of one process, messages are moved and never encoded | `std` | `Result` |
//! | `Asynchronous` over any `AsyncRead + AsyncWrite` | `tokio` | a future |
//! | [`LocalTask`] between tasks of one process, whatever runs them | `std` | a future |
//! | [`Buffered`] without any I/O: bytes in, bytes out | | `Result`, or what is missing |
//!
//! The core (messages, links, JSON, arithmetic) needs `core` and `alloc` only.
//!
//! Reading order: [`link`], [`error`], [`value`], [`codec`], [`eval`], then the links.

#![no_std]

/// For generated files, which name nothing of `std`.
pub extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "tokio")]
mod asynchronous;
#[cfg(feature = "std")]
mod blocking;
mod buffered;
pub mod codec;
pub mod error;
pub mod eval;
mod json;
pub mod link;
#[cfg(feature = "std")]
mod local;
#[cfg(feature = "std")]
mod local_task;
#[cfg(feature = "std")]
mod mailbox;
pub mod value;

#[cfg(feature = "tokio")]
pub use asynchronous::{Asynchronous, Receiving, Sending};
#[cfg(feature = "std")]
pub use blocking::{Blocking, Plain, Stream};
pub use buffered::{Buffered, Polled};
pub use codec::{Codec, JsonLines};
pub use error::{Error, Failure};
pub use link::{Expect, Link, Message, Peer, Session, Signature};
#[cfg(feature = "std")]
pub use local::{Local, local};
#[cfg(feature = "std")]
pub use local_task::{LocalReceiving, LocalTask, local_tasks};
pub use value::{Field, Opaque, Value};
