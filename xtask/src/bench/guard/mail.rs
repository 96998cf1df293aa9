//! SMTP against aiosmtpd and Postfix: what a guard adds to a mail, beside what HAProxy adds; and the setting of
//! ECOOP'21, the monitor inside the client's own process, for SMTP and for ping-pong over HTTP.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::servers::{Bench, Running};
use crate::bench::tools::{self, median};
use crate::workspace;

const ROUNDS: usize = 15;

pub(super) fn run(bench: &Bench) -> Result<()> {
    for name in ["aiosmtpd", "postfix"] {
        match serve(name) {
            Ok((_server, port)) => compare(bench, name, port)?,
            Err(error) => {
                println!("skipped: {name} cannot be started ({error}); `tests/peers/install` installs it")
            }
        }
    }
    let (_nginx, port) = bench.nginx()?;
    print!("nginx, {}", example("pingpong", &[&format!("127.0.0.1:{port}"), "200"])?);
    Ok(())
}

/// One of the mail servers of `tests/peers`.
fn serve(name: &str) -> Result<(Running, u16)> {
    let own = tools::target().join("peers/bin/python");
    let mut command = Command::new(if own.exists() { own } else { "python3".into() });
    command.current_dir(workspace::root().join("tests/peers")).args(["-B", "serve.py", name]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut running = Running(child);
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().context("no output")?).read_line(&mut line)?;
    let port = line.trim().parse().context("it does not say its port")?;
    Ok((running, port))
}

fn compare(bench: &Bench, name: &str, server: u16) -> Result<()> {
    let (_tcp, tcp) = bench.haproxy("tcp", server)?;
    let (_guard, guard) = bench.guard(server, "protocol = \"preset:smtp\"\n")?;
    let ways = [("direct", server), ("haproxy tcp", tcp), ("guard", guard)];
    let mut times = vec![Vec::new(); ways.len()];
    let mut inside = String::new();
    for round in 0..ROUNDS {
        // Each comes first, second and last equally often: Postfix is still busy with what came before.
        for turn in round..round + ways.len() {
            let at = turn % ways.len();
            let (way, port) = ways[at];
            let said = example("mail", &[&format!("127.0.0.1:{port}"), "someone@peers.test", "10"])?;
            times[at].push(without_monitor(&said)?);
            if way == "direct" {
                inside = said;
            }
        }
    }
    let times: Vec<f64> = times.into_iter().map(median).collect();
    println!("SMTP, {name}, sessions of 100 mails, medians of {ROUNDS}");
    for ((way, _), time) in ways.iter().zip(&times) {
        println!("  {way:<13} {time:>7.0} µs a mail");
    }
    if let [direct, tcp, guard] = times.as_slice() {
        println!("  what a guard adds: {:.2} x what mode tcp adds", (guard - direct) / (tcp - direct));
    }
    print!("  in the client's process, {inside}");
    Ok(())
}

/// What an example of `referee` prints.
fn example(name: &str, arguments: &[&str]) -> Result<String> {
    let output =
        Command::new(tools::target().join("release/examples").join(name)).args(arguments).output()?;
    ensure!(output.status.success(), "`{name}` failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// The time in `a mail: 123.4 µs, with …`.
fn without_monitor(said: &str) -> Result<f64> {
    let time = said.split_once(": ").and_then(|(_, rest)| rest.split_once(" µs"));
    Ok(time.with_context(|| said.to_owned())?.0.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_time_is_the_one_without_a_monitor() {
        assert!(
            (without_monitor("a mail: 123.4 µs, with a monitor inside 124.0 µs").unwrap() - 123.4).abs()
                < 1e-9
        );
        assert!(without_monitor("no such thing").is_err());
    }
}
