//! What components may do, and what becomes of the others: wrong messages that are let through, connections that are
//! closed one way, components that do not read or say nothing.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::network::{Component, Network, ROLES, Setup};
use super::policies;
use crate::support::PATIENCE;

/// An assertion over what another role sent.
const BARGAIN: &str = "protocol Bargain(role s, role c, role a) {
    price(p: int) from s to c where p > 0;
    limit(l: int) from a to c;
    pay(q: int) from c to a where q <= l;
    top(t: int) from s to a;
}";

fn verdicts(network: &Network, role: &str) -> Vec<String> {
    let start = "referee_multiparty_verdicts_total{";
    let metrics = network.guards[role].metrics();
    let blamed = |line: &str| line.split_once("blame=").map(|(_, blamed)| blamed.to_owned());
    metrics.lines().filter(|line| line.starts_with(start)).filter_map(blamed).collect()
}

/// Observed, a message whose label fits is the step that it should have been, whatever it carries: everyone reacts to it
/// as to a right one, everything goes on, and nobody is blamed for anything but its sender, once. What an unknown value
/// is compared with is nobody's fault.
#[test]
fn observed_a_wrong_value_keeps_nothing_back() {
    for (price, limit, kind) in
        [("0", "20", "assertion"), (r#""cheap""#, "20", "type"), ("5", r#""low""#, "type")]
    {
        let network =
            Setup { role: policies("observe"), protocol: Some(BARGAIN), ..Setup::default() }.start();
        let [mut s, mut c, mut a] = network.session();
        let (price, limit) =
            (format!(r#"{{"type":"price","p":{price}}}"#), format!(r#"{{"type":"limit","l":{limit}}}"#));
        s.send(&price);
        c.expect(&price);
        a.send(&limit);
        c.expect(&limit);
        c.send(r#"{"type":"pay","q":7}"#);
        a.expect(r#"{"type":"pay","q":7}"#);
        s.send(r#"{"type":"top","t":1}"#);
        a.expect(r#"{"type":"top","t":1}"#);
        [s, c, a].into_iter().for_each(Component::end);
        network.wait_idle();
        let blamed = if limit.contains("low") { "a" } else { "s" };
        for role in ROLES {
            assert_eq!(verdicts(&network, role), [format!("\"{blamed}\",kind=\"{kind}\"}} 1")], "{role}");
        }
    }
}

/// Observed, who was to receive something before is given what comes from others all the same once a message was let through
/// that is no step; and when it comes after all, everything is judged from where it was.
#[test]
fn observed_nothing_waits_for_what_may_never_come() {
    let network = Setup { role: policies("observe"), protocol: Some(BARGAIN), ..Setup::default() }.start();
    let [mut s, mut c, mut a] = network.session();
    s.send(r#"{"type":"top","t":1}"#);
    a.expect(r#"{"type":"top","t":1}"#);
    a.send(r#"{"type":"limit","l":20}"#);
    c.expect(r#"{"type":"limit","l":20}"#);
    s.send(r#"{"type":"price","p":5}"#);
    c.expect(r#"{"type":"price","p":5}"#);
    c.send(r#"{"type":"pay","q":7}"#);
    a.expect(r#"{"type":"pay","q":7}"#);
    s.send(r#"{"type":"top","t":2}"#);
    a.expect(r#"{"type":"top","t":2}"#);
    [s, c, a].into_iter().for_each(Component::end);
    network.wait_idle();
    for role in ROLES {
        assert_eq!(verdicts(&network, role), ["\"s\",kind=\"order\"} 1"], "{role}");
    }
}

/// Who gives up after somebody else's violation was let through may do so because of it.
#[test]
fn who_gives_up_after_a_violation_elsewhere_is_marked_so() {
    let network = Setup { role: policies("observe"), protocol: Some(BARGAIN), ..Setup::default() }.start();
    let [mut s, c, mut a] = network.session();
    s.send(r#"{"type":"top","t":1}"#);
    network.wait("the violation known to c", |network| !verdicts(network, "c").is_empty());
    drop(c);
    for (component, before) in [(&mut s, 0), (&mut a, 1)] {
        (0..before).for_each(|_| component.expect(r#"{"type":"top","t":1}"#));
        let notice = component.notice();
        let said = (&notice["kind"], &notice["blame"], &notice["consequence"]);
        assert_eq!(said, (&"premature-end".into(), &"c".into(), &true.into()), "{notice}");
    }
}

/// What waits for a component that does not read is bounded in bytes, too, and when its session ends by the fault of another
/// its connection is closed although it never reads.
#[test]
fn who_does_not_read_costs_little_and_is_let_go() {
    let protocol = "protocol Flood(role s, role c, role a) { rec X { choice at s { m(t: string) from s to c; continue X; } or { quit() from s to c; n() from c to a; } } }";
    let top = "limits.buffer = \"64KiB\"".to_owned();
    let network = Setup { top, protocol: Some(protocol), ..Setup::default() }.start();
    let mut s = TcpStream::connect(&network.places["s"]).unwrap();
    let mut c = TcpStream::connect(&network.places["c"]).unwrap();
    let mut a = network.connect("a");
    s.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let line = format!("{{\"type\":\"m\",\"t\":\"{}\"}}\n", "x".repeat(100_000));
    let mut written = 0;
    while s.write_all(line.as_bytes()).is_ok() {
        written += line.len();
        assert!(written < 64 << 20, "nobody stops a sender whose receiver does not read");
    }
    let sessions = network.guards["c"].sessions(10);
    let undelivered = sessions[0]["roles"]["c"]["undelivered"].as_u64();
    assert!(undelivered.is_some_and(|count| count <= 2), "{sessions}");
    a.send(r#"{"type":"nonsense"}"#);
    assert_eq!(a.notice()["blame"], "a");
    let began = Instant::now();
    while c.write_all(b"x").is_ok() {
        assert!(began.elapsed() < PATIENCE, "its connection stays for ever");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// One message each way round; whoever has said its last has still something to hear.
const ROUND: &str = "protocol Round(role s, role c, role a) {
    m(n: int) from s to c;
    k(n: int) from c to a;
    f(n: int) from a to s;
}";

/// Who closes its own direction after its last message is given what is for it; who does so before has ended too early.
#[test]
fn half_closed_connections_stay_half_closed() {
    let network = Setup { protocol: Some(ROUND), ..Setup::default() }.start();
    let [mut s, mut c, mut a] = network.session();
    s.send(r#"{"type":"m","n":1}"#);
    s.hush();
    c.expect(r#"{"type":"m","n":1}"#);
    c.send(r#"{"type":"k","n":2}"#);
    c.hush();
    a.expect(r#"{"type":"k","n":2}"#);
    a.send(r#"{"type":"f","n":3}"#);
    s.expect(r#"{"type":"f","n":3}"#);
    assert_eq!(s.line(), None);
    [c, a].into_iter().for_each(Component::end);
    network.wait_idle();
    for role in ROLES {
        assert_eq!(verdicts(&network, role), Vec::<String>::new(), "{role}");
    }
    let [mut s, mut c, mut a] = network.session();
    s.send(r#"{"type":"m","n":1}"#);
    c.expect(r#"{"type":"m","n":1}"#);
    a.hush();
    for component in [&mut s, &mut c, &mut a] {
        let notice = component.notice();
        assert_eq!((&notice["kind"], &notice["blame"]), (&"premature-end".into(), &"a".into()), "{notice}");
    }
}

/// Where the role that begins sessions is to receive something first, a session begins when its component connects.
#[test]
fn a_session_begins_with_a_component_that_is_to_receive() {
    let top = "initiator = \"c\"".to_owned();
    let network = Setup { top, ..Setup::default() }.start();
    for n in 0..3 {
        let mut session = network.session();
        super::turn(&mut session, n);
        super::quit(session);
    }
    network.wait_idle();
    assert_eq!(network.metric("c", "referee_multiparty_sessions_begun_total"), 3.0);
}

/// Who is turned away hears why.
#[test]
fn who_is_turned_away_is_told_so() {
    let top = "limits.handshake = \"50ms\"\nlimits.idle = \"60ms\"".to_owned();
    let network = Setup { top, ..Setup::default() }.start();
    for (role, why) in [("s", "nothing was said for 50ms"), ("c", "no session began for 60ms")] {
        let notice = network.connect(role).notice();
        assert_eq!(
            (&notice["kind"], &notice["blame"]),
            (&"fault".into(), &serde_json::json!(null)),
            "{notice}"
        );
        assert!(notice["message"].as_str().unwrap().contains(why), "{notice}");
        assert_eq!(network.metric(role, "referee_multiparty_sessions_closed_total"), 1.0);
    }
}

/// What comes to a role whose part is over is late, not astray.
#[test]
fn correct_sessions_have_no_stray_letters() {
    let network = Setup::default().start();
    for n in 0..20 {
        let mut session = network.session();
        super::turn(&mut session, n);
        super::quit(session);
    }
    network.wait_idle();
    for role in ROLES {
        assert_eq!(network.metric(role, "referee_multiparty_letters_stray"), 0.0, "{role}");
    }
}
