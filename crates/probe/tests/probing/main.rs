//! Probes against peers in memory: perfect ones, which must not be blamed, and wrong ones, which must be.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod laws;
mod memory;
mod mistakes;
mod tours;
