//! How sessions end: framings, what comes after the end, draining, and what operators see of it.

use std::time::{Duration, Instant};

use referee_guard::Guard;
use referee_guard::report::Report;

use super::support::*;

const ASK: &str = "protocol Loop(role client, role server) { rec X { Ask() from client to server; \
                   Answer() from server to client; continue X; } }";
const PAY: &str = "protocol Shop(role client, role server) { Pay() from client to server; \
                   Receipt() from server to client; }";

/// A guard of the protocol `text`, with a codec.
fn guard_of(text: &str, codec: &str, upstream: &str, extra: &str) -> Setup {
    let folder = Folder::new();
    std::fs::write(folder.0.join("loop.scr"), text).unwrap();
    let journal = folder.0.join("journal");
    let config = format!(
        "[journal]\nfolder = \"{}\"\n[[listener]]\nname = \"talk\"\nlisten = \"127.0.0.1:0\"\n\
         upstream = \"{upstream}\"\nprotocol = \"loop.scr\"\n{extra}\n[listener.codec]\n{codec}",
        journal.display()
    );
    let guard = Guard::start(&plans(&folder, &config), Vec::new()).unwrap();
    let address = guard.addresses()[0].1.clone();
    Setup { guard, address, folder }
}

fn framed(framing: &str, text: &str) -> String {
    match framing {
        "headers" => format!("Content-Length: {}\r\n\r\n{text}", text.len()),
        "length-16" => format!("\0{}{text}", char::from(u8::try_from(text.len()).unwrap())),
        "length-32" => format!("\0\0\0{}{text}", char::from(u8::try_from(text.len()).unwrap())),
        "stream" => text.to_owned(),
        _ => format!("{text}\n"),
    }
}

/// A clean close between two messages is none within a message.
#[test]
fn a_client_may_leave_between_two_messages_in_every_framing() {
    for framing in ["lines", "stream", "headers", "length-16", "length-32"] {
        let (ask, answer) = (framed(framing, r#"{"type":"Ask"}"#), framed(framing, r#"{"type":"Answer"}"#));
        let (heard, said) = (ask.clone(), answer.clone());
        let (upstream, server) = server(move |mut peer| {
            peer.hear(&heard);
            peer.say(&said);
            peer.rest()
        });
        let setup = guard_of(ASK, &format!("kind = \"json\"\nframing = \"{framing}\""), &upstream, "");
        let mut client = setup.connect();
        client.say(&ask);
        client.hear(&answer);
        client.stop_sending();
        assert_eq!(server.join().unwrap(), "");
        assert_eq!(client.rest(), "");
        drop(client);
        let verdicts = setup.verdicts();
        assert!(verdicts.is_empty(), "{framing}: {verdicts:?}");
    }
}

/// After its last message a client may close its half, and still hears the answer.
#[test]
fn a_half_close_after_the_last_message_ends_no_session() {
    for framing in ["lines", "stream", "headers", "length-16"] {
        let (pay, receipt) = (framed(framing, r#"{"type":"Pay"}"#), framed(framing, r#"{"type":"Receipt"}"#));
        let (heard, said) = (pay.clone(), receipt.clone());
        let (upstream, server) = server(move |mut peer| {
            assert_eq!(peer.rest(), heard);
            peer.say(&said);
        });
        let setup = guard_of(PAY, &format!("kind = \"json\"\nframing = \"{framing}\""), &upstream, "");
        let mut client = setup.connect();
        client.say(&pay);
        client.stop_sending();
        assert_eq!(client.rest(), receipt, "{framing}");
        server.join().unwrap();
        let verdicts = setup.verdicts();
        assert!(verdicts.is_empty(), "{framing}: {verdicts:?}");
    }
}

const LINES: &str = "kind = \"text\"\nmessages.Pay = \"PAY\"\nmessages.Receipt = \"RECEIPT\"\n";
/// The server may ask for another card.
const PAY_AGAIN: &str = "protocol Shop(role client, role server) { Pay() from client to server; \
                         choice at server { Receipt() from server to client; } \
                         or { Again() from server to client; Card() from client to server; } }";

/// A request that is repeated before its answer: nobody will answer the second.
#[test]
fn a_session_that_is_over_is_closed_and_what_was_sent_ahead_is_counted() {
    let (upstream, server) = server(|mut peer| {
        peer.hear("PAY\r\n");
        std::thread::sleep(Duration::from_millis(50));
        peer.say("RECEIPT\r\n");
        peer.rest()
    });
    let setup = guard_of(
        PAY_AGAIN,
        &format!("{LINES}messages.Again = \"AGAIN\"\nmessages.Card = \"CARD\"\n"),
        &upstream,
        "",
    );
    let mut client = setup.connect();
    client.say("PAY\r\nPAY\r\n");
    // Neither of them closes by itself.
    let began = Instant::now();
    assert_eq!(client.rest(), "RECEIPT\r\n");
    assert_eq!(server.join().unwrap(), "");
    assert!(began.elapsed() < PATIENCE / 2, "{:?}", began.elapsed());
    drop(client);
    setup.wait_idle();
    let discarded = "referee_discarded_bytes_total{listener=\"talk\",role=\"client\"}";
    assert_eq!(setup.metric(discarded), Some(5.0));
    let reports = setup.journal();
    let [Report::SessionEnd(end)] = reports.as_slice() else { panic!("{reports:?}") };
    assert_eq!((end.why.name(), end.violations, end.bytes_discarded), ("over", 0, 5));
}

/// What comes later is wrong, not discarded.
#[test]
fn what_is_sent_after_the_end_is_a_violation() {
    let (upstream, server) = server(|mut peer| {
        peer.hear("PAY\r\n");
        peer.say("RECEIPT\r\n");
        peer.rest()
    });
    let setup = guard_of(PAY, LINES, &upstream, "");
    let mut client = setup.connect();
    client.say("PAY\r\n");
    client.hear("RECEIPT\r\n");
    client.say("PAY\r\n");
    assert_eq!(client.rest(), "");
    assert_eq!(server.join().unwrap(), "");
    drop(client);
    let verdicts = setup.verdicts();
    let [verdict] = verdicts.as_slice() else { panic!("{verdicts:?}") };
    assert_eq!((&*verdict.kind, verdict.blame.as_deref()), ("after-end", Some("client")));
}

#[test]
fn draining_closes_connections_that_wait_for_nothing() {
    let lines = "kind = \"text\"\nmessages.Ask = \"ASK\"\nmessages.Answer = \"ANSWER\"\n";
    let (upstream, server) = server(|mut peer| {
        peer.hear("ASK\r\n");
        peer.say("ANSWER\r\n");
        peer.hear("ASK\r\n");
        std::thread::sleep(Duration::from_millis(100));
        peer.say("ANSWER\r\n");
        peer.rest()
    });
    let setup = guard_of(ASK, lines, &upstream, "");
    let mut client = setup.connect();
    client.say("ASK\r\n");
    client.hear("ANSWER\r\n");
    client.say("ASK\r\n");
    std::thread::sleep(Duration::from_millis(20));
    // The second exchange is under way, and comes to its end.
    setup.guard.drain();
    assert_eq!(client.rest(), "ANSWER\r\n");
    assert_eq!(server.join().unwrap(), "");
    drop(client);
    let reports = setup.journal();
    let [Report::SessionEnd(end)] = reports.as_slice() else { panic!("{reports:?}") };
    assert_eq!((end.why.name(), end.violations), ("drained", 0));
}

#[test]
fn what_broke_a_connection_is_in_the_report() {
    let (upstream, server) = server(|mut peer| peer.hear("ASK\r\n"));
    let lines = "kind = \"text\"\nmessages.Ask = \"ASK\"\nmessages.Answer = \"ANSWER\"\n";
    let setup = guard_of(ASK, lines, &upstream, "");
    let mut client = setup.connect();
    client.say("ASK\r\n");
    server.join().unwrap();
    client.reset();
    let reports = setup.journal();
    let Some(Report::SessionEnd(end)) = reports.last() else { panic!("{reports:?}") };
    if end.why.name() == "reset" {
        let detail = end.detail.as_deref().unwrap_or_default();
        assert!(detail.starts_with("the connection with client: "), "{detail}");
    }
}
