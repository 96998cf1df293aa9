//! Property monitors: the benchmark target of `crates/watch`; an instance for each key beside RTLola's interpreter, Reelay
//! and a loop in Python; `referee watch --nats` beside a consumer that only counts.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
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
/// Some seconds' worth.
const REELAY_EVENTS: u64 = 200_000;
const ROUNDS: usize = 3;

pub(crate) fn run() -> Result<()> {
    workspace::run(&mut cargo(&["bench", "--package", "referee-watch", "--bench", "property"]))?;
    workspace::run(&mut cargo(&["build", "--release", "--package", "referee", "--bin", "referee"]))?;
    let folder = tools::target().join("bench-property");
    fs::create_dir_all(&folder)?;
    let result = peers(&folder).and_then(|()| streams(&folder));
    fs::remove_dir_all(&folder)?;
    result
}

/// One instance for each key, in the shape that suits each: Referee and Python decode lines of JSON, RTLola numbers.
fn peers(folder: &Path) -> Result<()> {
    let examples = workspace::root().join("crates/watch/examples/peers");
    let rtlola = tools::find("rtlola-cli", &tools::by_cargo("rtlola-cli"));
    let reelay = python_with("reelay", "reelay");
    for (keys, few) in [(10, 100_000), (100, 20_000), (1_000, 5_000)] {
        let (many, lines, table) = (2_000_000, folder.join("keys.jsonl"), folder.join("keys.csv"));
        write_events(&lines, &table, many, few, keys)?;
        let mut command = Command::new(program("referee"));
        command.args(["watch", "--format", "json", "--threads", "1", "--property"]);
        let referee = many as f64 / measure(command.arg(examples.join("repeats.hml")).arg(&lines))?.processor;
        println!("{keys} keys: {:.2} million events a second of a processor", referee / 1e6);
        let report = |what: &str, events: u64, cost: Cost| {
            let rate = events as f64 / cost.processor;
            println!("  {what}: {rate:.0}; Referee {:.0} times as many", referee / rate);
        };
        if let Some(rtlola) = &rtlola {
            let mut command = Command::new(rtlola);
            command.arg("monitor").arg(examples.join("repeats.lola")).arg("--csv-in").arg(&table);
            report("RTLola", few, measure(command.args(["--offline", "relative"]))?);
        }
        if let Some(python) = &reelay {
            let mut command = Command::new(python);
            command.arg(examples.join("repeats_reelay.py")).arg(&lines).arg(REELAY_EVENTS.to_string());
            report("Reelay", REELAY_EVENTS, measure(&mut command)?);
        }
        let mut python = Command::new("python3");
        report("a loop in Python", many, measure(python.arg(examples.join("repeats.py")).arg(&lines))?);
    }
    Ok(())
}

/// A Python that has `module`, which comes with `package`; that there is none has then been said.
pub(super) fn python_with(module: &str, package: &str) -> Option<PathBuf> {
    let install =
        format!("`python3 -m venv target/bench-tools && target/bench-tools/bin/pip install {package}`");
    let python = tools::find("python3", &install)?;
    let has = Command::new(&python).args(["-c", &format!("import {module}")]).output().ok()?.status.success();
    if !has {
        println!("skipped: Python has no `{module}`; {install}");
    }
    has.then_some(python)
}

/// `many` events as lines, the first `few` of them as RTLola reads them. No number is repeated.
fn write_events(lines: &Path, table: &Path, many: u64, few: u64, keys: u64) -> Result<()> {
    let mut lines = BufWriter::new(File::create(lines)?);
    let mut table = BufWriter::new(File::create(table)?);
    writeln!(table, "id,n,time")?;
    for event in 0..many {
        // Keys in a scattered order.
        let id = (event.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % keys;
        writeln!(lines, r#"{{"from":"a","to":"b","label":"Request","payload":{{"id":{id},"n":{event}}}}}"#)?;
        if event < few {
            writeln!(table, "{id},{event},{event}")?;
        }
    }
    lines.flush()?;
    Ok(table.flush()?)
}

fn streams(folder: &Path) -> Result<()> {
    let Some(server) = tools::find("nats-server", "it is a package of Debian") else { return Ok(()) };
    let plain = ["build", "--release", "--package", "referee-jetstream", "--example", "plain"];
    workspace::run(&mut cargo(&plain))?;
    nats(&server, folder)
}

/// A server that ends with the benchmark.
pub(super) struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn start(server: &Path, folder: &Path) -> Result<(Server, String)> {
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

pub(super) fn program(name: &str) -> PathBuf {
    tools::target().join("release").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

fn nats(server: &Path, folder: &Path) -> Result<()> {
    let (_server, url) = start(server, folder)?;
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
