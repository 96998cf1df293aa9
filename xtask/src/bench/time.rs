//! Properties that speak of time, over lines of JSON: (A) more than ten failures in 60 seconds for a key, (B) a request without a reply within
//! five seconds. Events for each second of a processor, beside a program written by hand, DuckDB, Flink and a loop in Python, in one run; all
//! find the same number of keys.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::property::python_with;
use super::tools::{self, measure, median};
use crate::workspace::{self, cargo};

const EVENTS: u64 = 2_000_000;
/// A reply comes so many events after its request: half a second.
const LAG: u64 = 1_001;
const ROUNDS: usize = 3;
const FAILURES: &str = "property failures for each key { max X.([{event: \"fail\"} when count([{event: \"fail\"}] in 60s) > 10]ff and [_]X) }";
const REPLIES: &str = "property replies for each key { max X.([{event: \"request\"}]expect [{event: \"reply\"}] within 5s and [_]X) }";

pub(crate) fn run() -> Result<()> {
    workspace::run(&mut cargo(&["build", "--release", "--package", "referee", "--bin", "referee"]))?;
    let by_hand = ["build", "--release", "--package", "referee-watch", "--example", "by_hand"];
    workspace::run(&mut cargo(&by_hand))?;
    let folder = tools::target().join("bench-time");
    fs::create_dir_all(&folder)?;
    let result = rows(&folder);
    fs::remove_dir_all(&folder)?;
    result
}

fn rows(folder: &Path) -> Result<()> {
    let examples = workspace::root().join("crates/watch/examples/peers");
    let (rules, lines) = (folder.join("rules.hml"), folder.join("events.jsonl"));
    let duckdb = python_with("duckdb", "duckdb");
    let flink = python_with("pyflink", "apache-flink");
    for (name, property) in [("A", FAILURES), ("B", REPLIES)] {
        fs::write(&rules, property)?;
        let mut few = 0.0;
        for keys in [10_000, 1_000_000] {
            write_events(&lines, name, keys)?;
            let question = |command: &mut Command| {
                command.arg(&lines).arg(name);
                std::mem::replace(command, Command::new("true"))
            };
            let watch = || {
                let mut command = Command::new(super::property::program("referee"));
                command.args(["watch", "--format", "json", "--threads", "1", "--property"]);
                command.arg(&rules).arg(&lines);
                command
            };
            let by_hand = || question(&mut Command::new(super::property::program("examples/by_hand")));
            let python = || question(Command::new("python3").arg(examples.join("time.py")));
            let found = String::from_utf8(watch().output()?.stdout)?.lines().count();
            let counted: usize = answer(python())?;
            ensure!(found == counted, "{found} violations, recounted {counted}");
            println!(
                "({name}) {keys} keys, {found} of them violated; million events a second of a processor:"
            );
            let cost = |command: &dyn Fn() -> Command| {
                let costs = (0..ROUNDS).map(|_| Ok(measure(&mut command())?.processor));
                Ok::<f64, anyhow::Error>(median(costs.collect::<Result<Vec<f64>>>()?))
            };
            let own = cost(&watch)?;
            println!("  Referee        {:.2}", EVENTS as f64 / own / 1e6);
            if keys == 10_000 {
                few = own;
            } else {
                println!("                 {:.2} times the cost for each event", own / few);
            }
            let report = |what: &str, seconds: f64, answer: usize| {
                let rate = EVENTS as f64 / seconds / 1e6;
                println!("  {what:<14} {rate:.2}; Referee {:.2} times; {answer} found", seconds / own);
            };
            report("by hand", cost(&by_hand)?, answer(by_hand())?);
            if let Some(python) = &duckdb {
                let query = || question(Command::new(python).arg(examples.join("time_duckdb.py")));
                report("DuckDB", measure(&mut query())?.processor, answer(query())?);
            }
            // Slow to start and slow to run; its start is in the figure.
            if let (Some(python), 10_000) = (&flink, keys) {
                let query = || question(Command::new(python).arg(examples.join("time_flink.py")));
                report("Flink", measure(&mut query())?.processor, answer(query())?);
            }
            report("Python", measure(&mut python())?.processor, counted);
        }
    }
    Ok(())
}

/// The number that `command` prints.
fn answer(mut command: Command) -> Result<usize> {
    let printed = String::from_utf8(command.output()?.stdout)?;
    printed.trim().parse().with_context(|| format!("{command:?} printed `{printed}`"))
}

/// Every hundredth key fails often, or is not answered.
fn write_events(path: &Path, name: &str, keys: u64) -> Result<()> {
    let mut lines = BufWriter::new(File::create(path)?);
    let key_of = |event: u64| (event.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % keys;
    for event in 0..EVENTS {
        let time = 1_770_000_000_000 + event / 2;
        let (key, what) = match name {
            "A" => {
                let key = key_of(event);
                (key, if key % 100 == 0 || event % 8 == 0 { "fail" } else { "ok" })
            }
            _ if event % 2 == 0 => (key_of(event), "request"),
            _ => {
                let key = key_of(event.saturating_sub(LAG));
                (key, if key % 100 == 0 { "progress" } else { "reply" })
            }
        };
        writeln!(lines, r#"{{"time":{time},"key":{key},"event":"{what}"}}"#)?;
    }
    Ok(lines.flush()?)
}
