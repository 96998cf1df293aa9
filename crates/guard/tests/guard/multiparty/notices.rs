//! What components and operators are told: only what concerns them, in their own codec, and of silence who is awaited for what.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use referee_guard::Guard;

use super::network::{Network, ROLES, Setup, start, turn};
use crate::support::{Folder, PATIENCE};

/// A card number that s shows to c, and a is none of the two.
const PAYMENT: &str = "protocol Payment(role s, role c, role a) {
    pay(card: string, amount: int) from s to c where amount <= 100;
    ship(n: int) from c to a where n > 0;
    done() from a to s;
}";

/// Whoever is neither sender nor receiver learns label and rule, and nothing that was sent.
#[test]
fn third_parties_are_told_no_values() {
    let journal = "[journal]\nfolder = \"FOLDER/journal-ROLE\"\n";
    for (wrong, kind, hidden) in [
        (r#"{"type":"pay","card":"4000-1234","amount":777}"#, "assertion", "777"),
        (r#"{"type":"pay","card":"4000-1234","amount":"4000-1234"}"#, "type", "4000-1234"),
        (r#"{"type":"4000-1234"}"#, "label", "4000-1234"),
    ] {
        let network = Setup { protocol: Some(PAYMENT), ..Setup::default() }.start();
        let mut guards = Vec::new();
        drop(network.guards);
        for role in ROLES {
            let folder = network.folder.0.display().to_string();
            let journal = journal.replace("FOLDER", &folder).replace("ROLE", role);
            guards.push(start(&network.folder, &format!("{}{journal}", network.configs[role])));
        }
        let mut session = ROLES
            .map(|role| super::network::Component::new(TcpStream::connect(&network.places[role]).unwrap()));
        session[0].send(wrong);
        let told = session.each_mut().map(|component| component.notice().to_string());
        assert!(told[2].contains(kind) && !told[2].contains(hidden), "{}", told[2]);
        if kind != "label" {
            assert!(told[2].contains("pay") && told[1].contains(hidden), "{told:?}");
        }
        guards.into_iter().for_each(|guard| guard.halt());
        let written = journal_text(&network.folder, "a");
        assert!(written.contains(kind) && !written.contains(hidden), "{written}");
    }
}

/// A redacted field is shown to nobody, not even to its receiver; and a rule that hides nothing is refused.
#[test]
fn redacted_fields_are_told_nobody() {
    let redact = |role: &'static str| (role, "redact = [\"pay.amount\"]".to_owned());
    let role = [redact("s"), redact("c")].into_iter().collect();
    let network = Setup { protocol: Some(PAYMENT), role, ..Setup::default() }.start();
    let mut session = network.session();
    session[0].send(r#"{"type":"pay","card":"4000-1234","amount":777}"#);
    for component in &mut session {
        let told = component.notice().to_string();
        assert!(told.contains("assertion") && told.contains("pay") && !told.contains("777"), "{told}");
    }
    let text = network.configs["s"].replace("pay.amount", "pay.amuont");
    let Err(refusal) = referee_guard::Plans::read(&text, &network.folder.0, &|_| None) else {
        panic!("accepted")
    };
    assert!(refusal.problems[0].message.contains("pay.amuont"), "{:?}", refusal.problems);
}

fn journal_text(folder: &Folder, role: &str) -> String {
    let files = std::fs::read_dir(folder.0.join(format!("journal-{role}"))).unwrap();
    let bytes = files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect::<Vec<u8>>();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn documents(mut stream: &TcpStream, framing: &str) -> Vec<String> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let mut rest = &bytes[..];
    let mut all = Vec::new();
    while !rest.is_empty() {
        let length = if framing == "headers" {
            let end = rest.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
            let head = String::from_utf8_lossy(&rest[..end]).to_lowercase();
            rest = &rest[end..];
            head.trim().strip_prefix("content-length: ").unwrap().parse().unwrap()
        } else {
            let (length, after) = rest.split_at(4);
            rest = after;
            u32::from_be_bytes(length.try_into().unwrap()) as usize
        };
        let (document, after) = rest.split_at(length);
        all.push(String::from_utf8(document.to_vec()).unwrap());
        rest = after;
    }
    all
}

fn framed(framing: &str, document: &str) -> Vec<u8> {
    match framing {
        "headers" => format!("Content-Length: {}\r\n\r\n{document}", document.len()).into_bytes(),
        _ => [&u32::try_from(document.len()).unwrap().to_be_bytes(), document.as_bytes()].concat(),
    }
}

fn framed_network(framing: &str) -> Network {
    let mut network = Setup::default().start();
    network.guards.clear();
    for role in ROLES {
        let text = network.configs[role].clone() + &format!("framing = \"{framing}\"\n");
        network.guards.insert(role, start(&network.folder, &text));
    }
    network
}

/// Notices are documents in the framing of the component; a clean close between two documents is not within one.
#[test]
fn notices_have_the_framing_of_their_component() {
    for framing in ["length-32", "headers"] {
        let network = framed_network(framing);
        let session = ROLES.map(|role| TcpStream::connect(&network.places[role]).unwrap());
        (&session[0]).write_all(&framed(framing, r#"{"type":"login","n":1}"#)).unwrap();
        (&session[0]).write_all(&framed(framing, r#"{"type":"nonsense"}"#)).unwrap();
        for (component, count) in session.iter().zip([1, 2, 1]) {
            let documents = documents(component, framing);
            let notice: serde_json::Value = serde_json::from_str(documents.last().unwrap()).unwrap();
            assert_eq!((&notice["blame"], documents.len()), (&"s".into(), count), "{documents:?}");
        }
    }
}

#[test]
fn a_close_between_two_framed_messages_is_an_end() {
    for framing in ["length-32", "headers"] {
        let network = framed_network(framing);
        let session = ROLES.map(|role| TcpStream::connect(&network.places[role]).unwrap());
        (&session[0]).write_all(&framed(framing, r#"{"type":"quit"}"#)).unwrap();
        session[0].shutdown(std::net::Shutdown::Write).unwrap();
        for (component, count) in session.iter().zip([0, 1, 0]) {
            let documents = documents(component, framing);
            assert_eq!(documents.len(), count, "{documents:?}");
            component.shutdown(std::net::Shutdown::Write).ok();
        }
        network.wait_idle();
        assert_eq!(network.metric("s", "referee_multiparty_verdicts_total"), 0.0);
        let session = ROLES.map(|role| TcpStream::connect(&network.places[role]).unwrap());
        let login = framed(framing, r#"{"type":"login","n":1}"#);
        (&session[0]).write_all(&login).unwrap();
        // Before that, it would only have left before the session began.
        (&session[1]).read_exact(&mut vec![0; login.len()]).unwrap();
        session[1].shutdown(std::net::Shutdown::Write).unwrap();
        let said = documents(&session[0], framing);
        assert!(said[0].contains("premature-end") && !said[0].contains("within a message"), "{said:?}");
    }
}

/// A notice that was written without the end of its line is a line all the same.
#[test]
fn notices_to_components_that_read_lines_are_lines() {
    let network = Setup::default().start();
    let mut session = network.session();
    turn(&mut session, 1);
    session[0].send(r#"{"type":"nonsense"}"#);
    for component in &mut session {
        let said = component.rest();
        assert!(said.ends_with("}\n"), "{said:?}");
    }
}

/// While others talk nobody is idle; and when nobody does, it is said who was awaited for what.
#[test]
fn a_role_that_waits_while_others_talk_is_not_idle() {
    let protocol = "protocol Talk(role s, role c, role a) {
        rec X { choice at s { ask(n: int) from s to c; ok() from c to s; continue X; } or { quit() from s to c; bye() from c to a; } }
    }";
    let top = "limits.idle = \"1s\"".to_owned();
    let network = Setup { top, protocol: Some(protocol), ..Setup::default() }.start();
    let mut session = network.session();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(4) {
        session[0].send(r#"{"type":"ask","n":1}"#);
        session[1].expect(r#"{"type":"ask","n":1}"#);
        session[1].send(r#"{"type":"ok"}"#);
        session[0].expect(r#"{"type":"ok"}"#);
        std::thread::sleep(Duration::from_millis(100));
    }
    session[0].send(r#"{"type":"ask","n":2}"#);
    session[1].expect(r#"{"type":"ask","n":2}"#);
    let began = Instant::now();
    for component in &mut session {
        let notice = component.notice();
        let said = notice["message"].as_str().unwrap();
        assert!(notice["kind"] == "fault" && notice["blame"].is_null(), "{notice}");
        assert!(said.contains("component of `c`") && said.contains("`ok()`"), "{notice}");
    }
    assert!(began.elapsed() > Duration::from_millis(900), "{:?}", began.elapsed());
}

/// What one sends the other must be able to read, here and at other monitors.
#[test]
fn codecs_that_differ_in_framing_or_label_are_refused() {
    for other in ["codec.framing = \"length-32\"", "codec.label = \"/kind\""] {
        let folder = Folder::new();
        let role = |name: &str, more: &str| {
            format!(
                "[[multiparty.role]]\nname = \"{name}\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\n{more}\n"
            )
        };
        let text = format!(
            "[multiparty]\nprotocol = '''{}'''\n{}{}{}",
            super::network::PROTOCOL,
            role("s", ""),
            role("c", other),
            role("a", "")
        );
        let Err(refusal) = referee_guard::Plans::read(&text, &folder.0, &|_| None) else {
            panic!("accepted: {other}")
        };
        let value = other.split('"').nth(1).unwrap();
        let said = &refusal.problems[0].message;
        assert!(said.contains("could not read") && said.contains(value), "{said}");
        let role = [("c", String::new())].into_iter().collect();
        let mut network = Setup { role, ..Setup::default() }.start();
        network.guards.clear();
        for role in ROLES {
            let more = if role == "c" { other.trim_start_matches("codec.") } else { "" };
            let text = format!("{}{more}\n", network.configs[role]);
            network.guards.insert(role, start(&network.folder, &text));
        }
        network.wait("a refusal", |network| {
            let mut s = network.connect("s");
            s.send(r#"{"type":"login","n":1}"#);
            s.line().is_some_and(|said| said.contains("fault") && said.contains(value))
        });
    }
}

/// A wrong key or certificate is told at once, not when `limits.handshake` is over.
#[test]
fn a_wrong_key_or_certificate_is_told_at_once() {
    let key = |role, key: &str| (role, format!("key = \"{key}\""));
    let (right, wrong) = ("a secret of sixteen", "another secret of sixteen");
    let keys = [key("s", right), key("c", right), key("a", wrong)].into_iter().collect();
    let folder = Folder::new();
    super::certificates(&folder.0, &ROLES);
    let certificates = super::tls(["s", "a", "a"]);
    for (only, folder) in [(keys, Folder::new()), (certificates, folder)] {
        let top = "limits.handshake = \"15s\"".to_owned();
        let network = Setup { only, top, ..Setup::default() }.start_in(folder);
        let began = Instant::now();
        network.wait("a refusal", |network| {
            let mut s = network.connect("s");
            s.send(r#"{"type":"login","n":1}"#);
            s.line_within(Duration::from_secs(5)).is_some_and(|said| said.contains("cannot be reached"))
        });
        assert!(began.elapsed() < Duration::from_secs(7), "{:?}", began.elapsed());
    }
}

/// One byte on a port makes no other service do anything.
#[test]
fn a_session_begins_with_the_first_whole_message() {
    let network = Setup::default().start();
    let mut s = network.connect("s");
    s.raw(br#"{"type":"lo"#);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(network.metric("s", "referee_multiparty_sessions_begun_total"), 0.0);
    let (mut c, _a) = (network.connect("c"), network.connect("a"));
    s.raw(b"gin\",\"n\":1}\n");
    c.expect(r#"{"type":"login","n":1}"#);
    assert_eq!(network.metric("s", "referee_multiparty_sessions_begun_total"), 1.0);
}

/// However slow the sink is, no verdict is lost: whoever causes more of them waits.
#[test]
fn no_verdict_is_lost_on_a_slow_disk() {
    const WRONG: usize = 3000;
    let folder = Folder::new();
    let roles: String = ROLES
        .iter()
        .map(|role| {
            format!(
                "[[multiparty.role]]\nname = \"{role}\"\nlisten = \"127.0.0.1:0\"\npolicy = \"drop\"\n\
                 codec.kind = \"json\"\n"
            )
        })
        .collect();
    let text = format!("[multiparty]\nprotocol = '''{}'''\n{roles}", super::network::PROTOCOL);
    let plans = referee_guard::Plans::read(&text, &folder.0, &|_| None).unwrap();
    let written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&written);
    let observer: referee_guard::Observer = Box::new(move |report| {
        std::thread::sleep(Duration::from_micros(300));
        let is_verdict = matches!(report, referee_guard::report::Report::Verdict(_));
        counted.fetch_add(usize::from(is_verdict), Ordering::Relaxed);
    });
    let guard = Guard::start_observed(&plans, Vec::new(), Some(observer)).unwrap();
    let places: Vec<String> = guard.addresses().into_iter().map(|(_, address)| address).collect();
    let session: Vec<TcpStream> = places.iter().map(|place| TcpStream::connect(place).unwrap()).collect();
    let mut lines = String::from("{\"type\":\"login\",\"n\":1}\n");
    lines += &"{\"type\":\"nonsense\"}\n".repeat(WRONG);
    (&session[0]).write_all(lines.as_bytes()).unwrap();
    let began = Instant::now();
    while written.load(Ordering::Relaxed) < WRONG * ROLES.len() {
        let count = written.load(Ordering::Relaxed);
        assert!(began.elapsed() < PATIENCE * 3, "{count} of {} verdicts", WRONG * ROLES.len());
        std::thread::sleep(Duration::from_millis(20));
    }
    guard.halt();
}

/// Components are admitted as clients of a listener are: by network, behind a proxy by the address that it says, and so many from
/// one address.
#[test]
fn components_are_admitted_by_their_address() {
    let quiet = |s: &mut super::network::Component| s.line_within(Duration::from_millis(300)).is_none();
    let role = [("s", "allow = [\"10.0.0.0/8\"]\nproxy-in = \"required\"".to_owned())].into_iter().collect();
    let network = Setup { role, ..Setup::default() }.start();
    for (address, admitted) in [("192.168.0.1", false), ("10.1.2.3", true)] {
        let (mut s, mut c, _a) = (network.connect("s"), network.connect("c"), network.connect("a"));
        s.raw(format!("PROXY TCP4 {address} 127.0.0.1 1000 2000\r\n").as_bytes());
        s.send(r#"{"type":"login","n":1}"#);
        assert_eq!(!quiet(&mut c), admitted, "{address}");
    }
    let top = "limits.connections-per-source = 2".to_owned();
    let network = Setup { top, ..Setup::default() }.start();
    let (_one, other) = (network.connect("s"), network.connect("s"));
    let refused = "referee_multiparty_sessions_closed_total";
    let mut third = network.connect("s");
    assert!(third.line().is_none());
    // Its connection is closed before that is counted.
    network.wait("the refusal", |network| network.metric("s", refused) == 1.0);
    drop(other);
    network.wait("room for another", |network| {
        let mut session = network.session();
        session[0].send(r#"{"type":"login","n":1}"#);
        !quiet(&mut session[1])
    });
}
