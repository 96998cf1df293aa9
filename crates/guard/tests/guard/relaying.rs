//! What is right passes unchanged; what is wrong does not, and its sender is named.

use referee_guard::Guard;

use super::support::*;

#[test]
fn a_right_session_passes_byte_for_byte() {
    let (upstream, server) = server(|mut peer| {
        peer.say("HELLO you\r\n");
        peer.hear("SET a 1\r\n");
        peer.say("OK\r\n");
        peer.hear("GET a\n");
        peer.say("VALUE 1\r\n");
        peer.hear("QUIT\r\n");
        peer.say("BYE\r\n");
        peer.rest()
    });
    let setup = guard(&upstream, "");
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("SET a");
    client.say(" 1\r\n");
    client.hear("OK\r\n");
    client.say("GET a\n");
    client.hear("VALUE 1\r\n");
    client.say("QUIT\r\n");
    client.hear("BYE\r\n");
    client.stop_sending();
    assert_eq!(client.rest(), "");
    assert_eq!(server.join().unwrap(), "");
    setup.wait_idle();
    assert_eq!(setup.metric("referee_sessions_closed_total{listener=\"talk\",why=\"over\"}"), Some(1.0));
    assert_eq!(
        setup.metric("referee_messages_total{listener=\"talk\",role=\"client\",label=\"Set\"}"),
        Some(1.0)
    );
    assert_eq!(setup.metric("referee_decision_seconds_count"), Some(7.0));
    assert_eq!(setup.metric("referee_buffered_bytes"), Some(0.0));
    assert!(setup.metric("referee_verdicts_total").is_none());
}

#[test]
fn a_wrong_client_is_stopped_and_both_sides_get_their_close_message() {
    let (upstream, server) = server(|mut peer| {
        peer.say("HELLO you\r\n");
        peer.rest()
    });
    let extra = "close-message = { client = \"NO protocol violation\\r\\n\", server = \"QUIT\\r\\n\" }";
    let setup = guard(&upstream, extra);
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("SET a -1\r\n");
    assert_eq!(client.rest(), "NO protocol violation\r\n");
    assert_eq!(server.join().unwrap(), "QUIT\r\n");
    drop(client);
    setup.wait_idle();
    let verdict =
        "referee_verdicts_total{listener=\"talk\",role=\"client\",kind=\"assertion\",label=\"Set\"}";
    assert_eq!(setup.metric(verdict), Some(1.0));
}

#[test]
fn a_wrong_server_is_stopped_and_blamed() {
    let (upstream, server) = server(|mut peer| {
        peer.say("HELLO you\r\n");
        peer.hear("GET a\r\n");
        peer.say("OK\r\n");
        peer.rest()
    });
    let setup = guard(&upstream, "");
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("GET a\r\n");
    assert_eq!(client.rest(), "");
    drop(client);
    server.join().unwrap();
    let verdict = "referee_verdicts_total{listener=\"talk\",role=\"server\",kind=\"order\",label=\"Ok\"}";
    assert_eq!(setup.metric(verdict), Some(1.0));
}

#[test]
fn what_was_accepted_before_a_violation_is_delivered() {
    let (upstream, server) = server(|mut peer| {
        peer.say("HELLO you\r\n");
        peer.rest()
    });
    let setup = guard(&upstream, "");
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("SET a 1\r\nNONSENSE\r\n");
    client.stop_sending();
    let heard = server.join().unwrap();
    assert_eq!(heard, "SET a 1\r\n");
    assert_eq!(client.rest(), "");
}

#[test]
fn dropped_messages_do_not_arrive_and_the_session_goes_on() {
    let (upstream, server) = server(|mut peer| {
        peer.say("HELLO you\r\n");
        peer.hear("SET a 1\r\n");
        peer.say("OK\r\n");
        peer.hear("QUIT\r\n");
        peer.say("BYE\r\n");
    });
    let setup = guard(&upstream, "policy = \"drop\"");
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("SET a -1\r\nSET a 1\r\n");
    client.hear("OK\r\n");
    client.say("QUIT\r\n");
    client.hear("BYE\r\n");
    server.join().unwrap();
    assert_eq!(setup.metric("referee_verdicts_total"), Some(1.0));
}

#[test]
fn observed_messages_all_arrive() {
    let (upstream, server) = server(|mut peer| {
        peer.say("HELLO you\r\n");
        peer.hear("SET a -1\r\nNONSENSE\r\nQUIT\r\n");
        peer.say("BYE\r\n");
    });
    let setup = guard(&upstream, "policy = \"observe\"");
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("SET a -1\r\nNONSENSE\r\nQUIT\r\n");
    client.hear("BYE\r\n");
    server.join().unwrap();
    drop(client);
    setup.wait_idle();
    assert!(
        setup.metric("referee_verdicts_total{listener=\"talk\",role=\"client\",kind=\"assertion\"").is_some()
    );
}

#[test]
fn a_client_may_send_ahead() {
    let (upstream, server) = server(|mut peer| {
        // All of it arrives before anything is answered: what is certain to be right is not held back.
        peer.hear("GET a\r\nGET b\r\nQUIT\r\n");
        peer.say("HELLO you\r\nVALUE 1\r\nVALUE 2\r\nBYE\r\n");
        peer.rest()
    });
    let setup = guard(&upstream, "");
    let mut client = setup.connect();
    client.say("GET a\r\nGET b\r\nQUIT\r\n");
    client.stop_sending();
    assert_eq!(client.rest(), "HELLO you\r\nVALUE 1\r\nVALUE 2\r\nBYE\r\n");
    server.join().unwrap();
    setup.wait_idle();
    assert_eq!(setup.metric("referee_sessions_closed_total{listener=\"talk\",why=\"over\"}"), Some(1.0));
}

/// Who has said the last it may say could know that nothing follows, whatever the other side still owes.
#[test]
fn what_comes_after_ones_own_last_message_is_after_the_end() {
    for policy in ["halt", "drop", "observe"] {
        let passes = policy == "observe";
        let (upstream, server) = server(move |mut peer| {
            peer.say("HELLO you\r\n");
            peer.hear("GET a\r\nQUIT\r\n");
            if passes {
                peer.hear("GET b\r\n");
            }
            // An answer to what should not have come is no fault of its own.
            peer.say(if passes { "VALUE 1\r\nBYE\r\nVALUE 2\r\n" } else { "VALUE 1\r\nBYE\r\n" });
            peer.rest()
        });
        let setup = guard_with(&upstream, &format!("policy = \"{policy}\""), JOURNAL);
        let mut client = setup.connect();
        client.hear("HELLO you\r\n");
        client.say("GET a\r\nQUIT\r\nGET b\r\n");
        client.hear("VALUE 1\r\nBYE\r\n");
        client.stop_sending();
        client.rest();
        assert_eq!(server.join().unwrap(), "", "{policy}");
        drop(client);
        let verdicts = setup.verdicts();
        let first = &verdicts[0];
        let found = (&*first.kind, first.blame.as_deref(), first.got.as_deref(), first.consequence);
        assert_eq!(found, ("after-end", Some("client"), Some("Get"), false), "{policy}");
        // What follows from it is said to do so.
        assert!(verdicts[1..].iter().all(|verdict| verdict.consequence), "{policy}: {verdicts:?}");
        assert_eq!(verdicts.len(), if passes { 2 } else { 1 }, "{policy}: {verdicts:?}");
    }
}

#[test]
fn who_may_never_speak_again_need_not_be_heard_to_the_end() {
    let (upstream, server) = server(|mut peer| {
        peer.hear("SUB\r\n");
        peer.rest()
    });
    let folder = Folder::new();
    let text = format!(
        "[[listener]]\nname = \"ticks\"\nlisten = \"127.0.0.1:0\"\nupstream = \"{upstream}\"\nprotocol = \"\"\"\n\
         protocol Ticks(role client, role server) {{ Sub() from client to server; \
         rec X {{ Tick() from server to client; continue X; }} }}\n\"\"\"\n\
         [listener.codec]\nkind = \"text\"\n[listener.codec.messages]\nSub = \"SUB\"\nTick = \"TICK\"\n"
    );
    let guard = Guard::start(&plans(&folder, &text), Vec::new()).unwrap();
    let address = guard.addresses()[0].1.clone();
    let setup = Setup { guard, address, folder };
    let mut client = setup.connect();
    client.say("SUB\r\nSUB\r\n");
    assert_eq!(client.rest(), "");
    assert_eq!(server.join().unwrap(), "");
    drop(client);
    setup.wait_idle();
    let verdict = "referee_verdicts_total{listener=\"ticks\",role=\"client\",kind=\"order\",label=\"Sub\"}";
    assert_eq!(setup.metric(verdict), Some(1.0));
}

/// Where everything goes on at once, answers come before what they answer was judged.
#[test]
fn answers_to_what_waits_to_be_judged_are_not_out_of_turn() {
    let (upstream, server) = server(|mut peer| {
        peer.say("HELLO you\r\n");
        peer.hear("SET a 1\r\nSET b 2\r\nGET c\r\nQUIT\r\n");
        peer.say("OK\r\nOK\r\nVALUE 3\r\nBYE\r\n");
    });
    let setup = guard_with(&upstream, "policy = \"observe\"", JOURNAL);
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("SET a 1\r\nSET b 2\r\nGET c\r\nQUIT\r\n");
    client.hear("OK\r\nOK\r\nVALUE 3\r\nBYE\r\n");
    server.join().unwrap();
    drop(client);
    assert_eq!(setup.verdicts().len(), 0);
}

#[test]
fn without_pipelining_sending_ahead_is_a_violation() {
    let (upstream, server) = server(|mut peer| peer.rest());
    let setup = guard(&upstream, "pipelining = \"none\"");
    let mut client = setup.connect();
    client.say("GET a\r\n");
    assert_eq!(client.rest(), "");
    drop(client);
    assert_eq!(server.join().unwrap(), "");
    let verdict = "referee_verdicts_total{listener=\"talk\",role=\"client\",kind=\"order\",label=\"Get\"}";
    assert_eq!(setup.metric(verdict), Some(1.0));
}

#[test]
fn half_close_is_passed_on_and_judged_by_what_is_owed() {
    // After QUIT the client owes nothing: closing its side is fine, and the answer still arrives.
    let (upstream, server) = server(|mut peer| {
        peer.say("HELLO you\r\n");
        assert_eq!(peer.rest(), "QUIT\r\n");
        peer.say("BYE\r\n");
    });
    let setup = guard(&upstream, "");
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("QUIT\r\n");
    client.stop_sending();
    assert_eq!(client.rest(), "BYE\r\n");
    server.join().unwrap();
    setup.wait_idle();
    assert!(setup.metric("referee_verdicts_total").is_none());

    // Before, it does.
    let mut client = guard_client_that_leaves();
    assert_eq!(client.1.rest(), "");
    client.0.wait_idle();
    let verdict =
        "referee_verdicts_total{listener=\"talk\",role=\"client\",kind=\"premature-end\",label=\"\"}";
    assert_eq!(client.0.metric(verdict), Some(1.0));
}

fn guard_client_that_leaves() -> (Setup, Peer) {
    let setup = guard(&polite_server(), "");
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.stop_sending();
    (setup, client)
}

#[test]
fn a_server_that_leaves_early_is_blamed_and_not_its_client() {
    let (upstream, server) = server(|mut peer| peer.say("HELLO you\r\n"));
    let setup = guard(&upstream, "");
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    server.join().unwrap();
    assert_eq!(client.rest(), "");
    drop(client);
    setup.wait_idle();
    let verdict =
        "referee_verdicts_total{listener=\"talk\",role=\"server\",kind=\"premature-end\",label=\"\"}";
    assert_eq!(setup.metric(verdict), Some(1.0));
}

#[test]
fn who_says_nothing_at_all_is_not_blamed() {
    let (upstream, server) = server(|mut peer| peer.rest());
    let setup = guard(&upstream, "");
    let client = setup.connect();
    client.stop_sending();
    assert_eq!(server.join().unwrap(), "");
    drop(client);
    setup.wait_idle();
    assert!(setup.metric("referee_verdicts_total").is_none());
}

#[test]
fn a_program_can_be_the_server() {
    let folder = Folder::new();
    std::fs::write(
        folder.0.join("talk.scr"),
        "protocol Echo(role client, role server) { \
        Ping(x: int) from client to server; Pong(x: int) from server to client; }",
    )
    .unwrap();
    let text = "[[listener]]\nlisten = \"127.0.0.1:0\"\ncommand = [\"sed\", \"-u\", \"s/PING/PONG/\"]\n\
                protocol = \"talk.scr\"\n[listener.codec]\nkind = \"text\"\nmessages.Ping = \"PING {x}\"\n\
                messages.Pong = \"PONG {x}\"\n";
    let guard = Guard::start(&plans(&folder, text), Vec::new()).unwrap();
    let mut client = Peer::new(std::net::TcpStream::connect(&guard.addresses()[0].1).unwrap());
    client.say("PING 5\n");
    client.hear("PONG 5\n");
    client.stop_sending();
    assert_eq!(client.rest(), "");
}
