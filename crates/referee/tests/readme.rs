//! Every `console` block of `README.md` prints what is written there, and every project of `referee new` runs.
//!
//! A line of `…` stands for any lines. A block that needs a program which is not here is skipped, and said.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test reads files, runs the command and fails by panicking"
)]

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("referee-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Programs in the background, stopped at the end.
#[derive(Default)]
struct Background(Vec<Child>);

impl Drop for Background {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// `bash -c line`, with the binary under test as `referee`.
fn shell(line: &str, folder: &Path) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_referee")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(folder).env("PATH", path).stdin(Stdio::null());
    command
}

/// What `tests/peers/install` has from npm: tests load nothing.
fn npm_packages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/mcp/node_modules")
}

fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Whether `printed` is what is `written`, where a line of `…` is any lines.
fn is_as_written(written: &[&str], printed: &[&str]) -> bool {
    match (written.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((&"…", rest)), _) => {
            (0..=printed.len()).any(|skipped| is_as_written(rest, &printed[skipped..]))
        }
        (Some((first, written)), Some((line, printed))) => {
            first.trim_end() == line.trim_end() && is_as_written(written, printed)
        }
        _ => false,
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn wait_for(port: u16) {
    let start = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(start.elapsed() < Duration::from_secs(60), "nobody listens on {port}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Types `line` in `folder`; the ports of the text are ours.
fn step(line: &str, ports: &[(String, u16)], folder: &mut PathBuf, background: &mut Background) -> String {
    let ours = ports.iter().fold(line.to_owned(), |line, (port, ours)| line.replace(port, &ours.to_string()));
    if let Some(name) = ours.strip_prefix("cd ") {
        folder.push(name);
        return String::new();
    }
    if let Some(program) = ours.strip_suffix(" &") {
        let config = folder.join("guard.toml");
        let text = fs::read_to_string(&config).unwrap();
        let text = ports.iter().fold(text, |text, (port, ours)| text.replace(port, &ours.to_string()));
        fs::write(&config, text).unwrap();
        let mut command = shell(&format!("exec {program}"), folder);
        background.0.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let port = if program.contains("python3") { "8000" } else { "8080" };
        wait_for(ports.iter().find(|(name, _)| name == port).unwrap().1);
        return String::new();
    }
    if ours.starts_with("npm install") {
        std::os::unix::fs::symlink(npm_packages(), folder.join("node_modules")).unwrap();
        return String::new();
    }
    // The progress of curl is for terminals.
    let output = shell(&ours.replace("curl ", "curl -s "), folder).output().unwrap();
    assert!(output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    ports.iter().fold(printed, |text, (port, ours)| text.replace(&ours.to_string(), port))
}

#[test]
fn the_paths_of_the_readme_print_what_is_written() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let folder = Folder::new("readme");
    let ports: Vec<(String, u16)> = ["8000", "8080"].map(|port| (port.to_owned(), free_port())).into();
    let mut background = Background::default();
    let mut here = folder.0.clone();
    let mut commands = 0;
    for section in text.split("\n## ") {
        here.clone_from(&folder.0);
        if section.contains("$ python3") && !(exists("python3") && exists("curl")) {
            eprintln!("skipped: there is no python3 or no curl");
            continue;
        }
        let servers = npm_packages().join("@modelcontextprotocol/server-filesystem");
        if section.contains("$ npm") && !(servers.exists() && exists("npx")) {
            eprintln!("skipped: the server from npm is not there (tests/peers/install)");
            continue;
        }
        for block in section.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
            for part in block.split("$ ").skip(1) {
                let (line, written) = part.split_once('\n').unwrap();
                let printed = step(line, &ports, &mut here, &mut background);
                let (written, lines): (Vec<_>, Vec<_>) =
                    (written.lines().collect(), printed.lines().collect());
                assert!(is_as_written(&written, &lines), "$ {line}\n{printed}");
                commands += 1;
            }
        }
    }
    assert!(commands >= 7, "{commands} commands");
}

#[test]
fn every_new_project_runs() {
    let folder = Folder::new("new");
    let statuses = [
        ("protocol", &[0, 1, 0, 0][..]),
        ("watch", &[1, 0]),
        // The first looks for a mail server; the last does not end by itself.
        ("smtp-guard", &[-1, 0]),
        ("multiparty", &[0, 0]),
    ];
    for (kind, statuses) in statuses {
        let made = shell(&format!("referee new {kind}"), &folder.0).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let readme = fs::read_to_string(folder.0.join(kind).join("README.md")).unwrap();
        let commands = readme.lines().filter_map(|line| line.strip_prefix("$ "));
        for (command, status) in commands.zip(statuses) {
            let output = shell(command, &folder.0.join(kind)).output().unwrap();
            let code = output.status.code().unwrap();
            assert!(code == *status || (*status == -1 && code < 2), "{command}: {output:?}");
        }
    }
    let again = shell("referee new watch", &folder.0).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "nothing is overwritten: {again:?}");
}

#[test]
fn the_doctor_finds_what_is_missing() {
    let folder = Folder::new("doctor");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = |upstream: u16| {
        let listen = free_port();
        format!(
            "[[listener]]\nname = \"web\"\nlisten = \"127.0.0.1:{listen}\"\nupstream = \"127.0.0.1:{upstream}\"\n\
             protocol = \"preset:http\"\n[listener.limits]\nconnections = 100\n"
        )
    };
    fs::write(folder.0.join("guard.toml"), config(free_port())).unwrap();
    let told = shell("referee doctor guard.toml --format json", &folder.0).output().unwrap();
    assert_eq!(told.status.code(), Some(1), "{told:?}");
    let needs: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    let states: Vec<_> =
        needs["needs"].as_array().unwrap().iter().map(|need| need["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["met", "missing"], "{needs:#}");
    fs::write(folder.0.join("guard.toml"), config(server.local_addr().unwrap().port())).unwrap();
    let told = shell("referee doctor guard.toml", &folder.0).output().unwrap();
    assert_eq!(told.status.code(), Some(0), "{told:?}");
    fs::write(folder.0.join("guard.toml"), "[[listener]]\n").unwrap();
    assert_eq!(shell("referee doctor guard.toml", &folder.0).output().unwrap().status.code(), Some(2));
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let folder = Folder::new("man");
    let made = shell("referee man --output pages", &folder.0).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    for page in ["referee.1", "referee-check.1", "referee-guard.1", "referee-journal-show.1"] {
        let text = fs::read_to_string(folder.0.join("pages").join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
}
