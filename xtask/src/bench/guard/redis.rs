//! Redis with sixteen commands under way on each connection.

use std::process::Command;

use anyhow::{Context, Result};

use super::servers::{Bench, free_port, installed, start};
use crate::bench::tools::median;

const ROUNDS: usize = 5;

pub(super) fn run(bench: &Bench) -> Result<()> {
    if !installed("redis-server") || !installed("redis-benchmark") {
        println!("skipped: Redis is not installed; `apt-get install redis-server redis-tools`");
        return Ok(());
    }
    let server = free_port()?;
    let mut command = Command::new("redis-server");
    command.args(["--port", &server.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    let _redis = start(&mut command, server)?;
    let (_tcp, tcp) = bench.haproxy("tcp", server)?;
    let (_guard, guard) = bench.guard(server, "protocol = \"preset:redis\"\n")?;
    let ways = [("direct", server), ("haproxy tcp", tcp), ("guard", guard)];
    for test in ["GET", "SET"] {
        let mut rates = vec![Vec::new(); ways.len()];
        for _ in 0..ROUNDS {
            for ((_, port), rates) in ways.iter().zip(&mut rates) {
                rates.push(rate(*port, test)?);
            }
        }
        let rates: Vec<f64> = rates.into_iter().map(median).collect();
        println!("Redis, {test}, 50 connections, 16 commands ahead, medians of {ROUNDS}");
        for ((name, _), rate) in ways.iter().zip(&rates) {
            println!("  {name:<13} {rate:>9.0} commands/s");
        }
        if let [_, tcp, guard] = rates.as_slice() {
            println!("  guard: {:.2} x mode tcp", guard / tcp);
        }
    }
    Ok(())
}

/// Commands a second, as `redis-benchmark` counts them.
fn rate(port: u16, test: &str) -> Result<f64> {
    let mut command = Command::new("redis-benchmark");
    command.args(["-p", &port.to_string(), "-t", &test.to_lowercase(), "-P", "16", "-n", "500000", "--csv"]);
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.starts_with(&format!("\"{test}\"")));
    let rate = line.and_then(|line| line.split(',').nth(1)).with_context(|| text.clone())?;
    Ok(rate.trim_matches('"').parse()?)
}
