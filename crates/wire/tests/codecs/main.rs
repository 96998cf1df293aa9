//! Every codec on sample conversations, cut in every way. Bytes that nobody meant are the laws' business.

#![expect(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "a test may say no")]

mod binary;
mod documented;
mod examples;
mod http;
mod json;
mod json_http;
mod presets;
mod readers;
#[allow(dead_code, reason = "the laws use the rest of it")]
mod support;
mod text;
mod websocket;
