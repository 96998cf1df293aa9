//! Multiparty guards from end to end: three monitors, and the three components of `examples/auth3`, each a process
//! of its own, on RelaMon's wire. Where `RELAMON` names a folder with RelaMon and its `node_modules`, the foreign monitors
//! are RelaMon's own; otherwise `multiparty/plain.py` does as they do.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a failing test may panic, a skipped one says so"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use referee_testkit::ports::free_ports;
use serde_json::Value;

/// Long enough for anything that will happen at all.
const PATIENCE: Duration = Duration::from_secs(60);
/// Everyone must know by then, on a machine that may be busy.
const SOON: f64 = 2.0;
const ROLES: [(&str, &str); 3] = [("s", "server"), ("c", "client"), ("a", "authorizer")];

struct Processes(Vec<(String, Child)>);

impl Drop for Processes {
    fn drop(&mut self) {
        for (_, child) in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How a network of three ended.
struct Ended {
    /// The exit status of each monitor.
    monitors: BTreeMap<&'static str, i32>,
    /// What each component said.
    events: BTreeMap<&'static str, Vec<Value>>,
    /// What each monitor logged.
    logs: BTreeMap<&'static str, String>,
}

impl Ended {
    fn event(&self, role: &str, event: &str) -> Option<&Value> {
        self.events[role].iter().find(|said| said["event"] == event)
    }
}

struct Setup<'a> {
    loops: usize,
    /// Whose monitor is killed once everyone is at work.
    killed: Option<&'a str>,
    /// Who does what wrong.
    fault: Option<(&'a str, &'a str)>,
    /// Whether that monitor is started again at once.
    again: bool,
    /// All monitors in one process.
    gateway: bool,
    /// The roles whose monitors are foreign.
    foreign: &'a str,
    options: &'a [&'a str],
}

impl Setup<'_> {
    fn run(&self) -> Option<Ended> {
        if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
            eprintln!("skipped: there is no python3 for the components of examples/auth3");
            return None;
        }
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/auth3");
        let ports = free_ports(6);
        let folder = Folder::new();
        let mut files = Vec::new();
        for (index, (role, name)) in ROLES.iter().enumerate() {
            let text = fs::read_to_string(examples.join(name).with_extension("json")).unwrap();
            let mut file: Value = serde_json::from_str(&text).unwrap();
            file["monitorPort"] = ports[index].into();
            for (other, (peer, _)) in ROLES.iter().enumerate() {
                let port = if peer == role { ports[index + 3] } else { ports[other] };
                file["participants"][peer] = format!("http://127.0.0.1:{port}").into();
            }
            let path = folder.0.join(name).with_extension("json");
            fs::write(&path, file.to_string()).unwrap();
            files.push(path);
        }
        let mut processes = Processes(Vec::new());
        let groups: Vec<&[PathBuf]> = if self.gateway { vec![&files] } else { files.chunks(1).collect() };
        let monitor = |files: &[PathBuf]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
            command.arg("guard").args(self.options);
            if !self.options.contains(&"--dependencies") {
                command.args(["--dependencies", "deliver-once"]);
            }
            for file in files {
                command.arg("--relamon").arg(file);
            }
            command.stderr(Stdio::piped()).spawn().unwrap()
        };
        for (index, (role, name)) in ROLES.iter().enumerate() {
            let mut command = Command::new("python3");
            command.arg(examples.join(name).with_extension("py"));
            command.args(["--port", &ports[index + 3].to_string(), "--monitor", &ports[index].to_string()]);
            command.args(["--loops", &self.loops.to_string()]).env("PYTHONDONTWRITEBYTECODE", "1");
            if let Some((_, fault)) = self.fault.filter(|(who, _)| who == role) {
                command.args(["--fault", fault]);
            }
            processes.0.push((format!("component {role}"), command.stdout(Stdio::piped()).spawn().unwrap()));
        }
        let deadline = Instant::now() + PATIENCE;
        for (index, (group, (role, _))) in groups.into_iter().zip(ROLES).enumerate() {
            let started = if self.foreign.contains(role) {
                // One of RelaMon's gives up if its component is not there.
                while std::net::TcpStream::connect(("127.0.0.1", ports[index + 3])).is_err() {
                    assert!(Instant::now() < deadline, "the component does not begin");
                }
                foreign(&files[index], &examples)
            } else {
                monitor(group)
            };
            processes.0.insert(index, (format!("monitor {role}"), started));
        }
        if let Some(killed) = self.killed {
            let index = ROLES.iter().position(|(role, _)| *role == killed).unwrap();
            let loops = |port: u16| {
                use std::io::Write as _;
                let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return false };
                let _ = stream.write_all(b"GET /sessions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
                let mut page = String::new();
                let _ = stream.read_to_string(&mut page);
                page.contains("\"state\":") && !page.contains("\"state\":0,")
            };
            // All have begun: one that is killed before is missed by those who wait for it to begin, and by no others.
            for port in ports.iter().take(3) {
                while !loops(*port) {
                    assert!(Instant::now() < deadline, "the session does not begin");
                }
            }
            processes.0[index].1.kill().unwrap();
            if self.again {
                processes.0[index].1.wait().unwrap();
                processes.0[index].1 = monitor(std::slice::from_ref(&files[index]));
            }
        }
        let mut ended = Ended { monitors: BTreeMap::new(), events: BTreeMap::new(), logs: BTreeMap::new() };
        let (monitors, components): (Vec<_>, Vec<_>) =
            processes.0.iter_mut().partition(|(name, _)| name.starts_with("monitor"));
        for ((name, child), (role, _)) in monitors.into_iter().zip(ROLES) {
            let status = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break status;
                }
                assert!(Instant::now() < deadline, "{:?}: {name} does not end", self.fault);
                std::thread::sleep(Duration::from_millis(10));
            };
            let mut log = String::new();
            child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
            ended.monitors.insert(role, status.code().unwrap_or(-1));
            ended.logs.insert(role, log);
        }
        for ((_, child), (role, _)) in components.into_iter().zip(ROLES) {
            // A component that misbehaves may never end.
            std::thread::sleep(Duration::from_millis(20));
            let _ = child.kill();
            let mut text = String::new();
            child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
            let events = text.lines().map(|line| serde_json::from_str(line).expect(line));
            ended.events.insert(role, events.collect());
        }
        Some(ended)
    }
}

/// A monitor that is not one of Referee's, for what `file` says.
fn foreign(file: &Path, examples: &Path) -> Child {
    let relamon = std::env::var_os("RELAMON").map(PathBuf::from).filter(|at| at.join("monitor.js").is_file());
    let mut command = match relamon {
        Some(folder) => {
            let mut command = Command::new("node");
            command.arg("monitor.js").current_dir(folder).env("PROTOCOL_PATH", file);
            command
        }
        None => {
            let mut command = Command::new("python3");
            command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/multiparty/plain.py")).arg(file);
            command.env("PYTHONPATH", examples).env("PYTHONDONTWRITEBYTECODE", "1");
            command
        }
    };
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("referee-multiparty-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const NO_FAULT: Setup<'static> =
    Setup { loops: 300, killed: None, again: false, fault: None, gateway: false, foreign: "", options: &[] };

#[test]
fn correct_components_raise_no_alarm() {
    for setup in [NO_FAULT, Setup { gateway: true, loops: 50, ..NO_FAULT }] {
        let Some(ended) = setup.run() else { return };
        for (role, status) in &ended.monitors {
            assert_eq!(*status, 0, "{role}: {}", ended.logs[role]);
        }
        for (role, _) in ROLES {
            assert!(ended.event(role, "over").is_some(), "{role}: {:?} {:?}", ended.events, ended.logs);
            assert!(ended.event(role, "violation").is_none());
        }
    }
}

/// Foreign monitors take what comes before its turn for a violation. Where there is one, nothing does. Two of them may get
/// into each other's way, as those of RelaMon do among themselves, but not every time.
#[test]
fn foreign_monitors_take_part() {
    for (foreign, attempts) in [("s", 1), ("c", 1), ("a", 1), ("sc", 3), ("sa", 3), ("ca", 3)] {
        let well = (0..attempts).any(|_| {
            let Some(ended) = (Setup { loops: 20, foreign, ..NO_FAULT }).run() else { return true };
            let over = |role: &str| ended.monitors[role] == 0 && ended.event(role, "over").is_some();
            let well = ROLES.iter().all(|(role, _)| over(role));
            if !well {
                eprintln!("{foreign}: {:?} {:?} {:?}", ended.monitors, ended.events, ended.logs);
            }
            well
        });
        assert!(well, "{foreign}");
    }
}

/// On RelaMon's wire one can say that there is a violation, and not which. Whoever finds it, everyone is told of it, and by
/// Referee's monitors also whose it is if one of them found it.
#[test]
fn everyone_learns_of_a_violation_through_foreign_monitors() {
    for (culprit, foreign) in
        [("s", "a"), ("c", "a"), ("c", "s"), ("a", "c"), ("s", "s"), ("c", "c"), ("a", "a")]
    {
        let setup = Setup { fault: Some((culprit, "wrong-label:2")), foreign, loops: 40, ..NO_FAULT };
        let Some(ended) = setup.run() else { return };
        let began = ended.event(culprit, "fault").expect("the fault happened")["time"].as_f64().unwrap();
        for (role, _) in ROLES {
            assert_ne!(ended.monitors[role], 0, "{culprit} {foreign}, {role}: {}", ended.logs[role]);
            let said = ended.event(role, "violation");
            let said =
                said.unwrap_or_else(|| panic!("{culprit} {foreign}: {role} was not told; {:?}", ended.logs));
            assert!(said["time"].as_f64().unwrap() - began < SOON, "{culprit} {foreign}: {said}");
            if foreign != culprit && role != foreign {
                assert_eq!(said["notice"]["blame"], serde_json::json!(culprit), "{foreign}: {said}");
            } else if role != foreign {
                assert_eq!(said["notice"]["blame"], serde_json::json!(null), "{foreign}: {said}");
            }
        }
    }
}

/// Who does what, and what everyone must then know: of what kind it is, whoever did it being to blame.
const FAULTS: &[(&str, &str, &str)] = &[
    ("s", "wrong-label:2", "label"),
    ("c", "wrong-label:1", "label"),
    ("a", "prototype-label:2", "label"),
    ("c", "wrong-type:2", "type"),
    ("s", "out-of-turn:1", "order"),
    ("s", "no-label:0", "malformed"),
    ("c", "malformed:2", "malformed"),
    ("a", "no-envelope:1", "malformed"),
    ("a", "deep:1", "malformed"),
    ("c", "huge:1", "malformed"),
    ("s", "unknown-sender:1", "malformed"),
    ("c", "unknown-receiver:1", ""),
    ("s", "end:2", "premature-end"),
    ("c", "end:0", "premature-end"),
    ("a", "end:2", "premature-end"),
    ("s", "fail:2", "premature-end"),
];

#[test]
fn everyone_learns_who_broke_the_protocol() {
    for (culprit, fault, kind) in FAULTS {
        let Some(ended) = Setup { fault: Some((culprit, fault)), ..NO_FAULT }.run() else { return };
        let began = ended.event(culprit, "fault").expect("the fault happened")["time"].as_f64().unwrap();
        let mut slowest: f64 = 0.0;
        for (role, _) in ROLES {
            assert_eq!(ended.monitors[role], 1, "{culprit} {fault}, {role}: {}", ended.logs[role]);
            if role == *culprit && fault.starts_with("end") {
                continue;
            }
            let said = ended.event(role, "violation");
            let said =
                said.unwrap_or_else(|| panic!("{culprit} {fault}: {role} was not told; {:?}", ended.logs));
            assert_eq!(said["notice"]["blame"], serde_json::json!(culprit), "{fault}: {said}");
            if !kind.is_empty() {
                assert_eq!(said["notice"]["kind"], *kind, "{fault}: {said}");
            }
            slowest = slowest.max(said["time"].as_f64().unwrap() - began);
        }
        println!("{culprit} {fault}: everyone knew after {:.0} ms", slowest * 1000.0);
        assert!(slowest < SOON, "{culprit} {fault}: {slowest} s");
    }
}

/// Killed with SIGKILL, it can tell nobody; the other monitors notice, and so do their components. One that takes its
/// place at once knows nothing of the session, and its component, which goes on with that, has done nothing wrong.
#[test]
fn everyone_learns_that_a_monitor_is_gone() {
    for (killed, again) in [("s", false), ("c", false), ("a", false), ("s", true), ("c", true), ("a", true)] {
        let setup = Setup { loops: 1_000_000, killed: Some(killed), again, ..NO_FAULT };
        let Some(ended) = setup.run() else { return };
        for (role, _) in ROLES.into_iter().filter(|(role, _)| again || *role != killed) {
            assert_eq!(ended.monitors[role], 1, "{killed}, {role}: {}", ended.logs[role]);
            // What it sent while there was no monitor was refused, so its component may have seen for itself.
            let Some(said) = ended.event(role, "violation") else {
                assert_eq!(role, killed, "{role} was not told; {:?}", ended.logs);
                continue;
            };
            assert_eq!(said["notice"]["kind"], "fault", "{said}");
            assert_eq!(said["notice"]["blame"], serde_json::json!(null), "{said}");
        }
    }
}

#[test]
fn what_cannot_be_monitored_is_said() {
    let folder = Folder::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/auth3");
    let text = fs::read_to_string(examples.join("client.json")).unwrap();
    let check = |file: &Value| {
        let path = folder.0.join("file.json");
        fs::write(&path, file.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
        let output = command.args(["guard", "--check-config", "--relamon"]).arg(&path).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(text).unwrap())
    };
    let good: Value = serde_json::from_str(&text).unwrap();
    let (status, said) = check(&good);
    assert!(
        status == 0 && said.contains("the monitor of c listens on 127.0.0.1:8102 and [::1]:8102"),
        "{said}"
    );
    let wrongs: [(&str, Value, &str); 5] = [
        ("implementingParty", "nobody".into(), "nobody"),
        ("monitorPort", 65_536.into(), "monitorPort"),
        ("participants", serde_json::json!({ "c": "http://here:1", "a": "http://here:2" }), "where `s` is"),
        (
            "participants",
            serde_json::json!({ "c": "ftp://x", "a": "http://x", "s": "http://x" }),
            "http://HOST:PORT",
        ),
        ("globalType", serde_json::json!({ "type": "EXCHANGE" }), "RF07"),
    ];
    for (key, value, expected) in wrongs {
        let mut file = good.clone();
        file[key] = value;
        let (status, said) = check(&file);
        assert!(status == 2 && said.contains(expected), "{key}: {status} {said}");
    }
}
