//! `referee probe` and `referee mock`: `docs/probe.md` as it is written, and the command line.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("referee-probe-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn referee(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_referee")).args(arguments).current_dir(&self.0).output().unwrap()
    }

    /// A mock, and its address.
    fn mock(&self, arguments: &[&str]) -> (Mock, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
        command.arg("mock").args(arguments).current_dir(&self.0).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        (Mock(child), address)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Mock(Child);

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The fenced blocks of a document: what stands behind the fence, and what is in it.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((kind.to_owned(), body.join("\n") + "\n"));
        }
    }
    blocks
}

/// What is the same in every run: times are not.
fn steady(output: &str) -> String {
    output.lines().filter(|line| !line.starts_with("answers took")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_page_about_probes_runs_as_it_is_written() {
    let folder = Folder::new("page");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/probe.md");
    let mut mocks: Vec<(Mock, String, String)> = Vec::new();
    let mut commands = 0;
    for (kind, body) in blocks(&fs::read_to_string(page).unwrap()) {
        match kind.as_str() {
            "toml" | "sh" | "text" => {}
            "console mock" | "console" => {
                commands += 1;
                let (line, shown) = body.split_once('\n').unwrap();
                let mut arguments: Vec<&str> = line.strip_prefix("$ referee ").unwrap().split(' ').collect();
                if kind == "console mock" {
                    let written = arguments.pop().unwrap().to_owned();
                    assert_eq!(shown, format!("server listens on {written}\n"));
                    arguments.push("127.0.0.1:0");
                    let (mock, address) = folder.mock(&arguments[1..]);
                    mocks.push((mock, written, address));
                    continue;
                }
                let address = |word: &&str| {
                    let found = mocks.iter().find(|(_, written, _)| written == word);
                    found.map_or_else(|| (*word).to_owned(), |(_, _, address)| address.clone())
                };
                let arguments: Vec<String> = arguments.iter().map(address).collect();
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let output = folder.referee(&arguments);
                let status = if shown.contains("no deviation found") { 0 } else { 1 };
                assert_eq!(output.status.code(), Some(status), "{line}: {}", text(&output.stderr));
                if !shown.is_empty() {
                    assert_eq!(steady(&text(&output.stdout)), shown, "{line}");
                }
            }
            file => folder.write(file.split_once(' ').unwrap().1, &body),
        }
    }
    assert_eq!(commands, 5);
}

const PROTOCOL: &str =
    "protocol P(role client, role server) { Hello(n: int) from client to server where n > 0;
    choice at server { Ok() from server to client; } or { No() from server to client; } }\n";

#[test]
fn answers_are_for_programs_too() {
    let folder = Folder::new("formats");
    folder.write("p.scr", PROTOCOL);
    folder.write("other.scr", &PROTOCOL.replace("No()", "Perhaps()"));
    let (_mock, address) = folder.mock(&["p.scr"]);
    let (_other, other) = folder.mock(&["other.scr", "--seed", "2"]);
    let probe = |format: &str, address: &str| {
        let output = folder.referee(&["probe", "p.scr", "--connect", address, "--format", format]);
        (output.status.code(), text(&output.stdout))
    };
    let (status, json) = probe("json", &address);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, &report["finding"]), (Some(0), &serde_json::Value::Null), "{json}");
    assert_eq!(report["branches"], serde_json::json!({"covered": 2, "total": 2}), "{json}");
    assert!(report["timings"][0]["median"].is_u64(), "{json}");
    let (status, json) = probe("json", &other);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, report["finding"]["verdict"]["got"].as_str()), (Some(1), Some("Perhaps")), "{json}");
    let (status, sarif) = probe("sarif", &other);
    let sarif: serde_json::Value = serde_json::from_str(&sarif).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!((status, result["ruleId"].as_str()), (Some(1), Some("protocol/label")));
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "p.scr");
    assert_eq!(place["region"]["startLine"], 2);
    let (status, junit) = probe("junit", &other);
    assert_eq!(status, Some(1));
    assert!(
        junit.contains("failures=\"1\"") && junit.contains("name=\"conformance\"><failure message=\""),
        "{junit}"
    );
    let (_, junit) = probe("junit", &address);
    assert!(junit.contains("tests=\"4\" failures=\"0\" errors=\"0\" skipped=\"0\""), "{junit}");
}

#[test]
fn wrong_calls_are_told() {
    let folder = Folder::new("calls");
    folder.write("p.scr", PROTOCOL);
    folder.write("three.scr", "protocol T(role a, role b, role c) { M() from a to b; N() from b to c; }");
    folder.write("bad.toml", "[fields]\nm = [1]\n");
    folder.write("script.json", r#"{"role": "server", "steps": []}"#);
    let nobody = "127.0.0.1:1";
    for (arguments, expected) in [
        (&["p.scr"][..], "where is the peer?"),
        (&["p.scr", "--connect", nobody], "cannot connect to"),
        (&["p.scr", "--connect", "192.0.2.1:25"], "--yes-i-may-test 192.0.2.1"),
        (&["p.scr", "--connect", nobody, "--role", "sever"], "there is no role `sever`"),
        (&["three.scr", "--connect", nobody], "a connection has two ends, but the protocol has 3 roles"),
        (&["p.scr", "--connect", nobody, "--data", "bad.toml"], "no message has a field `m`"),
        (&["p.scr", "--connect", nobody, "--refusal", "Nope"], "there is no message `Nope`"),
        (&["p.scr", "--connect", nobody, "--replay", "script.json"], "is for the role `server`"),
        (&["preset:smpt", "--connect", nobody], "there is no preset `smpt`"),
    ] {
        let output = folder.referee(&[&["probe"], arguments].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn a_mock_tells_what_its_clients_do_wrong() {
    let folder = Folder::new("mock");
    folder.write("p.scr", PROTOCOL);
    folder.write("wrong.scr", &PROTOCOL.replace(" where n > 0", " where n < 0"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
    command.args(["mock", "p.scr", "--sessions", "1"]).current_dir(&folder.0);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap();
    // The mock closes on it, and a protocol in which it is right cannot see why.
    folder.referee(&["probe", "wrong.scr", "--connect", address, "--walks", "0", "--sessions", "1"]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("session 0: client sent `Hello`, for which `n > 0` does not hold"));
}

/// A server that adds, and may say that the sum is too large.
const ADDER: &str = "protocol Adder(role client, role server) { rec MORE { choice at client {
    Add(left: int, right: int) from client to server;
    choice at server { Sum(total: int) from server to client where total == left + right; } or { TooLarge() from server to client; }
    continue MORE; } or { Bye() from client to server; } } }";

/// A probe of the mock of `ADDER` with this codec: its exit status and what it prints.
fn adder(name: &str, codec: &str, options: &[&str]) -> (Option<i32>, String) {
    let folder = Folder::new(name);
    folder.write("adder.scr", ADDER);
    folder.write("codec.toml", codec);
    let (_mock, address) = folder.mock(&["adder.scr", "--codec", "codec.toml"]);
    let probe = ["probe", "adder.scr", "--codec", "codec.toml", "--connect", &address];
    let output = folder.referee(&[&probe, options].concat());
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn a_websocket_is_asked_for_and_answered() {
    let (status, said) = adder("socket", "kind = 'websocket'", &["--target", "/sums"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("4 of 4 transitions"), "{said}");
    // Who does not become a WebSocket is not probed.
    let folder = Folder::new("no-socket");
    folder.write("adder.scr", ADDER);
    folder.write("codec.toml", "kind = 'websocket'");
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let serves = std::thread::spawn(move || {
        let (mut client, _) = server.accept().unwrap();
        std::io::Write::write_all(&mut client, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
    });
    let output = folder.referee(&["probe", "adder.scr", "--codec", "codec.toml", "--connect", &address]);
    serves.join().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("it does not become a WebSocket for `/`: HTTP/1.1 404 Not Found"), "{said}");
}

#[test]
fn calls_get_their_ids() {
    let codec = "kind = 'json'\nframing = 'lines'\nrpc = true\n[messages.Add]\nlabel = 'add'\nnotification = false\n\
                 [messages.Sum]\nanswers = 'Add'\n[messages.TooLarge]\nanswers = 'Add'\nerror = true\n\
                 [messages.Bye]\nlabel = 'bye'\nnotification = true\n";
    let (status, said) = adder("rpc", codec, &[]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("4 of 4 transitions"), "{said}");
}

#[test]
fn a_program_is_probed_on_its_standard_streams() {
    let folder = Folder::new("program");
    folder.write("p.scr", PROTOCOL);
    let probe = |answer: &str| {
        let program = format!("while read line; do echo '{{\"type\":\"{answer}\"}}'; done");
        let output = folder.referee(&["probe", "p.scr", "--", "sh", "-c", &program]);
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (status, said) = probe("Ok");
    assert!(status == Some(0) && said.contains("2 of 3 transitions"), "{said}");
    let (status, said) = probe("Perhaps");
    assert!(status == Some(1) && said.contains("deviation: server sent `Perhaps`"), "{said}");
    let output = folder.referee(&["probe", "p.scr", "--", "no-such-program-anywhere"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot connect to `no-such-program-anywhere`"));
}

#[test]
fn sub_sessions_are_not_played_blindly() {
    let folder = Folder::new("calls-of-a-key");
    folder.write(
        "rpc.scr",
        "protocol Call(role client, role server) per id: int { Ask(id: int) from client to server; Told(id: int) from server to client; }
         protocol Rpc(role client, role server) { Hello() from client to server; Welcome() from server to client;
         open Call(client, server); Bye() from client to server; }",
    );
    let output = folder.referee(&["probe", "rpc.scr", "--connect", "127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("the protocol opens sub-sessions"), "{}", text(&output.stderr));
}

#[test]
fn examples_stand_in_the_protocol_too() {
    let folder = Folder::new("examples");
    let text = PROTOCOL.replace("Hello(", "\n// Says hello.\n// Example: { n = 4711 }\nHello(");
    folder.write("p.scr", &text);
    // The server takes this number only, which nobody would find.
    folder.write("strict.scr", &PROTOCOL.replace("n > 0", "n == 4711"));
    let probe = |file: &str| {
        let (_mock, address) = folder.mock(&["strict.scr"]);
        text_of(&folder.referee(&["probe", file, "--connect", &address, "--timeout", "1s"]))
    };
    assert!(probe("p.scr").contains("3 of 3 transitions"), "{}", probe("p.scr"));
    folder.write("plain.scr", PROTOCOL);
    assert!(!probe("plain.scr").contains("3 of 3 transitions"));
    folder.write("p.scr", &text.replace("{ n", "{ m"));
    assert!(probe("p.scr").contains("`Hello` has no field `m`"));
    folder.write("p.scr", &text.replace("4711 }", "4711"));
    assert!(probe("p.scr").contains("an `Example:` in a comment of the protocol"));
}

fn text_of(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}
