//! `referee guard` as a process: signals, reloading, takeover, kill -9, exhaustion. What can be tested within a
//! process is tested in the guard's own crate.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test reads files and fails by panicking"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

const LISTENER: &str = r#"
[[listener]]
name = "ping"
listen = "LISTEN"
upstream = "UPSTREAM"
protocol = """
protocol Ping(role client, role server) {
  rec LOOP {
    choice at client {
      Ping(x: int) from client to server where x < 1000;
      Pong(x: int) from server to client;
      continue LOOP;
    } or {
      Stop() from client to server;
    }
  }
}
"""
[listener.codec]
kind = "text"
messages.Ping = "PING {x}"
messages.Pong = "PONG {x}"
messages.Stop = "STOP"
"#;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("referee-guard-cli-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn config(&self, top: &str, upstream: &str, listen: &str) -> PathBuf {
        let path = self.0.join("guard.toml");
        let folder = self.0.display().to_string();
        let text = format!("{}{LISTENER}", top.replace("FOLDER", &folder));
        fs::write(&path, text.replace("UPSTREAM", upstream).replace("LISTEN", listen)).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A guard in a process of its own; killed when dropped.
struct Process {
    child: Child,
    /// What it has said so far.
    said: Arc<Mutex<String>>,
}

impl Process {
    fn start(config: &Path, before: &str) -> Self {
        let script = format!("{before} exec \"$0\" guard \"$1\"");
        let mut child = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_referee")])
            .arg(config)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (pipe, copy) = (child.stderr.take().unwrap(), Arc::clone(&said));
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                *copy.lock().unwrap() += &format!("{line}\n");
            }
        });
        Self { child, said }
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    #[track_caller]
    fn wait_for(&self, text: &str) -> String {
        let start = Instant::now();
        loop {
            let said = self.said();
            if let Some(line) = said.lines().find(|line| line.contains(text)) {
                return line.to_owned();
            }
            assert!(start.elapsed() < PATIENCE, "`{text}` was not said:\n{said}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Where it listens.
    #[track_caller]
    fn address(&self, text: &str) -> String {
        self.wait_for(text).rsplit(' ').next().unwrap().to_owned()
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    fn resident(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers every line `PING x` with `PONG x`.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::Builder::new()
                .stack_size(64 << 10)
                .spawn(move || {
                    let mut writer = stream.try_clone().unwrap();
                    for line in BufReader::new(stream).lines().map_while(Result::ok) {
                        if writer.write_all(line.replace("PING", "PONG").as_bytes()).is_err()
                            || writer.write_all(b"\n").is_err()
                        {
                            return;
                        }
                    }
                })
                .unwrap();
        }
    });
    address
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn exchange(stream: &mut TcpStream, number: u32) -> std::io::Result<()> {
    stream.write_all(format!("PING {number}\n").as_bytes())?;
    let expected = format!("PONG {number}\n");
    let mut answer = vec![0; expected.len()];
    stream.read_exact(&mut answer)?;
    assert_eq!(String::from_utf8_lossy(&answer), expected);
    Ok(())
}

fn get(address: &str, method: &str, path: &str, header: &str) -> String {
    let mut stream = connect(address);
    stream
        .write_all(
            format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n").as_bytes(),
        )
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn says_what_it_guards_answers_operators_and_drains() {
    let folder = Folder::new();
    let top = "[admin]\nlisten = \"127.0.0.1:0\"\ntoken = \"sesame\"\n";
    let mut guard = Process::start(&folder.config(top, &server(), "127.0.0.1:0"), "");
    let admin = guard.address("admin on");
    guard.wait_for("the first wrong message is stopped and both sides are closed");
    let mut client = connect(&guard.address("ping listens on"));
    exchange(&mut client, 1).unwrap();
    assert!(get(&admin, "GET", "/livez", "").starts_with("HTTP/1.1 200"));
    assert!(get(&admin, "GET", "/readyz", "").starts_with("HTTP/1.1 200"));
    assert!(get(&admin, "GET", "/metrics", "").starts_with("HTTP/1.1 401"));
    let token = "Authorization: Bearer sesame\r\n";
    let page = get(&admin, "GET", "/metrics", token);
    assert!(
        page.contains("referee_sessions_open{listener=\"ping\"} 1") && page.ends_with("# EOF\n"),
        "{page}"
    );
    let sessions = get(&admin, "GET", "/sessions", token);
    assert!(sessions.contains("\"expected\":[\"Ping\",\"Stop\"]"), "{sessions}");
    assert!(sessions.contains("client: Ping(1)"), "{sessions}");
    assert!(get(&admin, "POST", "/drain", token).starts_with("HTTP/1.1 202"));
    guard.wait_for("draining");
    // The session goes on; nobody new is taken.
    exchange(&mut client, 2).unwrap();
    client.write_all(b"STOP\n").unwrap();
    drop(client);
    assert_eq!(guard.child.wait().unwrap().code(), Some(0));
    guard.wait_for("all sessions have ended");
}

#[test]
fn sigterm_cuts_what_does_not_end_in_time() {
    let folder = Folder::new();
    let mut guard = Process::start(&folder.config("drain = \"100ms\"\n", &server(), "127.0.0.1:0"), "");
    let mut client = connect(&guard.address("ping listens on"));
    exchange(&mut client, 1).unwrap();
    guard.signal("-TERM");
    assert_eq!(guard.child.wait().unwrap().code(), Some(0));
    guard.wait_for("1 sessions were cut off");
}

#[test]
fn a_hangup_reloads_and_a_wrong_configuration_is_refused() {
    let folder = Folder::new();
    let upstream = server();
    let path = folder.config("watch-files = \"none\"\n", &upstream, "127.0.0.1:0");
    let guard = Process::start(&path, "");
    let address = guard.address("ping listens on");
    let mut old = connect(&address);
    exchange(&mut old, 500).unwrap();
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, good.replace("x < 1000", "x < nonsense")).unwrap();
    guard.signal("-HUP");
    guard.wait_for("the old one goes on");
    exchange(&mut connect(&address), 500).unwrap();
    fs::write(&path, good.replace("x < 1000", "x < 100")).unwrap();
    guard.signal("-HUP");
    guard.wait_for("reloaded");
    assert!(exchange(&mut connect(&address), 500).is_err());
    exchange(&mut old, 501).unwrap();
}

#[test]
fn a_changed_file_reloads() {
    let folder = Folder::new();
    let path = folder.config("watch-files = \"20ms\"\n", &server(), "127.0.0.1:0");
    let guard = Process::start(&path, "");
    let address = guard.address("ping listens on");
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, good.replace("x < 1000", "x < 10 ")).unwrap();
    guard.wait_for("reloaded");
    assert!(exchange(&mut connect(&address), 500).is_err());
}

#[test]
fn another_guard_takes_over_without_a_refused_connection() {
    let folder = Folder::new();
    let upstream = server();
    let path = folder.config("takeover = \"FOLDER/takeover.sock\"\n", &upstream, "127.0.0.1:0");
    let mut old = Process::start(&path, "");
    let address = old.address("ping listens on");
    let mut session = connect(&address);
    exchange(&mut session, 1).unwrap();
    let (stop, address_for_thread) = (Arc::new(AtomicUsize::new(0)), address.clone());
    let seen = Arc::clone(&stop);
    let clients = std::thread::spawn(move || {
        let mut count = 0;
        while seen.load(Ordering::Relaxed) == 0 {
            exchange(&mut connect(&address_for_thread), 7).unwrap();
            count += 1;
        }
        count
    });
    let new = Process::start(&path, "");
    assert_eq!(new.address("ping listens on"), address);
    new.wait_for("took over");
    old.wait_for("another guard takes over");
    exchange(&mut session, 2).unwrap();
    session.write_all(b"STOP\n").unwrap();
    drop(session);
    assert_eq!(old.child.wait().unwrap().code(), Some(0));
    for _ in 0..20 {
        exchange(&mut connect(&address), 8).unwrap();
    }
    stop.store(1, Ordering::Relaxed);
    assert!(clients.join().unwrap() > 0);
}

#[test]
fn after_kill_9_everything_that_was_logged_is_in_the_journal() {
    let folder = Folder::new();
    let upstream = server();
    let top = "[log]\nformat = \"json\"\n[journal]\nfolder = \"FOLDER/journal\"\n";
    let journal = folder.0.join("journal");
    let mut logged = 0;
    for round in 0..4 {
        let mut guard = Process::start(&folder.config(top, &upstream, "127.0.0.1:0"), "");
        let address = guard.address("ping listens on");
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let address = address.clone();
                std::thread::spawn(move || {
                    while let Ok(mut stream) = TcpStream::connect(&address) {
                        let _ = stream.write_all(b"PING 5000\n");
                        let _ = stream.read(&mut [0; 1]);
                    }
                })
            })
            .collect();
        let start = Instant::now();
        while guard.said().matches("\"kind\":\"assertion\"").count() < 20 * (round + 1) {
            assert!(start.elapsed() < PATIENCE, "{}", guard.said());
            std::thread::sleep(Duration::from_millis(1));
        }
        guard.signal("-KILL");
        let _ = guard.child.wait();
        for client in clients {
            client.join().unwrap();
        }
        // All that could still be read from its standard error was said before it died.
        std::thread::sleep(Duration::from_millis(50));
        logged += guard.said().matches("\"kind\":\"assertion\"").count();
        let export = Command::new(env!("CARGO_BIN_EXE_referee"))
            .args(["journal", "export"])
            .arg(&journal)
            .output()
            .unwrap();
        let written = String::from_utf8_lossy(&export.stdout).matches("\"record\":\"verdict\"").count();
        assert!(written >= logged, "{written} of {logged} verdicts are in the journal");
    }
    // The next guard repairs what the last kill has torn.
    let guard = Process::start(&folder.config(top, &upstream, "127.0.0.1:0"), "");
    guard.address("ping listens on");
    drop(guard);
    let verify = Command::new(env!("CARGO_BIN_EXE_referee"))
        .args(["journal", "verify"])
        .arg(&journal)
        .output()
        .unwrap();
    assert_eq!(verify.status.code(), Some(0), "{}", String::from_utf8_lossy(&verify.stderr));
    assert!(!String::from_utf8_lossy(&verify.stderr).contains("torn"));
}

#[test]
fn without_descriptors_those_who_are_in_are_served() {
    let folder = Folder::new();
    let guard = Process::start(&folder.config("threads = 1\n", &server(), "127.0.0.1:0"), "ulimit -n 60;");
    let address = guard.address("ping listens on");
    let mut inside: Vec<TcpStream> = (0..10).map(|_| connect(&address)).collect();
    for stream in &mut inside {
        exchange(stream, 1).unwrap();
    }
    let outside: Vec<TcpStream> = (0..200).map(|_| connect(&address)).collect();
    for round in 0..20 {
        for stream in &mut inside {
            exchange(stream, round).unwrap();
        }
    }
    drop(outside);
    // There is room again.
    let start = Instant::now();
    while exchange(&mut connect(&address), 9).is_err() {
        assert!(start.elapsed() < PATIENCE);
    }
    assert!(guard.resident() < 64 << 20);
}

#[test]
fn ten_thousand_idle_connections_cost_little() {
    // Two descriptors for each session in this process and two in the guard's.
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let most = limits.maximum.unwrap_or(1 << 20);
    let raised = rustix::process::Rlimit { current: Some(most), maximum: limits.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let count = (usize::try_from(most).unwrap().saturating_sub(1500) / 2).min(10_000);
    println!("{count} connections; {most} descriptors may be open");
    let folder = Folder::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // The standard library lets 128 connections wait; more than that come while this process is busy.
    rustix::net::listen(&listener, 4096).unwrap();
    let upstream = listener.local_addr().unwrap().to_string();
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = send.send(listener.incoming().take(count + 1).collect::<Result<Vec<_>, _>>().unwrap());
    });
    let guard = Process::start(&folder.config("", &upstream, "127.0.0.1:0"), "ulimit -n $(ulimit -Hn);");
    let address = guard.address("ping listens on");
    let first = connect(&address);
    let before = guard.resident();
    let clients: Vec<TcpStream> = (0..count).map(|_| connect(&address)).collect();
    let mut servers = receive.recv_timeout(PATIENCE).unwrap();
    let each = guard.resident().saturating_sub(before) / count;
    println!("{each} bytes for each idle session");
    assert!(each <= 16 << 10, "{each} bytes for each idle session");
    // All of them still work.
    let mut client = &clients[count / 2];
    client.write_all(b"PING 3\n").unwrap();
    let start = Instant::now();
    let mut found = false;
    for server in &servers {
        server.set_nonblocking(true).unwrap();
    }
    while !found {
        assert!(start.elapsed() < PATIENCE);
        found = servers.iter_mut().any(|server| server.read(&mut [0; 16]).is_ok_and(|count| count == 7));
    }
    drop((first, clients));
}

#[test]
fn configurations_are_checked_and_described() {
    let folder = Folder::new();
    let path = folder.config("", "127.0.0.1:1", "127.0.0.1:0");
    let referee = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_referee")).arg("guard").args(arguments).output().unwrap()
    };
    let name = path.display().to_string();
    let output = referee(&[&name, "--check-config"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("both parts of protocol Ping checked"));
    let good = fs::read_to_string(&path).unwrap();
    for (from, to, expected) in [
        ("upstream = \"127.0.0.1:1\"", "upstream = \"nowhere\"", "upstream = \"nowhere\""),
        ("messages.Pong", "messages.Pung", "the protocol has no such message"),
        ("continue LOOP", "continue LOOK", "no enclosing recursion is called `LOOK`"),
    ] {
        fs::write(&path, good.replace(from, to)).unwrap();
        let output = referee(&[&name, "--check-config"]);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(referee(&["no-such-file.toml"]).status.code(), Some(2));
    let schema = referee(&["--schema"]);
    assert!(
        serde_json::from_slice::<serde_json::Value>(&schema.stdout).unwrap()["properties"]["listener"]
            .is_object()
    );
}
