//! Binary frames, and RESP.

use referee_wire::Sender::{Client, Server};

use crate::support::{Proxy, compile};

const PROTOCOL: &str = "
protocol Frames(role client, role server) {
  choice at client {
    Ask() from client to server;
    choice at server { Yes() from server to client; }
    or { No() from server to client; Start(version: int) from client to server; do Main(client, server); }
  } or {
    Start(version: int) from client to server;
    do Main(client, server);
  }
}
aux protocol Main(role client, role server) {
  choice at client {
    Query(name: string, count: int) from client to server;
    choice at server { Row(value: float) from server to client; do Main(client, server); }
    or { Status(code: int) from server to client; do Main(client, server); }
  } or {
    Close() from client to server;
  }
}";

const TABLE: &str = r#"
kind = "frames"
tag = { at = 0, bytes = 1 }
length = { at = 1, bytes = 4, counts-from = 1 }
untagged-length = { at = 0, bytes = 4, counts-from = 0 }
[messages]
Ask = { untagged = true, layout = ["_: u32 = 77"] }
Start = { untagged = true, layout = ["version: u16"] }
Yes = { bare = "S", then = "transparent" }
No = { bare = "N" }
Query = { pattern = "Q", layout = ["name: cstring", "count: i16"] }
Row = { pattern = "R", layout = ["_: u8 = 1", "value: f32"] }
Status = { tag = 82, layout = ["_: u8 = 2", "code: i64"] }
Close = "X"
Note = { pattern = "N", aside = true, from = "server" }
"#;

#[test]
fn every_split_of_frames_gives_the_same_messages() {
    let proxy = Proxy::new(PROTOCOL, TABLE);
    let said = proxy.converse(&[
        (Client, b"\0\0\0\x08\0\0\0\x4d"),
        (Server, b"N"),
        (Client, b"\0\0\0\x0a\0\x03rest"),
        (Client, b"Q\0\0\0\x0eab\0\xff\xfetail!"),
        (Server, b"N\0\0\0\x06xyR\0\0\0\x09\x01\x3f\xc0\0\0"),
        (Client, b"Q\0\0\0\x09ab\0\0\x01"),
        (Server, b"R\0\0\0\x0d\x02\xff\xff\xff\xff\xff\xff\xff\xf0"),
        (Client, b"X\0\0\0\x04"),
    ]);
    assert_eq!(
        said,
        [
            "Client: Ask",
            "Server: No",
            "Client: Start(3)",
            "Client: Query(\"ab\", -2)",
            "Server: Note",
            "Server: Row(1.5)",
            "Client: Query(\"ab\", 1)",
            "Server: Status(-16)",
            "Client: Close",
        ]
    );
    let said = proxy.converse(&[(Client, b"\0\0\0\x08\0\0\0\x4d"), (Server, b"S"), (Client, b"\x16\x03")]);
    assert!(said[2].ends_with("transparent"), "{said:?}");
}

#[test]
fn wrong_frames() {
    let proxy = Proxy::new(PROTOCOL, TABLE);
    let start: (_, &[u8]) = (Client, b"\0\0\0\x06\0\x03");
    let told = |bytes: &[u8]| proxy.converse(&[start, (Client, bytes)]).remove(1);
    assert_eq!(told(b"Q\0\0\0\x03"), "Client: malformed: a length that is less than the header's");
    assert_eq!(told(b"Q\0\0\0\x06ab"), "Client: malformed: a frame that is shorter than its fields");
    assert_eq!(told(b"Q\0\0\0\x08ab\0\x01"), "Client: malformed: a frame that is shorter than its fields");
    assert_eq!(told(b"Z\0\0\0\x08"), "Client: Z: Label");
    assert_eq!(told(b"\x07\0\0\0\x04"), "Client: a frame with an unknown tag: Label");
    let long = [b"Q\xff\xff\xff\xff".to_vec(), vec![b'x'; 5000]].concat();
    assert_eq!(
        proxy.run([start, (Client, &long)])[1],
        "Client: malformed: a message of more than 4096 bytes"
    );
    // Four gibibytes of which nothing is wanted.
    let said = proxy.run([start, (Client, b"X\xff\xff\xff\xff")]);
    assert_eq!(said[1..], ["Client: Close"]);
}

#[test]
fn the_most_exact_of_several_frames_with_one_tag() {
    let protocol = "protocol P(role client, role server) { rec X { choice at client {
        Any() from client to server; continue X; } or { Exact() from client to server; continue X; } } }";
    let table = r#"
kind = "frames"
tag = { at = 0, bytes = 1 }
length = { at = 1, bytes = 1, counts-from = 0 }
[messages]
Any = "E"
Exact = { pattern = "E", layout = ["_: u8 = 7"] }
"#;
    let said = Proxy::new(protocol, table).converse(&[(Client, b"E\x03\x07E\x03\x08")]);
    assert_eq!(said, ["Client: Exact", "Client: Any"]);
}

#[test]
fn mistakes_in_a_table_of_frames() {
    let told = |from: &str, to: &str| compile(PROTOCOL, &TABLE.replace(from, to)).unwrap_err()[0].to_string();
    assert_eq!(
        told("count: i16", "count: i17"),
        "`messages.Query.layout.1`: `i17` is no type: there is `u8` to `u64`, `i8` to `i64`, `f32`, `f64`, `leb128`, `mqtt`, \
         `quic`, `cstring`, `string(u16)`, `bytes(N)`, `rest`, `list(…)`, `pairs(…)[N]`, `crc32` and other checksums"
    );
    assert_eq!(told("value: f32", "_: f32"), "`messages.Row`: nothing gives the field `value` a value");
    assert!(told("Start = { untagged = true,", "Start = { pattern = 'S',").contains("cannot be told apart"));
    assert_eq!(
        told("tag = { at = 0, bytes = 1 }", ""),
        "`messages.Status`: `tag` is missing from the table: where is it in a frame?"
    );
}

const CACHE: &str = "
protocol Cache(role client, role server) {
  rec LOOP {
    choice at client {
      Get(key: string) from client to server;
      choice at server { Value(text: string) from server to client; continue LOOP; }
      or { Nothing() from server to client; continue LOOP; }
    } or {
      Command() from client to server;
      choice at server { Ok() from server to client; continue LOOP; }
      or { Error(text: string) from server to client; continue LOOP; }
      or { Reply() from server to client; continue LOOP; }
    }
  }
}";

const RESP: &str = r#"
kind = "resp"
[messages]
Get = "GET"
Command = "any"
Value = "$"
Nothing = "_"
Ok = "+OK"
Error = "-"
Reply = "any"
Message = { pattern = "*message >", aside = true, from = "server" }
"#;

#[test]
fn every_split_of_resp_gives_the_same_messages() {
    let proxy = Proxy::new(CACHE, RESP);
    let said = proxy.converse(&[
        (Client, b"*2\r\n$3\r\nget\r\n$1\r\nk\r\n"),
        (Server, b"$5\r\na\r\nbc\r\n"),
        (Client, b"get k\r\n"),
        (Server, b"$-1\r\n"),
        (Client, b"*2\r\n$3\r\nGET\r\n$2\r\nkk\r\n"),
        (Server, b"_\r\n"),
        (Client, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$12\r\n012345678901\r\n"),
        (Server, b"+OK\r\n"),
        (Client, b"*1\r\n$4\r\nPING\r\n"),
        (Server, b"*2\r\n$7\r\nmessage\r\n$1\r\nx\r\n>1\r\n:1\r\n-ERR no\r\n"),
        (Client, b"*1\r\n$4\r\nKEYS\r\n"),
        (Server, b"|1\r\n+a\r\n:1\r\n*3\r\n$2\r\nab\r\n%1\r\n+x\r\n*0\r\n,1.5\r\n"),
        (Client, b"*0\r\n*1\r\n$4\r\nLEN1\r\n"),
        (Server, b":12\r\n"),
    ]);
    let said: Vec<&str> =
        said.iter().map(|line| line.rsplit_once(", ").map_or(&**line, |(line, _)| line)).collect();
    let expected = [
        "Client: Get(\"k\")",
        "Server: Value(\"a\\r\\nbc\")",
        "Client: Get(\"k\")",
        "Server: Nothing",
        "Client: Get(\"kk\")",
        "Server: Nothing",
        "Client: Command",
        "Server: Ok",
        "Client: Command",
        "Server: Message",
        "Server: Message",
        "Server: Error(\"ERR no\")",
        "Client: Command",
        "Server: |1",
        "Server: Reply",
        "Client: ",
        "Client: Command",
        "Server: Reply",
    ];
    assert_eq!(said, expected);
}

#[test]
fn wrong_resp() {
    let proxy = Proxy::new(CACHE, RESP);
    for wrong in [
        "*x\r\n",
        "*1\r\n:1\r\n",
        "*1\r\n$x\r\n",
        "*2\r\n$3\r\nGET\r\n$1\r\nkk\r\n",
        "*1\r\n$-1\r\n",
        "*99999999999\r\n",
        "*1\rx",
    ] {
        let said = proxy.run([(Client, wrong.as_bytes())]);
        assert!(said[0].contains("malformed"), "{wrong:?}: {said:?}");
    }
    let said = proxy.run([(Client, &b"*2\r\n$3\r\nSET\r\n?\r\n"[..])]);
    assert!(said[1].contains("malformed"), "{said:?}");
    // A gibibyte that nobody wants, and a million values.
    let said = proxy.run([(Client, &b"*2\r\n$3\r\nSET\r\n$1073741824\r\nxx"[..])]);
    assert_eq!(said, ["Client: Command"]);
    let many = [b"*1000000\r\n".to_vec(), b":1\r\n".repeat(1_000_000)].concat();
    let said = proxy.run([(Client, &b"KEYS\r\n"[..]), (Server, &many)]);
    assert_eq!(said[1], "Server: Reply");
}

/// A string is as long as it says, also where it is passed on as it comes: else whoever reads it next reads the rest as
/// something else.
#[test]
fn strings_that_are_passed_on_end_where_they_say() {
    let proxy = Proxy::new(CACHE, RESP);
    let wrong: [&[(referee_wire::Sender, &[u8])]; 6] = [
        &[(Client, b"KEYS\r\n"), (Server, b"$5\r\nhello+OK\r\n")],
        &[(Client, b"KEYS\r\n"), (Server, b"*2\r\n$5\r\nhelloXX:1\r\n")],
        &[(Client, b"KEYS\r\n"), (Server, b"*1\r\n$5\r\nhello\rX")],
        &[(Client, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\nabc*1\r\n")],
        // Arguments are strings; Redis closes the connection otherwise.
        &[(Client, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n")],
        &[(Client, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$-1\r\n")],
    ];
    for talk in wrong {
        let said = proxy.converse(talk);
        assert!(said.last().unwrap().contains("malformed"), "{talk:?}: {said:?}");
    }
    // What one client takes for two lines is one to another.
    for reply in ["+OK\n", "+a\nb\r\n", "*1\r\n+a\n", ":1\n"] {
        let said = proxy.converse(&[(Client, b"KEYS\r\n"), (Server, reply.as_bytes())]);
        assert!(said.last().unwrap().ends_with("a line that ends with a lone LF"), "{reply:?}: {said:?}");
    }
}

/// Redis answers whatever has a name, however strange, and says nothing to what has none.
#[test]
fn commands_with_strange_names() {
    let proxy = Proxy::new(CACHE, RESP);
    let long = format!("*1\r\n$40\r\n{}\r\n", "x".repeat(40));
    let said = proxy.converse(&[
        (Client, long.as_bytes()),
        (Server, b"-ERR unknown command\r\n"),
        (Client, b"*1\r\n$0\r\n\r\n"),
        (Server, b"-ERR unknown command ''\r\n"),
        (Client, b"\r\n  \r\n*-1\r\nPING\r\n"),
        (Server, b"+PONG\r\n"),
    ]);
    let labels: Vec<&str> = said.iter().map(|line| line.split('(').next().unwrap()).collect();
    let nothing = "Client: ";
    assert_eq!(
        labels,
        [
            "Client: Command",
            "Server: Error",
            "Client: Command",
            "Server: Error",
            nothing,
            nothing,
            nothing,
            "Client: Command",
            "Server: Reply",
        ]
    );
}

/// Arrays are told apart by their first word; what is no word there is nobody's fault, and need not be kept.
#[test]
fn arrays_that_begin_with_something_else() {
    let proxy = Proxy::new(CACHE, RESP);
    let large = [&b"*2\r\n$5000\r\n"[..], &[b'x'; 5000], b"\r\n:1\r\n"].concat();
    for reply in [&b"*2\r\n$-1\r\n:1\r\n"[..], b"*1\r\n*1\r\n$7\r\nmessage\r\n", b"*1\r\n:7\r\n", &large] {
        let said = proxy.converse(&[(Client, b"KEYS\r\n"), (Server, reply), (Client, b"KEYS\r\n")]);
        assert_eq!(said, ["Client: Command", "Server: Reply", "Client: Command"]);
    }
}
