//! Lines, replies of several lines, and blocks.

use referee_wire::Sender::{Client, Server};

use crate::support::{Proxy, borrowed, compile, script};

const MAIL: &str = "
protocol Mail(role client, role server) {
  Greeting(code: int, text: string) from server to client;
  rec LOOP {
    choice at client {
      Mail(addr: string, params: string) from client to server;
      choice at server {
        MailOk(text: string) from server to client;
        continue LOOP;
      } or {
        MailNo(code: int) from server to client;
        continue LOOP;
      }
    } or {
      Data() from client to server;
      choice at server {
        Go() from server to client;
        Content() from client to server;
        Stored(whole: string) from server to client;
        continue LOOP;
      } or {
        MailNo(code: int) from server to client;
        continue LOOP;
      }
    } or {
      Chunk(size: int) from client to server;
      ChunkOk() from server to client;
      continue LOOP;
    } or {
      Upgrade() from client to server;
      Upgraded() from server to client;
      continue LOOP;
    } or {
      Quit() from client to server;
    }
  }
}";

const TABLE: &str = r#"
kind = "text"
ignore-case = true
multiline = "server"
[messages]
Greeting = "{code} {text}"
Mail = "MAIL FROM:<{addr}>{params}"
MailOk = "250 {text}"
MailNo = { regex = "(?P<code>[45][0-9][0-9]) .*" }
Data = "DATA"
Go = "354{_}"
Content = { block = "dot" }
Stored = { pattern = "250{_}", whole = "whole" }
Chunk = { pattern = "CHUNK {size}", body = "size" }
ChunkOk = "250{_}"
Upgrade = "UPGRADE"
Upgraded = { pattern = "220{_}", then = "transparent" }
Quit = "QUIT"
Noise = { pattern = "*{_}", aside = true, from = "server" }
"#;

#[test]
fn every_split_gives_the_same_messages() {
    let proxy = Proxy::new(MAIL, TABLE);
    let talk = script(
        "S: 220 mx ready
         C: mail from:<a@b> SIZE=7
         S: 250 ok
         S: * just so
         C: MAIL FROM:<>
         S: 550 no
         C: DATA
         S: 354 go ahead
         C: Subject: x
         C:
         C: ..stuffed
         C: .
         S: 250-first
         S: 250 second
         C: CHUNK 12
         C: 0123456789
         S: 250 got it
         C: QUIT",
    );
    let said = proxy.converse(&borrowed(&talk));
    assert_eq!(
        said,
        [
            "Server: Greeting(220, \"mx ready\")",
            "Client: Mail(\"a@b\", \" SIZE=7\")",
            "Server: MailOk(\"ok\")",
            "Server: Noise",
            "Client: Mail(\"\", \"\")",
            "Server: MailNo(550)",
            "Client: Data",
            "Server: Go",
            "Client: Content",
            "Server: Stored(\"250-first\\r\\n250 second\\r\\n\")",
            "Client: Chunk(12)",
            "Server: ChunkOk",
            "Client: Quit",
        ]
    );
}

#[test]
fn what_is_pipelined_goes_on_when_it_is_certain_and_is_never_blamed() {
    let proxy = Proxy::new(MAIL, TABLE);
    let said = proxy.run([
        (Server, &b"220 mx ready\r\n"[..]),
        (Client, b"MAIL FROM:<a>\r\nDATA\r\nx\r\n.\r\nQUIT\r\n"),
        (Server, b"250 ok\r\n"),
        (Server, b"354 go\r\n"),
        (Server, b"250 stored\r\n"),
    ]);
    let order: Vec<&str> = said.iter().map(|line| line.split(['(', ',']).next().unwrap()).collect();
    // `DATA` overtakes the answer, its block does not: without `354` these would be commands.
    assert_eq!(
        order,
        [
            "Server: Greeting",
            "Client: Mail",
            "Client: Data",
            "Server: MailOk",
            "Server: Go",
            "Client: Content",
            "Client: Quit",
            "Server: Stored",
        ]
    );
}

#[test]
fn a_wrong_message_is_blamed_with_its_label() {
    let proxy = Proxy::new(MAIL, TABLE);
    let said = proxy.converse(&[(Server, b"220 x\r\n"), (Client, b"BOGUS 1\r\n")]);
    assert_eq!(said[1], "Client: BOGUS 1: Label");
    let said = proxy.converse(&[(Server, b"220 x\r\n"), (Client, b"DATA\r\n"), (Server, b"999 eh\r\n")]);
    // No pattern for this state matches; the greeting's would, but it begins with anything.
    assert_eq!(said[2], "Server: 999 eh: Label");
}

#[test]
fn transparent_after_an_agreement() {
    let proxy = Proxy::new(MAIL, TABLE);
    let said = proxy.converse(&[
        (Server, b"220 x\r\n"),
        (Client, b"UPGRADE\r\n"),
        (Server, b"220 go\r\n"),
        (Client, b"\x16\x03\x01"),
    ]);
    assert!(said.last().unwrap().ends_with("transparent"), "{said:?}");
}

#[test]
fn hostile_lines() {
    let proxy = Proxy::new(MAIL, TABLE);
    let long = vec![b'x'; 5000];
    let said = proxy.run([(Server, &long[..])]);
    assert_eq!(said, ["Server: malformed: a message of more than 4096 bytes"]);
    let said = proxy.converse(&[(Server, b"220-a\r\n221 b\r\n")]);
    assert_eq!(said, ["Server: malformed: a line of a reply that begins with another code than the first"]);
    let said = proxy.converse(&[(Server, b"220 xy\xc3\xa9\r\n")]);
    assert_eq!(said, ["Server: Greeting(220, \"xy\u{e9}\")"]);
    let said = proxy.converse(&[(Server, b"220 x\0y\r\n")]);
    assert_eq!(said, ["Server: malformed: a NUL in a line"]);
    let said = proxy.converse(&[(Server, b"220 \xc3\r\n")]);
    assert_eq!(said, ["Server: Greeting(220, <not UTF-8>): Malformed"]);
    let said = proxy.converse(&[(Server, b"99999999999999999999 x\r\n")]);
    assert!(said[0].ends_with("Malformed"), "{said:?}");
    for dots in ["x\n.\r\n", "x\r\n.\n", "x\n.\n"] {
        let said = proxy.converse(&[
            (Server, b"220 x\r\n"),
            (Client, b"DATA\r\n"),
            (Server, b"354 x\r\n"),
            (Client, dots.as_bytes()),
        ]);
        assert_eq!(
            said[4], "Client: malformed: a lone CR or LF beside the dot that may end the block",
            "{dots:?}"
        );
    }
    let said = proxy.converse(&[(Server, b"220 x\r\n"), (Client, b"CHUNK -1\r\n")]);
    assert_eq!(said[1], "Client: malformed: a length that is no number of bytes");
}

#[test]
fn a_block_that_the_protocol_looks_at() {
    let proxy = Proxy::new(
        "protocol P(role client, role server) { Text(body: string) from client to server where body.size() < 20; }",
        "kind = 'text'\nmessages.Text = { block = 'dot' }",
    );
    let said = proxy.converse(&[(Client, b"one\r\n..two\r\n\r\n.\r\n")]);
    assert_eq!(said, ["Client: Text(\"one\\r\\n..two\\r\\n\\r\\n\")"]);
}

#[test]
fn mistakes_in_a_table_are_told_with_their_place() {
    let protocol = "protocol P(role client, role server) { A(n: int, s: string) from client to server; B() from server to client; }";
    let told = |table: &str| -> Vec<String> {
        compile(protocol, table).unwrap_err().iter().map(ToString::to_string).collect()
    };
    let with_a = |a: &str| told(&format!("kind = 'text'\n[messages]\nA = {a}\nB = 'B'"));
    assert_eq!(with_a("'A {n} {x}'"), ["`messages.A.pattern`: no field is called `x`: there is `n`, `s`"]);
    assert_eq!(with_a("'A {n}'"), ["`messages.A`: nothing gives the field `s` a value"]);
    assert_eq!(
        with_a("'A {s}{n}'"),
        ["`messages.A.pattern`: `{n}` follows a capture directly: put text between them"]
    );
    assert_eq!(
        with_a("'A {n'"),
        ["`messages.A.pattern`: a brace without its other half; write `{{` or `}}` for one that is meant"]
    );
    assert_eq!(with_a("{ regex = '(?P<n>[0-9]+' }"), ["`messages.A.regex`: unclosed group"]);
    assert_eq!(
        told("kind = 'text'\nmessages.B = 'B'"),
        ["`messages`: no pattern for the protocol's message `A` (add `messages.A = \"…\"`)"]
    );
    assert!(told("kind = 'text'\nmessage.B = 'B'")[0].contains("unknown field `message`"));
    let text = "kind = 'text'\n[messages]\nA = 'A {n} {x}'\nB = 'B'";
    let error = &compile(protocol, text).unwrap_err()[0];
    let span = referee_wire::locate(text, error.path().iter().map(String::as_str)).unwrap();
    assert_eq!(&text[span], "'A {n} {x}'");
}
