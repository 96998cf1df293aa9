//! Every codec on sample conversations, cut in every way, and on hostile bytes.

#![expect(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "a test may say no")]

mod binary;
mod documented;
mod hostile;
mod http;
mod json;
mod presets;
mod support;
mod text;
mod websocket;
