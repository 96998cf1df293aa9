//! WebSocket: masks, fragments and control frames.

use referee_wire::Sender::{self, Client, Server};
use referee_wire::{Fields, Limits, Reading, Scratch, Step};

use crate::support::Proxy;

const CHAT: &str = "
protocol Chat(role client, role server) {
  rec LOOP {
    Say(text: string) from client to server;
    Heard(text: string) from server to client;
    continue LOOP;
  }
}";

const HELLO: &[u8] = b"GET /chat HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const WELCOME: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";

fn frame(sender: Sender, first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = if sender == Client { 0x80 } else { 0 };
    let mut frame = vec![first];
    match payload.len() {
        0..126 => frame.push(mask | payload.len() as u8),
        length => {
            frame.push(mask | 126);
            frame.extend((length as u16).to_be_bytes());
        }
    }
    if sender == Client {
        frame.extend([1, 2, 3, 4]);
        frame.extend(payload.iter().zip([1, 2, 3, 4].iter().cycle()).map(|(byte, mask)| byte ^ mask));
    } else {
        frame.extend(payload);
    }
    frame
}

#[test]
fn every_split_gives_the_same_messages() {
    let long = format!("{{\"type\":\"Heard\",\"text\":\"{}\"}}", "x".repeat(200));
    let fragments = [
        frame(Client, 0x01, b"{\"type\":\"Say\","),
        frame(Client, 0x89, b"are you there"),
        frame(Client, 0x00, b"\"text\":\"h"),
        frame(Client, 0x80, b"i\"}"),
    ]
    .concat();
    let talk = [
        (Client, HELLO.to_vec()),
        (Server, WELCOME.to_vec()),
        (Server, frame(Server, 0x89, b"")),
        (Client, fragments),
        (Server, frame(Server, 0x81, long.as_bytes())),
        (Client, frame(Client, 0x82, b"{\"type\":\"Say\",\"text\":\"\"}")),
        (Server, frame(Server, 0x88, b"\x03\xe8")),
    ];
    let talk: Vec<_> = talk.iter().map(|(sender, bytes)| (*sender, &**bytes)).collect();
    let said = Proxy::new(CHAT, "kind = 'websocket'").converse(&talk);
    assert_eq!(
        said,
        [
            "Client: GET".to_owned(),
            "Server: 101".to_owned(),
            "Server: a ping".to_owned(),
            "Client: Say(\"hi\")".to_owned(),
            format!("Server: Heard(\"{}\")", "x".repeat(200)),
            "Client: Say(\"\")".to_owned(),
            "Server: a close".to_owned(),
        ]
    );
}

#[test]
fn text_with_patterns() {
    let table =
        "kind = 'websocket'\ncarries = 'text'\n[messages]\nSay = 'SAY {text}'\nHeard = 'HEARD {text}'";
    let say = frame(Client, 0x81, b"SAY hello");
    let said = Proxy::new(CHAT, table).converse(&[(Client, HELLO), (Server, WELCOME), (Client, &say)]);
    assert_eq!(said[2], "Client: Say(\"hello\")");
}

#[test]
fn wrong_frames() {
    let proxy = Proxy::new(CHAT, "kind = 'websocket'");
    let told =
        |bytes: &[u8]| proxy.converse(&[(Client, HELLO), (Server, WELCOME), (Client, bytes)]).remove(2);
    for (bytes, reason) in [
        (frame(Server, 0x81, b"{}"), "a client masks its frames, and a server does not"),
        (frame(Client, 0xc1, b"{}"), "a frame with reserved bits that nobody agreed on"),
        (frame(Client, 0x83, b"{}"), "a frame of an unknown kind"),
        (frame(Client, 0x09, b"{}"), "a control frame that is fragmented or too long"),
        (frame(Client, 0x80, b"{}"), "a continuation of nothing"),
        ([frame(Client, 0x01, b"{"), frame(Client, 0x81, b"}")].concat(), "a message within another"),
        (vec![0x81, 0xfe, 0, 5], "a length that is written longer than it has to be"),
        (vec![0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4], "a message of more than 4096 bytes"),
    ] {
        assert_eq!(told(&bytes), format!("Client: malformed: {reason}"));
    }
    for extension in ["bbf-usp-protocol", "permessage-deflate; x", "permessage-deflate, permessage-deflate"] {
        let answer = format!("HTTP/1.1 101 Ok\r\nSec-WebSocket-Extensions: {extension}\r\n\r\n");
        let said = proxy.converse(&[(Client, HELLO), (Server, answer.as_bytes())]);
        assert!(said[1].contains("malformed: an extension that hides messages"), "{said:?}");
    }
    let said =
        proxy.converse(&[(Client, HELLO), (Server, b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")]);
    assert!(said[2].ends_with("transparent"), "{said:?}");
    let said = proxy.converse(&[(Client, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")]);
    assert_eq!(said, ["Client: malformed: a request that does not ask for a WebSocket"]);
}

/// The message `text`, compressed after what `compressor` has seen.
fn deflated(compressor: &mut flate2::Compress, text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(4096);
    compressor.compress_vec(text.as_bytes(), &mut out, flate2::FlushCompress::Sync).unwrap();
    assert!(out.ends_with(&[0, 0, 0xff, 0xff]));
    out.truncate(out.len() - 4);
    out
}

#[test]
fn compressed_messages_are_read() {
    let proxy = Proxy::new(CHAT, "kind = 'websocket'");
    for (agreement, forgets) in [
        ("permessage-deflate", false),
        (
            "permessage-deflate; client_max_window_bits=12; server_no_context_takeover; client_no_context_takeover",
            true,
        ),
    ] {
        let answer = format!("HTTP/1.1 101 Ok\r\nSec-WebSocket-Extensions: {agreement}\r\n\r\n");
        let mut talk = vec![(Client, HELLO.to_vec()), (Server, answer.into_bytes())];
        let [mut client, mut server] =
            [(); 2].map(|()| flate2::Compress::new(flate2::Compression::best(), false));
        for round in 0..3 {
            if forgets {
                client.reset();
                server.reset();
            }
            let said = deflated(&mut client, &format!("{{\"type\":\"Say\",\"text\":\"hello {round}\"}}"));
            let (start, end) = said.split_at(said.len() / 2);
            let fragments = [frame(Client, 0x41, start), frame(Client, 0x89, b""), frame(Client, 0x80, end)];
            talk.push((Client, if round == 1 { frame(Client, 0xc1, &said) } else { fragments.concat() }));
            let heard = deflated(&mut server, &format!("{{\"type\":\"Heard\",\"text\":\"hello {round}\"}}"));
            assert!(
                forgets || round == 0 || heard.len() < 25,
                "it refers to the one before: {}",
                heard.len()
            );
            talk.push((Server, frame(Server, 0xc1, &heard)));
        }
        // Not everything need be compressed.
        talk.push((Client, frame(Client, 0x81, b"{\"type\":\"Say\",\"text\":\"plain\"}")));
        let talk: Vec<_> = talk.iter().map(|(sender, bytes)| (*sender, &**bytes)).collect();
        let said = proxy.converse(&talk);
        let expected = ["Client: Say(\"hello 2\")", "Server: Heard(\"hello 2\")", "Client: Say(\"plain\")"];
        assert_eq!(said[said.len() - 3..], expected, "{said:#?}");
    }
}

#[test]
fn compressed_messages_that_are_too_long_or_no_such_thing() {
    let proxy = Proxy::new(CHAT, "kind = 'websocket'");
    let answer = b"HTTP/1.1 101 Ok\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    let said = |bytes: &[u8]| proxy.converse(&[(Client, HELLO), (Server, answer), (Client, bytes)]).remove(2);
    let bomb = deflated(&mut flate2::Compress::new(flate2::Compression::best(), false), &"x".repeat(1 << 20));
    assert!(bomb.len() < 2000);
    assert_eq!(said(&frame(Client, 0xc1, &bomb)), "Client: malformed: a message of more than 4096 bytes");
    assert_eq!(
        said(&frame(Client, 0xc1, b"\xff\xff\xff")),
        "Client: malformed: a compressed message that cannot be read"
    );
    assert_eq!(
        said(&frame(Client, 0xc9, b"")),
        "Client: malformed: a frame with reserved bits that nobody agreed on"
    );
}

/// Where another speaks WebSocket, frames have no masks, and there is no handshake.
#[test]
fn an_end_reads_frames_without_masks() {
    let proxy = Proxy::new(CHAT, "kind = 'websocket'");
    let codec = &proxy.codec;
    let bare = frame(Server, 0x81, b"{\"type\":\"Say\",\"text\":\"hi\"}");
    let masked = frame(Client, 0x81, b"{\"type\":\"Say\",\"text\":\"hi\"}");
    for (bytes, fine) in [(&bare, true), (&masked, false), (&HELLO.to_vec(), false)] {
        let mut connection = codec.endpoint(Limits::default());
        let (scratch, mut fields) = (Scratch::new(), Fields::new());
        let step = codec.decode(&mut connection, Client, bytes, Reading::anything(), &scratch, &mut fields);
        match step {
            Step::Message(message) => {
                assert!(fine, "{message:?}");
                assert_eq!((codec.name(message.label), message.bytes), ("Say", bytes.len()));
            }
            step => assert!(!fine, "{step:?}"),
        }
    }
}
