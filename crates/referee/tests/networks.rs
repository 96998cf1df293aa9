//! Networks from the guard's configuration, from end to end: the protocols of `examples/network`, their components in
//! Python, and monitors in one process or in one for each role.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failing test may panic, a skipped one says so"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use referee_testkit::ports::free_ports;
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
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "nobody listens on {port}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The monitors of `roles`, in one process or in one for each; where the components connect.
fn start(running: &mut Running, protocol: &str, roles: &[&str], together: bool) -> Vec<u16> {
    let ports = free_ports(roles.len() * 2);
    let (places, monitors) = ports.split_at(roles.len());
    let head = format!(
        "[multiparty]\nprotocol = \"{}\"\n",
        examples().join(protocol).with_extension("scr").display()
    );
    let table = |index: usize| {
        format!(
            "[[multiparty.role]]\nname = \"{}\"\nlisten = \"127.0.0.1:{}\"\ncodec = {{ kind = \"json\" }}\n\
             close-message = '{{\"type\":\"violation\",\"notice\":{{json}}}}'\n",
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
                serde_json::json!(culprit),
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

/// Three roles, with everything in it that can be got wrong.
const AUTH: &str = "
protocol Auth(role s, role c, role a) {
  rec X {
    choice at s {
      login(n: int) from s to c where n >= 0;
      pwd(m: int) from c to a;
      succ(k: int) from a to s;
      continue X;
    } or {
      quit() from s to c;
    }
  }
}";

/// A component: JSON, one document in each line.
struct Component(BufReader<TcpStream>);

impl Component {
    fn new(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    fn send(&mut self, text: &str) {
        let _ = self.0.get_mut().write_all(format!("{text}\n").as_bytes());
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("cut off with {line:?}"))
    }
}

/// A session of [`AUTH`], after its first loop.
fn session(places: &[u16]) -> Vec<Component> {
    let mut session: Vec<_> = places.iter().map(|port| Component::new(*port)).collect();
    for (from, to, text) in [
        (0, 1, r#"{"type":"login","n":1}"#),
        (1, 2, r#"{"type":"pwd","m":1}"#),
        (2, 0, r#"{"type":"succ","k":1}"#),
    ] {
        session[from].send(text);
        assert_eq!(session[to].receive().to_string(), text);
    }
    session
}

/// How long it takes until the last component knows, fault by fault: the table of `docs/multiparty.md`.
#[test]
fn everyone_knows_soon() {
    let mut running = Running::new("soon");
    let protocol = running.folder.join("auth");
    fs::write(protocol.with_extension("scr"), AUTH).unwrap();
    let roles = ["s", "c", "a"];
    let places = start(&mut running, protocol.to_str().unwrap(), &roles, false);
    let brackets = "[".repeat(50_000);
    let long = "x".repeat(2 << 20);
    /// What happens, who says what if it is that, and what everyone is told.
    type Fault<'a> = (&'a str, Option<(usize, &'a str)>, &'a str, &'a [&'a str]);
    let faults: [Fault<'_>; 12] = [
        ("a label that is never sent", Some((0, r#"{"type":"nonsense"}"#)), "label", &["s"]),
        ("the label toString", Some((0, r#"{"type":"toString"}"#)), "label", &["s"]),
        ("no label", Some((0, r#"{"type":17}"#)), "label", &["s"]),
        ("a value of another type", Some((0, r#"{"type":"login","n":"x"}"#)), "type", &["s"]),
        ("an assertion", Some((0, r#"{"type":"login","n":-1}"#)), "assertion", &["s"]),
        ("out of turn", Some((1, r#"{"type":"pwd","m":1}"#)), "order", &["c"]),
        ("no JSON", Some((2, "{{{")), "malformed", &["a"]),
        ("50,000 brackets", Some((2, &brackets)), "malformed", &["a"]),
        ("a message beyond the limit", Some((0, &long)), "fault", &[]),
        ("a component's connection closes", None, "premature-end", &["s"]),
        ("a component's connection closes", None, "premature-end", &["c"]),
        ("a monitor's process ends", None, "fault", &[]),
    ];
    for (what, said, kind, blame) in faults {
        let mut times = Vec::new();
        // A process that has ended cannot end again.
        let runs = if what.starts_with("a monitor") { 1 } else { 5 };
        for _ in 0..runs {
            let mut session = session(&places);
            let began = Instant::now();
            match said {
                Some((who, bytes)) => session[who].send(bytes),
                None if blame.is_empty() => {
                    running.monitors.get_mut("a").unwrap().kill().unwrap();
                    drop(session.remove(2));
                }
                None => drop(session.remove(roles.iter().position(|role| role == &blame[0]).unwrap())),
            }
            for component in &mut session {
                let notice = component.receive();
                let notice = &notice["notice"];
                assert_eq!(notice["kind"], kind, "{what}: {notice}");
                assert_eq!(notice["blame"], serde_json::json!(blame.first()), "{what}: {notice}");
            }
            times.push(began.elapsed().as_secs_f64());
        }
        let (least, most) = times.iter().fold((f64::MAX, 0.0_f64), |(a, b), t| (a.min(*t), b.max(*t)));
        eprintln!("{what}: everyone knew after {:.1} to {:.1} ms", least * 1000.0, most * 1000.0);
        assert!(most < SOON, "{what}: {most} s\n{}", running.logs());
    }
}

/// The two services are HTTP servers that know nothing of monitors, and of dependencies they see nothing.
#[test]
fn http_services_need_not_know_of_monitors() {
    if !has_python() {
        return;
    }
    let mut running = Running::new("weather");
    let ports = free_ports(3);
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

/// A service that answers each request on a connection of its own.
fn closing_service(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut line = String::from("?");
            while !line.trim().is_empty() {
                line.clear();
                if stream.read_line(&mut line).unwrap_or(0) == 0 {
                    break;
                }
            }
            // Who connects and asks nothing is answered nothing.
            if !line.is_empty() {
                let head = format!(
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                    answer.len()
                );
                let _ = stream.get_mut().write_all(format!("{head}{answer}").as_bytes());
            }
        }
    });
    port
}

/// HTTP servers close connections between exchanges; nobody is to blame, and whoever is asked again is connected to again.
#[test]
fn http_services_may_close_their_connections() {
    let mut running = Running::new("closing");
    let client = free_ports(1)[0];
    let services = [r#"{"lat":53.1,"lon":6.5}"#, r#"{"celsius":3}"#].map(closing_service);
    let text = fs::read_to_string(examples().join("weather.toml")).unwrap();
    let text = text.replace("\"weather.scr\"", &format!("\"{}\"", examples().join("weather.scr").display()));
    let text = [("9141", client), ("9142", services[0]), ("9143", services[1])]
        .iter()
        .fold(text, |text, (old, new)| text.replace(old, &new.to_string()));
    running.monitor("all", &text);
    listens(client);
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", client)).unwrap());
    stream.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    for round in 0..5 {
        for (path, expected) in [("/places?name=G", "53.1"), ("/weather?lat=1&lon=2&key=k", "celsius")] {
            let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
            stream.get_mut().write_all(request.as_bytes()).unwrap();
            let mut length = 0;
            loop {
                let mut line = String::new();
                assert!(stream.read_line(&mut line).unwrap() > 0, "{round} {path}: {}", running.logs());
                if let Some(said) = line.strip_prefix("Content-Length: ") {
                    length = said.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            assert!(String::from_utf8_lossy(&body).contains(expected), "{round} {path}: {body:?}");
            // Closed before the next request, or just then.
            std::thread::sleep(Duration::from_millis(if round % 2 == 0 { 20 } else { 0 }));
        }
    }
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
    let mut waiting = [places[2], places[0]].map(Component::new);
    waiting[1].send(r#"{"type":"login"}"#);
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    running.monitors.get_mut("client").unwrap().kill().unwrap();
    for component in &mut waiting {
        let told = component.receive();
        assert_eq!(told["notice"]["kind"], "fault", "{told}\n{}", running.logs());
    }
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    drop(waiting);
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
