//! A guard beside HAProxy, in one run: the same servers behind, the same load before, taken in turns.
//!
//! Needs Debian's `nginx`, `haproxy` and `wrk`; with `redis-server` and `redis-benchmark`, and with what
//! `tests/peers/install` installs for SMTP, there is more to compare. Ratios count, not requests per second: what else the
//! machine does meanwhile changes both alike.

mod http;
mod idle;
mod mail;
mod redis;
pub(super) mod servers;
mod soak;

use anyhow::Result;
pub(super) use idle::run as idle;
pub(super) use soak::run as soak;

use servers::Bench;

/// What is compared over SMTP, alone.
pub(super) fn mail() -> Result<()> {
    mail::run(&Bench::new(&["nginx", "haproxy"])?)
}

/// Rates and latencies: HTTP, short sessions, SMTP, Redis; and the monitor inside a client.
pub(super) fn run() -> Result<()> {
    let bench = Bench::new(&["nginx", "haproxy", "wrk"])?;
    http::run(&bench)?;
    redis::run(&bench)?;
    mail::run(&bench)
}
