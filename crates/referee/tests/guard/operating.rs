//! Signals, reloading, takeover, kill -9, what is said about a configuration.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use referee_testkit::ports::free_ports;

use super::support::*;

#[test]
fn says_what_it_guards_answers_operators_and_drains() {
    let folder = Folder::new();
    let top = "[admin]\nlisten = \"127.0.0.1:0\"\ntoken = \"sesame\"\n";
    let mut guard = Process::start(&folder.config(top, &talkative(), "127.0.0.1:0"), "");
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
    assert!(
        sessions.contains("\"expected\":[\"Ping(x: int)\",\"Say(text: string)\",\"Flood()\",\"Stop()\"]"),
        "{sessions}"
    );
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
    let mut guard = Process::start(&folder.config("drain = \"100ms\"\n", &talkative(), "127.0.0.1:0"), "");
    let mut client = connect(&guard.address("ping listens on"));
    exchange(&mut client, 1).unwrap();
    guard.signal("-TERM");
    assert_eq!(guard.child.wait().unwrap().code(), Some(0));
    guard.wait_for("1 sessions were cut off");
}

#[test]
fn a_hangup_reloads_and_a_wrong_configuration_is_refused() {
    let folder = Folder::new();
    let upstream = talkative();
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

/// What a reload does not take up, it says.
#[test]
fn a_hangup_says_that_a_network_stays_as_it_is() {
    let folder = Folder::new();
    let path = folder.0.join("network.toml");
    let mut text = "watch-files = \"none\"\n[multiparty]\nprotocol = '''\nprotocol P(role p, role q, role r) {\n  m(n: int) from p to q; k() from q to r;\n}\n'''\n".to_owned();
    for role in ["p", "q", "r"] {
        text += &format!(
            "[[multiparty.role]]\nname = \"{role}\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\n"
        );
    }
    fs::write(&path, &text).unwrap();
    let guard = Process::start(&path, "");
    guard.address("P/p listens on");
    // Elsewhere, and a comment.
    fs::write(&path, format!("drain = \"1s\"\n# {text}").replace("# watch", "# \nwatch")).unwrap();
    guard.signal("-HUP");
    guard.wait_for("reloaded");
    assert!(!guard.said().contains("until the guard is restarted"));
    fs::write(&path, text.replace("n: int", "n: string")).unwrap();
    guard.signal("-HUP");
    guard.wait_for("`[multiparty]` has changed: that is not taken up until the guard is restarted");
}

#[test]
fn a_changed_file_reloads() {
    let folder = Folder::new();
    let path = folder.config("watch-files = \"20ms\"\n", &talkative(), "127.0.0.1:0");
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
    let upstream = talkative();
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
fn a_log_for_machines_has_no_other_lines() {
    let folder = Folder::new();
    let top = "drain = \"100ms\"\n[log]\nformat = \"json\"\nsessions = true\n";
    let mut guard = Process::start(&folder.config(top, &talkative(), "127.0.0.1:0"), "");
    let mut client = connect(&guard.address("ping listens on"));
    exchange(&mut client, 1).unwrap();
    client.write_all(b"FROB\n").unwrap();
    guard.wait_for("which it never sends");
    drop(client);
    guard.wait_for("session ended");
    guard.signal("-TERM");
    assert_eq!(guard.child.wait().unwrap().code(), Some(0));
    guard.wait_for("all sessions have ended");
    for line in guard.said().lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok_and(|it| it.is_object()), "{line}");
    }
}

#[test]
fn after_kill_9_everything_that_was_logged_is_in_the_journal() {
    let folder = Folder::new();
    let upstream = talkative();
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

/// A socket that systemd, or whoever else, keeps open: connections wait in it while no guard is there.
#[test]
fn a_passed_socket_outlives_the_guards_that_listen_on_it() {
    let folder = Folder::new();
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let path = folder.config("", &talkative(), "fd:0");
    let start = || {
        let passed = std::os::fd::OwnedFd::from(socket.try_clone().unwrap());
        let before = "exec 3<&0 </dev/null; export LISTEN_PID=$$ LISTEN_FDS=1;";
        Process::start_with(&path, before, std::process::Stdio::from(passed))
    };
    let mut first = start();
    assert_eq!(first.address("ping listens on"), address);
    exchange(&mut connect(&address), 1).unwrap();
    first.signal("-TERM");
    assert_eq!(first.child.wait().unwrap().code(), Some(0));
    // Nobody is there, and nobody is refused.
    let mut waiting = connect(&address);
    waiting.write_all(b"PING 2\n").unwrap();
    let _second = start();
    let mut answer = [0; 7];
    waiting.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"PONG 2\n");
    // Where none was passed, that is said.
    let mut none = Process::start(&path, "");
    assert_eq!(none.child.wait().unwrap().code(), Some(2));
    none.wait_for("no socket fd:0 was passed");
}

#[test]
fn a_second_guard_may_listen_beside_the_first() {
    let folder = Folder::new();
    let address = format!("127.0.0.1:{}", free_ports(1)[0]);
    let path = folder.config("drain = \"1s\"\n", &talkative(), &address);
    let mut first = Process::start(&path, "");
    first.address("ping listens on");
    let second = Process::start(&path, "");
    second.address("ping listens on");
    for _ in 0..20 {
        exchange(&mut connect(&address), 1).unwrap();
    }
    first.signal("-TERM");
    assert_eq!(first.child.wait().unwrap().code(), Some(0));
    for _ in 0..20 {
        exchange(&mut connect(&address), 2).unwrap();
    }
}

/// What an operator is told when something is in the way: what, where, and what to do.
#[test]
fn what_is_in_the_way_is_said() {
    let folder = Folder::new();
    let upstream = talkative();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = |path: &std::path::Path, code: i32| {
        let output = Command::new(env!("CARGO_BIN_EXE_referee")).arg("guard").arg(path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        said
    };
    // Another program has the port.
    let text = said(&folder.config("", &upstream, &address), 2);
    assert!(text.contains(&format!("`ping` cannot listen on {address}")), "{text}");
    assert!(text.contains("another program listens there"), "{text}");
    // The host is not this machine's, or has no address at all.
    let text = said(&folder.config("", &upstream, "192.0.2.1:2525"), 2);
    assert!(text.contains("`ping` cannot listen on 192.0.2.1:2525"), "{text}");
    assert!(text.contains("this machine has no such address"), "{text}");
    // The journal's folder cannot be made.
    let text = said(&folder.config("[journal]\nfolder = \"/proc/nowhere\"\n", &upstream, "127.0.0.1:0"), 2);
    assert!(text.contains("the journal cannot be opened") && text.contains("/proc/nowhere"), "{text}");
    // The admin port is taken.
    let top = format!("[admin]\nlisten = \"{address}\"\n");
    let text = said(&folder.config(&top, &upstream, "127.0.0.1:0"), 2);
    assert!(text.contains(&format!("the admin listener cannot listen on {address}")), "{text}");
    // A folder is no configuration, and neither is nothing.
    let text = said(&folder.0, 2);
    assert!(text.contains("cannot read"), "{text}");
    let text = said(&folder.0.join("gone.toml"), 2);
    assert!(text.contains("gone.toml"), "{text}");
    // A certificate that is not there, with its place.
    let extra = "tls = { certificate = \"gone.pem\", key = \"gone.key\" }";
    let text = said(&folder.config_with("", &upstream, "127.0.0.1:0", extra), 2);
    assert!(text.contains("gone.pem") && text.contains("guard.toml:6:"), "{text}");
}

#[test]
fn a_server_that_cannot_be_reached_is_logged() {
    let folder = Folder::new();
    let gone = format!("127.0.0.1:{}", free_ports(1)[0]);
    let guard = Process::start(&folder.config("", &gone, "127.0.0.1:0"), "");
    let mut client = connect(&guard.address("ping listens on"));
    assert_eq!(client.read(&mut [0; 1]).unwrap_or(0), 0);
    let line = guard.wait_for("the server cannot be reached");
    assert!(line.contains("refused") && line.contains("ping"), "{line}");
    // A program that is not there.
    let path = folder.config("", &gone, "127.0.0.1:0");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(&format!("upstream = \"{gone}\""), "command = [\"no-such-program\"]"))
        .unwrap();
    let guard = Process::start(&path, "");
    let mut client = connect(&guard.address("ping listens on"));
    assert_eq!(client.read(&mut [0; 1]).unwrap_or(0), 0);
    let line = guard.wait_for("the server cannot be reached");
    assert!(line.contains("no-such-program"), "{line}");
}
