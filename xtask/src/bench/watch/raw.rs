//! Raw lines of an access log, and inputs that are merged: events per second of one processor, and their ratios.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::{Bench, ROUNDS};
use crate::bench::tools::{self, Cost, measure, median};

const LINES: u64 = 1_000_000;
/// What is slow sees fewer.
const FEW: u64 = 100_000;
const INPUTS: usize = 8;

/// An access log in nginx's combined format.
fn access_log(lines: u64) -> String {
    let paths = ["/", "/cart", "/item/970", "/static/app.js", "/api/v1/orders/96", "/login"];
    let agents = ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", "curl/8.5.0"];
    let mut text = String::new();
    let mut seed = 88_172_645_463_325_252_u64;
    let mut random = |bound: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % bound as u64) as usize
    };
    for line in 0..lines {
        let second = line / 200;
        let (minute, hour) = (second / 60 % 60, second / 3600);
        let (address, path, agent) = (random(250), paths[random(6)], agents[random(2)]);
        let (status, size) = (if random(10) == 0 { 404 } else { 200 }, random(20_000));
        let _ = writeln!(
            text,
            "203.0.113.{address} - - [01/Feb/2026:{hour:02}:{minute:02}:{:02} +0000] \"GET {path} HTTP/1.1\" {status} {size} \"-\" \"{agent}\"",
            second % 60
        );
    }
    text
}

impl Bench {
    /// Raw lines by a source of regular expressions, beside Python and jq with the same expression.
    pub(super) fn raw(&self) -> Result<()> {
        let (many, few) = (self.folder.join("access.log"), self.folder.join("few.log"));
        fs::write(&many, access_log(LINES))?;
        fs::write(&few, access_log(FEW))?;
        let protocol = self.examples.join("access.scr");
        let mut costs = Vec::new();
        for _ in 0..ROUNDS {
            let mut command = Command::new(&self.referee);
            command.args(["watch", "--threads", "1", "--source", "preset:nginx-combined", "--protocol"]);
            costs.push(measure(command.arg(&protocol).arg(&many))?.processor);
        }
        let rate = LINES as f64 / median(costs);
        println!(
            "raw lines of an access log, by regular expressions: {:.2} million a second of a processor",
            rate / 1e6
        );
        if let Some(python) = tools::find("python3", "it is a package of every distribution") {
            let script = self.examples.join("peers/raw.py");
            super::compare("Python's re", FEW, rate, Command::new(python).arg(script).arg(&few))?;
        }
        if let Some(jq) = tools::find("jq", "it is a package of every distribution") {
            let program = r#"[., inputs] | map(capture("^(?<address>\\S+) \\S+ (?<user>\\S+) \\[(?<time>[^\\]]+)\\] \"(?<method>[^ \"]+) (?<path>[^ \"]*) HTTP/[0-9.]+\" (?<status>\\d{3}) (?<size>\\d+)")) | map(select((.status | tonumber) >= 600)) | length"#;
            super::compare("jq", FEW, rate, Command::new(jq).args(["-R", program]).arg(&few))?;
        }
        // They count the same lines, with their own parsers of the format.
        if let Some(lnav) = tools::find("lnav", "it is a package of every distribution") {
            let question = ";SELECT count(*) FROM access_log WHERE sc_status >= 600";
            let mut command = Command::new(lnav);
            super::compare(
                "lnav",
                FEW,
                rate,
                command.env("HOME", &self.folder).args(["-n", "-c", question]).arg(&few),
            )?;
        }
        if let Some(agrind) = tools::find("agrind", &tools::by_cargo("ag")) {
            let question = r#"* | parse "* - * [*] \"* * HTTP/*\" * *" as address, user, time, method, path, version, status, size | where status >= 600 | count"#;
            super::compare(
                "angle-grinder",
                FEW,
                rate,
                Command::new(agrind).arg("-f").arg(&few).arg(question),
            )?;
        }
        fs::remove_file(many)?;
        fs::remove_file(few)?;
        Ok(())
    }

    /// Events in one file, and the same ones in several, merged by their times.
    pub(super) fn merging(&self) -> Result<()> {
        let events = 2_000_000;
        let whole = self.events("whole.jsonl", events, 1_000)?;
        let text = fs::read_to_string(&whole)?;
        let mut parts = vec![String::new(); INPUTS];
        for (number, line) in text.lines().enumerate() {
            // All events of a session are in one input.
            let session: usize = line.get(12..19).and_then(|key| key.parse().ok()).unwrap_or(number);
            parts[session % INPUTS] += line;
            parts[session % INPUTS].push('\n');
        }
        let files: Vec<PathBuf> =
            (0..INPUTS).map(|number| self.folder.join(format!("part{number}.jsonl"))).collect();
        for (file, part) in files.iter().zip(parts) {
            fs::write(file, part)?;
        }
        let (mut alone, mut merged) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            alone.push(self.watch(&whole, 1)?.processor);
            merged.push(self.merge(&files)?.processor);
        }
        println!(
            "{INPUTS} inputs merged by time: {:.2} times as fast as the same events in one",
            median(alone) / median(merged)
        );
        for file in files.iter().chain([&whole]) {
            fs::remove_file(file)?;
        }
        Ok(())
    }

    fn merge(&self, files: &[impl AsRef<Path>]) -> Result<Cost> {
        let mut command = Command::new(&self.referee);
        command.args(["watch", "--format", "json", "--threads", "1", "--merge", "--protocol"]);
        command.arg(self.examples.join("auth.scr"));
        files.iter().for_each(|file| {
            command.arg(file.as_ref());
        });
        measure(&mut command)
    }
}
