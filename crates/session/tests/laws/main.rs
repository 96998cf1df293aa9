//! Laws of a session at one place. Each file is a claim of `docs/theory.md`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod calls;
#[path = "support/cuts.rs"]
mod cuts;
mod deadlines;
mod in_flight;
#[path = "support/machines.rs"]
mod machines;
#[path = "support/network.rs"]
mod network;
mod pipelined_bytes;
mod property_times;
#[path = "support/relay.rs"]
mod relay;
mod same_verdicts;
