//! Ping-pong over HTTP with a monitor inside the pinger, the setting of ECOOP'21.
//!
//! `cargo run --release -p referee --example pingpong -- 127.0.0.1:80 [ROUNDS]`, before any HTTP server.
//!
//! Every other hundred pings go without the monitor; it prints what the monitor costs.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

#[path = "inside/monitored.rs"]
mod monitored;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use monitored::{Monitored, Result, Times, alone};

const PROTOCOL: &str = include_str!("../../../examples/pingpong/pingpong.scr");
const PINGS: u32 = 100;
const REQUEST: &[u8] = b"GET /ping HTTP/1.1\r\nHost: ponger\r\n\r\n";

/// Asks, and reads the answer whole.
fn ping(server: &mut BufReader<TcpStream>, line: &mut String, monitor: Option<&mut Monitored>) -> Result<()> {
    let mut monitor = monitor;
    if let Some(monitor) = monitor.as_deref_mut() {
        monitor.sends("Ping", &[])?;
    }
    server.get_mut().write_all(REQUEST)?;
    line.clear();
    server.read_line(line)?;
    let answered = line.get(9..12) == Some("200");
    let mut length = 0;
    loop {
        line.clear();
        if server.read_line(line)? == 0 {
            return Err("the server has hung up".into());
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse()?
            }
            Some(_) => {}
            None => break,
        }
    }
    std::io::copy(&mut server.by_ref().take(length), &mut std::io::sink())?;
    match monitor {
        Some(monitor) => monitor.receives(if answered { "Pong" } else { "NoPong" }, &[]),
        None if answered => Ok(()),
        None => Err("the answer is no 200".into()),
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (address, rounds) = match arguments.as_slice() {
        [address] => (address, 100),
        [address, rounds] => (address, rounds.parse()?),
        _ => return Err("say `pingpong ADDRESS [ROUNDS]`, as in `pingpong 127.0.0.1:80`".into()),
    };
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let (mut server, mut line) = (BufReader::new(stream), String::new());
    let mut monitor = Monitored::new(PROTOCOL, "pinger", "ponger")?;
    let mut times = Times::default();
    for round in 0..rounds {
        let monitored = round % 2 == 0;
        for _ in 0..PINGS {
            let start = Instant::now();
            ping(&mut server, &mut line, monitored.then_some(&mut monitor))?;
            times.add(monitored, start.elapsed());
        }
    }
    let alone = alone(|| {
        monitor.sends("Ping", &[])?;
        monitor.receives("Pong", &[])
    })?;
    times.print("a ping", alone);
    Ok(())
}
