//! Lines of logs as events: formats, rules, what does not match, and the sources that come with Referee.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

use referee_extract::{Extracted, Extractor, READY_MADE, Shapes, Source, fold, guess, ready_made};

fn extract(source: &str, line: &str) -> (Extracted, String) {
    let mut source = Source::parse(source).unwrap_or_else(|error| panic!("{error}"));
    source.assume_year(2026);
    let mut out = String::new();
    let extracted = Extractor::new(&source).line(line, &mut out);
    if !out.is_empty() {
        let value: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(value.is_object(), "{out}");
    }
    (extracted, out)
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
        r#"{"session":"h/12","label":"Failed","from":"client","to":"server","time":1770091506000000000,"payload":{"address":"192.0.2.7","method":"password","port":4242,"user":"a b"}}"#
    );
    assert_eq!(
        with(
            "sshd",
            "<38>1 2026-02-03T04:05:06Z h sshd 12 - - Connection closed by 192.0.2.7 port 1 [preauth]"
        ),
        r#"{"session":"h/12","end":"client","time":1770091506000000000}"#
    );
    assert_eq!(
        with(
            "nginx-combined",
            r#"192.0.2.7 - - [03/Feb/2026:05:05:06 +0100] "GET /x?a=1 HTTP/1.1" 404 12 "-" "x\xff""#
        ),
        r#"{"session":"192.0.2.7","label":"Request","from":"client","to":"server","time":1770091506000000000,"payload":{"method":"GET","path":"/x?a=1","size":12,"status":404}}"#
    );
    assert_eq!(
        with(
            "nginx-json",
            r#"{"time_iso8601":"2026-02-03T04:05:06+00:00","remote_addr":"::1","request_method":"GET","request_uri":"/\"","status":"200"}"#
        ),
        r#"{"session":"::1","label":"Request","from":"client","to":"server","time":1770091506000000000,"payload":{"method":"GET","path":"/\"","status":200}}"#
    );
    assert_eq!(
        with("redis-monitor", r#"1770091506.123456 [0 127.0.0.1:60866] "set" "k" "v""#),
        r#"{"session":"127.0.0.1:60866","label":"set","from":"client","to":"server","time":1770091506123456000}"#
    );
    assert_eq!(
        with(
            "kubernetes-audit",
            r#"{"auditID":"u","stage":"ResponseComplete","verb":"get","stageTimestamp":"2026-02-03T04:05:06.000001Z"}"#
        ),
        r#"{"session":"u","label":"ResponseComplete","from":"server","to":"client","time":1770091506000001000}"#
    );
    assert_eq!(
        with(
            "journald",
            r#"{"__REALTIME_TIMESTAMP":"1770091506000000","INVOCATION_ID":"i","JOB_TYPE":"start","JOB_RESULT":"done"}"#
        ),
        r#"{"session":"i","label":"Started","from":"systemd","to":"unit","time":1770091506000000000}"#
    );
    assert_eq!(READY_MADE.len(), 6);
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
