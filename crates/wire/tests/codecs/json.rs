//! JSON documents in every framing, and JSON-RPC.

use referee_wire::Limits;
use referee_wire::Sender::{self, Client, Server};

use crate::support::{Proxy, compile};

const SHOP: &str = "
protocol Shop(role client, role server) {
  rec LOOP {
    choice at client {
      Order(item: string, count: int, tags: list<string>) from client to server where count > 0;
      Placed(id: int) from server to client;
      continue LOOP;
    } or {
      Bye() from client to server;
    }
  }
}";

#[test]
fn an_end_between_two_documents_is_clean_in_every_framing() {
    for framing in ["lines", "stream", "length-16", "length-32", "length-64", "headers"] {
        let codec = compile(SHOP, &format!("kind = 'json'\nframing = '{framing}'")).unwrap();
        let mut connection = codec.connection(Limits::default());
        assert!(codec.end(&mut connection, Client, b"").is_ok(), "{framing}");
        assert!(codec.end(&mut connection, Client, b"\0{").is_err(), "{framing}");
    }
}

#[test]
fn every_split_of_every_framing() {
    let documents: [(bool, &str); 4] = [
        (
            true,
            r#"{"type":"Order","item":"caf\u00e9 \"x\" \ud83d\ude00","count":2,"tags":["a","b"],"more":{"count":[1,{}]}}"#,
        ),
        (false, r#"{"id":7,"type":"Placed"}"#),
        (true, r#" {"tags":[],"count":1,"item":"é","type":"Order"}"#),
        (false, r#"{"type":"Placed","id":-8}"#),
    ];
    let bye = r#"{"type":"Bye"}"#;
    type Frame = fn(&str) -> Vec<u8>;
    let framings: [(&str, Frame); 5] = [
        ("lines", |text| format!("{text}\r\n").into_bytes()),
        ("stream", |text| text.as_bytes().to_vec()),
        ("length-16", |text| [&(text.len() as u16).to_be_bytes(), text.as_bytes()].concat()),
        ("length-64", |text| [&(text.len() as u64).to_be_bytes()[..], text.as_bytes()].concat()),
        ("headers", |text| format!("Content-Length: {}\r\nX: y\r\n\r\n{text}", text.len()).into_bytes()),
    ];
    for (framing, frame) in framings {
        let proxy = Proxy::new(SHOP, &format!("kind = 'json'\nframing = '{framing}'"));
        let mut talk: Vec<_> = documents
            .iter()
            .map(|(client, text)| (if *client { Client } else { Server }, frame(text)))
            .collect();
        talk.push((Client, frame(bye)));
        let borrowed: Vec<_> = talk.iter().map(|(sender, bytes)| (*sender, &**bytes)).collect();
        let said = proxy.converse(&borrowed);
        let said: Vec<&str> = said.iter().map(|line| &**line).collect();
        assert_eq!(
            said,
            [
                "Client: Order(\"café \\\"x\\\" 😀\", 2, [\"a\", \"b\"])",
                "Server: Placed(7)",
                "Client: Order(\"é\", 1, [])",
                "Server: Placed(-8)",
                "Client: Bye",
            ],
            "{framing}"
        );
    }
}

#[test]
fn what_is_wrong_is_told() {
    let proxy = Proxy::new(SHOP, "kind = 'json'");
    let told = |text: &str| proxy.converse(&[(Client, format!("{text}\n").as_bytes())]).remove(0);
    for (text, expected) in [
        ("{\"type\":\"Order\",\"item\":\"x\",\"count\":0,\"tags\":[]}", "Assertion"),
        ("{\"type\":\"Order\",\"item\":\"x\",\"count\":1.5,\"tags\":[]}", "Type"),
        ("{\"type\":\"Order\",\"item\":\"x\",\"tags\":[]}", "Malformed"),
        ("{\"type\":\"Order\",\"item\":\"\\ud800\",\"count\":1,\"tags\":[]}", "Malformed"),
        ("{\"type\":\"Nope\"}", "Label"),
        ("{\"type\":\"Placed\",\"id\":1}", "Order"),
    ] {
        assert!(told(text).ends_with(expected), "{text}: {}", told(text));
    }
    for (text, expected) in [
        ("{}", "the label is missing"),
        ("{\"type\":\"Bye\",\"type\":\"Order\"}", "not JSON: a member that is there twice"),
        ("{\"type\":\"Bye\",\"t\\u0079pe\":\"Order\"}", "not JSON: a member that is there twice"),
        ("{\"type\":\"Bye\"} x", "not JSON: something after the document"),
        ("{\"type\":01}", "not JSON: a malformed number"),
        ("[1,", "not JSON: no JSON value"),
        ("{\"a\":\"\u{1}\"}", "not JSON: a control character in a string"),
    ] {
        assert_eq!(told(text), format!("Client: malformed: {expected}"), "{text}");
    }
    let deep = "[".repeat(1000);
    assert_eq!(told(&deep), "Client: malformed: not JSON: nested deeper than 128 levels");
    let said = proxy.converse(&[(Client, b"\xff\n")]);
    assert_eq!(said, ["Client: malformed: not UTF-8"]);
    let stream = Proxy::new(SHOP, "kind = 'json'\nframing = 'stream'");
    assert_eq!(stream.converse(&[(Client, b"  7")]), ["Client: malformed: neither an object nor an array"]);
    let long = Proxy::new(SHOP, "kind = 'json'\nframing = 'length-32'");
    assert_eq!(
        long.converse(&[(Client, b"\xff\xff\xff\xff{")]),
        ["Client: malformed: a message of more than 4096 bytes"]
    );
}

const RPC: &str = "
protocol Calc(role client, role server) {
  rec LOOP {
    choice at client {
      Add(a: int, b: int) from client to server;
      choice at server { Sum(result: int) from server to client; continue LOOP; }
      or { NoSum(code: int) from server to client; continue LOOP; }
    } or {
      Log(0: string) from client to server;
      continue LOOP;
    }
  }
}";

/// A member of type `unit` may be absent, or `null`, as `watch` has it.
#[test]
fn a_member_of_type_unit_may_be_absent() {
    let protocol = "protocol P(role client, role server) {
        rec X { M(n: int, nothing: unit) from client to server; continue X; } }";
    let proxy = Proxy::new(protocol, "kind = 'json'");
    let said = proxy.converse(&[
        (Client, b"{\"type\":\"M\",\"n\":1}\n"),
        (Client, b"{\"type\":\"M\",\"n\":2,\"nothing\":null}\n"),
        (Client, b"{\"type\":\"M\",\"nothing\":null}\n"),
    ]);
    assert_eq!(said[..2], ["Client: M(1, ())", "Client: M(2, ())"], "{said:?}");
    assert!(said[2].ends_with("Malformed"), "{said:?}");
}

#[test]
fn json_rpc_labels_answers_by_their_requests() {
    let protocol = RPC.replace("0: string", "string");
    let table = "kind = 'json'\nrpc = true\n[messages]\nAdd = 'add'\nLog = 'log'\nSum = { answers = 'Add' }\nNoSum = { answers = 'Add', error = true }";
    let proxy = Proxy::new(&protocol, table);
    let said = proxy.converse(&[
        (Client, b"{\"jsonrpc\":\"2.0\",\"method\":\"add\",\"params\":{\"a\":1,\"b\":2},\"id\":\"x\"}\n"),
        (Server, b"{\"jsonrpc\":\"2.0\",\"result\":3,\"id\":\"x\"}\n"),
        (Client, b"{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":[\"hi\"]}\n"),
        (Client, b"{\"jsonrpc\":\"2.0\",\"method\":\"add\",\"params\":{\"a\":1,\"b\":2},\"id\":1}\n"),
        (Server, b"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32601,\"message\":\"no\"},\"id\":1}\n"),
        (Client, b"{\"method\":\"add\",\"params\":{\"a\":1,\"b\":2},\"id\":2}\n"),
        (Server, b"{\"result\":3,\"id\":1}\n"),
    ]);
    let said: Vec<&str> = said.iter().map(|line| line.split(", ").next().unwrap()).collect();
    assert_eq!(said[1..3], ["Server: Sum(3)", "Client: Log(\"hi\")"]);
    assert_eq!(said[4], "Server: NoSum(-32601)");
    // The answer to something that was answered before.
    assert_eq!(said[6], "Server: an answer to no request: Label");
}

/// An array of messages goes on as it came, once each of them was judged: all but the last have no bytes.
#[test]
fn arrays_of_messages_are_taken_apart() {
    let proxy = crate::support::preset("jsonrpc");
    let said = proxy.converse(&[
        (Client, b" [ {\"id\":1,\"method\":\"a\"} ,\t{\"method\":\"n\"},{\"id\":\"x\",\"method\":\"b\"} ]\n{\"id\":2,\"method\":\"c\"}\n"),
        (Server, b"[{\"id\":\"x\",\"result\":1},{\"id\":1,\"error\":{\"code\":-1,\"message\":\"no\"}}]\n"),
        (Server, b"[{\"id\":2,\"result\":1}]\n"),
    ]);
    let expected = [
        "Client: Request(\"a\")",
        "Client: Notification(\"n\")",
        "Client: Request(\"b\")",
        "Client: Request(\"c\")",
        "Server: ServerResult(\"b\")",
        "Server: ServerError(-1, \"no\")",
        "Server: ServerResult(\"c\")",
    ];
    assert_eq!(said, expected);
    let array: &[u8] = b"[{\"id\":1,\"method\":\"a\"},{\"method\":\"n\"}]\n";
    assert_eq!(proxy.forwarded(Client, [(Client, &array[..array.len() - 1])]), 0);
    assert_eq!(proxy.forwarded(Client, [(Client, array)]), array.len());
    let malformed = |text: &str| {
        let said = proxy.converse(&[(Client, text.as_bytes())]);
        said.last().unwrap().strip_prefix("Client: malformed: ").unwrap().to_owned()
    };
    assert!(malformed("[]\n").contains("or of nothing"));
    assert!(malformed("[[{\"method\":\"n\"}]]\n").contains("other than messages"));
    assert!(malformed("[{\"method\":\"n\"},]\n").contains("not JSON"));
    assert!(malformed("[{\"method\":\"n\"}],{}\n").contains("something after the document"));
    assert!(
        malformed("[{\"id\":1,\"method\":\"n\"},{\"id\":1,\"method\":\"n\"}]\n").contains("not answered yet")
    );
}

/// Neovim writes `textDocument\/didOpen`.
#[test]
fn a_method_may_be_written_with_escapes() {
    let proxy = crate::support::preset("jsonrpc");
    let said = proxy.converse(&[
        (Client, b"{\"jsonrpc\":\"2.0\",\"method\":\"a\\/b\",\"id\":1}\n"),
        (Server, b"{\"jsonrpc\":\"2.0\",\"result\":3,\"id\":1}\n"),
        (Client, b"{\"jsonrpc\":\"2.0\",\"method\":\"\\ud800\"}\n"),
    ]);
    assert_eq!(said[..2], ["Client: Request(\"a/b\")", "Server: ServerResult(\"a/b\")"], "{said:?}");
    assert!(said[2].contains("a method that is no string"), "{said:?}");
}

#[test]
fn mistakes_in_a_table() {
    let errors = compile(SHOP, "kind = 'json'\nlabel = 'type'").unwrap_err();
    assert_eq!(errors[0].to_string(), "`label`: `type` is no JSON pointer: it has to begin with `/`");
    let errors = compile(SHOP, "kind = 'json'\nmessages.Order = { fields = { x = '/x' } }").unwrap_err();
    assert!(
        errors[0].to_string().starts_with("`messages.Order.fields.x`: no field is called `x`"),
        "{errors:?}"
    );
    let errors = compile(SHOP, "kind = 'json'\nmultiline = 'server'").unwrap_err();
    assert_eq!(errors[0].to_string(), "`multiline`: this key is not for codecs of kind `json`");
}

const OCPP: &str = "
protocol Charging(role client, role server) {
  rec X {
    choice at client {
      Boot(model: string) from client to server;
      choice at server {
        Accepted(status: string) from server to client; continue X;
      } or {
        Refused(code: string, text: string) from server to client; continue X;
      }
    } or { Status(value: int) from client to server; continue X; }
  }
}";

const OCPP_TABLE: &str = r#"
kind = "json"
[correlate]
id = "/1"
label = "/2"
no-id = "-1"
refusal = '[4,{id},"SecurityError",{why},{}]'
request = { when = { "/0" = 2 }, fields = "/3" }
result = { when = { "/0" = 3 }, fields = "/2" }
error = { when = { "/0" = 4 } }
notification = { when = { "/0" = 6 }, fields = "/3" }
[messages]
Boot = { label = "BootNotification", fields = { model = "/3/chargePointModel" } }
Accepted = { answers = "Boot" }
Refused = { answers = "Boot", error = true, fields = { code = "/2", text = "/3" } }
Status = { label = "StatusNotification", notification = true }
"#;

/// Arrays, as OCPP's: what an element says tells the kind, ids and labels are elements.
#[test]
fn arrays_are_correlated_by_their_elements() {
    let proxy = Proxy::new(OCPP, OCPP_TABLE);
    let said = proxy.converse(&[
        (Client, b"[2,\"a\",\"BootNotification\",{\"chargePointModel\":\"m\"}]\n"),
        (Server, b"[3,\"a\",{\"status\":\"Accepted\"}]\n"),
        (Client, b"[ 2 , \"b\" , \"BootNotification\" , {\"chargePointModel\":\"n\"} ]\n"),
        (Server, b"[4,\"b\",\"InternalError\",\"no\",{}]\n"),
        (Client, b"[6,\"c\",\"StatusNotification\",{\"value\":7}]\n"),
        (Client, b"[2,\"d\",\"BootNotification\",{\"chargePointModel\":\"m\"}]\n"),
        // Of which request the id could not be read.
        (Server, b"[4,\"-1\",\"FormatViolation\",\"?\",{}]\n"),
    ]);
    let expected = [
        "Client: Boot(\"m\")",
        "Server: Accepted(\"Accepted\")",
        "Client: Boot(\"n\")",
        "Server: Refused(\"InternalError\", \"no\")",
        "Client: Status(7)",
        "Client: Boot(\"m\")",
        "Server: Refused(\"FormatViolation\", \"?\")",
    ];
    assert_eq!(said, expected);
    let said = proxy.converse(&[(Client, b"[5,\"a\",{}]\n")]);
    assert!(said[0].contains("neither a request nor an answer"), "{said:?}");
}

/// The Debug Adapter Protocol: answers have ids of their own, and repeat the request's.
#[test]
fn answers_may_have_ids_of_their_own() {
    let proxy = crate::support::preset("dap");
    let frame = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
    let talk = [
        (Client, frame(r#"{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}"#)),
        (
            Server,
            frame(
                r#"{"seq":1,"type":"response","request_seq":1,"success":true,"command":"initialize","body":{}}"#,
            ),
        ),
        (Server, frame(r#"{"seq":2,"type":"event","event":"initialized"}"#)),
        (Client, frame(r#"{"seq":2,"type":"request","command":"launch"}"#)),
        (Client, frame(r#"{"seq":3,"type":"request","command":"threads"}"#)),
        (Server, frame(r#"{"seq":3,"type":"request","command":"runInTerminal","arguments":{}}"#)),
        (Server, frame(r#"{"seq":4,"type":"response","request_seq":3,"success":true,"command":"threads"}"#)),
        (
            Client,
            frame(
                r#"{"seq":4,"type":"response","request_seq":3,"success":false,"command":"runInTerminal","message":"no"}"#,
            ),
        ),
        (Server, frame(r#"{"seq":5,"type":"response","request_seq":2,"success":true,"command":"launch"}"#)),
        (Server, frame(r#"{"seq":6,"type":"response","request_seq":2,"success":true,"command":"launch"}"#)),
    ];
    let talk: Vec<(Sender, &[u8])> = talk.iter().map(|(sender, text)| (*sender, text.as_bytes())).collect();
    let said = proxy.converse(&talk);
    let expected = [
        "Client: Initialize",
        "Server: InitializeResult",
        "Server: Event(\"initialized\")",
        "Client: Request(\"launch\")",
        "Client: Request(\"threads\")",
        "Server: ServerRequest(\"runInTerminal\")",
        "Server: ServerResult(\"threads\")",
        "Client: Error(\"runInTerminal\", \"no\")",
        "Server: ServerResult(\"launch\")",
        "Server: an answer to no request: Label",
    ];
    assert_eq!(said, expected);
}
