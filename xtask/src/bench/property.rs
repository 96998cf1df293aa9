//! Property monitors: the benchmark target of `crates/watch`, and `referee watch --nats` beside a consumer that only counts.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::tools::{self, Cost, measure, median};
use crate::workspace::{self, cargo};

const PROPERTY: &str = "property once for each session { max X.([client -> worker : Request(id)]\
     ([worker -> client : Reply(id)]([worker -> client : Reply(id)]ff and X))) }";
const EVENTS: u64 = 1_000_000;
const ROUNDS: usize = 3;

pub(crate) fn run() -> Result<()> {
    workspace::run(&mut cargo(&["bench", "--package", "referee-watch", "--bench", "property"]))?;
    let Some(server) = tools::find("nats-server", "it is a package of Debian") else { return Ok(()) };
    workspace::run(&mut cargo(&["build", "--release", "--package", "referee", "--bin", "referee"]))?;
    let plain = ["build", "--release", "--package", "referee-jetstream", "--example", "plain"];
    workspace::run(&mut cargo(&plain))?;
    let folder = tools::target().join("bench-nats");
    fs::create_dir_all(&folder)?;
    let result = nats(&server, &folder);
    fs::remove_dir_all(&folder)?;
    result
}

/// A server that ends with the benchmark.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(server: &Path, folder: &Path) -> Result<(Server, String)> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let child = Command::new(server)
        .args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"])
        .arg(folder.join("store"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start nats-server")?;
    let server = Server(child);
    let began = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        if began.elapsed() > Duration::from_secs(10) {
            bail!("nats-server does not listen");
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok((server, format!("nats://127.0.0.1:{port}")))
}

fn nats(server: &Path, folder: &Path) -> Result<()> {
    let (_server, url) = start(server, folder)?;
    let exe = std::env::consts::EXE_EXTENSION;
    let program = |name: &str| -> PathBuf { tools::target().join("release").join(name).with_extension(exe) };
    let (referee, plain) = (program("referee"), program("examples/plain"));
    let property = folder.join("once.hml");
    fs::write(&property, PROPERTY)?;
    measure(Command::new(&plain).args(["fill", &url, "EVENTS", &EVENTS.to_string(), "1000"]))?;
    let (mut counted, mut watched) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        counted.push(measure(Command::new(&plain).args(["count", &url, "EVENTS"]))?);
        let mut command = Command::new(&referee);
        command.args(["watch", "--format", "json", "--until-end", "--nats", &url, "--stream", "EVENTS"]);
        command.args(["--durable", &format!("bench{round}"), "--property"]).arg(&property);
        watched.push(measure(&mut command)?);
    }
    let rate = |costs: &[Cost]| EVENTS as f64 / median(costs.iter().map(|cost| cost.wall).collect());
    let processor = |costs: &[Cost]| median(costs.iter().map(|cost| cost.processor).collect());
    let (plain, referee) = (rate(&counted), rate(&watched));
    println!("JetStream, {EVENTS} events in 1000 sessions, start and end included, medians of {ROUNDS}:");
    println!("  a consumer that counts  {plain:>9.0} events/s, {:.2} s of processors", processor(&counted));
    println!(
        "  referee watch --nats    {referee:>9.0} events/s, {:.2} s of processors: {:.2} times the rate",
        processor(&watched),
        referee / plain
    );
    Ok(())
}
