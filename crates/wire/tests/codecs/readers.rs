//! What servers read differently from one another is malformed, and no byte of it goes on; what is unusual and correct is
//! nobody's fault. Each case was seen with a real server: `tests/peers`.

use referee_wire::Sender::{self, Client, Server};

use crate::support::{Proxy, borrowed, compile, preset, script};

fn mailing() -> Vec<(Sender, Vec<u8>)> {
    script(
        "S: 220 mx
         C: EHLO me
         S: 250 mx
         C: MAIL FROM:<a@b>
         S: 250 ok
         C: RCPT TO:<c@d>
         S: 250 ok
         C: DATA
         S: 354 go",
    )
}

/// What becomes of a mail with this content, and how much of it goes on.
fn mail(content: &[u8]) -> (String, usize) {
    let mut talk = mailing();
    talk.push((Client, content.to_vec()));
    let proxy = preset("smtp");
    let said = proxy.converse(&borrowed(&talk));
    let forwarded = proxy.forwarded(Client, borrowed(&talk));
    let before: usize =
        mailing().iter().filter(|(who, _)| *who == Client).map(|(_, bytes)| bytes.len()).sum();
    (said.last().unwrap().clone(), forwarded - before)
}

#[test]
fn no_dot_that_only_some_take_for_the_end_of_a_mail_goes_on() {
    let evil = "MAIL FROM:<evil@b>\r\n";
    for end in [
        "\r\r\n.\r\r\n",
        "\r.\r",
        "\r\n.\r",
        "\n.\r",
        "\r.\r\n",
        "\r\n\0.\r\n",
        "\n.\n",
        "\n.\r\n",
        "\r\n.\n",
        "\r.\n",
        "\r\n.\r\r\n",
        "\r\r\n.\r\n",
        "\r\n.\0\r\n",
        "\r\n.\r\0\n",
        "\n\n.\r\n",
        "\r\n\r.\r\n",
    ] {
        let (said, forwarded) = mail(format!("Subject: x{end}{evil}").as_bytes());
        assert!(said.starts_with("Client: malformed: "), "{end:?}: {said}");
        // A server that reads line ends differently has not seen an end, either.
        assert!(forwarded <= "Subject: x\r\n".len(), "{end:?}: {forwarded}");
    }
    let (said, _) = mail(b"Subject: x\r\n\r\n..\r\n.. and so on\r\n\r\n.\r\n");
    assert_eq!(said, "Client: Content");
}

#[test]
fn dots_are_doubled_and_lines_no_longer_than_they_may_be() {
    let (said, _) = mail(b"x\r\n.undoubled\r\n.\r\n");
    assert_eq!(said, "Client: malformed: a line that begins with a single dot");
    let line = "y".repeat(998);
    assert_eq!(mail(format!("{line}\r\n.{}\r\n.\r\n", ".".repeat(998)).as_bytes()).0, "Client: Content");
    let (said, _) = mail(format!("{line}y\r\n.\r\n").as_bytes());
    assert_eq!(said, "Client: malformed: a line that is longer than lines may be here");
}

#[test]
fn lines_of_commands() {
    let proxy = preset("smtp");
    let said = |line: &[u8]| {
        let talk =
            [(Server, &b"220 mx\r\n"[..]), (Client, b"EHLO me\r\n"), (Server, b"250 mx\r\n"), (Client, line)];
        proxy.converse(&talk).last().unwrap().clone()
    };
    for wrong in [&b"NOOP\n"[..], b"NOOP\r\r\n", b"NOOP x\ry\r\n", b"NOOP \0\r\n", b"NOOP\nMAIL FROM:<a>\r\n"]
    {
        assert!(said(wrong).starts_with("Client: malformed: "), "{wrong:?}: {}", said(wrong));
    }
    let long = |verb: &str, bytes: usize| format!("{verb}{}\r\n", "x".repeat(bytes - verb.len() - 2));
    assert_eq!(said(long("NOOP ", 512).as_bytes()), "Client: Info");
    assert_eq!(
        said(long("NOOP ", 513).as_bytes()),
        "Client: malformed: a line that is longer than lines may be here"
    );
    assert!(said(long("MAIL FROM:", 1249).as_bytes()).starts_with("Client: Mail("));
    assert!(said(long("MAIL FROM:", 1250).as_bytes()).starts_with("Client: malformed: "));
    // Without an end it is told as soon as it is too long for any message.
    let endless = vec![b'x'; 12_289];
    let talk = [(Server, &b"220 mx\r\n"[..]), (Client, &endless[..])];
    assert_eq!(
        proxy.run_limited(talk, 64 * 1024).last().unwrap(),
        "Client: malformed: a line that is longer than lines may be here"
    );
}

#[test]
fn a_server_that_demands_authentication_refuses_mail_first() {
    for (more, last) in [
        ("C: AUTH PLAIN AGEAYg==\nS: 235 welcome\nC: MAIL FROM:<a@b>\nS: 250 ok", "Server: Ok"),
        ("C: AUTH PLAIN AGEAYg==\nS: 535 no\nC: QUIT\nS: 221 bye", "Server: Bye"),
        ("C: STARTTLS\nS: 454 not now\nC: RCPT TO:<a@b>\nS: 503 no", "Server: No"),
    ] {
        let talk = format!("S: 220 mx\nC: EHLO me\nS: 250 mx\nC: MAIL FROM:<a@b>\nS: 530 first\n{more}");
        let said = preset("smtp").converse(&borrowed(&script(&talk)));
        assert_eq!(said.last().unwrap(), last, "{said:#?}");
    }
    // Not within a transaction (RFC 4954, 4).
    let talk = "S: 220 mx\nC: EHLO me\nS: 250 mx\nC: MAIL FROM:<a@b>\nS: 250 ok\nC: AUTH PLAIN AGEAYg==";
    let said = preset("smtp").converse(&borrowed(&script(talk)));
    assert_eq!(said.last().unwrap(), "Client: Auth: Order");
}

fn frame(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![tag];
    frame.extend((content.len() as u32 + 4).to_be_bytes());
    frame.extend(content);
    frame
}

fn startup(version: u32) -> Vec<u8> {
    let mut packet = (17_u32).to_be_bytes().to_vec();
    packet.extend(version.to_be_bytes());
    packet.extend(b"user\0me\0\0");
    packet
}

/// A session up to its first `ReadyForQuery`, and what follows.
fn postgres(more: &[(Sender, Vec<u8>)]) -> Vec<String> {
    let mut talk =
        vec![(Client, startup(0x30000)), (Server, frame(b'R', &[0, 0, 0, 0])), (Server, frame(b'Z', b"I"))];
    talk.extend_from_slice(more);
    preset("postgres").converse(&borrowed(&talk))
}

/// What becomes of something that the server says when it is the client's turn.
fn postgres_unasked(message: Vec<u8>) -> Option<String> {
    let talk = [
        (Client, startup(0x30000)),
        (Server, frame(b'R', &[0, 0, 0, 0])),
        (Server, frame(b'Z', b"I")),
        (Server, message),
    ];
    let [_, mut server] = preset("postgres").heard(borrowed(&talk));
    server.pop()
}

#[test]
fn scans_of_ports_are_no_startup() {
    let proxy = preset("postgres");
    let mut tls = b"\x16\x03\x01\x00\x05hello".to_vec();
    for scan in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"SSH-2.0-x\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"\x03\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08\x00\x03\x00\x00\x00",
        b"\x00\x00\x00\x04",
        b"\x00\x00\x00\x07abc",
        b"\x00\x00\x27\x15\x00\x03\x00\x00",
    ] {
        let said = proxy.converse(&[(Client, scan)]);
        assert_eq!(said, ["Client: malformed: a length that no frame may have here"], "{scan:?}");
    }
    for version in [0, 0x20000, 0x40000, 80_877_105] {
        let said = proxy.converse(&[(Client, &startup(version))]);
        assert_eq!(said, ["Client: a frame with an unknown tag: Label"], "{version}");
    }
    assert_eq!(proxy.converse(&[(Client, &startup(0x3270f))]), ["Client: Startup"]);
    // PostgreSQL 17: TLS without asking. Only the server's answer switches inspection off.
    assert_eq!(proxy.converse(&[(Client, &tls)]), ["Client: DirectTls"]);
    let said = proxy.converse(&[(Client, &tls), (Server, b"\x15\x03\x01\x00\x02\x02\x28")]);
    assert_eq!(said, ["Client: DirectTls", "Server: TlsAlert"]);
    tls.extend(startup(0x30000));
    let said = proxy.run([(Client, &tls[..]), (Server, b"\x16\x03\x01\x00\x02ok")]);
    assert_eq!(said[..2], ["Client: DirectTls", "Server: TlsHello"]);
    // A request for encryption is nothing but that.
    let ssl = b"\x00\x00\x00\x08\x04\xd2\x16\x2f";
    assert_eq!(proxy.converse(&[(Client, ssl)]), ["Client: SslRequest"]);
    let said = proxy.converse(&[(Client, b"\x00\x00\x00\x0c\x04\xd2\x16\x2fmore")]);
    assert_eq!(said, ["Client: a frame with an unknown tag: Label"]);
}

#[test]
fn a_copy_may_be_broken_off_by_the_server() {
    let (copy, done) = (frame(b'G', &[0, 0, 0]), frame(b'c', b""));
    let (data, query) = (frame(b'd', b"1\tx\n"), frame(b'Q', b"COPY t FROM STDIN\0"));
    let (error, ready) = (frame(b'E', b"SERROR\0VERROR\0\0"), frame(b'Z', b"I"));
    let (c, s) = (|bytes: &Vec<u8>| (Client, bytes.clone()), |bytes: &Vec<u8>| (Server, bytes.clone()));
    let begun = [c(&query), s(&copy), c(&data)];
    for rest in [
        // The client goes on to the end; it hears of it and goes on with a query; it says that it fails.
        vec![s(&error), c(&data), s(&ready), c(&data), c(&done), c(&query), s(&copy)],
        vec![s(&error), s(&ready), c(&query), s(&copy)],
        vec![s(&error), s(&ready), c(&data), c(&frame(b'f', b"no\0")), c(&query), s(&copy)],
        vec![c(&done), s(&error), s(&ready), c(&query), s(&copy)],
    ] {
        let said = postgres(&[&begun[..], &rest].concat());
        assert!(said.iter().all(|line| !line.contains("Label")), "{said:#?}");
        assert_eq!(said.last().unwrap(), "Server: CopyIn", "{said:#?}");
    }
    // In the extended protocol everything up to Sync is ignored.
    let (execute, sync) = (frame(b'E', b"\0\0\0\0\0"), frame(b'S', b""));
    let said = postgres(&[
        c(&execute),
        s(&copy),
        c(&data),
        s(&error),
        c(&data),
        c(&done),
        c(&sync),
        s(&ready),
        c(&query),
    ]);
    assert_eq!(said.last().unwrap(), "Client: Query", "{said:#?}");
    // Elsewhere an error that nobody asked for is wrong.
    assert_eq!(postgres_unasked(error).as_deref(), Some("Server: Error: out of turn"));
}

#[test]
fn a_fatal_error_is_known_by_its_severity_in_any_language() {
    for (fields, aside) in [
        (&b"S\xd0\x92\xd0\x90\xd0\x96\xd0\x9d\xd0\x9e\0VFATAL\0C57P01\0Mx\0\0"[..], true),
        (b"SPANIK\0VPANIC\0C57P01\0Mx\0\0", true),
        (b"SFATAL\0C08P01\0Mx\0\0", true),
        (b"S\xd0\x9e\0VERROR\0MVFATAL\0\0", false),
    ] {
        let said = postgres_unasked(frame(b'E', fields)).unwrap();
        assert_eq!(said.ends_with("Unasked"), aside, "{said}");
    }
}

#[test]
fn a_stream_that_redis_refuses_is_none() {
    let proxy = preset("redis");
    for (command, refusal) in [
        ("MONITOR x", "-ERR wrong number of arguments"),
        ("PSYNC", "-ERR wrong"),
        ("SYNC", "-NOMASTERLINK x"),
    ] {
        let talk = [
            (Client, format!("{command}\r\n").into_bytes()),
            (Server, format!("{refusal}\r\n").into_bytes()),
            (Client, b"BOGUS\r\n".to_vec()),
            (Server, b"+a\r\n".to_vec()),
        ];
        let said = proxy.converse(&borrowed(&talk));
        assert_eq!(
            said,
            ["Client: Stream", "Server: Error", "Client: Command", "Server: Reply"],
            "{command}"
        );
    }
    for (command, answer) in
        [("MONITOR", "+OK\r\n"), ("PSYNC ? -1", "+FULLRESYNC a 0\r\n"), ("SYNC", "\n"), ("SYNC", "$5\r\n")]
    {
        let line = format!("{command}\r\n");
        let said =
            proxy.run([(Client, line.as_bytes()), (Server, answer.as_bytes()), (Client, b"any\xffthing")]);
        assert_eq!(said[..3], ["Client: Stream", "Server: Streaming", "Client: transparent"], "{command}");
    }
    let said = proxy.converse(&[(Client, b"PING\r\n"), (Server, b"\n")]);
    assert_eq!(said.last().unwrap(), "Server: Streaming: Order");
}

#[test]
fn words_of_a_command_are_split_as_redis_splits_them() {
    let proxy = preset("redis");
    for line in ["\"MONITOR\"", "'monitor'", "\"\\x4dONITOR\"", "MON\"ITOR\"", "\u{b}MONITOR"] {
        let said = proxy.converse(&[(Client, format!("{line}\r\n").as_bytes())]);
        assert_eq!(said, ["Client: Stream"], "{line}");
    }
    for line in ["\"PING", "PING 'x", "\"PING\"x", "PI\0NG"] {
        let said = proxy.converse(&[(Client, format!("{line}\r\n").as_bytes())]);
        assert!(said[0].starts_with("Client: malformed: "), "{line}: {said:?}");
    }
    for number in ["*+1", "*01", "*-0", "*1\r\n$+4", "*1\r\n$04"] {
        let said = proxy.converse(&[(Client, format!("{number}\r\nPING\r\n").as_bytes())]);
        assert!(said[0].starts_with("Client: malformed: a length"), "{number}: {said:?}");
    }
}

#[test]
fn requests_that_servers_read_differently() {
    let proxy = preset("http");
    let chunked = "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n";
    for (request, reason) in [
        ("\r\n", "a request without Host"),
        ("Host: a\r\nHost: a\r\n\r\n", "two Host headers"),
        ("Host: a\r\nhost: b\r\n\r\n", "two Host headers"),
        ("Host: a b\r\n\r\n", "a Host that is no host"),
        ("Host: a/b\r\n\r\n", "a Host that is no host"),
        ("Host: a@b\r\n\r\n", "a Host that is no host"),
        ("Host: a\r\nX: b\x0bc\r\n\r\n", "a control character in a header"),
        ("Host: a\r\nTransfer-Encoding: \x0cchunked\r\n\r\n", "a control character in a header"),
        ("Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "a Transfer-Encoding other than `chunked`"),
        ("Host: a\r\nContent_Length: 5\r\n\r\n", "a length in a header that is written with an underscore"),
        (
            "Host: a\r\nTransfer_Encoding: chunked\r\n\r\n",
            "a length in a header that is written with an underscore",
        ),
    ] {
        let said = proxy.converse(&[(Client, format!("POST / HTTP/1.1\r\n{request}").as_bytes())]);
        assert_eq!(said, [format!("Client: malformed: {reason}")], "{request:?}");
    }
    for trailer in [
        "Content-Length: 5",
        "transfer-encoding: chunked",
        "Host: b",
        "Content-Type: x",
        "nonsense",
        "A : b",
        "A: \x01",
    ] {
        let said =
            proxy.converse(&[(Client, format!("POST / HTTP/1.1\r\n{chunked}{trailer}\r\n\r\n").as_bytes())]);
        assert!(said.last().unwrap().contains("malformed: a trailer"), "{trailer}: {said:?}");
    }
    for fine in ["", "Digest: x\r\n", "Grpc-Status: 0\r\nServer-Timing: a\r\n"] {
        let said = proxy.converse(&[(Client, format!("POST / HTTP/1.1\r\n{chunked}{fine}\r\n").as_bytes())]);
        assert_eq!(said, ["Client: Request(\"POST\", \"/\")"], "{fine}");
    }
    let said = proxy.converse(&[(Client, b"GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n")]);
    assert_eq!(said, ["Client: malformed: a target and a Host that name different hosts"]);
    for fine in [
        "GET / HTTP/1.0\r\n\r\n",
        "GET http://A:80/x HTTP/1.1\r\nHost: a:80\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a_b.example\r\n\r\n",
    ] {
        assert_eq!(proxy.converse(&[(Client, fine.as_bytes())]).len(), 1, "{fine}");
        assert!(proxy.converse(&[(Client, fine.as_bytes())])[0].starts_with("Client: Request"), "{fine}");
    }
}

#[test]
fn leniencies_are_named() {
    let protocol = "protocol P(role client, role server) { rec L { A() from client to server; B() from server to client; continue L; } }";
    let lenient = |list: &str| {
        let table = format!("kind = 'http'\nlenient = [{list}]\nmessages = {{ A = '* *', B = '*' }}");
        Proxy::new(protocol, &table)
    };
    let old = b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\nContent-Type: x\r\n\r\n";
    assert!(lenient("").converse(&[(Client, old)])[0].contains("malformed"));
    let proxy = lenient("'missing-host', 'transfer-codings', 'trailers'");
    assert_eq!(proxy.converse(&[(Client, old)]), ["Client: A"]);
    let wrong = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 3\r\n\r\n";
    assert!(proxy.converse(&[(Client, wrong)])[1].contains("malformed: a trailer"));

    let text = "protocol P(role client, role server) { A(x: bytes) from client to server; T() from client to server; }";
    let table = |list: &str| {
        format!("kind = 'text'\nlenient = [{list}]\nmessages = {{ A = 'A {{x}}', T = {{ block = 'dot' }} }}")
    };
    let proxy = Proxy::new(text, &table("'bare-cr', 'nul', 'undoubled-dots'"));
    let said = proxy.converse(&[(Client, b"A \0\r1\r\n.x\ry\0\r\n.\r\n")]);
    assert_eq!(said[1..], ["Client: T"]);
    for ambiguous in ["x\r.\r\n", "x\r\r\n.\r\n", "\0.\r\n", "x\r\n.\r\r\n", "x\r\0.\r\n"] {
        let said = proxy.converse(&[(Client, b"A 1\r\n"), (Client, ambiguous.as_bytes())]);
        assert!(said.last().unwrap().contains("malformed"), "{ambiguous:?}: {said:?}");
    }
    let errors =
        compile(protocol, "kind = 'http'\nlenient = ['nul']\nmessages = { A = '* *', B = '*' }").unwrap_err();
    assert_eq!(errors[0].to_string(), "`lenient.0`: this is for codecs of kind `text`");
}
