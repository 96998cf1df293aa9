//! Guards on loopback: port 0, raw bytes, no waiting for time to pass where an event can be waited for.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test reads files and fails by panicking"
)]

mod configuring;
mod deadlines;
mod ending;
mod exporting;
mod functions;
mod hostile;
mod journaling;
mod json_http;
mod multiparty;
mod operating;
mod presets;
mod properties;
mod relaying;
mod schema;
mod spanning;
mod support;
