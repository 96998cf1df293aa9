//! Watching: what is told does not depend on threads, chunks, splits or compression, and is right.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

mod calls;
mod deadlines;
mod hostile;
mod inputs;
mod lost;
mod merge;
mod messages;
mod properties;
mod sessions;
mod skew;
mod support;
mod threads;
