//! `referee guard` as a process. What can be tested within a process is tested in the guard's own crate.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test reads files and fails by panicking"
)]

mod deadlines;
mod hostile;
mod mcp;
mod operating;
mod recursion_data;
mod stdio;
mod support;
mod tutorial;
