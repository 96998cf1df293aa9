//! Networks from the guard's configuration, from end to end: the protocols of `examples/network`, their components in
//! Python, and monitors in one process or in one for each role.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failing test may panic, a skipped one says so"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);
/// Everyone must know by then, on a machine that may be busy.
const SOON: f64 = 2.0;

const PROTOCOLS: [(&str, &[&str]); 4] = [
    ("two-buyer", &["alice", "bob", "seller"]),
    ("three-buyer", &["alice", "bob", "carol", "seller"]),
    ("oauth", &["service", "client", "auth"]),
    ("supplier", &["requestor", "authorise", "suppliers"]),
];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/network")
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        eprintln!("skipped: there is no python3 for the components of examples/network");
    }
    found
}

fn ports(count: usize) -> Vec<u16> {
    let sockets: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    sockets.iter().map(|socket| socket.local_addr().unwrap().port()).collect()
}

/// Processes that end with the test, and a folder that does.
struct Running {
    monitors: BTreeMap<String, Child>,
    components: BTreeMap<String, Child>,
    folder: PathBuf,
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in self.monitors.values_mut().chain(self.components.values_mut()) {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Running {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("referee-networks-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self { monitors: BTreeMap::new(), components: BTreeMap::new(), folder }
    }

    fn monitor(&mut self, name: &str, config: &str) {
        let path = self.folder.join(format!("{name}.toml"));
        fs::write(&path, config).unwrap();
        let log = fs::File::create(self.folder.join(format!("{name}.log"))).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
        let child = command.arg("guard").arg(path).stderr(log).spawn().unwrap();
        if let Some(mut old) = self.monitors.insert(name.to_owned(), child) {
            let _ = old.wait();
        }
    }

    fn component(&mut self, protocol: &str, role: &str, port: u16, options: &[&str]) {
        let mut command = Command::new("python3");
        command.arg(examples().join("component.py")).args([protocol, role, &format!("127.0.0.1:{port}")]);
        let child = command.args(options).stdout(Stdio::piped()).spawn().unwrap();
        self.components.insert(role.to_owned(), child);
    }

    fn logs(&self) -> String {
        let read =
            |name: &String| fs::read_to_string(self.folder.join(format!("{name}.log"))).unwrap_or_default();
        self.monitors.keys().map(|name| format!("== {name}\n{}", read(name))).collect()
    }

    /// Waits until the components in `roles` have ended; what each said.
    fn wait(&mut self, roles: &[&str]) -> BTreeMap<String, Vec<Value>> {
        let deadline = Instant::now() + PATIENCE;
        let mut said = BTreeMap::new();
        for role in roles {
            while self.components.get_mut(*role).unwrap().try_wait().unwrap().is_none() {
                assert!(Instant::now() < deadline, "the component of {role} does not end:\n{}", self.logs());
                std::thread::sleep(Duration::from_millis(5));
            }
            let mut text = String::new();
            self.components.get_mut(*role).unwrap().stdout.take().unwrap().read_to_string(&mut text).unwrap();
            let events = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            said.insert((*role).to_owned(), events);
        }
        said
    }
}

fn listens(port: u16) {
    let deadline = Instant::now() + PATIENCE;
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "nobody listens on {port}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The monitors of `roles`, in one process or in one for each; where the components connect.
fn start(running: &mut Running, protocol: &str, roles: &[&str], together: bool) -> Vec<u16> {
    let ports = ports(roles.len() * 2);
    let (places, monitors) = ports.split_at(roles.len());
    let head = format!(
        "[multiparty]\nprotocol = \"{}\"\n",
        examples().join(protocol).with_extension("scr").display()
    );
    let table = |index: usize| {
        format!(
            "[[multiparty.role]]\nname = \"{}\"\nlisten = \"127.0.0.1:{}\"\ncodec = {{ kind = \"json\" }}\n\
             violation = '{{\"type\":\"violation\",\"notice\":{{json}}}}'\n",
            roles[index], places[index]
        )
    };
    if together {
        let tables: String = (0..roles.len()).map(table).collect();
        running.monitor("all", &format!("{head}{tables}"));
    } else {
        for (index, role) in roles.iter().enumerate() {
            let peers: String = roles
                .iter()
                .zip(monitors)
                .filter(|(peer, _)| *peer != role)
                .map(|(peer, port)| format!("[multiparty.peer.{peer}]\naddress = \"127.0.0.1:{port}\"\n"))
                .collect();
            let own = format!("listen = \"127.0.0.1:{}\"\nkey = \"a secret of sixteen\"\n", monitors[index]);
            running.monitor(role, &format!("{head}{own}{peers}{}", table(index)));
        }
    }
    places.iter().for_each(|port| listens(*port));
    places.to_vec()
}

#[test]
fn correct_components_come_to_their_end() {
    if !has_python() {
        return;
    }
    for (protocol, roles) in PROTOCOLS {
        for together in [true, false] {
            let mut running = Running::new(&format!("{protocol}-{together}"));
            let places = start(&mut running, protocol, roles, together);
            for (role, port) in roles.iter().zip(&places) {
                running.component(protocol, role, *port, &["--sessions", "6"]);
            }
            for (role, events) in running.wait(roles) {
                let over = events.last().is_some_and(|event| event["event"] == "over");
                assert!(over, "{protocol} {together} {role}: {events:?}\n{}", running.logs());
            }
            assert!(!running.logs().contains("WARN"), "{protocol} {together}: {}", running.logs());
        }
    }
}

#[test]
fn everyone_learns_who_broke_the_protocol() {
    if !has_python() {
        return;
    }
    for (protocol, culprit, fault, kind) in [
        ("two-buyer", "alice", "wrong-label", "label"),
        ("two-buyer", "seller", "wrong-type", "type"),
        ("three-buyer", "carol", "malformed", "malformed"),
        ("three-buyer", "bob", "end", ""),
        ("oauth", "client", "wrong-type", "type"),
        ("oauth", "client", "end", "premature-end"),
        ("supplier", "authorise", "wrong-label", "label"),
        ("supplier", "requestor", "malformed", "malformed"),
    ] {
        let roles = PROTOCOLS.iter().find(|(name, _)| *name == protocol).unwrap().1;
        let mut running = Running::new(&format!("{protocol}-{culprit}-{fault}"));
        let places = start(&mut running, protocol, roles, false);
        for (role, port) in roles.iter().zip(&places) {
            let options: &[&str] = if *role == culprit { &["--fault", fault] } else { &[] };
            running.component(protocol, role, *port, options);
        }
        // Who ends before it has said anything has begun nothing, and nobody waits for it.
        if kind.is_empty() {
            running.wait(&[culprit]);
            continue;
        }
        let said = running.wait(roles);
        let began =
            said[culprit].iter().find(|event| event["event"] == "fault").unwrap()["time"].as_f64().unwrap();
        let mut slowest: f64 = 0.0;
        for (role, events) in &said {
            if role == culprit && fault == "end" {
                continue;
            }
            let told = events.iter().find(|event| event["event"] == "violation");
            let Some(told) = told else {
                panic!("{protocol} {fault}: {role} was not told\n{}", running.logs())
            };
            assert_eq!(
                told["notice"]["blame"],
                serde_json::json!([culprit]),
                "{protocol} {fault} {role}: {told}"
            );
            assert_eq!(told["notice"]["kind"], kind, "{protocol} {fault} {role}: {told}");
            let after = told["time"].as_f64().unwrap() - began;
            assert!(after < SOON, "{protocol} {fault} {role}: {after} s");
            slowest = slowest.max(after);
        }
        eprintln!("{protocol}, {culprit} {fault}: everyone knew after {:.0} ms", slowest * 1000.0);
    }
}

/// The two services are HTTP servers that know nothing of monitors, and of dependencies they see nothing.
#[test]
fn http_services_need_not_know_of_monitors() {
    if !has_python() {
        return;
    }
    let mut running = Running::new("weather");
    let ports = ports(3);
    let text = fs::read_to_string(examples().join("weather.toml")).unwrap();
    let text = text.replace("\"weather.scr\"", &format!("\"{}\"", examples().join("weather.scr").display()));
    let text = ["9141", "9142", "9143"]
        .iter()
        .zip(&ports)
        .fold(text, |text, (old, new)| text.replace(old, &new.to_string()));
    running.component("weather", "places", ports[1], &[]);
    running.component("weather", "weather", ports[2], &[]);
    listens(ports[1]);
    listens(ports[2]);
    running.monitor("all", &text);
    listens(ports[0]);
    running.component("weather", "client", ports[0], &["--sessions", "5"]);
    let said = running.wait(&["client"]);
    assert!(said["client"].iter().any(|event| event["event"] == "over"), "{said:?}\n{}", running.logs());
    assert!(!running.logs().contains("WARN"), "{}", running.logs());
}

/// Killed with SIGKILL: everyone else knows, and sessions begin again when it is back.
#[test]
fn a_killed_monitor_is_noticed_and_welcome_again() {
    if !has_python() {
        return;
    }
    let roles = PROTOCOLS[2].1;
    let mut running = Running::new("killed");
    let places = start(&mut running, "oauth", roles, false);
    // The client never comes, so the others have joined and wait.
    for (role, port) in roles.iter().zip(&places).filter(|(role, _)| **role != "client") {
        running.component("oauth", role, *port, &[]);
    }
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    running.monitors.get_mut("client").unwrap().kill().unwrap();
    let said = running.wait(&["service", "auth"]);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    for (role, events) in &said {
        let told = events.iter().find(|event| event["event"] == "violation");
        let Some(told) = told else { panic!("{role} was not told\n{}", running.logs()) };
        assert_eq!(told["notice"]["kind"], "fault", "{role}: {told}");
    }
    let config = fs::read_to_string(running.folder.join("client.toml")).unwrap();
    running.monitor("client", &config);
    listens(places[1]);
    let deadline = Instant::now() + PATIENCE;
    loop {
        for (role, port) in roles.iter().zip(&places) {
            running.component("oauth", role, *port, &[]);
        }
        let said = running.wait(&["service"]);
        if said["service"].iter().any(|event| event["event"] == "over") {
            break;
        }
        for child in running.components.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
        assert!(Instant::now() < deadline, "no session after the restart:\n{}", running.logs());
        std::thread::sleep(Duration::from_millis(200));
    }
}
