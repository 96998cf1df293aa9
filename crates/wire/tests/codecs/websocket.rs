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
        (frame(Client, 0xc1, b"{}"), "a frame with reserved bits, perhaps compressed"),
        (frame(Client, 0x83, b"{}"), "a frame of an unknown kind"),
        (frame(Client, 0x09, b"{}"), "a control frame that is fragmented or too long"),
        (frame(Client, 0x80, b"{}"), "a continuation of nothing"),
        ([frame(Client, 0x01, b"{"), frame(Client, 0x81, b"}")].concat(), "a message within another"),
        (vec![0x81, 0xfe, 0, 5], "a length that is written longer than it has to be"),
        (vec![0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4], "a message of more than 4096 bytes"),
    ] {
        assert_eq!(told(&bytes), format!("Client: malformed: {reason}"));
    }
    let deflate = b"HTTP/1.1 101 Ok\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    let said = proxy.converse(&[(Client, HELLO), (Server, deflate)]);
    assert!(said[1].contains("malformed: an extension that hides messages"), "{said:?}");
    let said =
        proxy.converse(&[(Client, HELLO), (Server, b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")]);
    assert!(said[2].ends_with("transparent"), "{said:?}");
    let said = proxy.converse(&[(Client, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")]);
    assert_eq!(said, ["Client: malformed: a request that does not ask for a WebSocket"]);
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
