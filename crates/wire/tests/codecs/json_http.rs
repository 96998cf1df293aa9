//! JSON-RPC in bodies and events of HTTP: what is a message, and what is refused because readers differ.

use referee_wire::Sender;

use crate::support::{Proxy, compile, preset};

fn post(headers: &str, body: &str) -> (Sender, Vec<u8>) {
    let length = body.len();
    let head = format!("POST /mcp HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {length}\r\n\r\n");
    (Sender::Client, (head + body).into_bytes())
}

fn answer(status: &str, headers: &str, body: &str) -> (Sender, Vec<u8>) {
    let length = body.len();
    (
        Sender::Server,
        format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}").into_bytes(),
    )
}

fn raw(sender: Sender, bytes: &str) -> (Sender, Vec<u8>) {
    (sender, bytes.as_bytes().to_vec())
}

fn said(talk: &[(Sender, Vec<u8>)]) -> Vec<String> {
    let talk: Vec<_> = talk.iter().map(|(sender, bytes)| (*sender, &**bytes)).collect();
    preset("mcp-http").converse(&talk)
}

/// What the last of what is sent leads to.
fn last(talk: &[(Sender, Vec<u8>)]) -> String {
    said(talk).last().unwrap().clone()
}

const JSON: &str = "Content-Type: application/json\r\n";
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

fn call() -> (Sender, Vec<u8>) {
    post(JSON, CALL)
}

#[test]
fn a_call_and_its_answer_in_a_body() {
    let named = format!("{JSON}MCP-Session-ID: s1\r\n");
    let talk = [
        post(&named, CALL),
        answer("200 OK", &named, RESULT),
        post(JSON, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        answer("202 Accepted", "", ""),
    ];
    assert_eq!(
        said(&talk),
        [
            r#"Client: Call("t", {}, ()) of s1"#,
            r#"Server: CallResult("t", {}, (), ()) of s1"#,
            r#"Client: Notification("notifications/initialized")"#,
            "Server: 202"
        ]
    );
}

#[test]
fn bodies_in_chunks_and_gzip() {
    let (one, two) = RESULT.split_at(9);
    let chunks = format!("{:x}\r\n{one}\r\n{:X};x=y\r\n{two}\r\n0\r\n\r\n", one.len(), two.len());
    let head = format!("HTTP/1.1 200 OK\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n");
    assert!(last(&[call(), raw(Sender::Server, &(head + &chunks))]).starts_with("Server: CallResult"));
    let gzip = |text: &str| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut out, text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let coded = |bytes: &[u8], coding: &str| {
        let head = format!(
            "HTTP/1.1 200 OK\r\n{JSON}Content-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
            bytes.len()
        );
        (Sender::Server, [head.as_bytes(), bytes].concat())
    };
    assert!(last(&[call(), coded(&gzip(RESULT), "gzip")]).starts_with("Server: CallResult"));
    // Some readers go on with a second member, others do not.
    let twice = [gzip(RESULT), gzip("x")].concat();
    assert_eq!(last(&[call(), coded(&twice, "gzip")]), "Server: malformed: a body that is no gzip");
    assert!(last(&[call(), coded(&gzip(RESULT), "br")]).contains("compressed in a way that is not read"));
    // Ten thousand blanks in thirty bytes.
    let bomb = gzip(&format!("{RESULT}{}", " ".repeat(10_000)));
    assert!(last(&[call(), coded(&bomb, "gzip")]).contains("longer than the limit once it is inflated"));
}

#[test]
fn a_stream_of_events_has_several_messages() {
    let events = concat!(
        ": hello\r\n\r\n",
        "id: 1\r\nretry: 10\r\ndata: \r\n\r\n",
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\ndata: \"params\":{}}\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"sampling/createMessage\"}\n\n",
        "event: ping\ndata: 17\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"isError\":true}}\n\n",
    );
    let said = said(&[call(), raw(Sender::Server, EVENTS), raw(Sender::Server, events)]);
    assert_eq!(
        said[1..],
        [
            "Server: 200",
            "Server: an event",
            "Server: an event",
            "Server: an event",
            r#"Server: ServerNotification("notifications/progress")"#,
            r#"Server: ServerRequest("sampling/createMessage")"#,
            "Server: an event",
            r#"Server: CallResult("t", {}, true, ())"#,
        ]
    );
}

/// In chunks, the end of which is the end of the exchange: the next request is read then, and no sooner.
#[test]
fn one_exchange_at_a_time() {
    let event = format!("data: {RESULT}\n\n");
    let (one, two) = event.split_at(11);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let stream = format!("{head}{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len());
    let mut pipelined = call();
    pipelined.1.extend(call().1);
    let expected = ["Client: Call", "Server: 200", "Server: CallResult", "Server: an event", "Client: Call"];
    let said = said(&[pipelined, raw(Sender::Server, &stream)]);
    assert_eq!(said.len(), expected.len(), "{said:?}");
    assert!(said.iter().zip(expected).all(|(said, expected)| said.starts_with(expected)), "{said:?}");
}

#[test]
fn what_is_no_message_passes() {
    let token = raw(Sender::Client, "GET /.well-known/oauth HTTP/1.1\r\nHost: x\r\n\r\n");
    let talk = [
        token,
        answer("200 OK", JSON, "{\"issuer\":1}"),
        call(),
        answer("401 Unauthorized", JSON, r#"{"error":"invalid_token","error_description":"x"}"#),
        call(),
        answer("404 Not Found", JSON, r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"no"},"id":null}"#),
        raw(Sender::Client, "DELETE /mcp HTTP/1.1\r\nHost: x\r\nMcp-Session-Id: s\r\n\r\n"),
        answer("405 Method Not Allowed", "Content-Type: text/plain\r\n", "no"),
        post(JSON, r#"{"jsonrpc":"2.0","method":"n"}"#),
        answer("200 OK", JSON, r#"{"jsonrpc":"2.0","result":{}}"#),
        call(),
        answer("200 OK", JSON, RESULT),
    ];
    assert_eq!(
        said(&talk),
        [
            "Client: GET",
            "Server: 200",
            r#"Client: Call("t", {}, ())"#,
            "Server: 401",
            // Its id is free again: it will not be answered.
            r#"Client: Call("t", {}, ())"#,
            r#"Server: CallError(-1, "no")"#,
            "Client: DELETE of s",
            "Server: 405",
            r#"Client: Notification("n")"#,
            "Server: 200",
            r#"Client: Call("t", {}, ())"#,
            r#"Server: CallResult("t", {}, (), ())"#,
        ]
    );
}

#[test]
fn what_readers_differ_about_is_malformed() {
    let client = |talk: (Sender, Vec<u8>), why: &str| {
        let said = last(&[talk]);
        assert!(said.starts_with("Client: malformed") && said.contains(why), "{said}");
    };
    // In UTF-7 `+ACI-` is a quote: who goes by the header calls another tool.
    client(post("Content-Type: application/json; charset=\"utf-7\"\r\n", CALL), "charset");
    client(post("Content-Type: application/json\r\nContent-Type: text/plain\r\n", CALL), "two Content-Type");
    client(post("Content-Type: text/plain; a=application/json\r\n", CALL), "media type");
    client(post("Content-Encoding: br\r\n", CALL), "compressed");
    client(post("Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\n", CALL), "more than once");
    client(post("Transfer-Encoding: chunked\r\n", CALL), "both Content-Length");
    client(post(JSON, r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#), "twice");
    client(raw(Sender::Client, "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n"), "CONNECT");
    client(
        raw(Sender::Client, "PUT /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"),
        "neither a request",
    );
    let server = |talk: (Sender, Vec<u8>), why: &str| {
        let said = last(&[call(), talk]);
        assert!(said.starts_with("Server: malformed") && said.contains(why), "{said}");
    };
    server(raw(Sender::Server, "HTTP/1.1 101 Switching\r\n\r\n"), "101");
    server(answer("200 OK", "Content-Type: application/json-rpc\r\n", RESULT), "media type");
    server(answer("200 OK", JSON, "{}"), "neither a request");
    server(
        raw(Sender::Server, &format!("{EVENTS}event: other\ndata: {RESULT}\n\n")),
        "type that some readers ignore",
    );
    server(raw(Sender::Server, &format!("{EVENTS}data: {RESULT}\rdata: x\n\n")), "CR");
    server(raw(Sender::Server, &format!("{EVENTS}data: {RESULT}\ndata: {RESULT}\n\n")), "not JSON");
    let gzip = EVENTS.replace("\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n");
    server(raw(Sender::Server, &gzip), "compressed");
    // A client that has asked for events reads them whatever they are called.
    let get = raw(Sender::Client, "GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n");
    let stream = answer("200 OK", "Content-Type: text/plain\r\n", "data: 1\n\n");
    assert!(last(&[get.clone(), stream]).contains("no stream of events"));
    assert_eq!(last(&[get, answer("405 Method Not Allowed", "", "")]), "Server: 405");
    // One that has not asked for them may read them all the same.
    let get = raw(Sender::Client, "GET /mcp HTTP/1.1\r\nHost: x\r\nMcp-Session-Id: s\r\nAccept: */*\r\n\r\n");
    let stream = raw(
        Sender::Server,
        &format!("{EVENTS}data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\n\n"),
    );
    assert_eq!(last(&[get, stream]), "Server: ServerRequest(\"ping\")");
}

/// Clients without a session may all call their request 1, and a stream of a `GET` may go on with what was asked elsewhere.
#[test]
fn outside_a_session_nobody_is_blamed_for_what_was_asked_elsewhere() {
    let result = post(JSON, r#"{"jsonrpc":"2.0","id":"s","result":{}}"#);
    assert_eq!(
        last(&[result]),
        "Client: malformed: an answer outside a session, to a request that cannot be known"
    );
    let get = raw(Sender::Client, "GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n");
    let stream = raw(Sender::Server, &format!("{EVENTS}data: {RESULT}\n\n"));
    assert!(last(&[get, stream]).contains("outside a session"));
    // The answer to a call is to that call.
    let other = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
    assert_eq!(last(&[call(), answer("200 OK", JSON, other)]), "Server: an answer to no request: Label");
}

#[test]
fn a_table_says_what_carries_no_message() {
    let preset = referee_wire::preset::find("mcp-http").unwrap();
    let aside = "\n[messages.Token]\naside = true\nfrom = \"client\"\npattern = \"POST /token\"\n";
    let proxy = Proxy::new(preset.protocol, &format!("{}{aside}", preset.table));
    let form = |path: &str| format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na=b");
    let said = |path: &str| proxy.converse(&[(Sender::Client, form(path).as_bytes())])[0].clone();
    assert_eq!(said("/token"), "Client: Token");
    for other in ["/mcp", "/token/", "//token", "/token/../mcp", "/TOKEN", "/mcp?/token"] {
        assert!(said(other).starts_with("Client: malformed: not JSON"), "{other}");
    }
    let wrong = |pattern: &str| {
        let aside = aside.replace("POST /token", pattern);
        compile(preset.protocol, &format!("{}{aside}", preset.table)).unwrap_err()[0].to_string()
    };
    assert!(wrong("POST /{any}").contains("has one path") && wrong("POST *").contains("has one path"));
    let no_rpc = preset.table.replace("rpc = true", "");
    assert!(compile(preset.protocol, &no_rpc).is_err());
    let query = preset.table.replace("header:Mcp-Session-Id", "query:sid");
    assert!(compile(preset.protocol, &query).unwrap_err()[0].to_string().contains("header or a cookie"));
}
