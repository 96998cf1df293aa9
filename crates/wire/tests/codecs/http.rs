//! HTTP/1.1: lengths, pipelining, and everything that smugglers use.

use referee_wire::Sender::{self, Client, Server};

use crate::support::{Proxy, compile};

const API: &str = "
protocol Api(role client, role server) {
  rec LOOP {
    choice at client {
      List(page: string) from client to server;
      Listed() from server to client;
      continue LOOP;
    } or {
      Get(id: int, token: string) from client to server;
      choice at server { Found(etag: string) from server to client; continue LOOP; }
      or { Missing(status: int) from server to client; continue LOOP; }
    } or {
      Put(id: int, name: string) from client to server;
      Stored() from server to client;
      continue LOOP;
    } or {
      Other(method: string) from client to server;
      Done() from server to client;
      continue LOOP;
    }
  }
}";

const TABLE: &str = r#"
kind = "http"
lenient = ["missing-host"]
session = "cookie:sid"
[messages]
List = { pattern = "GET /items", fields = { page = "query:page" } }
Get = { pattern = "GET /items/{id}", fields = { token = "header:X-Token" } }
Put = { pattern = "PUT /items/{id}", fields = { name = "json:/name" } }
Other = { pattern = "* *", fields = { method = "method" } }
Listed = "2xx"
Found = { pattern = "200", fields = { etag = "header:ETag" } }
Missing = { pattern = "4xx", fields = { status = "status" } }
Stored = "201"
Done = "*"
"#;

fn said(pieces: &[(Sender, &str)]) -> Vec<String> {
    let pieces: Vec<_> = pieces.iter().map(|(sender, text)| (*sender, text.as_bytes())).collect();
    Proxy::new(API, TABLE).converse(&pieces)
}

#[test]
fn every_split_gives_the_same_messages() {
    let said = said(&[
        (Client, "GET /items?x=1&page=a%20b+c HTTP/1.1\r\nHost: h\r\ncookie: a=b; sid=s1\r\n\r\n"),
        (
            Server,
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nT: t\r\n\r\n",
        ),
        (Client, "GET http://h/items/7 HTTP/1.1\r\nX-Token:  abc \r\n\r\n"),
        (
            Server,
            "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 3\r\nSet-Cookie: sid=s2; Path=/\r\n\r\nabc",
        ),
        (Client, "GET /items/%37 HTTP/1.1\r\nX-Token: abc\r\n\r\n"),
        (Server, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        (Client, "PUT /items/8 HTTP/1.1\r\nContent-Length: 14\r\n\r\n{\"name\": \"ab\"}"),
        (Server, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"),
        (
            Client,
            "PUT /items/8 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"name\"\r\n007\r\n: \"ab\"}\r\n0\r\n\r\n",
        ),
        (Server, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"),
        (Client, "HEAD /x HTTP/1.1\r\n\r\n"),
        (Server, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
        (Client, "DELETE /a/b/c HTTP/1.1\r\n\r\n"),
        (Server, "HTTP/1.1 500 Oh\r\n\r\nwhatever comes"),
    ]);
    assert_eq!(
        said,
        [
            "Client: List(\"a b c\") of s1",
            "Server: 100",
            "Server: Listed",
            "Client: Get(7, \"abc\")",
            "Server: Found(\"\\\"e\\\"\") of s2",
            "Client: Get(7, \"abc\")",
            "Server: Missing(404)",
            "Client: Put(8, \"ab\")",
            "Server: Stored",
            "Client: Put(8, \"ab\")",
            "Server: Stored",
            "Client: Other(\"HEAD\")",
            "Server: Done",
            "Client: Other(\"DELETE\")",
            "Server: Done",
        ]
    );
}

/// One reader would take the first and another the last.
#[test]
fn what_is_wanted_may_not_be_there_twice() {
    let malformed = "<it is there more than once>";
    for (request, expected) in [
        ("GET /items?page=1&page=2 HTTP/1.1\r\n\r\n", format!("Client: List({malformed})")),
        ("GET /items?page=1&%70age=1 HTTP/1.1\r\n\r\n", format!("Client: List({malformed})")),
        ("GET /items/7 HTTP/1.1\r\nX-Token: a\r\nx-token: b\r\n\r\n", format!("Client: Get(7, {malformed})")),
        // Nobody asks for these.
        (
            "GET /items/7?q=1&q=2 HTTP/1.1\r\nX-Token: a\r\nAccept: a\r\nAccept: b\r\nCookie: c=1; c=2; sid=s\r\n\r\n",
            "Client: Get(7, \"a\") of s".to_owned(),
        ),
    ] {
        let said = said(&[(Client, request)]);
        assert!(said[0].starts_with(&expected), "{request}: {said:?}");
    }
    for cookies in ["Cookie: sid=a; sid=b\r\n", "Cookie: sid=a\r\nCookie: x=y; sid=a\r\n"] {
        let said = said(&[(Client, &format!("GET /x HTTP/1.1\r\n{cookies}\r\n"))]);
        assert_eq!(said, ["Client: malformed: what tells the session is there more than once"]);
    }
    let twice =
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: sid=a\r\nSet-Cookie: sid=b; sid=c\r\n\r\n";
    let said = said(&[(Client, "HEAD /x HTTP/1.1\r\n\r\n"), (Server, twice)]);
    assert_eq!(said[1], "Server: malformed: what tells the session is there more than once");
}

/// A line shorter than the name that is looked for ended the search: what stood behind it was missing, or not seen to be there twice.
#[test]
fn a_short_header_hides_none_behind_it() {
    let get = |headers: &str| {
        let request = format!("GET /items/7 HTTP/1.1\r\nHost: h\r\n{headers}\r\n");
        said(&[(Client, &request)])
    };
    assert_eq!(get("A: b\r\nX-Token: abc\r\n"), ["Client: Get(7, \"abc\")"]);
    assert_eq!(
        get("X-Token: abc\r\nA: b\r\nX-Token: d\r\n"),
        ["Client: Get(7, <it is there more than once>): Malformed"]
    );
    assert_eq!(
        get("A:b\r\nCookie: sid=s1\r\nX-Token: abc\r\nA:b\r\nCookie: sid=s2\r\n"),
        ["Client: malformed: what tells the session is there more than once"]
    );
}

#[test]
fn pipelined_requests_go_on_at_once() {
    let request = "GET /items?page=1 HTTP/1.1\r\n\r\n";
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let all = request.repeat(40);
    let answers = response.repeat(40);
    let proxy = Proxy::new(API, TABLE);
    let said = proxy.run([(Client, all.as_bytes())]);
    // As many as are kept track of; the rest waits.
    assert_eq!(said.iter().filter(|line| line.starts_with("Client: List")).count(), 32);
    let said = proxy.run([(Client, all.as_bytes()), (Server, answers.as_bytes())]);
    assert_eq!(said.iter().filter(|line| line.starts_with("Client: List")).count(), 40);
    assert_eq!(said.iter().filter(|line| line.starts_with("Server: Listed")).count(), 40);
}

#[test]
fn what_two_readers_could_read_differently_is_malformed() {
    let wrong_requests = [
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1,1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\nHost: h\n\n",
        "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
        "GET /a b HTTP/1.1\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n",
        "GET / HTTP/2.0\r\n\r\n",
        "G\u{e9}T / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\n: x\r\n\r\n",
        "\x16\x03\x01\r\n\r\n",
    ];
    for request in wrong_requests {
        let said = said(&[(Client, request)]);
        assert!(said.last().unwrap().contains("malformed"), "{request:?}: {said:?}");
    }
    for chunk in [
        "\r\n",
        "g\r\n",
        "0x5\r\nhello\r\n",
        "5\nhello",
        "5 \r\nhello",
        "5\r\nhelloX\r\n",
        "-1\r\n",
        "5\r\nhello\n",
        "1234567890abcdef\r\n",
        "0\r\nX: y\n\r\n",
        "0\r\n\rX",
        "5;a\nb\r\n",
    ] {
        let request = format!("POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
        let told = said(&[(Client, &request)]);
        assert!(told.last().unwrap().contains("malformed"), "{chunk:?}: {told:?}");
        let request = format!("PUT /items/1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
        let told = said(&[(Client, &request)]);
        assert!(told.last().unwrap().contains("malformed"), "kept, {chunk:?}: {told:?}");
    }
    let told = said(&[(Server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")]);
    assert_eq!(told, ["Server: malformed: a response to no request"]);
    let told = said(&[(Server, "HTTP/1.1 408 Late\r\nContent-Length: 0\r\n\r\n")]);
    assert_eq!(told, ["Server: 408"]);
    let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(5000));
    assert_eq!(
        Proxy::new(API, TABLE).run([(Client, long.as_bytes())]),
        ["Client: malformed: a message of more than 4096 bytes"]
    );
}

#[test]
fn a_body_of_which_a_field_is_wanted() {
    let put = |body: &str| {
        let request = format!("PUT /items/8 HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        said(&[(Client, &request)]).remove(0)
    };
    assert_eq!(put("{\"name\":\"x\"} "), "Client: Put(8, \"x\")");
    assert!(put("{\"name\":7}").ends_with("Type"));
    assert!(put("{\"nam\":7}").ends_with("Malformed"));
    assert!(put("not json").ends_with("Malformed"));
    assert!(put("").ends_with("Malformed"));
    let told = said(&[(Client, "PUT /items/8 HTTP/1.1\r\nContent-Length: 5000\r\n\r\n")]);
    assert_eq!(told, ["Client: malformed: a message of more than 4096 bytes"]);
}

#[test]
fn a_path_cannot_hide_what_it_is() {
    for (target, expected) in [
        ("/items/7", "Get(7"),
        ("/items/%37", "Get(7"),
        ("/%69tems/7", "Get(7"),
        ("/items/../secret", "Client: GET /items/../secret"),
        ("/items/%2e%2e", "Client: GET /items/%2e%2e"),
    ] {
        let table = TABLE.replace("Other = { pattern = \"* *\"", "Other = { pattern = \"POST *\"");
        let request = format!("GET {target} HTTP/1.1\r\nX-Token: t\r\n\r\n");
        let told = Proxy::new(API, &table).run([(Client, request.as_bytes())]).remove(0);
        assert!(told.contains(expected), "{target}: {told}");
    }
}

#[test]
fn another_protocol_after_an_upgrade_or_connect() {
    let upgrade = "GET /x HTTP/1.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: foo\r\n\r\n";
    let told = said(&[
        (Client, upgrade),
        (Client, "\x01\x02"),
        (Server, "HTTP/1.1 101 Switching\r\nUpgrade: foo\r\n\r\n\x03"),
    ]);
    assert!(told[2].ends_with("transparent"), "{told:?}");
    // Refused: HTTP goes on.
    let told = said(&[
        (Client, &format!("{upgrade}{upgrade}")),
        (Server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ]);
    assert_eq!(told.len(), 3, "{told:?}");
    let told = said(&[(Client, "GET /x HTTP/1.1\r\n\r\n"), (Server, "HTTP/1.1 101 Switching\r\n\r\n")]);
    assert_eq!(told[1], "Server: malformed: 101 to a request that asked for no other protocol");
    let told = said(&[(Client, "CONNECT h:1 HTTP/1.1\r\n\r\nxx"), (Server, "HTTP/1.1 200 OK\r\n\r\nyy")]);
    assert!(told[2].ends_with("transparent"), "{told:?}");
}

#[test]
fn mistakes_in_a_table() {
    let told = |from: &str, to: &str| {
        let errors = compile(API, &TABLE.replace(from, to)).unwrap_err();
        errors[0].to_string()
    };
    assert_eq!(
        told("Listed = \"2xx\"", "Listed = \"GET /x\""),
        "`messages.Listed.pattern`: this message comes from the server: write a status"
    );
    assert_eq!(
        told("GET /items/{id}", "GET items/{id}"),
        "`messages.Get.pattern`: `items/{id}` is no path: it has to begin with `/`, or to be `*`"
    );
    assert_eq!(
        told("header:X-Token", "haeder:X"),
        "`messages.Get.fields.token`: `haeder:X` is no source: there is `path:…`, `query:…`, `header:…`, `cookie:…`, `json:/…`, `body`, `method`, `target`, `status`"
    );
    assert_eq!(
        told("PUT /items/{id}", "PUT /items"),
        "`messages.Put.fields.id`: nothing gives this field a value"
    );
}

/// Browsers ask for icons: neither that nor its answer is part of the protocol.
#[test]
fn the_answer_to_an_aside_is_aside() {
    let protocol = "protocol P(role client, role server) { rec X { Ping() from client to server; \
                    Pong() from server to client; continue X; } }";
    let table = "kind = 'http'\nlenient = ['missing-host']\n[messages]\nPing = 'GET /ping'\nPong = '200'\n\
                 Icon = { pattern = 'GET /favicon.ico', aside = true, from = 'client' }";
    let said = Proxy::new(protocol, table).converse(&[
        (Client, b"GET /ping HTTP/1.1\r\n\r\n"),
        (Server, b"HTTP/1.1 200 Ok\r\nContent-Length: 0\r\n\r\n"),
        (Client, b"GET /favicon.ico HTTP/1.1\r\n\r\n"),
        (Server, b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno"),
        (Client, b"GET /ping HTTP/1.1\r\n\r\nGET /favicon.ico HTTP/1.1\r\n\r\n"),
        (
            Server,
            b"HTTP/1.1 200 Ok\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 Ok\r\nContent-Length: 1\r\n\r\nx",
        ),
        (Client, b"GET /ping HTTP/1.1\r\n\r\n"),
    ]);
    let labels: Vec<&str> = said.iter().map(String::as_str).collect();
    let (ping, pong, icon) = ("Client: Ping", "Server: Pong", "Client: Icon");
    assert_eq!(labels, [ping, pong, icon, "Server: 404", ping, icon, pong, "Server: 200", ping]);
}
