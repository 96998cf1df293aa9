//! Ports for processes that are started later.
//!
//! A port that the system picked and that was given back may be picked again before the process listens on it: by
//! another test, or for a connection, even for one to that very port. These are below those that the system picks.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

const FIRST: u16 = 12_000;
const COUNT: u16 = 20_000;
/// What each process begins with, so that tests in different processes seldom try the same.
const BLOCK: u32 = 40;

static TRIED: AtomicU16 = AtomicU16::new(0);

/// `count` ports of the loopback address on which nobody listens.
///
/// # Panics
/// There are none left.
#[must_use]
pub fn free_ports(count: usize) -> Vec<u16> {
    let start = std::process::id() * BLOCK % u32::from(COUNT);
    let mut tries = 0..u32::from(COUNT);
    let mut next = || {
        assert!(tries.next().is_some(), "there is no free port");
        let offset = (start + u32::from(TRIED.fetch_add(1, Ordering::Relaxed))) % u32::from(COUNT);
        FIRST + u16::try_from(offset).unwrap_or(0)
    };
    let mut found = Vec::with_capacity(count);
    while found.len() < count {
        let port = next();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            found.push(port);
        }
    }
    found
}
