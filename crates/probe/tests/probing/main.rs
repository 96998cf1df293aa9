//! Probes against peers in memory: perfect ones, which must not be blamed, and wrong ones, which must be.

mod laws;
mod memory;
mod mistakes;
mod tours;
