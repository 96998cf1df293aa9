//! A conversation for each kind of codec, each way of framing, and each preset.

use referee_wire::Sender::{self, Client, Server};

use crate::support::{Proxy, preset};

/// A codec with a conversation that it understands, and pieces of which nonsense can be made.
pub(crate) struct Talk {
    pub(crate) name: &'static str,
    pub(crate) proxy: Proxy,
    pub(crate) pieces: Vec<(Sender, Vec<u8>)>,
    pub(crate) tokens: &'static [&'static [u8]],
}

const SHOP: &str = "protocol Shop(role client, role server) {
  rec LOOP {
    choice at client {
      Order(item: string, count: int) from client to server where count > 0;
      choice at server { Placed(id: int) from server to client; continue LOOP; }
      or { Refused(why: string) from server to client; continue LOOP; }
    } or { Bye() from client to server; }
  }
}";

const POST: &str = "protocol Post(role client, role server) {
  rec LOOP {
    choice at client {
      From(address: string, options: string) from client to server;
      choice at server { Accepted(text: string) from server to client; continue LOOP; }
      or { Refused(code: int) from server to client; continue LOOP; }
    } or {
      Data() from client to server;
      Go() from server to client;
      Letter(text: bytes) from client to server;
      Stored(reply: string) from server to client;
      continue LOOP;
    } or {
      Chunk(size: int) from client to server;
      Stored(reply: string) from server to client;
      continue LOOP;
    }
  }
}";

const POST_TABLE: &str = r#"
kind = "text"
ignore-case = true
multiline = "server"
[messages]
From = "FROM:<{address}>{options}"
Accepted = "250 {text}"
Refused = { regex = "(?P<code>[45][0-9][0-9]).*" }
Data = "DATA"
Go = "354{_}"
Letter = { block = "dot" }
Chunk = { pattern = "CHUNK {size}", body = "size" }
Stored = { pattern = "251{_}", whole = "reply" }
Chatter = { pattern = "* {_}", aside = true, from = "server" }
"#;

const ITEMS: &str = "protocol Items(role client, role server) {
  rec LOOP {
    choice at client {
      Get(id: int, token: string) from client to server;
      choice at server { Found() from server to client; continue LOOP; }
      or { Missing(status: int) from server to client; continue LOOP; }
    } or {
      Put(id: int, name: string) from client to server;
      Stored() from server to client;
      continue LOOP;
    }
  }
}";

const ITEMS_TABLE: &str = r#"
kind = "http"
session = "cookie:sid"
[messages]
Get = { pattern = "GET /items/{id}", fields = { token = "header:X-Token" } }
Put = { pattern = "PUT /items/{id}", fields = { name = "json:/name" } }
Found = "2xx"
Missing = { pattern = "4xx", fields = { status = "status" } }
Stored = "201"
"#;

const ASK: &str = "protocol Ask(role client, role server) {
  Hello() from client to server;
  Yes() from server to client;
  rec LOOP {
    Query(text: string, limit: int) from client to server;
    choice at server { Row(id: int) from server to client; continue LOOP; }
    or { End() from server to client; continue LOOP; }
  }
}";

const ASK_TABLE: &str = r#"
kind = "frames"
tag = { at = 0, bytes = 1 }
length = { at = 1, bytes = 2 }
untagged-length = { at = 0, bytes = 2 }
[messages]
Hello = { untagged = true, layout = ["_: u16 = 3"] }
Yes = { bare = "Y" }
Query = { pattern = "Q", layout = ["text: cstring", "limit: i16"] }
Row = { tag = 0x52, layout = ["_: u8 = 1", "id: u32"] }
End = { tag = 0x52, layout = ["_: u8 = 0"] }
"#;

const CACHE: &str = "protocol Cache(role client, role server) {
  rec LOOP {
    choice at client {
      Get(key: string) from client to server;
      choice at server { Value(text: string) from server to client; continue LOOP; }
      or { Nothing() from server to client; continue LOOP; }
    } or { Other() from client to server; Reply() from server to client; continue LOOP; }
  }
}";

const SUMS: &str = "protocol Sums(role client, role server) {
  rec LOOP {
    Add(a: int, b: int) from client to server;
    choice at server { Sum(result: int) from server to client; continue LOOP; }
    or { Failed(code: int) from server to client; continue LOOP; }
  }
}";

const CHAT: &str = "protocol Chat(role client, role server) {
  rec LOOP {
    Say(text: string) from client to server;
    Heard(text: string) from server to client;
    continue LOOP;
  }
}";

const LENGTH_TOKENS: [&[&[u8]]; 4] = [
    &[b"\x02", b"\x0e", b"\0", b"{}", b"{\"type\":\"Bye\"}", b"{\"type\":\"Not\"}", b"x"],
    &[b"\0\x02", b"\0\x0e", b"\0", b"{}", b"{\"type\":\"Bye\"}", b"{\"type\":\"Not\"}", b"x"],
    &[b"\0\0\0\x02", b"\0\0\0\x0e", b"\0", b"{}", b"{\"type\":\"Bye\"}", b"{\"type\":\"Not\"}", b"x"],
    &[
        b"\0\0\0\0\0\0\0\x02",
        b"\0\0\0\0\0\0\0\x0e",
        b"\0",
        b"{}",
        b"{\"type\":\"Bye\"}",
        b"{\"type\":\"Not\"}",
        b"x",
    ],
];
const HEADER_TOKENS: &[&[u8]] =
    &[b"Content-Length: 14", b"Content-Length: 2", b"\r\n", b":", b"{\"type\":\"Bye\"}", b"{}", b"\n", b"x"];
const JSON_TOKENS: &[&[u8]] = &[b"{", b"}", b"\"type\"", b":", b"\"Bye\"", b"\n", b"\\", b"[", b" "];

/// A frame of a WebSocket; a client's is masked with a mask that changes something.
fn frame(sender: Sender, first: u8, payload: &[u8]) -> Vec<u8> {
    let masked = if sender == Client { 0x80 } else { 0 };
    let mut frame = vec![first, masked | u8::try_from(payload.len()).unwrap()];
    if sender == Client {
        frame.extend([1, 2, 3, 4]);
        frame.extend(payload.iter().zip([1, 2, 3, 4].iter().cycle()).map(|(byte, mask)| byte ^ mask));
    } else {
        frame.extend(payload);
    }
    frame
}

/// The documents of a shop, each framed as `frame` does it.
fn shop(frame: impl Fn(&str) -> Vec<u8>) -> Vec<(Sender, Vec<u8>)> {
    let both = |first: &str, second: &str| [frame(first), frame(second)].concat();
    vec![
        (
            Client,
            both(
                r#"{"type": "Order", "item": "t\u0065a \\ \" {", "count": 2, "x": [1, {"y": null}]}"#,
                r#"{"count":1,"item":"","type":"Order"}"#,
            ),
        ),
        (Server, both(r#"{"type":"Placed","id":7}"#, r#"{"why":"}{","type":"Refused"}"#)),
        (Client, frame(r#"{"type":"Bye"}"#)),
    ]
}

fn with_length(bytes: usize) -> impl Fn(&str) -> Vec<u8> {
    move |text| [&(text.len() as u64).to_be_bytes()[8 - bytes..], text.as_bytes()].concat()
}

/// All of them.
pub(crate) fn all() -> Vec<Talk> {
    let talk = |name, protocol, table: &str, pieces, tokens| Talk {
        name,
        proxy: Proxy::new(protocol, table),
        pieces,
        tokens,
    };
    let json = |name, framing: &str, tokens, pieces| {
        talk(name, SHOP, &format!("kind = 'json'\nframing = '{framing}'"), pieces, tokens)
    };
    let said = |pieces: &[(Sender, &[u8])]| -> Vec<(Sender, Vec<u8>)> {
        pieces.iter().map(|(sender, bytes)| (*sender, bytes.to_vec())).collect()
    };
    let shipped = |name, pieces: &[(Sender, &[u8])], tokens| Talk {
        name,
        proxy: preset(name),
        pieces: said(pieces),
        tokens,
    };
    let hello =
        b"GET /chat HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n".to_vec();
    let welcome = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n".to_vec();
    let fragments = [
        frame(Client, 0x01, b"{\"type\":\"Say\","),
        frame(Client, 0x89, b"ping"),
        frame(Client, 0x80, b"\"text\":\"hi\"}"),
    ]
    .concat();
    vec![
        talk("text", POST, POST_TABLE, said(&[
            (Server, b"* come in\r\n"),
            (Client, b"from:<a@b.org> SIZE=10\r\nFROM:<>\n"),
            (Server, b"250-more\r\n250 fine\r\n550 no\r\n"),
            (Client, b"DATA\r\n"),
            (Server, b"354 go\r\n"),
            (Client, b"DATA is no command\r\n..\r\n\r\n.\r\nCHUNK 5\r\nab\r\ncCHUNK 0\r\n"),
            (Server, b"251-a\r\n251 b\r\n251 c\r\n251 d\r\n"),
        ]), &[b"DATA", b"\r", b"\n", b".", b"FROM:<", b">", b"250-", b"250 ", b"CHUNK 2", b"x"]),
        talk("text, CR LF", SHOP, "kind = 'text'\nline-end = 'crlf'\n[messages]\nOrder = 'ORDER {count} {item}'\n\
              Placed = 'PLACED {id}'\nRefused = 'NO {why}'\nBye = 'BYE'", said(&[
            (Client, b"ORDER 2 two words\r\nORDER 1 x\r\n"),
            (Server, b"PLACED 7\r\nNO way\r\n"),
            (Client, b"BYE\r\n"),
        ]), &[b"BYE", b"\r", b"\n", b"ORDER 1 ", b"x"]),
        json("json, lines", "lines", JSON_TOKENS, shop(|text| format!(" {text}\r\n").into_bytes())),
        json("json, stream", "stream", JSON_TOKENS, shop(|text| text.as_bytes().to_vec())),
        json("json, headers", "headers", HEADER_TOKENS, shop(|text| {
            format!("Content-Type: x\r\nContent-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
        })),
        json("json, 8 bits", "length-8", LENGTH_TOKENS[0], shop(with_length(1))),
        json("json, 16 bits", "length-16", LENGTH_TOKENS[1], shop(with_length(2))),
        json("json, 32 bits", "length-32", LENGTH_TOKENS[2], shop(with_length(4))),
        json("json, 64 bits", "length-64", LENGTH_TOKENS[3], shop(with_length(8))),
        talk("json-rpc", SUMS, "kind = 'json'\nrpc = true\n[messages]\nAdd = 'sum.add'\nSum = { answers = 'Add' }\n\
              Failed = { answers = 'Add', error = true }", said(&[
            (Client, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sum.add\",\"params\":{\"a\":1,\"b\":2}}\n"),
            (Server, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}\n"),
            (Client, b"{\"id\":\"x\",\"jsonrpc\":\"2.0\",\"params\":{\"b\":2,\"a\":1},\"method\":\"sum.add\"}\n"),
            (Server, b"{\"error\":{\"code\":-1},\"id\":\"x\",\"jsonrpc\":\"2.0\"}\n"),
        ]), &[b"{", b"}", b"\"id\":1", b",", b"\"method\":\"sum.add\"", b"\n", b"\"jsonrpc\":\"2.0\""]),
        talk("http", ITEMS, ITEMS_TABLE, said(&[
            (Client, b"GET /items/7?v HTTP/1.1\r\nHost: h\r\nX-Token: abc\r\nCookie: l=de; sid=s42\r\n\r\n"),
            (Server, b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno!"),
            (Client, b"PUT /items/%37 HTTP/1.1\r\nHost: h\r\nContent-Length: 16\r\n\r\n{\"name\":  \"tea\"}"),
            (Server, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"),
            (Client, b"PUT /items/1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n8;a=b\r\n{\"name\":\r\n4\r\n\"x\"}\r\n0\r\nt: u\r\n\r\n"),
            (Server, b"HTTP/1.1 201 Created\r\nSet-Cookie: sid=s43\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        ]), &[b"GET ", b"/items/1", b" HTTP/1.1", b"\r", b"\n", b":", b"Content-Length: 1", b"X-Token:a"]),
        talk("frames", ASK, ASK_TABLE, said(&[
            (Client, b"\x00\x02\x00\x03"),
            (Server, b"Y"),
            (Client, b"Q\x00\x09select\x00\x00\x05Q\x00\x06ab\x00\x00\x01x"),
            (Server, b"R\x00\x07\x01\x00\x00\x00\x2aokR\x00\x01\x00"),
        ]), &[b"\x00", b"\x02", b"\x03", b"Q", b"Y", b"R"]),
        talk("resp", CACHE, "kind = 'resp'\n[messages]\nGet = 'GET'\nOther = 'any'\nValue = '$'\nNothing = '_'\n\
              Reply = 'any'", said(&[
            (Client, b"*2\r\n$3\r\nget\r\n$1\r\nk\r\nGET k\r\n*2\r\n$3\r\nSET\r\n$9\r\n0\r\n*1\r\n\r\n\r\n"),
            (Server, b"$5\r\na\r\nbc\r\n$-1\r\n>1\r\n+x\r\n*2\r\n$4\r\n+OK\r\r\n%1\r\n:1\r\n_\r\n"),
            (Client, b"PING\r\n*0\r\n"),
            (Server, b"|1\r\n+a\r\n$1\r\n:\r\n+PONG\r\n"),
        ]), &[b"*1", b"$1", b"\r", b"\n", b"x", b"+", b":", b"$-1"]),
        talk("websocket", CHAT, "kind = 'websocket'", vec![
            (Client, hello.clone()),
            (Server, welcome.clone()),
            (Client, fragments),
            (Server, [frame(Server, 0x89, b""), frame(Server, 0x81, b"{\"type\":\"Heard\",\"text\":\"hi\"}")].concat()),
            (Client, frame(Client, 0x88, b"\x03\xe8")),
        ], &[b"GET / HTTP/1.1\r\nHost: h\r\n", b"Upgrade: websocket\r\n", b"Connection: upgrade\r\n", b"\r\n", b"\x81", b"\x80"]),
        talk("websocket, text", CHAT, "kind = 'websocket'\ncarries = 'text'\n[messages]\nSay = 'SAY {text}'\n\
              Heard = 'HEARD {text}'", vec![
            (Client, hello),
            (Server, welcome),
            (Client, frame(Client, 0x81, b"SAY hello")),
            (Server, frame(Server, 0x81, b"HEARD hello")),
        ], &[b"HTTP/1.1 101 x\r\n", b"GET / HTTP/1.1\r\nHost: h\r\n", b"Upgrade: websocket\r\n", b"Connection: upgrade\r\n", b"\r\n"]),
        shipped("smtp", &[
            (Server, b"220-a\r\n220 b\r\n"),
            (Client, b"EHLO x\r\nMAIL FROM:<a>\r\nRCPT TO:<b>\r\nDATA\r\n"),
            (Server, b"250 a\r\n250 b\r\n250 c\r\n354 d\r\n"),
            (Client, b"x\r\n..\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<b>\r\nBDAT 3\r\nabcBDAT 1 LAST\r\nxQUIT\r\n"),
            (Server, b"250 a\r\n250 b\r\n250 c\r\n250 d\r\n250 d\r\n221 e\r\n"),
        ], &[b"220 ", b"220-", b"EHLO x", b"\r", b"\n", b"x", b"421 "]),
        shipped("http", &[
            (Client, b"GET /x?y HTTP/1.1\r\nHost: h\r\n\r\nPOST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nt: u\r\n\r\n"),
            (Server, b"HTTP/1.1 100 Ok\r\n\r\nHTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 Ok\r\nContent-Length: 3\r\n\r\nabc"),
            (Client, b"HEAD / HTTP/1.0\r\nContent-Length: 2\r\n\r\nab"),
        ], &[b"GET / HTTP/1.1\r\nHost: h\r\n", b"HTTP/1.1 200 x\r\n", b"\r\n", b"Content-Length: 2\r\n", b"\r", b"\n", b" ", b"a"]),
        shipped("redis", &[
            (Client, b"*1\r\n$5\r\nMULTI\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING x\r\n*1\r\n$4\r\nEXEC\r\n"),
            (Server, b"+OK\r\n+QUEUED\r\n-ERR\r\n*2\r\n$-1\r\n%1\r\n+a\r\n*1\r\n:1\r\n>1\r\n+x\r\n"),
        ], &[b"*1\r\n", b"$4\r\n", b"PING\r\n", b"+", b"\r\n", b"\n", b"x"]),
        shipped("mqtt", &[
            (Client, b"\x10\x10\x00\x04MQTT\x04\x02\x00\x3c\x00\x04peer"),
            (Server, b"\x20\x02\x00\x00"),
            (Client, b"\x82\x08\x00\x01\x00\x03a/#\x02\x3d\x08\x00\x03a/b\x00\x07y"),
            (Server, b"\x30\x06\x00\x03a/bx\x90\x03\x00\x01\x02"),
            (Client, b"\xe0\x00"),
        ], &[b"\x30", b"\x00", b"\x80", b"\x01", b"\x05", b"\x20\x02"]),
        shipped("postgres", &[
            (Client, b"\0\0\0\x08\x04\xd2\x16\x2f"),
            (Server, b"N"),
            (Client, b"\0\0\0\x0a\0\x03\0\0\0\0"),
            (Server, b"R\0\0\0\x08\0\0\0\0S\0\0\0\x06ab\x5a\0\0\0\x05I"),
            (Client, b"P\0\0\0\x05aB\0\0\0\x04E\0\0\0\x04S\0\0\0\x04"),
            (Server, b"1\0\0\0\x04E\0\0\0\x05xZ\0\0\0\x05I"),
        ], &[b"\0\0\0\x08", b"\x04\xd2\x16\x2f", b"\0\x03\0\0", b"R", b"\0", b"N", b"Q"]),
    ]
}
