//! A guard that is stopped while a deadline passes.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use super::support::*;

/// A server that answers `PING` after so long, once.
fn answering_after(delay: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 64];
        let _ = stream.read(&mut buffer);
        std::thread::sleep(delay);
        let _ = stream.write_all(b"PONG 1\n");
        let _ = stream.read(&mut buffer);
    });
    address
}

/// What a guard says that is stopped from 100 ms to 1.6 s after the request, where a second is too late.
fn stopped(delay: Duration) -> String {
    let folder = Folder::new();
    let path = folder.config_with("", &answering_after(delay), "127.0.0.1:0", "tolerance = \"100ms\"");
    let text = std::fs::read_to_string(&path).unwrap();
    let timed = "Pong(x: int) from server to client within 800ms;";
    std::fs::write(&path, text.replace("Pong(x: int) from server to client;", timed)).unwrap();
    said_by(&path)
}

/// The same where a property asks for the answer, and for no two pings in a second.
fn observed(delay: Duration) -> String {
    let folder = Folder::new();
    let extra = "properties = \"times.hml\"";
    let path = folder.config_with("", &answering_after(delay), "127.0.0.1:0", extra);
    std::fs::write(folder.0.join("times.hml"), PROPERTIES).unwrap();
    said_by(&path)
}

const PROPERTIES: &str =
    "property answered { max X.([_ -> _ : Ping]expect [_ -> _ : Pong] within 800ms and [_]X) }
property brief { [_ -> _ : Ping at t]max X.([_ -> _ : Pong at u when u - t > 1200ms]ff and [_]X) }";

/// What the guard configured at `path` says.
fn said_by(path: &Path) -> String {
    let guard = Process::start(path, "");
    let mut client = connect(&guard.address("ping listens on"));
    client.write_all(b"PING 1\n").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    guard.signal("-STOP");
    std::thread::sleep(Duration::from_millis(1500));
    guard.signal("-CONT");
    let mut answer = [0; 7];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"PONG 1\n");
    client.write_all(b"STOP\n").unwrap();
    drop(client);
    guard.signal("-TERM");
    guard.wait_for("all sessions have ended");
    guard.said()
}

#[test]
fn a_guard_that_was_stopped_blames_nobody_who_was_in_time() {
    // In time, and the guard could not see it.
    let said = stopped(Duration::from_millis(300));
    assert!(said.contains("so nobody is blamed"), "{said}");
    assert!(!said.contains("no `Pong` came"), "{said}");
    // Not even there when the guard goes on: that it can tell.
    let said = stopped(Duration::from_millis(2500));
    assert!(said.contains("no `Pong` came within 800 ms of `Ping`"), "{said}");
    assert!(!said.contains("so nobody is blamed"), "{said}");
}

#[test]
fn a_guard_that_was_stopped_is_not_certain_of_properties() {
    // In time, and the guard could not see it: an end of the session would be wrong.
    let said = observed(Duration::from_millis(300));
    assert!(
        said.contains("no `Pong` came within 800 ms") && said.contains("violates property `brief`"),
        "{said}"
    );
    assert_eq!(said.matches("so this is not certain").count(), 2, "{said}");
    assert!(!said.contains("why=violation"), "{said}");
}

#[test]
fn a_guard_that_was_stopped_is_certain_of_what_is_not_there_when_it_goes_on() {
    // The client is not answered: the policy is to halt.
    let folder = Folder::new();
    let upstream = answering_after(Duration::from_secs(20));
    let path = folder.config_with("", &upstream, "127.0.0.1:0", "properties = \"times.hml\"");
    std::fs::write(folder.0.join("times.hml"), PROPERTIES).unwrap();
    let guard = Process::start(&path, "");
    let mut client = connect(&guard.address("ping listens on"));
    client.write_all(b"PING 1\n").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    guard.signal("-STOP");
    std::thread::sleep(Duration::from_millis(1500));
    guard.signal("-CONT");
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    guard.signal("-TERM");
    guard.wait_for("all sessions have ended");
    let said = guard.said();
    assert!(said.contains("no `Pong` came within 800 ms of event 0"), "{said}");
    assert!(!said.contains("so this is not certain"), "{said}");
}
