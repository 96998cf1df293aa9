//! Monitors of three roles, each in a guard of its own, over the framed transport.

mod components;
mod deadlines;
mod endpoints;
mod like_listeners;
mod links;
mod network;
mod notices;
mod sockets;
mod tracing;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use referee_guard::Plans;

use crate::support::Folder;
use network::{Network, PROTOCOL, ROLES, Setup, quit, start, turn};

/// Everyone must know by then, on a machine that may be busy.
const SOON: Duration = Duration::from_secs(2);

#[test]
fn many_sessions_at_once_go_through_unchanged() {
    let network = Setup::default().start();
    let mut sessions: Vec<_> = (0..40).map(|_| network.session()).collect();
    for n in 0..20 {
        for (index, session) in sessions.iter_mut().enumerate() {
            turn(session, n * 1000 + index as u64);
        }
    }
    assert_eq!(network.metric("a", "referee_multiparty_sessions_open"), 40.0);
    let page = network.guards["c"].sessions(10).to_string();
    for part in [r#""waits_for":"s""#, r#""phase":"running""#, r#""connected":true"#] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    sessions.into_iter().for_each(quit);
    network.wait_idle();
    for role in ROLES {
        let over = format!(
            "referee_multiparty_sessions_closed_total{{protocol=\"Auth\",role=\"{role}\",why=\"over\"}}"
        );
        assert_eq!(network.metric(role, &over), 40.0, "{}", network.guards[role].metrics());
    }
}

/// What somebody does wrong, and what everybody is told of it.
#[test]
fn a_violation_ends_its_session_and_no_other() {
    let faults: [(&str, usize, &[u8], &str, &str); 9] = [
        ("a label that is never sent", 0, br#"{"type":"nonsense"}"#, "label", "s"),
        ("the label toString", 0, br#"{"type":"toString"}"#, "label", "s"),
        ("a value of another type", 0, br#"{"type":"login","n":"x"}"#, "type", "s"),
        ("an assertion", 0, br#"{"type":"login","n":-1}"#, "assertion", "s"),
        ("out of turn", 1, br#"{"type":"pwd","m":1}"#, "order", "c"),
        ("no JSON", 2, b"{{{", "malformed", "a"),
        ("brackets", 2, &[b'['; 50_000], "malformed", "a"),
        ("no label", 0, br#"{"type":17}"#, "label", "s"),
        ("a value too few", 0, br#"{"type":"login"}"#, "malformed", "s"),
    ];
    let network = Setup::default().start();
    let mut bystander = network.session();
    turn(&mut bystander, 0);
    for (what, who, bytes, kind, blame) in faults {
        let mut session = network.session();
        turn(&mut session, 1);
        let began = Instant::now();
        session[who].raw(bytes);
        session[who].raw(b"\n");
        for component in &mut session {
            let notice = component.notice();
            assert_eq!(
                (&notice["kind"], &notice["blame"]),
                (&kind.into(), &blame.into()),
                "{what}: {notice}"
            );
        }
        assert!(began.elapsed() < SOON, "{what}: {:?}", began.elapsed());
        turn(&mut bystander, 2);
    }
    quit(bystander);
    network.wait_idle();
}

fn policies(policy: &str) -> BTreeMap<&'static str, String> {
    ROLES.into_iter().map(|role| (role, format!("policy = \"{policy}\""))).collect()
}

/// What cannot be decoded has no receiver, and nothing after it can be read: whatever the policy, everyone is told once,
/// and its sender, which stays where it is, is not said to have gone.
#[test]
fn what_cannot_be_decoded_ends_the_session_under_every_policy() {
    for policy in ["drop", "observe"] {
        let network = Setup { role: policies(policy), ..Setup::default() }.start();
        let mut session = network.session();
        turn(&mut session, 1);
        session[0].send("{{{");
        for component in &mut session {
            let notice = component.notice();
            let said = (&notice["kind"], &notice["blame"], &notice["halted"]);
            assert_eq!(said, (&"malformed".into(), &serde_json::json!("s"), &true.into()), "{notice}");
        }
        network.wait_idle();
        for role in ROLES {
            let verdicts = network.guards[role].metrics();
            let counted: Vec<&str> = verdicts
                .lines()
                .filter(|line| line.starts_with("referee_multiparty_verdicts_total{"))
                .collect();
            assert!(matches!(counted[..], [one] if one.ends_with("kind=\"malformed\"} 1")), "{counted:?}");
        }
    }
}

/// Observed, what is out of turn goes to whom such messages go, at once, and is judged by its sender's monitor alone;
/// the session goes on from where it was.
#[test]
fn what_is_out_of_turn_is_let_through_at_once() {
    let network = Setup { role: policies("observe"), ..Setup::default() }.start();
    let mut session = network.session();
    turn(&mut session, 1);
    // Nobody waits for it.
    session[1].send(r#"{"type":"pwd","m":7}"#);
    session[2].expect(r#"{"type":"pwd","m":7}"#);
    turn(&mut session, 2);
    quit(session);
    network.wait_idle();
    for role in ROLES {
        let order = format!("referee_multiparty_verdicts_total{{protocol=\"Auth\",role=\"{role}\",blame=");
        let metrics = network.guards[role].metrics();
        let counted: Vec<&str> = metrics.lines().filter(|line| line.starts_with(&order)).collect();
        assert!(matches!(counted[..], [one] if one.ends_with("\"c\",kind=\"order\"} 1")), "{counted:?}");
    }
}

#[test]
fn a_component_that_vanishes_is_blamed_and_nobody_else() {
    let network = Setup::default().start();
    for (gone, role) in ROLES.into_iter().enumerate() {
        let mut session: Vec<_> = network.session().into_iter().collect();
        turn((&mut session[..]).try_into().unwrap(), 1);
        drop(session.remove(gone));
        // Nobody has told `a` yet whether it has anything more to do: until then, it may be gone.
        if role == "a" {
            session[0].send(r#"{"type":"login","n":2}"#);
            session[1].expect(r#"{"type":"login","n":2}"#);
        }
        for component in &mut session {
            let notice = component.notice();
            assert_eq!(notice["kind"], "premature-end", "{notice}");
            assert_eq!(notice["blame"], serde_json::json!(role), "{notice}");
        }
    }
    network.wait_idle();
}

#[test]
fn a_message_beyond_the_limit_is_nobodys_fault() {
    let top = "limits.message = \"4KiB\"".to_owned();
    let network = Setup { top, ..Setup::default() }.start();
    let mut session = network.session();
    turn(&mut session, 1);
    session[0].raw(&[b'x'; 10_000]);
    for component in &mut session {
        let notice = component.notice();
        assert_eq!(
            (&notice["kind"], &notice["blame"]),
            (&"fault".into(), &serde_json::json!(null)),
            "{notice}"
        );
    }
}

/// A network that breaks, delays and cuts within frames changes nothing.
#[test]
fn broken_connections_lose_and_double_nothing() {
    let seed = std::env::var("REFEREE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(7);
    for key in ["", "key = \"a secret of sixteen\""] {
        let network = Setup { chaos: true, seed, top: key.to_owned(), ..Setup::default() }.start();
        let mut sessions: Vec<_> = (0..8).map(|_| network.session()).collect();
        sessions.iter_mut().for_each(|session| turn(session, 0));
        network.proxies.iter().for_each(|proxy| proxy.cutting(true));
        for n in 1..25 {
            for (index, session) in sessions.iter_mut().enumerate() {
                turn(session, n * 1000 + index as u64);
            }
            network.proxies[(n % 6) as usize].cut();
        }
        network.proxies.iter().for_each(|proxy| proxy.cutting(false));
        let cuts: u64 = network.proxies.iter().map(network::Proxy::cuts).sum();
        assert!(cuts > 20, "seed {seed}: only {cuts} cuts");
        sessions.into_iter().for_each(quit);
        network.wait_idle();
    }
}

/// While nothing goes through, nothing is decided; when it does again, everything goes on.
#[test]
fn a_partition_heals() {
    let network = Setup { chaos: true, ..Setup::default() }.start();
    let mut session = network.session();
    turn(&mut session, 1);
    network.proxies.iter().for_each(|proxy| proxy.hold(true));
    session[0].send(r#"{"type":"login","n":2}"#);
    std::thread::sleep(Duration::from_millis(1500));
    network.proxies.iter().for_each(|proxy| proxy.hold(false));
    session[1].expect(r#"{"type":"login","n":2}"#);
    session[1].send(r#"{"type":"pwd","m":2}"#);
    session[2].expect(r#"{"type":"pwd","m":2}"#);
    session[2].send(r#"{"type":"succ","k":2}"#);
    session[0].expect(r#"{"type":"succ","k":2}"#);
    quit(session);
}

#[test]
fn a_monitor_that_ends_is_noticed_by_all_and_welcome_again() {
    let mut network = Setup::default().start();
    for gone in ROLES {
        let mut session = network.session();
        turn(&mut session, 1);
        let began = Instant::now();
        network.guards.remove(gone).unwrap().halt();
        for (role, component) in ROLES.into_iter().zip(&mut session) {
            if role != gone {
                let notice = component.notice();
                assert_eq!(notice["kind"], "fault", "{notice}");
                assert!(
                    notice["message"].as_str().unwrap().contains(&format!("monitor of `{gone}`")),
                    "{notice}"
                );
            }
        }
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
        network.guards.insert(gone, start(&network.folder, &network.configs[gone]));
        network.wait_for_a_session();
    }
}

/// A component that does not read makes its own session wait, and no other.
#[test]
fn who_does_not_read_holds_up_itself_only() {
    let protocol = "protocol Flood(role s, role c, role a) { rec X { choice at s { m(t: string) from s to c; continue X; } or { quit() from s to c; n() from c to a; } } }";
    let setup = Setup { top: "limits.buffer = \"64KiB\"".to_owned(), ..Setup::default() };
    let folder = Folder::new();
    let mut network = setup.start_in(folder);
    network.guards.clear();
    std::fs::write(network.folder.0.join("auth.scr"), protocol).unwrap();
    for (role, text) in &network.configs {
        network.guards.insert(role, start(&network.folder, text));
    }
    let mut stuck = TcpStream::connect(&network.places["s"]).unwrap();
    let (_c, _a) = (network.connect("c"), network.connect("a"));
    stuck.set_write_timeout(Some(Duration::from_secs(3))).unwrap();
    let line = format!("{{\"type\":\"m\",\"t\":\"{}\"}}\n", "x".repeat(1000));
    let mut written = 0_usize;
    while stuck.write_all(line.as_bytes()).is_ok() {
        written += line.len();
        assert!(written < 64 << 20, "nobody stops a sender whose receiver does not read");
    }
    let mut other = network.session();
    other[0].send(r#"{"type":"m","t":"hello"}"#);
    other[1].expect(r#"{"type":"m","t":"hello"}"#);
}

fn certificates(folder: &std::path::Path, names: &[&str]) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&key).unwrap();
    std::fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
    let issuer = rcgen::Issuer::new(parameters, key);
    for name in names {
        let key = rcgen::KeyPair::generate().unwrap();
        let parameters = rcgen::CertificateParams::new(vec![(*name).to_owned()]).unwrap();
        let certificate = parameters.signed_by(&key, &issuer).unwrap();
        std::fs::write(folder.join(format!("{name}.pem")), certificate.pem()).unwrap();
        std::fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}

/// `who` shows the certificate of `as_whom`.
fn tls(shown: [&'static str; 3]) -> BTreeMap<&'static str, String> {
    let table = |name: &str| {
        format!("tls = {{ certificate = \"{name}.pem\", key = \"{name}.key\", ca = \"ca.pem\" }}")
    };
    ROLES.into_iter().zip(shown.map(table)).collect()
}

#[test]
fn certificates_say_who_a_monitor_is() {
    let folder = Folder::new();
    certificates(&folder.0, &ROLES);
    let network = Setup { only: tls(ROLES), ..Setup::default() }.start_in(folder);
    let mut session = network.session();
    turn(&mut session, 1);
    quit(session);
    drop(network);
    // The monitor of `c` shows the certificate of `a`: nobody takes it for `c`.
    let folder = Folder::new();
    certificates(&folder.0, &ROLES);
    let top = "limits.handshake = \"2s\"".to_owned();
    let network = Setup { only: tls(["s", "a", "a"]), top, ..Setup::default() }.start_in(folder);
    never_begins(&network);
}

fn never_begins(network: &Network) {
    let mut session = network.session();
    session[0].send(r#"{"type":"login","n":1}"#);
    let said = session[0].line();
    assert!(said.as_ref().is_none_or(|said| said.contains("fault")), "{said:?}");
}

#[test]
fn who_does_not_know_the_key_is_not_heard() {
    let top = "limits.handshake = \"2s\"".to_owned();
    let key = |role, key: &str| (role, format!("key = \"{key}\""));
    let (right, wrong) = ("a secret of sixteen", "another secret of sixteen");
    let only = [key("s", right), key("c", right), key("a", wrong)].into_iter().collect();
    never_begins(&Setup { only, top: top.clone(), ..Setup::default() }.start());
    let only = [key("s", right), key("c", right)].into_iter().collect();
    never_begins(&Setup { only, top, ..Setup::default() }.start());
}

/// All roles in one process, without any transport.
#[test]
fn one_process_may_monitor_all_roles() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("auth.scr"), PROTOCOL).unwrap();
    let roles: String = ROLES
        .iter()
        .map(|role| {
            format!(
                "[[multiparty.role]]\nname = \"{role}\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\n"
            )
        })
        .collect();
    let guard = start(&folder, &format!("[multiparty]\nprotocol = \"auth.scr\"\n{roles}"));
    let places = guard.addresses().into_iter().map(|(_, address)| address);
    let places = ROLES.into_iter().zip(places).collect();
    let guards = [("s", guard)].into_iter().collect();
    let network = Network { guards, configs: BTreeMap::new(), places, folder, proxies: Vec::new() };
    let mut sessions = [network.session(), network.session()];
    for n in 0..50 {
        sessions.iter_mut().for_each(|session| turn(session, n));
    }
    sessions.into_iter().for_each(quit);
    network.wait_idle();
}

fn refused(text: &str) -> String {
    let folder = Folder::new();
    std::fs::write(folder.0.join("auth.scr"), PROTOCOL).unwrap();
    match Plans::read(text, &folder.0, &|_| None) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(refusal) => refusal.problems.iter().map(|problem| format!("{}\n", problem.message)).collect(),
    }
}

#[test]
fn what_is_wrong_with_a_network_is_said_before_anything_runs() {
    let role = |name: &str| {
        format!("[[multiparty.role]]\nname = \"{name}\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\n")
    };
    let with =
        |top: &str, rest: &str| refused(&format!("[multiparty]\nprotocol = \"auth.scr\"\n{top}\n{rest}"));
    let peers =
        "[multiparty.peer.c]\naddress = \"127.0.0.1:1\"\n[multiparty.peer.a]\naddress = \"127.0.0.1:2\"\n";
    for (problem, top, rest) in [
        ("no role `x`", "", role("x")),
        ("whose monitor", "role = []", String::new()),
        ("where is the monitor of `c`", "", role("s")),
        ("where do other monitors connect", "", format!("{}{peers}", role("s"))),
        ("could speak for any role", "listen = \"0.0.0.0:7000\"", format!("{}{peers}", role("s"))),
        (
            "could speak for any role",
            "listen = \"127.0.0.1:7000\"",
            format!("{}{}", role("s"), peers.replace("127.0.0.1:1", "10.0.0.1:1")),
        ),
        ("can be guessed", "listen = \"127.0.0.1:7000\"\nkey = \"short\"", format!("{}{peers}", role("s"))),
        ("here twice", "", format!("{}{}", role("s"), role("s"))),
        ("must connect", "", role("s").replace("listen", "connect")),
        ("how are dependencies written", "", role("a").replace("codec", "dependencies = \"deliver\"\ncodec")),
        (
            "speaks json and `c` websocket: ",
            "",
            format!("{}{}", role("c").replace("json", "websocket"), role("s")),
        ),
        (
            "speaks websocket of text and `c` websocket: ",
            "",
            format!("{}{}", role("c").replace("json", "websocket"), role("s").replace("\"json\"", "\"websocket\"\ncodec.carries = \"text\"\ncodec.messages.login = \"L {n}\"\ncodec.messages.quit = \"Q\"\ncodec.messages.succ = \"S {k}\"")),
        ),
        ("write `upstream-tls`", "", role("c").replace("listen", "tls = { certificate = \"c.pem\", key = \"c.key\" }\nupstream")),
        ("write `tls`", "", role("c").replace("codec", "upstream-tls = {}\ncodec")),
        ("cannot read", "", role("c").replace("codec", "tls = { certificate = \"c.pem\", key = \"c.key\" }\ncodec")),
        ("what a WebSocket is asked for", "", role("c").replace("codec", "path = \"/x\"\ncodec")),
        ("what a WebSocket is asked for", "", role("c").replace("listen", "path = \"/x\"\nupstream")),
        ("is no path", "", role("c").replace("listen", "path = \"x\"\nupstream").replace("json", "websocket")),
        ("cannot be asked for", "", role("c").replace("listen", "path = \"/a b\"\nupstream").replace("json", "websocket")),
        (
            "could not read",
            "",
            format!("{}{}", role("s"), role("c").replace("codec.kind = \"json\"", "codec.kind = \"text\"\ncodec.messages.login = \"L {n}\"\ncodec.messages.quit = \"Q\"\ncodec.messages.pwd = \"P {m}\"")),
        ),
        (
            "either `tls` or `key`",
            "listen = \"127.0.0.1:7000\"\nkey = \"0123456789abcdef\"\ntls = { certificate = \"s.pem\", key = \"s.key\", ca = \"ca.pem\" }",
            format!("{}{peers}", role("s")),
        ),
        (
            "nobody shows a certificate",
            "listen = \"127.0.0.1:7000\"",
            format!("{}{peers}certificate-name = \"box\"\n", role("s")),
        ),
        ("which broker", "transport = \"nats\"", role("s")),
        ("is no broker", "transport = \"nats\"\nbroker = \"nats://:x\"", role("s")),
        ("could speak for any role", "transport = \"nats\"\nbroker = \"nats://10.0.0.1:4222\"", role("s")),
        (
            "there is no `peer`",
            "transport = \"nats\"\nbroker = \"nats://127.0.0.1:4222\"",
            format!("{}{peers}", role("s")),
        ),
        ("only with `transport", "listen = \"127.0.0.1:7000\"\nbroker = \"nats://127.0.0.1\"", format!("{}{peers}", role("s"))),
        ("nothing is put in for `{nonsense}`", "", role("s").replace("codec", "close-message = \"{nonsense} {\"\ncodec")),
        ("nothing is put in for `{json}`", "", role("s").replace("codec", "dependency = \"{json}\"\ncodec")),
        ("no line before its messages", "", role("s").replace("json", "websocket").replace("codec", "resume = true\ncodec")),
        ("no role `z`", "", format!("{}[multiparty.peer.z]\naddress = \"127.0.0.1:1\"\n", role("s"))),
    ] {
        let said = with(top, &rest);
        assert!(said.contains(problem), "`{problem}` is not in: {said}");
    }
}

/// What is wrong with a limit is said where it is written.
#[test]
fn limits_that_make_no_sense_are_refused() {
    for (limit, problem) in [
        ("sessions = 0", "lets nothing through"),
        ("window = 0", "lets nothing through"),
        ("message = 0", "lets nothing through"),
        ("buffer = 0", "lets nothing through"),
        ("idle = \"0s\"", "lets nothing through"),
        ("handshake = \"0s\"", "lets nothing through"),
        ("partition = \"1s\"", "at least 2 s"),
    ] {
        let mut text = format!("[multiparty]\nprotocol = '''{PROTOCOL}'''\nlimits = {{ {limit} }}\n");
        for role in ROLES {
            text += &format!(
                "[[multiparty.role]]\nname = \"{role}\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\n"
            );
        }
        let Err(refusal) = Plans::read(&text, std::path::Path::new("."), &|_| None) else {
            panic!("accepted: {limit}")
        };
        let [only] = &refusal.problems[..] else { panic!("{refusal:?}") };
        assert!(only.message.contains(problem), "{limit}: {only:?}");
        let (_, value) = limit.split_once(" = ").unwrap();
        assert_eq!(&text[only.span.clone()], value, "{limit}");
    }
}

/// A dependency that was written without the end of its line is a line all the same; where one is missing, it is called
/// a dependency.
#[test]
fn dependencies_are_messages_of_their_own() {
    let deliver = r#"dependencies = "deliver"
dependency = '{"type":"told","by":"{from}","what":"{label}"}'"#;
    let role = BTreeMap::from([("a", deliver.to_owned())]);
    let network = Setup { role, ..Setup::default() }.start();
    let mut session = network.session();
    session[0].send(r#"{"type":"login","n":1}"#);
    session[1].expect(r#"{"type":"login","n":1}"#);
    session[2].expect(r#"{"type":"told","by":"s","what":"login"}"#);
    session[2].expect(r#"{"type":"told","by":"c","what":"login"}"#);
    session[1].send(r#"{"type":"pwd","m":1}"#);
    session[2].expect(r#"{"type":"pwd","m":1}"#);
    session[2].send(r#"{"type":"succ","k":1}"#);
    session[0].expect(r#"{"type":"succ","k":1}"#);
    // Next it is to be told by `s`.
    session[2].send(r#"{"type":"succ","k":2}"#);
    for component in &mut session {
        let notice = component.notice();
        assert_eq!(
            notice["expected"],
            serde_json::json!(["dependency login", "dependency quit"]),
            "{notice}"
        );
        let sentence = notice["message"].as_str().unwrap();
        let expected = "expected `dependency login` from s or `dependency quit` from s";
        assert!(sentence.ends_with(expected), "{sentence}");
    }
}

/// A network that can deadlock is not deployed, and the answer says how.
#[test]
fn monitors_that_would_deadlock_are_not_deployed() {
    let five =
        "s -> r (1 . r -> p (a . p -> t (c . t -> r (b . t -> r (d . r -> u (f . u -> t (e . end)))))),
        2 . t -> r (b . r -> p (a . p -> t (c . r -> u (f . u -> t (e . t -> r (d . end)))))))";
    let folder = Folder::new();
    std::fs::write(folder.0.join("five.gt"), five).unwrap();
    let text = "[multiparty]\nprotocol = \"five.gt\"\n[[multiparty.role]]\nname = \"s\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\n";
    let Err(refusal) = Plans::read(text, &folder.0, &|_| None) else { panic!("deployed") };
    let said: Vec<_> = refusal.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert!(said[0].contains("would not work together") && said[0].len() > 80, "{said:?}");
}
