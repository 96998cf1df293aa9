//! `referee watch --follow --checkpoint`: whatever happens to the process and to the log, every verdict is told once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Nobody waits longer for what must come.
const LONGEST: Duration = Duration::from_secs(60);

const PROTOCOL: &str = "protocol Ping(role pinger, role ponger) {
    rec X { Ping(n: int) from pinger to ponger; Pong(n: int) from ponger to pinger; continue X; }
}";
const PROPERTY: &str =
    r#"property once for each session again each time { max X.([_ -> _ : Ping][_ -> _ : Ping]ff and [_]X) }"#;

/// A log, who watches it, and what it told.
struct Place {
    folder: PathBuf,
    arguments: Vec<String>,
    seed: u64,
    rotations: u32,
    lines: String,
}

impl Place {
    fn new(name: &str, arguments: &[&str], seed: u64) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("ping.scr"), PROTOCOL).unwrap();
        fs::write(folder.join("once.hml"), PROPERTY).unwrap();
        File::create(folder.join("log")).unwrap();
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { folder, arguments, seed, rotations: 0, lines: String::new() }
    }

    fn random(&mut self, bound: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % bound
    }

    fn referee(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
        command.arg("watch").args(&self.arguments).args(arguments).current_dir(&self.folder);
        command
    }

    fn start(&self) -> Child {
        let append =
            |name: &str| OpenOptions::new().create(true).append(true).open(self.folder.join(name)).unwrap();
        self.referee(&["--format", "json", "--all", "--follow", "--checkpoint", "state", "log"])
            .stdout(append("told"))
            .stderr(append("remarks"))
            .stdin(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn append(&mut self, text: &str) {
        self.lines += text;
        let mut log = OpenOptions::new().create(true).append(true).open(self.folder.join("log")).unwrap();
        log.write_all(text.as_bytes()).unwrap();
    }

    fn some_lines(&mut self, csv: bool) {
        for _ in 0..=self.random(20) {
            let (session, who, number) = (self.random(5), self.random(5), self.lines.len());
            let (from, label) = if who < 2 { ("ponger", "Pong") } else { ("pinger", "Ping") };
            let line = match csv {
                true => format!("{session},{from},{label},{number}\n"),
                false => format!(
                    "{{\"session\":\"{session}\",\"from\":\"{from}\",\"label\":\"{label}\",\"payload\":[{number}],\"time\":{number}}}\n"
                ),
            };
            // Half a line may stand there when something happens.
            let cut = usize::try_from(self.random(line.len() as u64)).unwrap();
            self.append(&line[..cut]);
            self.append(&line[cut..]);
        }
    }

    /// What logrotate does: every rotated file gets the next number, the log becomes number 1 by being renamed, or copied and truncated, and
    /// perhaps what was rotated before is compressed, which need not keep when it was written.
    fn rotate(&mut self, header: &str) {
        let log = self.folder.join("log");
        for number in (1..=self.rotations).rev() {
            for kind in ["", ".gz"] {
                let old = self.folder.join(format!("log.{number}{kind}"));
                if old.exists() {
                    fs::rename(old, self.folder.join(format!("log.{}{kind}", number + 1))).unwrap();
                }
            }
        }
        self.rotations += 1;
        let rotated = self.folder.join("log.1");
        if self.random(2) == 0 {
            fs::rename(&log, &rotated).unwrap();
            fs::write(&log, header).unwrap();
        } else {
            fs::copy(&log, &rotated).unwrap();
            fs::write(&log, header).unwrap();
        }
        let earlier = self.folder.join("log.2");
        if earlier.exists() {
            match self.random(3) {
                0 => assert!(Command::new("gzip").arg(&earlier).status().unwrap().success()),
                1 => {
                    let output = Command::new("gzip").arg("-c").arg(&earlier).output().unwrap();
                    fs::write(self.folder.join("log.2.gz"), output.stdout).unwrap();
                    fs::remove_file(earlier).unwrap();
                }
                _ => {}
            }
        }
    }

    fn told(&self) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.folder.join("told")).unwrap_or_default();
        // Half a line is being written, or was when the process was killed: then the next one writes the other half.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).map(without_place).collect()
    }

    /// What a run without a checkpoint over all lines says.
    fn expected(&self, header: &str) -> Vec<serde_json::Value> {
        fs::write(self.folder.join("all"), format!("{header}{}", self.lines)).unwrap();
        let output = self.referee(&["--format", "json", "--all", "all"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).map(without_place).collect()
    }
}

/// The place of a line depends on rotations.
fn without_place(mut verdict: serde_json::Value) -> serde_json::Value {
    for key in ["file", "line", "source"] {
        verdict[key] = serde_json::Value::Null;
    }
    verdict
}

/// Writes, rotates, kills and starts again at random; then what was told is what one run tells.
fn killed_at_random(name: &str, arguments: &[&str], csv: bool, seed: u64) {
    let header = if csv { "session,from,label,n\n" } else { "" };
    let mut place = Place::new(name, arguments, seed);
    fs::write(place.folder.join("log"), header).unwrap();
    let mut child = place.start();
    // What nobody has begun to read is nobody's to go on with.
    place.some_lines(csv);
    let started = Instant::now();
    while fs::metadata(place.folder.join("state")).map_or(0, |state| state.len()) < 200 {
        assert!(started.elapsed() < LONGEST, "nothing was read");
        std::thread::sleep(Duration::from_millis(20));
    }
    for _ in 0..25 {
        place.some_lines(csv);
        match place.random(6) {
            // Only what nobody is reading is rotated at any moment: to copy and truncate under a reader loses lines.
            0 | 1 => {
                child.kill().unwrap();
                child.wait().unwrap();
                if place.random(2) == 0 {
                    place.some_lines(csv);
                    place.rotate(header);
                    if place.random(2) == 0 {
                        place.some_lines(csv);
                        place.rotate(header);
                    }
                    place.some_lines(csv);
                }
                child = place.start();
            }
            2 | 3 => std::thread::sleep(Duration::from_millis(place.random(150))),
            _ => {}
        }
    }
    // Something that is always told, so that its coming says that all was read.
    let last = if csv {
        "last,ponger,Pong,0\n"
    } else {
        "{\"session\":\"last\",\"from\":\"ponger\",\"label\":\"Pong\",\"payload\":[0]}\n"
    };
    place.append(last);
    if arguments.contains(&"--property") {
        place.append(&last.replace("onger", "inger").replace("Pong", "Ping").repeat(4));
    }
    let expected = place.expected(header);
    let started = Instant::now();
    while place.told().len() < expected.len() && started.elapsed() < LONGEST {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(fs::read_to_string(place.folder.join("told")).unwrap().ends_with('\n'));
    let remarks = fs::read_to_string(place.folder.join("remarks")).unwrap();
    assert_eq!(place.told(), expected, "seed {seed}, {}: {remarks}", place.folder.display());
    assert!(expected.len() > 20, "there was something to tell: {}", expected.len());
}

#[test]
fn nothing_is_lost_or_told_twice_by_a_protocol() {
    for seed in 1..6 {
        killed_at_random(&format!("checkpoint-{seed}"), &["--protocol", "ping.scr"], false, seed * 7919);
    }
}

#[test]
fn nothing_is_lost_or_told_twice_by_a_property() {
    killed_at_random("checkpoint-property", &["--property", "once.hml"], false, 104_729);
}

#[test]
fn rows_of_csv_go_on_behind_their_header() {
    for seed in 1..3 {
        let arguments = ["--protocol", "ping.scr", "--events-format", "csv"];
        killed_at_random(&format!("checkpoint-csv-{seed}"), &arguments, true, seed * 15_485_863);
    }
}
