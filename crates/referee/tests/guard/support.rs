//! A guard in a process of its own, servers behind it, and raw connections.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Pings and pongs, texts, and a flood from the server on request.
const LISTENER: &str = r#"
[[listener]]
name = "NAME"
listen = "LISTEN"
upstream = "UPSTREAM"
EXTRA
limits = { LIMITS }
protocol = """
protocol Ping(role client, role server) {
  rec LOOP {
    choice at client {
      Ping(x: int) from client to server where x < 1000;
      Pong(x: int) from server to client;
      continue LOOP;
    } or {
      Say(text: string) from client to server;
      Heard(text: string) from server to client;
      continue LOOP;
    } or {
      Flood() from client to server;
      rec MORE { Data(text: string) from server to client; continue MORE; }
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
messages.Say = "SAY {text}"
messages.Heard = "HEARD {text}"
messages.Flood = "FLOOD"
messages.Data = "DATA {text}"
messages.Stop = "STOP"
"#;

/// The listener `name` on a port of its own, as a part of a configuration.
pub(crate) fn listener(name: &str, upstream: &str, limits: &str, extra: &str) -> String {
    LISTENER
        .replace("NAME", name)
        .replace("UPSTREAM", upstream)
        .replace("LISTEN", "127.0.0.1:0")
        .replace("LIMITS", limits)
        .replace("EXTRA", extra)
}

pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("referee-guard-cli-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A configuration with the listener `ping`; `FOLDER` in `top` is this folder.
    pub(crate) fn config(&self, top: &str, upstream: &str, listen: &str) -> PathBuf {
        self.config_with(top, upstream, listen, "")
    }

    pub(crate) fn config_with(&self, top: &str, upstream: &str, listen: &str, extra: &str) -> PathBuf {
        let path = self.0.join("guard.toml");
        let text = format!("{top}{}", listener("ping", upstream, "", extra).replace("127.0.0.1:0", listen));
        fs::write(&path, text.replace("FOLDER", &self.0.display().to_string())).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A guard in a process of its own; killed when dropped.
pub(crate) struct Process {
    pub(crate) child: Child,
    /// What it has said so far.
    said: Arc<Mutex<String>>,
}

impl Process {
    /// Runs it after the shell has done `before`.
    pub(crate) fn start(config: &Path, before: &str) -> Self {
        Self::start_with(config, before, Stdio::null())
    }

    /// The same, with `input` as its standard input.
    pub(crate) fn start_with(config: &Path, before: &str, input: Stdio) -> Self {
        let script = format!("{before} exec \"$0\" guard \"$1\"");
        let mut child = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_referee")])
            .arg(config)
            .stdin(input)
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

    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) -> String {
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
    pub(crate) fn address(&self, text: &str) -> String {
        // The line may be one of JSON.
        self.wait_for(text).trim_end_matches(['"', '}']).rsplit(' ').next().unwrap().to_owned()
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Its resident memory now.
    pub(crate) fn resident(&self) -> usize {
        self.status("VmRSS:")
    }

    /// The most resident memory it ever had.
    pub(crate) fn peak(&self) -> usize {
        self.status("VmHWM:")
    }

    fn status(&self, key: &str) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that follows the protocol on every connection: where it is.
pub(crate) fn talkative() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 4096).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serving = move || serve(stream, &AtomicUsize::new(0));
            std::thread::Builder::new().stack_size(128 << 10).spawn(serving).unwrap();
        }
    });
    address
}

/// Serves one connection; `taken` counts its bytes. What comes without a line end is passed over.
pub(crate) fn serve(mut stream: TcpStream, taken: &AtomicUsize) {
    let _ = stream.set_nodelay(true);
    let mut pending = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let Ok(count @ 1..) = stream.read(&mut buffer) else { return };
        taken.fetch_add(count, Ordering::Relaxed);
        pending.extend_from_slice(&buffer[..count]);
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let answer = match line.get(..3) {
                Some(b"PIN") => [b"PONG", &line[4..]].concat(),
                Some(b"SAY") => [b"HEARD", &line[3..]].concat(),
                Some(b"FLO") => {
                    let data = [&b"DATA "[..], &[b'x'; 1000], b"\n"].concat().repeat(64);
                    while stream.write_all(&data).is_ok() {}
                    return;
                }
                _ => return,
            };
            if stream.write_all(&answer).is_err() {
                return;
            }
        }
        if pending.len() > 64 << 10 {
            pending.clear();
        }
    }
}

pub(crate) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

pub(crate) fn exchange(stream: &mut TcpStream, number: u32) -> std::io::Result<()> {
    stream.write_all(format!("PING {number}\n").as_bytes())?;
    let expected = format!("PONG {number}\n");
    let mut answer = vec![0; expected.len()];
    stream.read_exact(&mut answer)?;
    assert_eq!(String::from_utf8_lossy(&answer), expected);
    Ok(())
}

pub(crate) fn get(address: &str, method: &str, path: &str, header: &str) -> String {
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
