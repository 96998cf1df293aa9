//! Many sessions that have exchanged something and now wait: what each keeps in memory.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};

use super::http::LISTENER;
use super::servers::{Bench, resident};

/// Each needs two descriptors of the guard, one here, one of nginx.
const SESSIONS: usize = 20_000;
/// Descriptors for everything else.
const SPARE: usize = 200;

pub(crate) fn run() -> Result<()> {
    let bench = Bench::new(&["nginx"])?;
    let allowed = descriptors()?.saturating_sub(SPARE) / 2;
    let sessions = SESSIONS.min(allowed);
    if sessions < SESSIONS {
        println!("only {sessions} sessions: a process may open no more files here (`ulimit -Hn`)");
    }
    let (_nginx, server) = bench.nginx()?;
    let limits = format!("[listener.limits]\nconnections = {SESSIONS}\nidle = \"1h\"\n");
    let (guard, port) = bench.guard(server, &format!("{LISTENER}{limits}"))?;
    let before = resident(&guard)?;
    let mut connections = Vec::with_capacity(sessions);
    for number in 0..sessions {
        let connection = exchange(port).with_context(|| format!("session {number}"))?;
        connections.push(connection);
    }
    let after = resident(&guard)?;
    println!(
        "{sessions} idle sessions: {:.1} MiB at the start, {:.1} MiB with them: {:.2} KiB each, all told ({:.2} KiB without what it starts with)",
        before / 1024.0,
        after / 1024.0,
        after / sessions as f64,
        (after - before) / sessions as f64
    );
    // They are all alive.
    for connection in connections.iter_mut().step_by(sessions.div_ceil(100)) {
        ask(connection).context("a session has not survived waiting")?;
    }
    Ok(())
}

fn exchange(port: u16) -> Result<TcpStream> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    ask(&mut connection)?;
    Ok(connection)
}

/// A request, and its answer whole.
fn ask(connection: &mut TcpStream) -> Result<()> {
    connection.write_all(b"GET / HTTP/1.1\r\nHost: it\r\n\r\n")?;
    let (mut answer, mut buffer) = (Vec::new(), [0; 1024]);
    while !answer.ends_with(b"hello, world\n") {
        let count = connection.read(&mut buffer)?;
        ensure!(count > 0, "it was closed");
        answer.extend_from_slice(&buffer[..count]);
    }
    Ok(())
}

/// How many files a process may open; Rust programs raise their own limit to the hard one or are started with it.
fn descriptors() -> Result<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line =
        limits.lines().find_map(|line| line.strip_prefix("Max open files")).context("no such limit")?;
    let soft = line.split_whitespace().next().context("no soft limit")?;
    Ok(soft.parse()?)
}
