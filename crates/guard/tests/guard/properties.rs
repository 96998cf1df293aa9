//! Properties of a listener: observed beside the protocol, and what the policy makes of a violation.

use referee_guard::{Guard, Plans};

use super::support::*;

/// No key is set twice; written for the connection, and for each key.
const ONCE: &str = "property once { \
    max X.([client -> server : Set(k, _)]max Y.([client -> server : Set(k, _)]ff and [_]Y) and [_]X) }";
const ONCE_FOR_EACH: &str = "property once for each \"/payload/key\" { \
    [client -> server : Set]max Y.([client -> server : Set]ff and [_]Y) }";

fn guard_by(upstream: &str, properties: &str, extra: &str) -> Setup {
    let folder = Folder::new();
    std::fs::write(folder.0.join("talk.hml"), properties).unwrap();
    let text = config(upstream, &format!("properties = \"talk.hml\"\n{extra}"), "");
    let guard = Guard::start(&plans(&folder, &text), Vec::new()).unwrap();
    let address = guard.addresses()[0].1.clone();
    Setup { guard, address, folder }
}

const VERDICT: &str = "referee_verdicts_total{listener=\"talk\",role=\"\",kind=\"property\",label=\"Set\"}";

/// Sets `a`, `b` and `a` again; the client, before it hears an answer to that.
fn set_twice(setup: &Setup) -> Peer {
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    for line in ["SET a 1\r\n", "SET b 1\r\n"] {
        client.say(line);
        client.hear("OK\r\n");
    }
    client.say("SET a 2\r\n");
    client
}

#[test]
fn that_properties_are_observed_is_said() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("talk.hml"), ONCE).unwrap();
    let words = |extra: &str| plans(&folder, &config("127.0.0.1:1", extra, "")).in_words().remove(0);
    assert!(words("properties = \"talk.hml\"").contains("protocol Talk checked, and 1 property;"));
    assert!(words("").contains("protocol Talk checked;"));
}

#[test]
fn the_violating_message_is_not_forwarded() {
    for properties in [ONCE, ONCE_FOR_EACH] {
        let (upstream, server) = server(|mut peer| {
            peer.say("HELLO you\r\n");
            for line in ["SET a 1\r\n", "SET b 1\r\n"] {
                peer.hear(line);
                peer.say("OK\r\n");
            }
            peer.rest()
        });
        let setup = guard_by(&upstream, properties, "close-message = { client = \"NO again\\r\\n\" }");
        let mut client = set_twice(&setup);
        assert_eq!(client.rest(), "NO again\r\n");
        assert_eq!(server.join().unwrap(), "");
        drop(client);
        setup.wait_idle();
        assert_eq!(setup.metric(VERDICT), Some(1.0));
        let closed = "referee_sessions_closed_total{listener=\"talk\",why=\"violation\"}";
        assert_eq!(setup.metric(closed), Some(1.0));
    }
}

#[test]
fn what_a_property_drops_has_not_happened() {
    let setup = guard_by(&polite_server(), ONCE, "policy = \"drop\"");
    let mut client = set_twice(&setup);
    // The server has not heard of it, so that it is still the client's turn.
    client.say("GET a\r\n");
    client.hear("VALUE 7\r\n");
    client.say("QUIT\r\n");
    client.hear("BYE\r\n");
    drop(client);
    setup.wait_idle();
    assert_eq!(setup.metric(VERDICT), Some(1.0));
    let page = setup.guard.metrics();
    assert_eq!(page.lines().filter(|line| line.starts_with("referee_verdicts_total")).count(), 1, "{page}");
}

#[test]
fn an_observer_forwards_and_reports() {
    let setup = guard_by(&polite_server(), ONCE_FOR_EACH, "policy = \"observe\"");
    let mut client = set_twice(&setup);
    client.hear("OK\r\n");
    client.say("QUIT\r\n");
    client.hear("BYE\r\n");
    drop(client);
    setup.wait_idle();
    setup.wait("the verdict", |setup| setup.metric(VERDICT) == Some(1.0));
    // Another connection has instances of its own.
    complete_session(&setup);
    setup.wait_idle();
    assert_eq!(setup.metric(VERDICT), Some(1.0));
}

#[test]
fn keys_are_bounded() {
    let extra = "policy = \"observe\"\n[listener.limits]\ninstances = 3";
    let setup = guard_by(&polite_server(), ONCE_FOR_EACH, extra);
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    for key in 0..20 {
        client.say(&format!("SET k{key} 1\r\n"));
        client.hear("OK\r\n");
    }
    drop(client);
    setup.wait_idle();
    let limited = "referee_verdicts_total{listener=\"talk\",role=\"\",kind=\"resource-limit\",label=\"Set\"}";
    assert_eq!(setup.metric(limited), Some(1.0));
}

#[test]
fn what_cannot_be_observed_is_refused() {
    let refused = |properties: &str| {
        let folder = Folder::new();
        std::fs::write(folder.0.join("talk.hml"), properties).unwrap();
        let text = config("127.0.0.1:1", "properties = [\"talk.hml\"]", "");
        match Plans::read(&text, &folder.0, &|_| None) {
            Ok(_) => panic!("accepted: {properties}"),
            Err(refusal) => refusal.summary(),
        }
    };
    assert!(refused("property p { ff }").contains("before any message"));
    assert!(refused("with m:f(_) check [{_ ? X}]ff.").contains("processes"));
    assert!(refused("property p { [a -> b : L]<a -> b : M>tt }").contains("never give a verdict"));
    assert!(refused("property p { [a -> }").contains("has errors"));
    let folder = Folder::new();
    let text = config("127.0.0.1:1", "properties = \"missing.hml\"", "");
    let Err(refusal) = Plans::read(&text, &folder.0, &|_| None) else { panic!("accepted") };
    assert!(refusal.summary().contains("missing.hml"), "{refusal:?}");
}
