//! `referee guard --stdio`: started instead of a server program, it is as if it were not there.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use super::support::*;

/// Answers pings as long as they are right.
const SERVER: &str = r#"while read -r word n; do case $word in PING) echo "PONG $n";; STOP) break;; *) echo "got $word" >&2;; esac; done"#;

fn config(folder: &Folder, top: &str, extra: &str) -> String {
    let listener = listener("ping", "x:1", "", extra).replace("upstream = \"x:1\"", "");
    let path = folder.0.join("guard.toml");
    fs::write(&path, format!("{top}{}", listener.replace("127.0.0.1:0", "stdio"))).unwrap();
    path.display().to_string()
}

fn guard(config: &str, server: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
    command.args(["guard", "--stdio", config, "--", "sh", "-c", server]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ask(client: &mut ChildStdin, server: &mut impl BufRead, question: &str) -> String {
    client.write_all(question.as_bytes()).unwrap();
    let mut line = String::new();
    server.read_line(&mut line).unwrap();
    line
}

fn rest(from: Option<impl Read>) -> String {
    let mut text = String::new();
    from.unwrap().read_to_string(&mut text).unwrap();
    text
}

/// Whether the process `child` ends before long; its standard input stays open.
fn ends(child: &mut Child) -> std::process::ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < deadline, "it goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn bytes_standard_error_and_the_exit_status_are_the_programs() {
    let folder = Folder::new();
    let server = format!("echo hello >&2; {SERVER}; echo bye >&2; exit 7");
    let mut child = guard(&config(&folder, "", ""), &server).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for n in 0..100 {
        assert_eq!(ask(&mut input, &mut output, &format!("PING {n}\n")), format!("PONG {n}\n"));
    }
    input.write_all(b"STOP\n").unwrap();
    // Nobody waits for the client, who may wait for the end of the process.
    assert_eq!(ends(&mut child).code(), Some(7));
    assert_eq!(rest(Some(output)), "");
    assert_eq!(rest(child.stderr.take()), "hello\nbye\n");
    drop(input);
}

#[test]
fn the_clients_end_is_the_programs() {
    let folder = Folder::new();
    let mut child =
        guard(&config(&folder, "", ""), &format!("{SERVER}; echo end >&2; exit 3")).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"STOP\n").unwrap();
    drop(input);
    assert_eq!(ends(&mut child).code(), Some(3));
    assert_eq!(rest(child.stderr.take()), "end\n");
}

#[test]
fn a_wrong_message_ends_both_and_is_told() {
    let folder = Folder::new();
    let journal = "[journal]\nfolder = \"journal\"\n[log]\nfile = \"guard.log\"\n";
    // A program that does not care for the end of its input is ended by a signal.
    let server = format!("{SERVER}; exec sleep 60");
    let mut child = guard(&config(&folder, journal, ""), &server).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    assert_eq!(ask(&mut input, &mut output, "PING 1\n"), "PONG 1\n");
    input.write_all(b"PING 5000\n").unwrap();
    assert_eq!(rest(Some(output)), "");
    assert_eq!(ends(&mut child).code(), Some(1));
    let told = rest(child.stderr.take());
    assert!(told.starts_with("referee: client sent `Ping`") && told.contains("x < 1000"), "{told}");
    let log = fs::read_to_string(folder.0.join("guard.log")).unwrap();
    assert!(log.contains("x < 1000"), "{log}");
    let journals: Vec<_> =
        fs::read_dir(folder.0.join("journal")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [journal] = journals.as_slice() else { panic!("{journals:?}") };
    let read =
        Command::new(env!("CARGO_BIN_EXE_referee")).args(["journal", "show"]).arg(journal).output().unwrap();
    assert!(String::from_utf8_lossy(&read.stdout).contains("x < 1000"), "{read:?}");
}

#[test]
fn under_observe_the_exit_status_stays_the_programs() {
    let folder = Folder::new();
    let path = config(&folder, "", "policy = \"observe\"");
    let mut child = guard(&path, &format!("{SERVER}; exit 4")).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    assert_eq!(ask(&mut input, &mut output, "PING 5000\n"), "PONG 5000\n");
    drop(input);
    assert_eq!(ends(&mut child).code(), Some(4));
}

#[test]
fn signals_go_both_ways() {
    let folder = Folder::new();
    let path = config(&folder, "", "");
    for (signal, server, code, by) in [
        (
            "-TERM",
            "trap 'echo caught >&2; exit 9' TERM; echo ready >&2; while :; do sleep 0.05; done",
            Some(9),
            None,
        ),
        (
            "-USR1",
            "trap 'echo caught >&2; exit 8' USR1; echo ready >&2; while :; do sleep 0.05; done",
            Some(8),
            None,
        ),
        (
            "-INT",
            "trap 'echo caught >&2; exit 6' INT; echo ready >&2; while :; do sleep 0.05; done",
            Some(6),
            None,
        ),
        ("-TERM", "echo ready >&2; exec sleep 60", None, Some(15)),
        ("-HUP", "echo ready >&2; exec sleep 60", None, Some(1)),
    ] {
        let mut child = guard(&path, server).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Command::new("kill").arg(signal).arg(child.id().to_string()).status().unwrap();
        let status = ends(&mut child);
        assert_eq!((status.code(), status.signal()), (code, by), "{signal}");
        assert_eq!(rest(Some(errors)), if code.is_some() { "caught\n" } else { "" });
    }
    let mut child = guard(&path, "kill -9 $$").spawn().unwrap();
    assert_eq!(ends(&mut child).signal(), Some(9));
}

/// Node gives its children sockets, shells give them files and terminals.
#[test]
fn standard_streams_may_be_sockets_or_files() {
    let folder = Folder::new();
    let path = config(&folder, "", "");
    let ((mut ours, theirs), (mut answers, output)) =
        (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
    let mut child =
        guard(&path, SERVER).stdin(OwnedFd::from(theirs)).stdout(OwnedFd::from(output)).spawn().unwrap();
    ours.write_all(b"PING 1\nSTOP\n").unwrap();
    let mut text = String::new();
    answers.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), ends(&mut child).code()), ("PONG 1\n", Some(0)));

    let (questions, answers) = (folder.0.join("in"), folder.0.join("out"));
    let many: String = (0..900).map(|n| format!("PING {n}\n")).collect();
    fs::write(&questions, format!("{many}STOP\n")).unwrap();
    let mut command = guard(&path, SERVER);
    command.stdin(File::open(&questions).unwrap()).stdout(File::create(&answers).unwrap());
    assert!(command.status().unwrap().success());
    assert_eq!(fs::read_to_string(answers).unwrap(), many.replace("PING", "PONG"));
}

#[test]
fn what_cannot_be_is_said() {
    let folder = Folder::new();
    let path = config(&folder, "", "");
    let say = |arguments: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_referee")).arg("guard").args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = say(&[&path]);
    assert!(code == Some(2) && text.contains("referee guard --stdio CONFIG -- COMMAND"), "{text}");
    let (code, text) = say(&["--stdio", &path]);
    assert!(code == Some(2) && text.contains("where is the server?"), "{text}");
    let (code, text) = say(&["--stdio", &path, "--", "/no/such/program"]);
    assert!(code == Some(1) && text.contains("/no/such/program"), "{text}");
    let admin = config(&folder, "[admin]\nlisten = \"127.0.0.1:0\"\n", "");
    let (code, text) = say(&["--stdio", &admin, "--", "true"]);
    assert!(code == Some(2) && text.contains("`admin` is for guards that listen"), "{text}");
    fs::write(&path, fs::read_to_string(Path::new(&path)).unwrap().replace("stdio", "127.0.0.1:0")).unwrap();
    let (code, text) = say(&["--stdio", &path, "--", "true"]);
    assert!(code == Some(2) && text.contains("listen = \"stdio\""), "{text}");
}
