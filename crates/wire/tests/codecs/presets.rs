//! The presets, on conversations as real peers have them.

use referee_theory::Action;
use referee_wire::Sender::{self, Client, Server};

use crate::support::{borrowed, preset, script};

/// The labels alone.
fn labels(said: &[String]) -> Vec<&str> {
    said.iter().map(|line| line.split('(').next().unwrap()).collect()
}

#[test]
fn every_preset_has_room_for_what_is_certain() {
    for preset_data in &referee_wire::preset::ALL {
        let proxy = preset(preset_data.name);
        let machine = proxy.monitor.machine();
        let states = machine.state_count();
        let positions = proxy.ahead.positions().len();
        println!("{}: {states} states, {positions} positions", preset_data.name);
        let acts = |state, action| machine.transitions(state).iter().any(|known| known.action == action);
        // Where either side may always speak, nobody is ever ahead.
        let both = machine.states().all(|state| acts(state, Action::Send) && acts(state, Action::Receive));
        assert!(positions > states || both, "{}: nothing is certain", preset_data.name);
        let free = ["mcp", "mcp-http", "mcp-2026-07-28", "jsonrpc"];
        assert_eq!(both, free.contains(&preset_data.name), "{}", preset_data.name);
    }
}

#[test]
fn a_mail() {
    let talk = script(
        "S: 220 mx
         C: EHLO me
         S: 250-mx
         S: 250-PIPELINING
         S: 250 HELP
         C: auth plain AGEAYg==
         S: 334
         C: QUIT
         S: 235 welcome
         C: MAIL FROM:<a@b> SIZE=9
         S: 250 ok
         C: RCPT TO:<c@d>
         S: 550 no
         C: RCPT TO:<e@f>
         S: 250 ok
         C: noop
         S: 250 ok
         C: DATA
         S: 354 go
         C: Subject: x
         C: .
         S: 250 queued
         C: MAIL FROM:<a@b>
         S: 250 ok
         C: RCPT TO:<e@f>
         S: 250 ok
         C: BDAT 6
         C: 1234
         S: 250 ok
         C: BDAT 0 LAST
         S: 250 queued
         C: RSET
         S: 250 ok
         C: QUIT
         S: 221 bye",
    );
    let said = preset("smtp").converse(&borrowed(&talk));
    assert!(said.iter().all(|line| !line.contains(':') || line.matches(':').count() <= 2), "{said:#?}");
    assert_eq!(labels(&said).last(), Some(&"Server: Bye"), "{said:#?}");
    assert!(said.contains(&"Client: Answer".to_owned()));
}

#[test]
fn a_pipelined_mail_goes_on_at_once_whatever_the_answers() {
    let proxy = preset("smtp");
    for (mail, first, second, data) in [
        ("250 ok", "250 ok", "250 ok", Some("354 go")),
        ("250 ok", "550 no", "250 ok", Some("354 go")),
        ("250 ok", "550 no", "550 no", Some("354 go")),
        ("250 ok", "550 no", "550 no", None),
        ("550 no", "503 no", "503 no", None),
    ] {
        let answers = format!("{mail}\r\n{first}\r\n{second}\r\n{}\r\n", data.unwrap_or("503 no"));
        let end: &[(Sender, &[u8])] = match data {
            Some(_) => &[
                (Client, b"x\r\n.\r\n"),
                (Server, b"250 queued\r\n"),
                (Client, b"QUIT\r\n"),
                (Server, b"221 bye\r\n"),
            ],
            None => &[(Client, b"QUIT\r\n"), (Server, b"221 bye\r\n")],
        };
        let mut talk: Vec<(Sender, &[u8])> = vec![
            (Server, b"220 mx\r\n"),
            (Client, b"EHLO me\r\n"),
            (Server, b"250 ok\r\n"),
            (Client, b"MAIL FROM:<a>\r\nRCPT TO:<b>\r\nRCPT TO:<c>\r\nDATA\r\n"),
            (Server, answers.as_bytes()),
        ];
        talk.extend(end);
        let said = proxy.run(talk.iter().copied());
        let order = labels(&said);
        assert_eq!(
            order[3..7],
            ["Client: Mail", "Client: Rcpt", "Client: Rcpt", "Client: Data"],
            "{order:?}"
        );
        assert_eq!(order.last(), Some(&"Server: Bye"), "{said:#?}");
    }
}

#[test]
fn wrong_mail_is_blamed() {
    let proxy = preset("smtp");
    let start: [(Sender, &[u8]); 3] =
        [(Server, b"220 mx\r\n"), (Client, b"EHLO me\r\n"), (Server, b"250 ok\r\n")];
    let told = |more: &[(Sender, &[u8])]| {
        let talk: Vec<_> = start.iter().chain(more).copied().collect();
        proxy.converse(&talk).pop().unwrap()
    };
    assert_eq!(told(&[(Client, b"RCPT TO:<x>\r\n")]), "Client: Rcpt(\"<x>\"): Order");
    assert_eq!(told(&[(Client, b"DATA\r\n")]), "Client: Data: Order");
    assert_eq!(told(&[(Client, b"GET / HTTP/1.1\r\n")]), "Client: GET / HTTP/1.1: Label");
    assert_eq!(told(&[(Client, b"MAIL FROM:<a>\r\n"), (Server, b"354 go\r\n")]), "Server: Go: Order");
    assert_eq!(
        told(&[
            (Client, b"MAIL FROM:<a>\r\n"),
            (Server, b"550 no\r\n"),
            (Client, b"RCPT TO:<b>\r\n"),
            (Server, b"250 ok\r\n")
        ]),
        "Server: Welcome: Order"
    );
    // Before the hello.
    let said = proxy.converse(&[(Server, b"220 mx\r\n"), (Client, b"MAIL FROM:<a>\r\n")]);
    assert_eq!(said[1], "Client: Mail(\"<a>\"): Order");
    // STARTTLS is the end of what can be read.
    assert_eq!(
        told(&[(Client, b"STARTTLS\r\n"), (Server, b"220 go\r\n"), (Client, b"\x16\x03")]),
        "Client: transparent"
    );
}

#[test]
fn nobody_is_blamed_for_an_encoding() {
    let proxy = preset("smtp");
    let talk: [(Sender, &[u8]); 4] = [
        (Server, b"220 mx\r\n"),
        (Client, b"EHLO me\r\n"),
        (Server, b"550 n\xe3o\r\n"),
        (Client, b"NOOP \xff\r\n"),
    ];
    assert_eq!(
        labels(&proxy.converse(&talk)),
        ["Server: Greeting", "Client: Hello", "Server: No", "Client: Info"]
    );
}

#[test]
fn redis_resets_anywhere_and_queues_what_would_stream() {
    let proxy = preset("redis");
    let said = proxy.converse(&[
        (Client, b"RESET\r\n"),
        (Server, b"+RESET\r\n"),
        (Client, b"SUBSCRIBE a\r\n"),
        (Server, b"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"),
        (Client, b"RESET\r\n"),
        (Server, b"+RESET\r\n"),
        // Sent ahead: whether it is queued depends on the answer to MULTI.
        (Client, b"MULTI\r\nMONITOR\r\n"),
        (Server, b"+OK\r\n+QUEUED\r\n"),
        (Client, b"SYNC\r\n"),
        (Server, b"-ERR Command not allowed inside a transaction\r\n"),
        (Client, b"RESET\r\n"),
        (Server, b"+RESET\r\n"),
        (Client, b"MONITOR\r\n"),
        (Server, b"+OK\r\n+anything\r\n"),
    ]);
    assert_eq!(
        said,
        [
            "Client: Reset",
            "Server: Reply",
            "Client: Subscribe",
            "Server: Subscribed",
            "Client: Reset",
            "Server: Reply",
            "Client: Multi",
            "Server: Ok",
            "Client: QueuedStream",
            "Server: Queued",
            "Client: QueuedStream",
            "Server: Error",
            "Client: Reset",
            "Server: Reply",
            "Client: Stream",
            "Server: Streaming",
            "Client: transparent",
        ]
    );
}

#[test]
fn redis() {
    let proxy = preset("redis");
    let said = proxy.converse(&[
        (Client, b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"),
        (Server, b"%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n"),
        (Client, b"*1\r\n$5\r\nMULTI\r\n"),
        (Server, b"+OK\r\n"),
        (Client, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"),
        (Server, b"+QUEUED\r\n"),
        (Client, b"*1\r\n$4\r\nEXEC\r\n"),
        (Server, b"*1\r\n+OK\r\n"),
        (Client, b"*3\r\n$9\r\nSUBSCRIBE\r\n$1\r\na\r\n$1\r\nb\r\n"),
        (Server, b"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"),
        (Server, b"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n>3\r\n+message\r\n+a\r\n+hi\r\n"),
        (Client, b"PING\r\n"),
        (Server, b"+PONG\r\n"),
        (Client, b"QUIT\r\n"),
        (Server, b"+OK\r\n"),
    ]);
    assert_eq!(
        said,
        [
            "Client: Command",
            "Server: Reply",
            "Client: Multi",
            "Server: Ok",
            "Client: Command",
            "Server: Queued",
            "Client: Exec",
            "Server: Reply",
            "Client: Subscribe",
            "Server: Subscribed",
            "Server: Pushed",
            "Server: Pushed",
            "Server: Pushed",
            "Client: Command",
            "Server: Reply",
            "Client: Quit",
            "Server: Ok",
        ]
    );
    let set = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n".repeat(16);
    let pipelined = [&b"*1\r\n$5\r\nMULTI\r\n"[..], &set, b"*1\r\n$4\r\nEXEC\r\n"].concat();
    let said = proxy.run([(Client, &*pipelined)]);
    assert_eq!(said.len(), 18, "everything goes on before the first answer: {said:?}");
    let said = proxy.run([(Client, &b"MULTI\r\nGET k\r\n"[..]), (Server, b"+OK\r\n$1\r\nx\r\n")]);
    assert_eq!(said[3], "Server: Reply: Order", "a server that answers at once: {said:?}");
}

fn frame(tag: &str, content: &[u8]) -> Vec<u8> {
    [tag.as_bytes(), &(content.len() as u32 + 4).to_be_bytes(), content].concat()
}

fn frames(tags: &str) -> Vec<u8> {
    tags.chars().flat_map(|tag| frame(&tag.to_string(), b"....")).collect()
}

/// A conversation of PostgreSQL after its startup, from tags.
fn postgres(talk: &[(Sender, &str)]) -> Vec<String> {
    let mut all = vec![
        (Client, frame("", &80877103_u32.to_be_bytes())),
        (Server, b"N".to_vec()),
        (Client, frame("", b"\0\x03\0\0user\0x\0\0")),
        (Server, [frame("R", &10_u32.to_be_bytes()), frame("S", b"a\0b\0")].concat()),
        (Client, frames("p")),
        (Server, [frame("R", &11_u32.to_be_bytes())].concat()),
        (Client, frames("p")),
        (
            Server,
            [frame("R", &12_u32.to_be_bytes()), frame("R", &0_u32.to_be_bytes()), frames("SKSNZ")].concat(),
        ),
    ];
    let start = all.len();
    all.extend(talk.iter().map(|(sender, tags)| (*sender, frames(tags))));
    let said = preset("postgres").converse(&borrowed(&all));
    let begun =
        said.iter().position(|line| line == "Server: Ready").unwrap_or_else(|| panic!("{start} {said:?}"));
    said[begun + 1..].to_vec()
}

#[test]
fn postgres_queries() {
    let said = postgres(&[
        (Client, "Q"),
        (Server, "TDDNCTDCZ"),
        (Client, "PBDEHS"),
        (Server, "12nDDCZ"),
        (Client, "Q"),
        (Server, "EZ"),
        (Client, "PBEPBES"),
        (Server, "12E"),
        (Server, "Z"),
        (Server, "A"),
        (Client, "X"),
    ]);
    assert_eq!(said.last().unwrap(), "Client: Terminate", "{said:?}");
    // Everything up to Sync goes on before the first answer.
    let sync = said.iter().position(|line| line == "Client: Sync").unwrap();
    let first = said.iter().position(|line| line == "Server: ParseComplete").unwrap();
    assert!(sync < first, "{said:?}");
}

#[test]
fn postgres_copies() {
    let said = postgres(&[(Client, "Q"), (Server, "G"), (Client, "dddc"), (Server, "CZ"), (Client, "X")]);
    assert_eq!(said.last().unwrap(), "Client: Terminate", "{said:?}");
    let said = postgres(&[(Client, "Q"), (Server, "HddcCZ"), (Client, "X")]);
    assert_eq!(said.last().unwrap(), "Client: Terminate", "{said:?}");
    // The server breaks off while the client is still sending; the client goes on with a query.
    let said = postgres(&[
        (Client, "Q"),
        (Server, "G"),
        (Client, "d"),
        (Server, "EZ"),
        (Client, "dQ"),
        (Server, "CZ"),
        (Client, "X"),
    ]);
    assert_eq!(said.last().unwrap(), "Client: Terminate", "{said:?}");
    let said =
        postgres(&[(Client, "PBES"), (Server, "12G"), (Client, "ddcS"), (Server, "CZ"), (Client, "X")]);
    assert_eq!(said.last().unwrap(), "Client: Terminate", "{said:?}");
}

#[test]
fn wrong_postgres_is_blamed() {
    assert_eq!(postgres(&[(Client, "Q"), (Server, "D")]).last().unwrap(), "Server: DataRow: Order");
    assert_eq!(postgres(&[(Client, "p")]).last().unwrap(), "Client: Password: Order");
    assert_eq!(postgres(&[(Client, "P"), (Server, "2")]).last().unwrap(), "Server: BindComplete: Order");
    assert_eq!(postgres(&[(Client, "?")]).last().unwrap(), "Client: ?: Label");
}
