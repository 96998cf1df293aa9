//! A guard in this process, a scripted server behind it, and a client that talks raw bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use referee_guard::journal::{Entry, Found, verify};
use referee_guard::report::{Report, VerdictReport};
use referee_guard::{Guard, Plans};

/// Long enough for anything that will happen at all.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A small mail-like protocol: greeting, then commands and answers, then goodbye.
pub(crate) const PROTOCOL: &str = r#"
protocol Talk(role server, role client) {
  Hello(text: string) from server to client;
  rec LOOP {
    choice at client {
      Set(key: string, value: int) from client to server where value >= 0;
      choice at server {
        Ok() from server to client;
        continue LOOP;
      } or {
        No(why: string) from server to client;
        continue LOOP;
      }
    } or {
      Get(key: string) from client to server;
      Value(value: int) from server to client;
      continue LOOP;
    } or {
      Quit() from client to server;
      Bye() from server to client;
    }
  }
}
"#;

/// For those whose verdicts are asked for.
pub(crate) const JOURNAL: &str = "[journal]\nfolder = \"FOLDER/journal\"\n";

pub(crate) const CODEC: &str = r#"
[listener.codec]
kind = "text"
[listener.codec.messages]
Hello = "HELLO {text}"
Set = "SET {key} {value}"
Get = "GET {key}"
Quit = "QUIT"
Ok = "OK"
No = "NO {why}"
Value = "VALUE {value}"
Bye = "BYE"
"#;

/// A folder that is removed in the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("referee-guard-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("talk.scr"), PROTOCOL).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A guard of one listener.
pub(crate) struct Setup {
    pub(crate) guard: Guard,
    pub(crate) address: String,
    pub(crate) folder: Folder,
}

/// The configuration of a guard before `upstream`; `extra` goes into the listener's table.
pub(crate) fn config(upstream: &str, extra: &str, top: &str) -> String {
    format!(
        "threads = 2\n{top}\n[[listener]]\nname = \"talk\"\nlisten = \"127.0.0.1:0\"\n\
         upstream = \"{upstream}\"\nprotocol = \"talk.scr\"\n{extra}\n{CODEC}"
    )
}

pub(crate) fn plans(folder: &Folder, text: &str) -> Plans {
    match Plans::read(text, &folder.0, &|_| None) {
        Ok(plans) => plans,
        Err(refusal) => panic!("{refusal:?}\n{text}"),
    }
}

pub(crate) fn guard(upstream: &str, extra: &str) -> Setup {
    guard_with(upstream, extra, "")
}

pub(crate) fn guard_with(upstream: &str, extra: &str, top: &str) -> Setup {
    let folder = Folder::new();
    let top = top.replace("FOLDER", &folder.0.display().to_string());
    let text = config(upstream, &extra.replace("FOLDER", &folder.0.display().to_string()), &top);
    let guard = Guard::start(&plans(&folder, &text), Vec::new()).unwrap();
    let address = guard.addresses()[0].1.clone();
    Setup { guard, address, folder }
}

impl Setup {
    pub(crate) fn connect(&self) -> Peer {
        Peer::new(TcpStream::connect(&self.address).unwrap())
    }

    /// The value of the sample that begins with `start`.
    pub(crate) fn metric(&self, start: &str) -> Option<f64> {
        metric(&self.guard.metrics(), start)
    }

    /// Waits until `done` holds.
    pub(crate) fn wait(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !done(self) {
            assert!(start.elapsed() < PATIENCE, "{what} did not happen:\n{}", self.guard.metrics());
            std::thread::yield_now();
        }
    }

    /// Everything in the journal, once the guard has stopped.
    pub(crate) fn journal(&self) -> Vec<Report> {
        self.wait_idle();
        self.guard.halt();
        let mut reports = Vec::new();
        let summary = verify(&self.folder.0.join("journal"), &mut |found| {
            if let Found::Record(content) = found {
                reports.push(serde_json::from_slice::<Entry>(content).unwrap().report);
            }
            Ok(())
        });
        assert!(summary.unwrap().damages.is_empty());
        reports
    }

    /// The verdicts in the journal.
    pub(crate) fn verdicts(&self) -> Vec<VerdictReport> {
        let verdict = |report| match report {
            Report::Verdict(verdict) => Some(*verdict),
            Report::SessionEnd(_) | Report::Message(_) => None,
        };
        self.journal().into_iter().filter_map(verdict).collect()
    }

    /// Waits until every session has ended.
    pub(crate) fn wait_idle(&self) {
        self.wait("the end of all sessions", |setup| setup.guard.open_sessions() == 0);
    }
}

pub(crate) fn metric(page: &str, start: &str) -> Option<f64> {
    page.lines().find(|line| line.starts_with(start))?.rsplit(' ').next()?.parse().ok()
}

/// A raw connection.
pub(crate) struct Peer(pub(crate) TcpStream);

impl Peer {
    pub(crate) fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }

    /// Reads exactly `text`.
    #[track_caller]
    pub(crate) fn hear(&mut self, text: &str) {
        let mut bytes = vec![0; text.len()];
        let mut found = 0;
        while found < bytes.len() {
            match self.0.read(&mut bytes[found..]) {
                Ok(more) if more > 0 => found += more,
                other => panic!("{other:?} after {:?} of {text:?}", String::from_utf8_lossy(&bytes[..found])),
            }
        }
        assert_eq!(String::from_utf8_lossy(&bytes), text);
    }

    /// Reads to the end.
    pub(crate) fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        let _ = self.0.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(crate) fn stop_sending(&self) {
        self.0.shutdown(Shutdown::Write).unwrap();
    }

    /// Closes with a reset instead of an end.
    pub(crate) fn reset(self) {
        socket2::SockRef::from(&self.0).set_linger(Some(Duration::ZERO)).unwrap();
    }
}

/// A server that does what `script` says with one connection, and what that gives.
pub(crate) fn server<T: Send + 'static>(
    script: impl FnOnce(Peer) -> T + Send + 'static,
) -> (String, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (address, std::thread::spawn(move || script(Peer::new(listener.accept().unwrap().0))))
}

/// A server that follows the protocol, on every connection, until the process ends: what it answers depends on
/// what it is asked alone.
pub(crate) fn polite_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            std::thread::Builder::new().stack_size(64 << 10).spawn(move || polite(stream)).unwrap();
        }
    });
    address
}

fn polite(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    if stream.write_all(b"HELLO you\r\n").is_err() {
        return;
    }
    let mut pending = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let Ok(count @ 1..) = stream.read(&mut buffer) else { return };
        pending.extend_from_slice(&buffer[..count]);
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let answer: &[u8] = match line.first() {
                Some(b'S') => b"OK\r\n",
                Some(b'G') => b"VALUE 7\r\n",
                _ => b"BYE\r\n",
            };
            if stream.write_all(answer).is_err() || answer == b"BYE\r\n" {
                return;
            }
        }
    }
}

/// A session that goes through from beginning to end.
pub(crate) fn complete_session(setup: &Setup) {
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("SET a 1\r\n");
    client.hear("OK\r\n");
    client.say("QUIT\r\n");
    client.hear("BYE\r\n");
    client.stop_sending();
    assert_eq!(client.rest(), "");
}
