//! Laws of generated endpoints: programs are generated, compiled by `rustc` with the endpoint crate, and run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests read their golden files")]

mod agree;
mod names;
mod walk;
mod workbench;
mod wrong;
