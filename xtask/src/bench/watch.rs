//! `referee watch` on files: events per second of one processor, two threads against one, memory, and beside it what
//! one would use instead: a loop in Python, jq with awk, RTLola's interpreter.

mod captures;
mod raw;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use super::tools::{self, Cost, measure, median};
use crate::workspace::{self, cargo};

/// How often what is compared is run, alternately.
const ROUNDS: usize = 5;

struct Bench {
    referee: PathBuf,
    generate: PathBuf,
    /// `crates/watch/examples`.
    examples: PathBuf,
    /// Where events are put.
    folder: PathBuf,
}

pub(crate) fn run() -> Result<()> {
    workspace::run(&mut cargo(&["build", "--release", "--package", "referee", "--bin", "referee"]))?;
    workspace::run(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "referee-watch",
        "--example",
        "generate",
    ]))?;
    let (target, exe) = (tools::target(), std::env::consts::EXE_EXTENSION);
    let bench = Bench {
        referee: target.join("release/referee").with_extension(exe),
        generate: target.join("release/examples/generate").with_extension(exe),
        examples: workspace::root().join("crates/watch/examples"),
        folder: target.join("bench-watch"),
    };
    fs::create_dir_all(&bench.folder)?;
    let result = bench.all();
    fs::remove_dir_all(&bench.folder)?;
    result
}

impl Bench {
    fn all(&self) -> Result<()> {
        println!("load average: {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
        let rate = self.threads()?;
        self.raw()?;
        self.merging()?;
        self.captures()?;
        self.memory()?;
        self.open_sessions()?;
        self.scripts(rate)?;
        self.rtlola()
    }

    /// One thread and two, alternately; events per second of one processor.
    fn threads(&self) -> Result<f64> {
        let events = 4_000_000;
        let file = self.events("small.jsonl", events, 1_000)?;
        let bytes = fs::metadata(&file)?.len() as f64 / events as f64;
        let (mut one, mut two, mut apart) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            one.push(self.watch(&file, 1)?);
            two.push(self.watch(&file, 2)?);
            // What two cores of this machine can do at all: two processes that share nothing.
            let start = Instant::now();
            std::thread::scope(|scope| {
                let other = scope.spawn(|| self.watch(&file, 1));
                self.watch(&file, 1)?;
                other.join().unwrap_or_else(|_| anyhow::bail!("it panicked"))
            })?;
            apart.push(start.elapsed().as_secs_f64());
        }
        let wall = |costs: &[Cost]| median(costs.iter().map(|cost| cost.wall).collect());
        let processor = |costs: &[Cost]| median(costs.iter().map(|cost| cost.processor).collect());
        let rate = events as f64 / processor(&one);
        println!("{events} events in 1000 sessions, {bytes:.0} bytes a line, medians of {ROUNDS}:");
        println!(
            "  one thread   {:.2} s, {:.2} s of a processor: {} a second",
            wall(&one),
            processor(&one),
            millions(rate)
        );
        println!(
            "  two threads  {:.2} s, {:.2} s of processors: {:.2} times as fast (the best of each: {:.2} times)",
            wall(&two),
            processor(&two),
            wall(&one) / wall(&two),
            best(&one) / best(&two)
        );
        println!(
            "  two processes with a file each: {:.2} times as fast as one",
            2.0 * wall(&one) / median(apart)
        );
        Ok(rate)
    }

    /// The peak for inputs of different length, and for many sessions.
    fn memory(&self) -> Result<()> {
        for (name, events, sessions) in [
            ("small.jsonl", 4_000_000, 1_000),
            ("long.jsonl", 8_000_000, 1_000),
            ("big.jsonl", 10_000_000, 1_000_000),
        ] {
            let file = self.events(name, events, sessions)?;
            for threads in [1, 2] {
                let cost = self.watch(&file, threads)?;
                println!(
                    "{events} events in {sessions} sessions, {threads} thread(s): {:.0} MiB at the peak, {:.2} s, {:.2} s of processors: {} a second of one",
                    cost.peak,
                    cost.wall,
                    cost.processor,
                    millions(events as f64 / cost.processor)
                );
            }
            if name != "small.jsonl" {
                fs::remove_file(file)?;
            }
        }
        Ok(())
    }

    /// What a session that is open takes, everything included.
    fn open_sessions(&self) -> Result<()> {
        let sessions = 1_000_000_u64;
        let file = self.folder.join("open.jsonl");
        let mut text = String::new();
        for (label, from, to) in [("Auth", "client", "server"), ("Succ", "server", "client")] {
            for number in 0..sessions {
                let payload = match label {
                    "Auth" => r#"{"uname":"user","pwd":"secret"}"#.to_owned(),
                    _ => format!(r#"{{"tok":"token-{number:012}"}}"#),
                };
                text += &format!(
                    "{{\"session\":\"{number:07}\",\"from\":\"{from}\",\"to\":\"{to}\",\"label\":\"{label}\",\"payload\":{payload}}}\n"
                );
            }
        }
        fs::write(&file, text)?;
        let peak = self.watch(&file, 1)?.peak;
        println!(
            "{sessions} sessions open, each with a string kept: {peak:.0} MiB at the peak, {:.0} bytes for each, everything included",
            peak * 1024.0 * 1024.0 / sessions as f64
        );
        fs::remove_file(file)?;
        Ok(())
    }

    /// What one would write by hand.
    fn scripts(&self, rate: f64) -> Result<()> {
        let events = 200_000;
        let file = self.events("few.jsonl", events, 1_000)?;
        let scripts = self.examples.join("peers");
        if let Some(python) = tools::find("python3", "it is a package of every distribution") {
            let mut command = Command::new(python);
            compare("a loop in Python", events, rate, command.arg(scripts.join("auth.py")).arg(&file))?;
        }
        if tools::find("jq", "it is a package of every distribution").is_some() {
            let mut command = Command::new("sh");
            compare("jq and awk", events, rate, command.arg(scripts.join("auth.sh")).arg(&file))?;
        }
        Ok(())
    }

    /// A stream for each session, over decoded events.
    fn rtlola(&self) -> Result<()> {
        let Some(rtlola) = tools::find("rtlola-cli", &tools::by_cargo("rtlola-cli")) else { return Ok(()) };
        for (sessions, events) in [(10, 100_000), (100, 20_000), (1_000, 5_000)] {
            let file = self.events("few.jsonl", events, sessions)?;
            let table = self.folder.join("few.csv");
            fs::write(&table, decoded(&fs::read_to_string(&file)?))?;
            let mut command = Command::new(&rtlola);
            let specification = self.examples.join("peers/auth.lola");
            command
                .arg("monitor")
                .arg(specification)
                .arg("--csv-in")
                .arg(table)
                .args(["--offline", "relative"]);
            let many = 2_000_000;
            let file = self.events("many.jsonl", many, sessions)?;
            let rate = many as f64 / self.watch(&file, 1)?.processor;
            compare(&format!("RTLola, {sessions} sessions"), events, rate, &mut command)?;
        }
        Ok(())
    }

    fn watch(&self, events: &Path, threads: u32) -> Result<Cost> {
        let mut command = Command::new(&self.referee);
        command.args(["watch", "--format", "json", "--threads", &threads.to_string(), "--protocol"]);
        measure(command.arg(self.examples.join("auth.scr")).arg(events))
    }

    fn events(&self, name: &str, events: u64, sessions: u64) -> Result<PathBuf> {
        let path = self.folder.join(name);
        let mut command = Command::new(&self.generate);
        command.args([events.to_string(), sessions.to_string()]).stdout(File::create(&path)?);
        let status = command.status().context("cannot start the generator")?;
        anyhow::ensure!(status.success(), "the generator failed ({status})");
        Ok(path)
    }
}

/// How many events a second `command` sees, and how many times as many Referee does.
fn compare(what: &str, events: u64, referee: f64, command: &mut Command) -> Result<()> {
    let cost = measure(command)?;
    let rate = events as f64 / cost.processor;
    println!(
        "{what}: {:.0} events a second of a processor; Referee {:.0} times as many",
        rate,
        referee / rate
    );
    Ok(())
}

/// The events of a log as RTLola reads them: the work of decoding is done for it.
fn decoded(log: &str) -> String {
    let mut table = String::from("session,label,token,time\n");
    for (number, line) in log.lines().enumerate() {
        let text = |key: &str| {
            let after = line.split_once(&format!("\"{key}\":\""))?.1;
            Some(after.split_once('"')?.0)
        };
        let digits =
            |text: &str| text.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0_u64);
        let session = text("session").map_or(0, digits);
        let label =
            ["Auth", "Succ", "Get", "Res"].iter().position(|label| text("label") == Some(label)).unwrap_or(9);
        let token = text("tok").or_else(|| text("reqTok")).map_or(0, digits);
        table += &format!("{session},{label},{token},{:.3}\n", number as f64 / 1000.0);
    }
    table
}

fn best(costs: &[Cost]) -> f64 {
    costs.iter().map(|cost| cost.wall).fold(f64::INFINITY, f64::min)
}

fn millions(rate: f64) -> String {
    format!("{:.2} million events", rate / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_decoded_for_rtlola() {
        let log = concat!(
            r#"{"session":"0000007","from":"client","label":"Auth","payload":{"uname":"user","pwd":"x"}}"#,
            "\n",
            r#"{"session":"0000007","from":"server","label":"Succ","payload":{"tok":"token-000000000012"}}"#,
            "\n",
        );
        assert_eq!(decoded(log), "session,label,token,time\n7,0,0,0.000\n7,1,12,0.001\n");
    }
}
