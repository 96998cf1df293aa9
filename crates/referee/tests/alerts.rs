//! `referee watch --alert-webhook` and `--otlp`: every verdict is taken once, whatever happens to the receiver and to the watcher.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Nobody waits longer for what must come.
const LONGEST: Duration = Duration::from_secs(60);

/// What was posted: its path, its `Idempotency-Key`, its body.
type Posted = (String, String, Value);

/// A receiver, which may refuse.
struct Receiver {
    address: String,
    posted: Arc<Mutex<Vec<Posted>>>,
    refuses: Arc<AtomicBool>,
}

impl Receiver {
    fn new() -> Self {
        Self::at("127.0.0.1:0")
    }

    fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let receiver = Self {
            address: listener.local_addr().unwrap().to_string(),
            posted: Arc::default(),
            refuses: Arc::default(),
        };
        let (posted, refuses) = (Arc::clone(&receiver.posted), Arc::clone(&receiver.refuses));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let mut lines = Vec::new();
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                        break;
                    }
                    lines.push(line.to_ascii_lowercase());
                }
                let header = |name: &str| {
                    let line = lines.iter().find_map(|line| line.strip_prefix(name));
                    line.unwrap_or_default().trim_matches([':', ' ', '\r', '\n']).to_owned()
                };
                let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
                reader.read_exact(&mut body).unwrap();
                let path =
                    lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
                let status = if refuses.load(Ordering::Relaxed) {
                    "503 Service Unavailable"
                } else {
                    let body = serde_json::from_slice(&body).unwrap();
                    posted.lock().unwrap().push((path, header("idempotency-key"), body));
                    "204 No Content"
                };
                let _ = write!(
                    reader.get_mut(),
                    "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                );
            }
        });
        receiver
    }

    fn posted(&self) -> Vec<Posted> {
        self.posted.lock().unwrap().clone()
    }

    fn wait_for(&self, count: usize) -> Vec<Posted> {
        let started = Instant::now();
        while self.posted().len() < count {
            assert!(started.elapsed() < LONGEST, "{:?}", self.posted());
            std::thread::sleep(Duration::from_millis(20));
        }
        self.posted()
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let protocol = "protocol Ping(role pinger, role ponger) {
        rec X { Ping() from pinger to ponger; Pong() from ponger to pinger; continue X; }
    }";
    fs::write(folder.join("ping.scr"), protocol).unwrap();
    folder
}

/// A session that is wrong.
fn wrong(session: u32) -> String {
    format!(
        "{{\"session\":\"{session}\",\"from\":\"ponger\",\"label\":\"Pong\",\"time\":\"2026-01-02T03:04:05.5Z\"}}\n"
    )
}

fn referee(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
    command
        .args(["watch", "--protocol", "ping.scr"])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

fn sessions(posted: &[Posted]) -> Vec<String> {
    posted.iter().map(|(.., verdict)| verdict["session"].as_str().unwrap().to_owned()).collect()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

#[test]
fn what_waits_is_sent_by_the_next_run() {
    let folder = folder("alerts-later");
    fs::write(folder.join("log"), (0..5).map(wrong).collect::<String>()).unwrap();
    // Nobody listens there.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{free}/hook");
    let run = |log: &str| {
        referee(&folder, &["--alert-webhook", &url, "--alert-spool", "spool", log]).output().unwrap()
    };
    let output = run("log");
    let remarks = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(status(&output), 1);
    assert!(remarks.contains("5 verdicts were not taken"), "{remarks}");
    let receiver = Receiver::at(&free.to_string());
    fs::write(folder.join("more"), wrong(5)).unwrap();
    assert_eq!(status(&run("more")), 1);
    let posted = receiver.wait_for(6);
    assert_eq!(sessions(&posted), ["0", "1", "2", "3", "4", "5"]);
    let (path, key, verdict) = &posted[0];
    assert_eq!((path.as_str(), verdict["alert"].as_str()), ("/hook", Some(key.as_str())));
    assert_eq!(verdict["time"], "2026-01-02T03:04:05.5Z");
    assert_eq!((&verdict["source"], &verdict["line"]), (&Value::from("log:1"), &Value::from(1)));
    let mut keys: Vec<_> = posted.iter().map(|(_, key, _)| key).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 6);
}

#[test]
fn nothing_is_lost_or_doubled_while_the_receiver_is_down_and_the_watcher_killed() {
    let folder = folder("alerts-killed");
    let log = folder.join("log");
    fs::write(&log, "").unwrap();
    let receiver = Receiver::new();
    let url = format!("http://{}/", receiver.address);
    let start = || -> Child {
        let arguments = ["--follow", "--checkpoint", "state", "--alert-webhook", &url, "log"];
        referee(&folder, &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let append = |from: u32| {
        let text: String = (from..from + 10).map(wrong).collect();
        OpenOptions::new().append(true).open(&log).unwrap().write_all(text.as_bytes()).unwrap();
    };
    let mut child = start();
    for round in 0..6 {
        receiver.refuses.store(round % 2 == 1, Ordering::Relaxed);
        append(round * 10);
        std::thread::sleep(Duration::from_millis(150 + u64::from(round) * 60));
        child.kill().unwrap();
        child.wait().unwrap();
        child = start();
    }
    receiver.refuses.store(false, Ordering::Relaxed);
    append(60);
    receiver.wait_for(70);
    std::thread::sleep(Duration::from_millis(300));
    child.kill().unwrap();
    child.wait().unwrap();
    // What was taken just before the process was killed comes again under its key.
    let mut seen = Vec::new();
    for (_, key, verdict) in receiver.posted() {
        if !seen.iter().any(|(known, _)| *known == key) {
            seen.push((key, verdict["session"].as_str().unwrap().to_owned()));
        }
    }
    let sessions: Vec<String> = seen.into_iter().map(|(_, session)| session).collect();
    assert_eq!(sessions, (0..70).map(|session: u32| session.to_string()).collect::<Vec<_>>());
}

#[test]
fn verdicts_are_log_records_and_arrays() {
    let folder = folder("alerts-otlp");
    fs::write(folder.join("log"), (0..3).map(wrong).collect::<String>()).unwrap();
    let (collector, receiver) = (Receiver::new(), Receiver::new());
    let (otlp, hook) = (format!("http://{}", collector.address), format!("http://{}/all", receiver.address));
    let arguments =
        ["--otlp", &otlp, "--alert-webhook", &hook, "--alert-batch", "2", "--alert-spool", "spool", "log"];
    assert_eq!(status(&referee(&folder, &arguments).output().unwrap()), 1);
    let records: Vec<Value> = collector
        .posted()
        .iter()
        .inspect(|(path, ..)| assert_eq!(path, "/v1/logs"))
        .flat_map(|(.., body)| {
            body["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap().clone()
        })
        .collect();
    assert_eq!(records.len(), 3);
    assert_eq!(records[0]["timeUnixNano"], "1767323045500000000");
    assert_eq!(records[0]["severityText"], "ERROR");
    assert!(records[0]["body"]["stringValue"].as_str().unwrap().contains("Pong"));
    let attributes = records[0]["attributes"].as_array().unwrap();
    let blame = attributes.iter().find(|attribute| attribute["key"] == "referee.blame").unwrap();
    assert_eq!(blame["value"]["stringValue"], "ponger");
    let arrays: Vec<usize> =
        receiver.posted().iter().map(|(.., body)| body.as_array().unwrap().len()).collect();
    assert_eq!(arrays.iter().sum::<usize>(), 3);
    assert!(arrays.iter().all(|length| *length <= 2));
}

#[test]
fn without_a_place_to_wait_it_does_not_start() {
    let folder = folder("alerts-nowhere");
    let output = referee(&folder, &["--alert-webhook", "http://127.0.0.1:9/", "log"]).output().unwrap();
    assert_eq!(status(&output), 2);
    assert!(String::from_utf8(output.stderr).unwrap().contains("--alert-spool"));
}
