//! HTTP through a guard that checks every request and response, and connections for one exchange.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::servers::Bench;
use crate::bench::tools::median;

const ROUNDS: usize = 9;
const SECONDS: &str = "2s";

/// Every request and response is a message of a protocol that goes on for ever.
pub(super) const LISTENER: &str = r#"
protocol = """
protocol Web(role client, role server) {
  rec LOOP {
    Get(path: string) from client to server;
    choice at server { Found(status: int) from server to client; continue LOOP; }
    or { Failed(status: int) from server to client; continue LOOP; }
  }
}
"""
[listener.codec]
kind = "http"
[listener.codec.messages]
Get = { pattern = "GET *", fields = { path = "target" } }
Found = { pattern = "2xx", fields = { status = "status" } }
Failed = { pattern = "*", fields = { status = "status" } }
"#;

/// One measurement; times in milliseconds.
#[derive(Clone, Copy, Default)]
struct Figure {
    rate: f64,
    middle: f64,
    slow: f64,
}

pub(super) fn run(bench: &Bench) -> Result<()> {
    let (_nginx, server) = bench.nginx()?;
    let (_tcp, tcp) = bench.haproxy("tcp", server)?;
    let (_http, http) = bench.haproxy("http", server)?;
    let (_guard, guard) = bench.guard(server, LISTENER)?;
    let ways = [("direct", server), ("haproxy tcp", tcp), ("haproxy http", http), ("guard", guard)];
    println!("HTTP, medians of {ROUNDS} rounds of {SECONDS}, in turns");
    for (what, connections, header) in [
        ("keep-alive, 1 connection", 1, None),
        ("keep-alive, 16 connections", 16, None),
        ("keep-alive, 128 connections", 128, None),
        ("a connection each, 16 clients", 16, Some("Connection: close")),
    ] {
        let mut figures = vec![Vec::new(); ways.len()];
        for _ in 0..ROUNDS {
            for ((_, port), figures) in ways.iter().zip(&mut figures) {
                figures.push(wrk(*port, connections, header)?);
            }
        }
        let middle: Vec<Figure> = figures.iter().map(|figures| middle_of(figures)).collect();
        println!("{what}");
        for ((name, _), figure) in ways.iter().zip(&middle) {
            let Figure { rate, middle, slow } = figure;
            println!("  {name:<13} {rate:>9.0} requests/s   p50 {middle:.3} ms   p99 {slow:.3} ms");
        }
        if let [direct, tcp, http, guard] = middle.as_slice() {
            println!(
                "  guard: {:.2} x mode http, {:.2} x mode tcp",
                guard.rate / http.rate,
                guard.rate / tcp.rate
            );
            if connections == 1 {
                let added = |proxy: &Figure| (guard.middle - direct.middle) / (proxy.middle - direct.middle);
                println!(
                    "  what it adds at p50: {:.2} x mode http, {:.2} x mode tcp",
                    added(http),
                    added(tcp)
                );
                // The slowest of direct requests are as slow as those through a proxy: nothing to subtract.
                println!(
                    "  its p99: {:.2} x mode http, {:.2} x mode tcp",
                    guard.slow / http.slow,
                    guard.slow / tcp.slow
                );
            }
        }
    }
    Ok(())
}

fn wrk(port: u16, connections: usize, header: Option<&str>) -> Result<Figure> {
    let mut command = Command::new("wrk");
    let threads = connections.min(2).to_string();
    command.args(["-t", &threads, "-c", &connections.to_string(), "-d", SECONDS, "--latency"]);
    if let Some(header) = header {
        command.args(["-H", header]);
    }
    let output = command.arg(format!("http://127.0.0.1:{port}/")).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // A proxy that answers with errors is quick.
    ensure!(!text.contains("Non-2xx"), "port {port} does not answer with 200:\n{text}");
    let field = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)).map(str::to_owned).with_context(|| text.clone())
    };
    Ok(Figure {
        rate: field("Requests/sec:")?.parse()?,
        middle: milliseconds(&field("50%")?)?,
        slow: milliseconds(&field("99%")?)?,
    })
}

/// `12.50us`, `1.20ms`, `3.00s` in milliseconds.
fn milliseconds(text: &str) -> Result<f64> {
    for (unit, scale) in [("us", 1e-3), ("ms", 1.0), ("s", 1e3)] {
        if let Some(number) = text.strip_suffix(unit) {
            return Ok(number.parse::<f64>()? * scale);
        }
    }
    bail!("`{text}` is no time")
}

/// The middle of each column.
fn middle_of(figures: &[Figure]) -> Figure {
    let column = |of: fn(&Figure) -> f64| median(figures.iter().map(of).collect());
    Figure { rate: column(|f| f.rate), middle: column(|f| f.middle), slow: column(|f| f.slow) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds() {
        assert!((milliseconds("12.50us").unwrap() - 0.0125).abs() < 1e-9);
        assert!((milliseconds("3.00s").unwrap() - 3000.0).abs() < 1e-9);
        assert!(milliseconds("fast").is_err());
    }

    #[test]
    fn the_middle_of_each_column() {
        let figure = |rate, middle| Figure { rate, middle, slow: 0.0 };
        let found = middle_of(&[figure(1.0, 9.0), figure(5.0, 7.0), figure(3.0, 8.0)]);
        assert_eq!((found.rate, found.middle), (3.0, 8.0));
    }
}
