//! `referee watch --follow` goes by the clock when nothing comes: deadlines pass, and what is held back goes on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Nobody waits longer for a line that must come.
const LONGEST: Duration = Duration::from_secs(60);

const REPLY: &str = r#"property reply for each id { max X.([{event: "request"}]expect [{event: "reply"}] within 300ms and [_]X) }"#;

/// A process, what it prints, and its own folder.
struct Watch {
    child: Child,
    lines: Receiver<String>,
    folder: PathBuf,
}

impl Watch {
    fn start(name: &str, property: &str, input: &str, options: &[&str]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("rules.hml"), property).unwrap();
        File::create(folder.join("log.jsonl")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_referee"))
            .args(["watch", "--follow", "--property", "rules.hml"])
            .args(options)
            .arg(input)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, folder }
    }

    fn append(&self, event: &str, id: u32) {
        let mut log = OpenOptions::new().append(true).open(self.folder.join("log.jsonl")).unwrap();
        writeln!(log, "{}", line(event, id)).unwrap();
    }

    fn next(&self) -> String {
        self.lines.recv_timeout(LONGEST).unwrap_or_else(|error| panic!("nothing was printed: {error}"))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line(event: &str, id: u32) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    format!(r#"{{"time":{now},"event":"{event}","id":{id}}}"#)
}

#[test]
fn a_deadline_passes_on_the_clock() {
    let mut watch = Watch::start("follow-deadline", REPLY, "log.jsonl", &["--reorder", "200ms"]);
    watch.append("request", 1);
    watch.append("reply", 1);
    watch.append("request", 2);
    assert_eq!(watch.next(), "violation of `reply`, key 2, event 0");
    assert_eq!(watch.next(), "  no `{event: \"reply\"}` came within 300 ms of event 0");
    // It goes on: another that is not answered is told of as well, and so it was the first.
    watch.append("request", 3);
    assert_eq!(watch.next(), "violation of `reply`, key 3, event 0");
    assert!(watch.child.try_wait().unwrap().is_none(), "it still follows");
}

#[test]
fn a_pipe_is_followed_by_the_clock_too() {
    let mut watch = Watch::start("follow-pipe", REPLY, "-", &["--reorder", "100ms"]);
    let mut input = watch.child.stdin.take().unwrap();
    writeln!(input, "{}", line("request", 7)).unwrap();
    input.flush().unwrap();
    assert_eq!(watch.next(), "violation of `reply`, key 7, event 0");
    writeln!(input, "{}", line("request", 8)).unwrap();
    assert_eq!(watch.next(), "  no `{event: \"reply\"}` came within 300 ms of event 0");
    assert_eq!(watch.next(), "violation of `reply`, key 8, event 0");
}

#[test]
fn what_is_held_to_be_put_in_order_goes_on() {
    let rule = r#"property never_bad { max X.([{event: "bad"}]ff and [_]X) }"#;
    let watch = Watch::start("follow-reorder", rule, "log.jsonl", &["--reorder", "300ms"]);
    watch.append("bad", 1);
    assert_eq!(watch.next(), "log.jsonl:1: violation of `never_bad`, event 0");
    assert_eq!(watch.next(), "  `{event: \"bad\"}` came");
}

/// What is counted can be scraped while it goes on.
#[test]
fn metrics_are_scraped_while_it_follows() {
    let rule = r#"property never_bad for each id { max X.([{event: "bad"}]ff and [_]X) }"#;
    let mut watch = Watch::start("follow-metrics", rule, "log.jsonl", &["--metrics", "127.0.0.1:0"]);
    let mut told = BufReader::new(watch.child.stderr.take().unwrap()).lines();
    let place = told.next().unwrap().unwrap();
    let address =
        place.strip_prefix("metrics: http://").unwrap().strip_suffix("/metrics").unwrap().to_owned();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(LONGEST)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(get("/metrics").contains("referee_watch_events_total 0\n"));
    assert!(get("/").starts_with("HTTP/1.1 404"));
    // Who connects and says nothing keeps nobody else from it for long.
    let _silent = TcpStream::connect(&address).unwrap();
    watch.append("bad", 1);
    watch.append("good", 2);
    assert_eq!(watch.next(), "log.jsonl:1: violation of `never_bad`, key 1, event 0");
    let counted = |text: &str| {
        text.contains("referee_watch_events_total 2\n")
            && text.contains(
                "referee_watch_verdicts_total{kind=\"violation\",role=\"\",property=\"never_bad\"} 1\n",
            )
    };
    let deadline = SystemTime::now() + LONGEST;
    while !counted(&get("/metrics")) {
        assert!(SystemTime::now() < deadline, "{}", get("/metrics"));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(get("/metrics").ends_with("# EOF\n"));
}
