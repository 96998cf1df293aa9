//! What every codec promises, whatever arrives.

#![expect(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "a test may say no")]

mod encode;
mod splits;
#[allow(dead_code, reason = "each target uses a part of it")]
#[path = "../codecs/support.rs"]
mod support;
#[path = "../codecs/talks.rs"]
mod talks;
