//! Links between monitors: letters of any length, limits that differ, one direction that is blocked, monitors that never
//! come, certificates that nobody accepts.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use referee_guard::Plans;

use super::network::{Component, Network, PROTOCOL, ROLES, Setup, quit, start, turn};
use crate::support::{Folder, PATIENCE};

/// Not even a letter that is far longer than what it tells of holds up others.
#[test]
fn a_long_value_of_another_type_is_a_violation_like_any_other() {
    let network = Setup::default().start();
    for filler in ["\x7f", "x", "ä"] {
        let mut session = network.session();
        turn(&mut session, 1);
        session[0].send(&format!(r#"{{"type":"login","n":"{}"}}"#, filler.repeat(500_000)));
        for component in &mut session {
            let notice = component.notice();
            assert_eq!((&notice["kind"], &notice["blame"]), (&"type".into(), &"s".into()));
            assert!(notice.to_string().len() < 4000, "{notice}");
        }
        let mut next = network.session();
        turn(&mut next, 2);
        quit(next);
    }
    network.wait_idle();
}

#[test]
fn long_messages_get_through_connections_that_break() {
    let network = Setup { chaos: true, ..Setup::default() }.start();
    let mut session = network.session();
    for n in 0..10 {
        turn(&mut session, n);
        let long = format!(r#"{{"type":"login",{}"n":{n}}}"#, " ".repeat(600_000));
        session[0].send(&long);
        for _ in 0..n {
            std::thread::sleep(Duration::from_millis(3));
            network.proxies.iter().for_each(super::network::Proxy::cut);
        }
        session[1].expect(&long);
        session[1].send(&format!(r#"{{"type":"pwd","m":{n}}}"#));
        session[2].expect(&format!(r#"{{"type":"pwd","m":{n}}}"#));
        session[2].send(&format!(r#"{{"type":"succ","k":{n}}}"#));
        session[0].expect(&format!(r#"{{"type":"succ","k":{n}}}"#));
    }
    quit(session);
}

#[test]
fn monitors_with_other_limits_are_refused_and_it_is_said_why() {
    for limit in ["window = 8", "buffer = \"1KiB\"", "message = \"2MiB\""] {
        let only = [("c", format!("limits.{limit}"))].into_iter().collect();
        let network = Setup { only, ..Setup::default() }.start();
        let name = format!("`limits.{}`", limit.split(' ').next().unwrap());
        network.wait(&name, |network| {
            let mut s = network.connect("s");
            s.send(r#"{"type":"login","n":1}"#);
            let said = s.line().unwrap_or_default();
            said.contains("\"fault\"") && said.contains(&name)
        });
    }
}

/// Each side notices for itself what it does not hear.
#[test]
fn everyone_is_told_when_letters_get_through_in_one_direction_only() {
    let top = "limits.partition = \"2s\"".to_owned();
    let network = Setup { chaos: true, top, ..Setup::default() }.start();
    for one_way in 0..network.proxies.len() {
        let mut session = network.session();
        turn(&mut session, 1);
        network.proxies[one_way].hold(true);
        let began = Instant::now();
        for (role, component) in ROLES.into_iter().zip(&mut session) {
            let notice = component.notice();
            assert_eq!(notice["kind"], "fault", "{one_way} {role}: {notice}");
        }
        assert!(began.elapsed() > Duration::from_secs(1) && began.elapsed() < PATIENCE);
        network.proxies[one_way].hold(false);
        network.wait_for_a_session();
    }
}

/// … and when it comes in the end, it is not asked for sessions that never began.
#[test]
fn a_monitor_that_never_comes_is_told_of() {
    let top = "limits.handshake = \"1s\"".to_owned();
    let mut network = Setup { top, ..Setup::default() }.start();
    for guard in std::mem::take(&mut network.guards).into_values() {
        guard.halt();
    }
    for role in ["s", "c"] {
        network.guards.insert(role, start(&network.folder, &network.configs[role]));
    }
    for _ in 0..3 {
        let mut s = network.connect("s");
        s.send(r#"{"type":"login","n":1}"#);
        let notice = s.notice();
        assert!(notice["kind"] == "fault" && notice["message"].as_str().unwrap().contains('a'), "{notice}");
    }
    network.wait("an answer at once", |network| {
        let mut s = network.connect("s");
        s.send(r#"{"type":"login","n":1}"#);
        s.notice()["message"].as_str().unwrap().contains("monitor of `a` cannot be reached")
    });
    assert_eq!(
        network.metric("s", "referee_multiparty_link_connected{protocol=\"Auth\",role=\"s\",peer=\"a\"}"),
        0.0
    );
    assert_eq!(
        network.metric("s", "referee_multiparty_link_connected{protocol=\"Auth\",role=\"s\",peer=\"c\"}"),
        1.0
    );
    network.guards.insert("a", start(&network.folder, &network.configs["a"]));
    network.wait_for_a_session();
    assert!(network.metric("a", "referee_multiparty_sessions_begun_total") < 100.0);
}

/// The configuration of one more monitor of `role`, which listens elsewhere.
fn another(network: &Network, role: &str) -> String {
    let lines = network.configs[role].lines();
    let elsewhere = |line: &str| match line.starts_with("listen = ") {
        true => "listen = \"127.0.0.1:0\"".to_owned(),
        false => line.to_owned(),
    };
    lines.map(|line| elsewhere(line) + "\n").collect()
}

/// While the first is there, whatever the second does changes nothing for anybody but its own component, which is told why.
#[test]
fn a_second_monitor_of_a_role_is_refused() {
    let network = Setup::default().start();
    let mut session = network.session();
    turn(&mut session, 1);
    for role in ROLES {
        let second = start(&network.folder, &another(&network, role));
        let (_, place) = second.addresses().into_iter().find(|(name, _)| name.ends_with(role)).unwrap();
        if role == "s" {
            network.wait("a refusal", |_| {
                let mut component = Component::new(TcpStream::connect(&place).unwrap());
                component.send(r#"{"type":"login","n":1}"#);
                component.line().is_some_and(|said| said.contains("another monitor of `s`"))
            });
        } else {
            std::thread::sleep(Duration::from_millis(300));
        }
        turn(&mut session, 2);
        let mut other = network.session();
        turn(&mut other, 3);
        quit(other);
        second.halt();
    }
    turn(&mut session, 4);
    quit(session);
    network.wait_idle();
}

/// A second monitor that came while the first was out of reach, and went: the two that remember other things agree again.
#[test]
fn monitors_that_disagree_about_what_was_sent_heal() {
    let top = "limits.partition = \"2s\"".to_owned();
    let network = Setup { chaos: true, top, ..Setup::default() }.start();
    let mut session = network.session();
    turn(&mut session, 1);
    // s → c and c → s.
    let between = [&network.proxies[0], &network.proxies[2]];
    between.iter().for_each(|proxy| proxy.hold(true));
    for component in &mut session {
        assert_eq!(component.notice()["kind"], "fault");
    }
    let listen = network.configs["s"].lines().find(|line| line.starts_with("listen")).unwrap();
    let address = listen.replace("listen", "address");
    let proxied = format!("address = \"127.0.0.1:{}\"", between[1].port);
    let second = start(&network.folder, &another(&network, "c").replace(&proxied, &address));
    network.wait("a connection of the second", |_| {
        let connected = "referee_multiparty_link_connected{protocol=\"Auth\",role=\"c\",peer=\"s\"}";
        crate::support::metric(&second.metrics(), connected) == Some(1.0)
    });
    second.halt();
    between.iter().for_each(|proxy| proxy.hold(false));
    network.wait_for_a_session();
    let mut session = network.session();
    turn(&mut session, 2);
    quit(session);
}

/// All monitors trust the same authorities, so one whose own certificate is none of theirs would be refused by everyone.
#[test]
fn a_certificate_that_no_other_monitor_would_accept_is_refused() {
    let [mine, other] = [Folder::new(), Folder::new()];
    [&mine, &other].into_iter().for_each(|folder| super::certificates(&folder.0, &["s"]));
    std::fs::write(mine.0.join("auth.scr"), PROTOCOL).unwrap();
    let text = "[multiparty]\nprotocol = \"auth.scr\"\nlisten = \"127.0.0.1:0\"\n\
                tls = { certificate = \"s.pem\", key = \"s.key\", ca = \"ca.pem\" }\n\
                peer.c.address = \"127.0.0.1:1\"\npeer.a.address = \"127.0.0.1:2\"\n\
                [[multiparty.role]]\nname = \"s\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\n";
    assert!(Plans::read(text, &mine.0, &|_| None).is_ok());
    std::fs::copy(other.0.join("ca.pem"), mine.0.join("ca.pem")).unwrap();
    let refusal = Plans::read(text, &mine.0, &|_| None).err().unwrap();
    assert!(refusal.problems[0].message.contains("does not accept"), "{:?}", refusal.problems);
}
