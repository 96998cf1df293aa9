//! Lines of logs as events: formats, rules, what does not match, and the sources that come with Referee.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

use std::sync::Arc;

use referee_extract::{EventStream, Extracted, Found, READY_MADE, Shapes, Source, fold, guess, ready_made};

/// 2026-11-19T00:00:00Z.
const NOW: i64 = 1_795_046_400_000_000_000;

/// What each record of a log became; the bytes come one by one, and at once.
fn stream(source: &str, log: &[u8], max_record: usize) -> Vec<(u64, Extracted, String)> {
    let source = Arc::new(Source::parse(source).unwrap_or_else(|error| panic!("{error}")));
    let read = |size: usize| {
        let mut found = Vec::new();
        let mut give = |record: Found<'_>| {
            assert_eq!(record.event.is_empty(), record.extracted == Extracted::Unmatched);
            if !record.event.is_empty() {
                let value: serde_json::Value = serde_json::from_str(record.event).unwrap();
                assert!(value.is_object(), "{}", record.event);
            }
            found.push((record.number, record.extracted, record.event.to_owned()));
        };
        let mut stream = EventStream::new(Arc::clone(&source), max_record, NOW);
        log.chunks(size).for_each(|bytes| stream.take(bytes, &mut give));
        stream.end(&mut give);
        found
    };
    let found = read(log.len().max(1));
    for size in [1, 2, 7] {
        assert_eq!(read(size), found, "in pieces of {size}");
    }
    found
}

fn extract(source: &str, line: &str) -> (Extracted, String) {
    let mut found = stream(source, line.as_bytes(), 1 << 20);
    assert_eq!(found.len(), 1, "{found:?}");
    found.pop().map(|(_, extracted, event)| (extracted, event)).unwrap()
}

fn with(name: &str, line: &str) -> String {
    let (extracted, out) = extract(ready_made(name).unwrap(), line);
    assert!(matches!(extracted, Extracted::Event(_)), "{extracted:?}: {line}");
    out
}

#[test]
fn sources_that_come_with_referee_read_their_logs() {
    assert_eq!(
        with(
            "sshd",
            "Feb  3 04:05:06 h sshd[12]: Failed password for invalid user a b from 192.0.2.7 port 4242 ssh2"
        ),
        r#"{"session":"h/192.0.2.7:4242","label":"Failed","from":"client","to":"server","time":1770091506,"payload":{"address":"192.0.2.7","method":"password","port":4242,"user":"a b"}}"#
    );
    assert_eq!(
        with(
            "sshd",
            "<38>1 2026-02-03T04:05:06Z h sshd 12 - - Connection closed by 192.0.2.7 port 1 [preauth]"
        ),
        r#"{"session":"h/192.0.2.7:1","end":"client","time":1770091506}"#
    );
    assert_eq!(
        with(
            "nginx-combined",
            r#"192.0.2.7 - - [03/Feb/2026:05:05:06 +0100] "GET /x?a=1 HTTP/1.1" 404 12 "-" "x\xff""#
        ),
        r#"{"session":"192.0.2.7","label":"Request","from":"client","to":"server","time":1770091506,"payload":{"method":"GET","path":"/x?a=1","size":12,"status":404}}"#
    );
    assert_eq!(
        with(
            "nginx-json",
            r#"{"time_iso8601":"2026-02-03T04:05:06+00:00","remote_addr":"::1","request_method":"GET","request_uri":"/\"","status":"200"}"#
        ),
        r#"{"session":"::1","label":"Request","from":"client","to":"server","time":1770091506,"payload":{"method":"GET","path":"/\"","status":200}}"#
    );
    assert_eq!(
        with("redis-monitor", r#"1770091506.123456 [0 127.0.0.1:60866] "set" "k" "v""#),
        r#"{"session":"127.0.0.1:60866","label":"SET","from":"client","to":"server","time":1770091506.123456}"#
    );
    assert_eq!(
        with(
            "kubernetes-audit",
            r#"{"auditID":"u","stage":"ResponseComplete","verb":"get","stageTimestamp":"2026-02-03T04:05:06.000001Z"}"#
        ),
        r#"{"session":"u","label":"ResponseComplete","from":"server","to":"client","time":1770091506.000001}"#
    );
    assert_eq!(
        with(
            "journald",
            r#"{"__REALTIME_TIMESTAMP":"1770091506000000","INVOCATION_ID":"i","MESSAGE_ID":"39f53479d3a045ac8e11786248231fbf"}"#
        ),
        r#"{"session":"i","label":"Started","from":"systemd","to":"unit","time":1770091506.000000}"#
    );
    for (line, event) in [
        (
            "smtpd[9]: 4F3B2C0A1: client=mx.example.org[192.0.2.7]",
            r#""label":"Received","from":"postfix","to":"message","time":1770091506,"payload":{"client":"mx.example.org[192.0.2.7]"}}"#,
        ),
        (
            "qmgr[9]: 4F3B2C0A1: from=<a@b.example>, size=331, nrcpt=1 (queue active)",
            r#""label":"Queued","from":"postfix","to":"message","time":1770091506,"payload":{"recipients":1,"sender":"a@b.example","size":331}}"#,
        ),
        (
            "smtp[9]: 4F3B2C0A1: to=<c@d.example>, relay=mx[192.0.2.7]:25, delay=0.1, delays=0/0/0/0.1, dsn=2.0.0, status=sent (250 Ok)",
            r#""label":"Sent","from":"postfix","to":"message","time":1770091506,"payload":{"recipient":"c@d.example"}}"#,
        ),
        (
            "qmgr[9]: 4F3B2C0A1: removed",
            r#""label":"Removed","from":"postfix","to":"message","time":1770091506}"#,
        ),
    ] {
        let found = with("postfix", &format!("Feb  3 04:05:06 h postfix/{line}"));
        assert_eq!(found, format!("{{\"session\":\"h/4F3B2C0A1\",{event}"));
    }
    for (line, event) in [
        (
            "[unknown]@[unknown] LOG:  connection received: host=127.0.0.1 port=5",
            r#""label":"Connect","from":"client","to":"server","time":1770091506.123,"payload":{"host":"127.0.0.1"}}"#,
        ),
        (
            "bob@shop LOG:  connection authorized: user=bob database=shop",
            r#""label":"Authorized","from":"server","to":"client","time":1770091506.123,"payload":{"database":"shop","user":"bob"}}"#,
        ),
        (
            "bob@shop LOG:  statement: begin;",
            r#""label":"Begin","from":"client","to":"server","time":1770091506.123}"#,
        ),
        (
            "bob@shop LOG:  execute <unnamed>: SELECT 1",
            r#""label":"Statement","from":"client","to":"server","time":1770091506.123,"payload":{"statement":"SELECT 1"}}"#,
        ),
        (
            "bob@shop LOG:  disconnection: session time: 0:00:00.01 user=bob",
            r#""end":"client","time":1770091506.123}"#,
        ),
    ] {
        let found = with("postgresql", &format!("2026-02-03 04:05:06.123 UTC [12] {line}"));
        assert_eq!(found, format!("{{\"session\":\"12\",{event}"));
    }
    assert_eq!(
        with(
            "openstack",
            "nova-compute.log.1.2017-05-16_13:55:31 2026-02-03 04:05:06.500 2931 INFO nova.compute.manager [req-3ea4052c - - - - -] [instance: b9000564-fe1a] VM Started (Lifecycle Event)"
        ),
        r#"{"session":"b9000564-fe1a","label":"Started","from":"nova","to":"instance","time":1770091506.500}"#
    );
    assert_eq!(READY_MADE.len(), 11);
}

/// The labels of each session of a log, in the order of the sessions' beginnings; `?` is an event that was lost.
fn labels(name: &str, log: impl AsRef<[u8]>) -> Vec<String> {
    let mut sessions: Vec<(String, Vec<String>)> = Vec::new();
    for (_, extracted, event) in stream(ready_made(name).unwrap(), log.as_ref(), 1 << 20) {
        if extracted == Extracted::Unmatched {
            continue;
        }
        let event: serde_json::Value = serde_json::from_str(&event).unwrap();
        let session = event["session"].as_str().unwrap().to_owned();
        let is_read = matches!(extracted, Extracted::Event(_));
        assert!(!is_read || event["time"].is_number(), "{event}");
        let label = match (event["label"].as_str(), event["end"].as_str()) {
            (Some(label), _) => label.to_owned(),
            (None, Some(end)) => format!("${end}"),
            (None, None) => "?".to_owned(),
        };
        assert!(is_read || label == "?", "{extracted:?} {event}");
        match sessions.iter_mut().find(|(known, _)| *known == session) {
            Some((_, labels)) => labels.push(label),
            None => sessions.push((session, vec![label])),
        }
    }
    sessions.into_iter().map(|(_, labels)| labels.join(" ")).collect()
}

/// Recordings of real servers, driven by real clients: who recorded them knows what happened.
#[test]
fn recordings_of_real_servers_are_read() {
    assert_eq!(
        labels("postfix", include_str!("samples/postfix.log")),
        [
            "Received MessageId Queued Sent Removed",
            "Received MessageId Queued Bounced Removed",
            // The notice of the bounce, which nobody takes.
            "MessageId Queued Bounced Removed",
        ]
    );
    assert_eq!(
        labels("postgresql", include_str!("samples/postgresql.log")),
        [
            "Connect Authorized Statement $client",
            "Connect Authorized Begin Statement Commit Statement Error Begin Rollback $client",
            "Connect Authorized Fatal",
        ]
    );
    assert_eq!(
        labels("postgresql", include_str!("samples/savepoint.log")),
        ["Begin Statement Statement Error RollbackTo Statement Commit"]
    );
    // Who is in was served by a process of its own from there on; users chose the names of others.
    assert_eq!(
        labels("sshd", include_str!("samples/sshd.log")),
        [
            "Accepted $client",
            "Accepted $client",
            "Failed $client",
            "Accepted $client",
            "Failed $client",
            "Failed $client",
            "Failed $client",
        ]
    );
    // Every line is an event, whatever a client sent: another method, no version, bytes that are no request.
    let requests = ["Request"; 14].join(" ") + " BadRequest";
    assert_eq!(labels("nginx-combined", include_str!("samples/nginx.log")), [requests]);
    // One address for each version of IP.
    assert_eq!(
        labels("nginx-json", include_bytes!("samples/nginx.json")),
        // The last one asks for bytes that are no text.
        ["Request Request Request Request Request BadRequest BadRequest BadRequest ?", "Request"]
    );
    // The second client writes small letters and comes over IPv6; those of a Unix socket cannot be told from each other, and a script is no client.
    assert_eq!(
        labels("redis-monitor", include_str!("samples/redis.log")),
        ["WATCH GET MULTI DECR EXEC", "COMMAND GET MULTI DECR EXEC"]
    );
    // One unit cannot start, one dies, one is restarted (which is a job of its own kind) and stopped.
    assert_eq!(
        labels("journald", include_str!("samples/journald.json")),
        ["Exited Broken Failed", "Started Exited Broken", "Stopping Stopped", "Started Stopping Stopped"]
    );
}

#[test]
fn what_nobody_reads_of_a_document_may_hold_anything() {
    let source = "format = \"json\"\nsession = \"{id}\"\nfrom = \"a\"\nto = \"b\"\n[[event]]\nlabel = \"{what.kind}\"\n";
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    let line = format!("{{\"more\":{deep},\"id\":1,\"x\":1,\"x\":2,\"what\":{{\"kind\":\"L\"}}}}");
    assert_eq!(
        extract(source, &line),
        (Extracted::Event(0), r#"{"session":"1","label":"L","from":"a","to":"b"}"#.to_owned())
    );
    // What is read twice may be either.
    assert_eq!(extract(source, r#"{"id":1,"what":{"kind":"L"},"id":2}"#).0, Extracted::Lost);
    assert_eq!(extract(source, r#"{"id":1,"what":{"kind":"L"}} x"#).0, Extracted::Lost);
}

#[test]
fn a_member_is_written_as_its_place_says() {
    let source = |label: &str| {
        format!("format = \"logfmt\"\nfrom = \"{{who|lower}}\"\nto = \"x\"\n[[event]]\nlabel = \"{label}\"\n")
    };
    let (_, event) = extract(&source("{what|upper}-{what}"), "who=Bob what=get");
    assert_eq!(event, r#"{"label":"GET-get","from":"bob","to":"x"}"#);
    let wrong = Source::parse(&source("{what|capital}")).unwrap_err();
    assert!(wrong.to_string().contains("known are `upper` and `lower`"), "{wrong}");
}

#[test]
fn no_line_of_an_access_log_is_overlooked() {
    let line = |request: &str, size: &str| {
        format!("::1 - - [19/Nov/2026:12:54:05 +0000] \"{request}\" 502 {size} \"-\" \"-\"")
    };
    for (request, size, payload) in [
        ("GET /fail", "7", r#"{"method":"GET","path":"/fail","size":7,"status":502}"#),
        ("M-SEARCH /fail HTTP/1.1", "-", r#"{"method":"M-SEARCH","path":"/fail","status":502}"#),
        ("-", "0", r#"{"path":"-","size":0,"status":502}"#),
        ("GET /a b c", "0", r#"{"path":"GET /a b c","size":0,"status":502}"#),
        (r#"GET /\" 200 \"x"#, "-", r#"{"path":"GET /\\\" 200 \\\"x","status":502}"#),
    ] {
        let event: serde_json::Value =
            serde_json::from_str(&with("nginx-combined", &line(request, size))).unwrap();
        let payload: serde_json::Value = serde_json::from_str(payload).unwrap();
        assert_eq!(event["payload"], payload, "{request}");
    }
    // What is not of the format at all may have been a request.
    for other in ["", "somebody changed the format", "::1 - - [x] \"GET /"] {
        let found = stream(ready_made("nginx-combined").unwrap(), format!("{other}\n").as_bytes(), 1 << 20);
        let expected: &[Extracted] = if other.is_empty() { &[] } else { &[Extracted::Lost] };
        assert_eq!(found.iter().map(|found| found.1).collect::<Vec<_>>(), expected, "{other}");
    }
    for (line, label) in [
        (
            r#"{"time_iso8601":"2026-02-03T04:05:06+00:00","remote_addr":"::1","request_method":"M-SEARCH","request_uri":"/","status":502}"#,
            "Request",
        ),
        (
            r#"{"time_iso8601":"2026-02-03T04:05:06+00:00","remote_addr":"::1","request_method":"","request_uri":"","status":400}"#,
            "BadRequest",
        ),
    ] {
        assert!(with("nginx-json", line).contains(&format!("\"label\":\"{label}\"")), "{line}");
    }
}

#[test]
fn fields_may_be_missing_if_the_source_says_so() {
    let source = "format = 'logfmt'\nfrom = 'a'\n[[event]]\nlabel = 'A'\nfields = { x = { type = 'int', optional = true }, y = { type = 'int', optional = true } }";
    let event = |line: &str| extract(source, line).1;
    assert_eq!(event("k=v"), r#"{"label":"A","from":"a","payload":{}}"#);
    assert_eq!(event("y=2"), r#"{"label":"A","from":"a","payload":{"y":2}}"#);
    assert_eq!(event("y=2 x=1"), r#"{"label":"A","from":"a","payload":{"x":1,"y":2}}"#);
    // What is there and is not of its type cannot be read.
    assert!(matches!(extract(source, "x=one").0, Extracted::Unreadable(0)));
}

/// What is taken for granted is said of logs of which it was.
#[test]
fn what_is_assumed_of_times_is_known() {
    for (line, assumed) in [
        ("Feb  3 04:05:06 h sshd[12]: Connection from 192.0.2.7 port 1", (true, true)),
        ("2026-02-03T04:05:06Z h sshd[12]: Connection from 192.0.2.7 port 1", (false, false)),
        ("<38>1 2026-02-03T04:05:06Z h sshd 12 - - Connection from 192.0.2.7 port 1", (false, false)),
    ] {
        let source = Arc::new(Source::parse(ready_made("sshd").unwrap()).unwrap());
        let mut stream = EventStream::new(source, 1 << 20, NOW);
        stream.take(format!("{line}\n").as_bytes(), &mut |found| assert!(!found.event.is_empty()));
        assert_eq!(stream.assumed(), assumed, "{line}");
    }
}

/// Batches of CloudEvents: as many events as there are, all with the number of their line.
#[test]
fn an_array_of_objects_is_as_many_events() {
    let one = r#"{"specversion":"1.0","type":"T","source":"s","subject":"a","time":"2026-02-03T04:05:06Z"}"#;
    let log = format!("{one}\n\n[{one},{one}]\nat java.lang\n{{\"torn");
    let found = stream(ready_made("cloudevents").unwrap(), log.as_bytes(), 1 << 20);
    let event = r#"{"session":"a","label":"T","from":"s","time":1770091506}"#;
    let lost = r#"{"session":[],"label":[]}"#;
    let is = |number, extracted, text: &str| (number, extracted, text.to_owned());
    assert_eq!(
        found,
        [
            is(0, Extracted::Event(0), event),
            is(2, Extracted::Event(0), event),
            is(2, Extracted::Event(0), event),
            is(3, Extracted::Unmatched, ""),
            is(4, Extracted::Lost, lost),
        ]
    );
}

/// A byte that is not UTF-8 hides nothing where nobody reads it, and makes a lost event where somebody does.
#[test]
fn one_invalid_byte_hides_no_event_of_json() {
    let line = |agent: &[u8], uri: &[u8]| {
        let head = br#"{"time_iso8601":"2026-02-03T04:05:06+00:00","remote_addr":"::1","request_method":"GET","request_uri":""#;
        [head, uri, br#"","status":"200","agent":""#, agent, br#""}"#].concat()
    };
    let source = ready_made("nginx-json").unwrap();
    let kinds = |log: &[u8]| stream(source, log, 1 << 20).iter().map(|found| found.1).collect::<Vec<_>>();
    assert_eq!(kinds(&line(b"x\xff", b"/")), [Extracted::Event(0)]);
    assert_eq!(kinds(&line(b"x", b"/\xff")), [Extracted::Unreadable(0)]);
}

#[test]
fn rows_of_csv_have_the_names_of_their_columns() {
    let source = "format = \"csv\"\nseparator = \";\"\nsession = \"{id}\"\nfrom = \"a\"\n[[event]]\nmatch = { what = '^sent' }\nlabel = \"Sent\"\nfields = { text = { type = \"string\", member = \"the text\" } }\n";
    let log = "\u{feff}id;what;the text\n7;sent;\"a \"\"b\"\";\n\"\n8;other;x\n9;sent\n\n10;sent;z\r\n";
    let found = stream(source, log.as_bytes(), 1 << 20);
    let is = |number, extracted, text: &str| (number, extracted, text.to_owned());
    assert_eq!(
        found,
        [
            is(
                1,
                Extracted::Event(0),
                r#"{"session":"7","label":"Sent","from":"a","payload":{"text":"a \"b\";\u000a"}}"#
            ),
            is(3, Extracted::Unmatched, ""),
            is(4, Extracted::Lost, r#"{"session":[],"label":[]}"#),
            is(
                6,
                Extracted::Event(0),
                r#"{"session":"10","label":"Sent","from":"a","payload":{"text":"z"}}"#
            ),
        ]
    );
    let source =
        "format = \"csv\"\ncolumns = [\"id\", \"what\"]\nfrom = \"a\"\n[[event]]\nlabel = \"{what}\"\n";
    assert_eq!(extract(source, "1,Go"), (Extracted::Event(0), r#"{"label":"Go","from":"a"}"#.to_owned()));
}

#[test]
fn records_that_are_too_long_are_lost_events() {
    let source = "format = \"regex\"\nfrom = \"a\"\n[[event]]\nlabel = \"A\"\n";
    let found = stream(source, b"short\nmuch longer than ten\nshort", 10);
    let kinds: Vec<_> = found.iter().map(|found| (found.0, found.1)).collect();
    assert_eq!(kinds, [(0, Extracted::Event(0)), (1, Extracted::Lost), (2, Extracted::Event(0))]);
}

/// What OpenTelemetry's collector writes: every span and log record of a document, in either encoding.
#[test]
fn every_span_and_log_record_of_a_document_is_an_event() {
    let document = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"lib"},"spans":[
        {"traceId":"0102","spanId":"03","name":"GET /","kind":2,"startTimeUnixNano":"1770091506000000000","endTimeUnixNano":"1770091507000000000","attributes":[{"key":"n","value":{"intValue":"7"}}],"status":{"code":2}},
        {"traceId":"0102","spanId":"04","name":"query","kind":"SPAN_KIND_CLIENT","startTimeUnixNano":"1770091506500000000","attributes":[{"key":"n","value":{"arrayValue":{"values":[{"boolValue":true},{"stringValue":"x"}]}}}],"status":{}}]}]}]}"#
        .replace('\n', "");
    assert_eq!(
        stream(ready_made("otlp-spans").unwrap(), document.as_bytes(), 1 << 20)
            .into_iter()
            .map(|found| found.2)
            .collect::<Vec<_>>(),
        [
            r#"{"session":"0102","label":"GET /","from":"shop","time":1770091506.000000000}"#,
            r#"{"session":"0102","label":"query","from":"shop","time":1770091506.500000000}"#,
        ]
    );
    let source = "format = \"otlp\"\nfrom = \"{scope.name}/{kind}/{status}\"\n[[event]]\nlabel = \"{name}\"\nfields = { n = { type = \"string\", member = \"attributes.n\" } }\n";
    let expected = [
        r#"{"label":"GET /","from":"lib/server/error","time":1770091506.000000000,"payload":{"n":"7"}}"#,
        r#"{"label":"query","from":"lib/client/unset","time":1770091506.500000000,"payload":{"n":"[true,\"x\"]"}}"#,
    ];
    let texts = |source: &str, log: &[u8]| -> Vec<String> {
        stream(source, log, 1 << 20).into_iter().map(|found| found.2).collect()
    };
    assert_eq!(texts(source, document.as_bytes()), expected);

    // The same document in protobuf, twice, each behind its length.
    let attribute = |key: &str, value: Vec<u8>| [field(1, key.as_bytes()), field(2, &value)].concat();
    let time = |number: u8, time: u64| [&[number << 3 | 1][..], &time.to_le_bytes()].concat();
    let list = field(5, &[field(1, &[2 << 3, 1]), field(1, &field(1, b"x"))].concat());
    let first = [
        field(1, &[1, 2]),
        field(2, &[3]),
        field(5, b"GET /"),
        vec![6 << 3, 2],
        time(7, 1_770_091_506_000_000_000),
        time(8, 1_770_091_507_000_000_000),
        field(9, &attribute("n", vec![3 << 3, 7])),
        field(15, &[3 << 3, 2]),
        field(14, b"unknown"),
    ];
    let second = [
        field(1, &[1, 2]),
        field(2, &[4]),
        field(5, b"query"),
        vec![6 << 3, 3],
        time(7, 1_770_091_506_500_000_000),
        field(9, &attribute("n", list)),
    ];
    let scope = [field(1, &field(1, b"lib")), field(2, &first.concat()), field(2, &second.concat())].concat();
    let resource = field(1, &attribute("service.name", field(1, b"shop")));
    let message = field(1, &[field(1, &resource), field(2, &scope)].concat());
    let framed = [&u32::try_from(message.len()).unwrap().to_be_bytes()[..], &message].concat();
    let source = source.replace("[[event]]", "encoding = \"protobuf\"\nsignal = \"spans\"\n[[event]]");
    assert_eq!(texts(&source, &[framed.clone(), framed.clone()].concat()), [expected, expected].concat());
    // Cut anywhere, it is a lost event, never a panic; with any byte changed it is something.
    for end in 1..framed.len() {
        assert_eq!(stream(&source, &framed[..end], 1 << 20).len(), 1, "{end}");
    }
    for at in 4..framed.len() {
        let mut damaged = framed.clone();
        damaged[at] ^= 0x55;
        stream(&source, &damaged, 1 << 20);
    }

    let logs = r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"0","observedTimeUnixNano":"1770091506000000000","severityText":"INFO","body":{"stringValue":"sent 7"}},{"timeUnixNano":"1770091507000000000","body":{"kvlistValue":{"values":[{"key":"a","value":{"doubleValue":1.5}}]}}}]}]}]}"#;
    let source = "format = \"otlp\"\nfrom = \"a\"\n[[event]]\nmatch = '^sent (?P<n>\\d+)'\nlabel = \"Sent\"\nfields = { n = \"int\" }\n[[event]]\nlabel = \"{body}\"\n";
    assert_eq!(
        texts(source, logs.as_bytes()),
        [
            r#"{"label":"Sent","from":"a","time":1770091506.000000000,"payload":{"n":7}}"#,
            r#"{"label":"{\"a\":1.5}","from":"a","time":1770091507.000000000}"#,
        ]
    );
}

/// A length-delimited field of protobuf.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    out.push(u8::try_from(length).unwrap());
    [out, bytes.to_vec()].concat()
}

#[test]
fn logfmt_has_keys_and_quotes() {
    let source = "format = \"logfmt\"\nsession = \"{id}\"\nfrom = \"{who}\"\n[[event]]\nmatch = { msg = '^sent (?P<n>\\d+)$' }\nlabel = \"Sent\"\nfields = { n = \"int\", ok = \"bool\" }\n";
    let (extracted, out) = extract(source, r#"level=info id=7 who="a \"b\"" msg="sent 12" ok"#);
    assert_eq!(extracted, Extracted::Event(0));
    assert_eq!(out, r#"{"session":"7","label":"Sent","from":"a \"b\"","payload":{"n":12,"ok":true}}"#);
    assert_eq!(extract(source, "not logfmt").0, Extracted::Unmatched);
    // What matches and cannot be read is an event that was lost: its session's, or anybody's.
    assert_eq!(
        extract(source, "id=7 who=a msg=\"sent 99999999999999999999\" ok"),
        (Extracted::Unreadable(0), r#"{"session":"7","label":[]}"#.to_owned())
    );
    assert_eq!(
        extract(source, "who=a msg=\"sent 1\" ok"),
        (Extracted::Unreadable(0), r#"{"session":[],"label":[]}"#.to_owned())
    );
}

#[test]
fn rules_are_tried_in_order_and_regular_expressions_are_linear() {
    let source = "format = \"regex\"\nfrom = \"a\"\n[[event]]\nmatch = '^(a+)+$'\nlabel = \"A\"\n[[event]]\nlabel = \"Other\"\n";
    assert_eq!(extract(source, "aaa").1, r#"{"label":"A","from":"a"}"#);
    let hostile = format!("{}b", "a".repeat(50_000));
    assert_eq!(extract(source, &hostile).0, Extracted::Event(1));
}

#[test]
fn structured_data_has_names() {
    let source = "format = \"syslog\"\nfrom = \"{x@1.user}\"\n[[event]]\nlabel = \"{message}\"\n";
    let out = extract(source, "<34>1 2026-02-03T04:05:06Z h app - ID [x@1 user=\"a]b\"][y z=\"1\"] hello").0;
    // `message` is no member but what conditions are about.
    assert_eq!(out, Extracted::Unreadable(0));
}

#[test]
fn what_is_wrong_with_a_source_is_said() {
    for (text, why) in [
        ("format = \"regex\"", "no [[event]]"),
        ("format = \"xml\"\n[[event]]\nlabel=\"A\"", "unknown variant"),
        (
            "format = \"regex\"\n[[event]]\nmatch = '('\nlabel = \"A\"\nfrom = \"a\"",
            "is no regular expression",
        ),
        ("format = \"regex\"\n[[event]]\nlabel = \"A\"", "who sends"),
        ("format = \"regex\"\n[[event]]\nfrom = \"a\"", "either `label`"),
        ("format = \"regex\"\n[[event]]\nlabel = \"{a\"\nfrom = \"a\"", "without its `}`"),
        ("format = \"json\"\nprefix = 'x'\n[[event]]\nlabel = \"A\"\nfrom = \"a\"", "`prefix` is for"),
        (
            "format = \"regex\"\ntime = \"{t}\"\ntime-format = \"iso\"\n[[event]]\nlabel = \"A\"\nfrom = \"a\"",
            "no format of times",
        ),
        ("format = \"regex\"\nzone = \"Mars\"\n[[event]]\nlabel = \"A\"\nfrom = \"a\"", "no zone"),
        ("format = \"regex\"\n[[event]]\nlable = \"A\"", "unknown field"),
        (
            "format = \"json\"\nseparator = \";\"\n[[event]]\nlabel = \"A\"\nfrom = \"a\"",
            "are for format = \"csv\"",
        ),
        (
            "format = \"json\"\nsignal = \"logs\"\n[[event]]\nlabel = \"A\"\nfrom = \"a\"",
            "are for format = \"otlp\"",
        ),
        (
            "format = \"otlp\"\nencoding = \"protobuf\"\n[[event]]\nlabel = \"A\"\nfrom = \"a\"",
            "needs `signal`",
        ),
    ] {
        let error = Source::parse(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn shapes_fold_numbers() {
    assert_eq!(fold("sent 12 to 10.0.0.1 in 3ms id deadbeef01"), "sent 0 to 0.0.0.0 in 0ms id h");
    let mut shapes = Shapes::default();
    for n in 0..10 {
        shapes.count(&format!("line {n}"));
    }
    shapes.count("other");
    let (ranked, others) = shapes.ranked();
    assert_eq!((ranked[0], ranked.len(), others), (("line 0", 10, "line 0"), 2, 0));
}

/// A proposal is a source file, and reads the lines that it was made of.
#[test]
fn what_is_guessed_reads_its_log() {
    for log in [
        &[
            "Feb  3 04:05:06 h sshd[12]: Accepted publickey for bob from 192.0.2.7 port 4242",
            "Feb  3 04:05:07 h sshd[13]: it's \"odd\"",
        ][..],
        &["t=1 msg=\"sent 12\"", "t=2 msg=\"sent 13\""],
        &["{\"msg\":\"sent 12\"}", "{\"msg\":\"got 7 (of 9)\"}"],
        &["[12] worker 3 done", "[13] worker 4 done"],
    ] {
        let proposed = guess(log.iter().copied());
        for line in log {
            assert!(matches!(extract(&proposed, line).0, Extracted::Event(_)), "{line}\n{proposed}");
        }
    }
    assert!(guess(["[12] worker 3 done"].into_iter()).contains("label = \"WorkerDone\""));
}
