//! Properties that speak of time, over lines of JSON: (A) more than ten failures in 60 seconds for a key, (B) a request without a reply within
//! five seconds. Events for each second of a processor, beside a loop in Python that recounts; both find the same.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::tools::{self, measure};
use crate::workspace::{self, cargo};

const EVENTS: u64 = 2_000_000;
const FAILURES: &str = "property failures for each key { max X.([{event: \"fail\"} when count([{event: \"fail\"}] in 60s) > 10]ff and [_]X) }";
const REPLIES: &str = "property replies for each key { max X.([{event: \"request\"}]expect [{event: \"reply\"}] within 5s and [_]X) }";

/// Which keys are violated first at which line, counted anew.
const RECOUNT: &str = r#"
import json, sys
from collections import deque
failures, found, waiting, kept = {}, {}, {}, sys.argv[2] == "A"
for line in open(sys.argv[1]):
    event = json.loads(line)
    key, time, what = event["key"], event["time"], event["event"]
    if kept:
        if what == "fail" and key not in found:
            times = failures.setdefault(key, deque())
            times.append(time)
            while times[0] <= time - 60000:
                times.popleft()
            if len(times) > 10:
                found[key] = time
    elif key not in found:
        if key in waiting and time > waiting[key] + 5000:
            found[key] = waiting.pop(key) + 5000
        elif what == "request":
            waiting.setdefault(key, time)
        elif what == "reply":
            waiting.pop(key, None)
    last = time
for key, since in waiting.items():
    if key not in found and last > since + 5000:
        found[key] = since + 5000
print(len(found))
"#;

pub(crate) fn run() -> Result<()> {
    workspace::run(&mut cargo(&["build", "--release", "--package", "referee", "--bin", "referee"]))?;
    let folder = tools::target().join("bench-time");
    fs::create_dir_all(&folder)?;
    let result = rows(&folder);
    fs::remove_dir_all(&folder)?;
    result
}

fn rows(folder: &Path) -> Result<()> {
    let recount = folder.join("recount.py");
    fs::write(&recount, RECOUNT)?;
    for (name, property) in [("A", FAILURES), ("B", REPLIES)] {
        let (rules, lines) = (folder.join("rules.hml"), folder.join("events.jsonl"));
        fs::write(&rules, property)?;
        let mut few = 0.0;
        for keys in [10_000, 1_000_000] {
            write_events(&lines, name, keys)?;
            let referee = workspace::root().join("target/release/referee");
            let watch = || {
                let mut command = Command::new(&referee);
                command.args(["watch", "--format", "json", "--threads", "1", "--property"]);
                command.arg(&rules).arg(&lines);
                command
            };
            let found = String::from_utf8(watch().output()?.stdout)?.lines().count();
            let cost = measure(&mut watch())?.processor;
            let rate = EVENTS as f64 / cost;
            println!("({name}) {keys} keys: {:.2} million events a second of a processor", rate / 1e6);
            if keys == 10_000 {
                few = cost;
            } else {
                println!("    {:.2} times the cost for each event", cost / few);
            }
            let counted = Command::new("python3").arg(&recount).arg(&lines).arg(name).output()?;
            let counted: usize = String::from_utf8(counted.stdout)?.trim().parse().context("the recount")?;
            println!("    {found} violations, recounted {counted}");
            ensure!(found == counted, "the recount differs");
        }
    }
    Ok(())
}

fn write_events(path: &Path, name: &str, keys: u64) -> Result<()> {
    let mut lines = BufWriter::new(File::create(path)?);
    for event in 0..EVENTS {
        let scattered = event.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let (key, time) = (scattered % keys, 1_770_000_000_000 + event / 2);
        // Every hundredth key fails often, or is not answered in time.
        let what = match (name, key % 100) {
            ("A", 0) => "fail",
            ("A", _) if event % 8 == 0 => "fail",
            ("A", _) => "ok",
            (_, 0) => "request",
            _ if event % 2 == 0 => "request",
            _ => "reply",
        };
        writeln!(lines, r#"{{"time":{time},"key":{key},"event":"{what}"}}"#)?;
    }
    Ok(lines.flush()?)
}
