//! `referee watch` as scripts rely on it: exit statuses, JSON, what goes to which stream.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

#[path = "support/process.rs"]
mod process;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const AUTH: &str = "../../examples/auth/auth-plain.scr";

fn referee(arguments: &[&str], input: &str) -> Output {
    process::referee(&[&["watch"], arguments].concat(), input)
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A protocol in a file of its own.
fn protocol(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("referee-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

fn event(session: &str, from: &str, to: &str, label: &str, payload: &Value) -> String {
    format!("{}\n", json!({"session": session, "from": from, "to": to, "label": label, "payload": payload}))
}

fn login(session: &str) -> String {
    event(session, "client", "server", "Auth", &json!({"uname": "bob", "pwd": "x"}))
        + &event(session, "server", "client", "Succ", &json!({"tok": "t"}))
}

#[test]
fn good_events_hold_and_say_nothing_in_json() {
    let output = referee(&["--protocol", AUTH, "--format", "json"], &login("1"));
    assert_eq!((status(&output), stdout(&output), stderr(&output)), (0, String::new(), String::new()));
    let output = referee(&["--protocol", AUTH, "-"], &login("1"));
    assert_eq!(status(&output), 0);
    assert!(stdout(&output).starts_with("2 events in 1 session: no violation\n"), "{}", stdout(&output));
    assert!(!stdout(&output).contains('\u{1b}'), "colours in a pipe");
}

#[test]
fn a_violation_is_one_line_of_json_with_the_keys_of_the_contract() {
    let log = login("42") + &event("42", "client", "server", "Put", &json!({}));
    let output = referee(&["--protocol", AUTH, "--format", "json"], &log);
    assert_eq!(status(&output), 1);
    let [line] = &lines(&output)[..] else { panic!("{}", stdout(&output)) };
    assert!(stdout(&output).starts_with(
        r#"{"session":"42","verdict":"violation","kind":"label","blame":"client","event":2,"state":"q2","expected":["Get(resource: string, reqTok: string)","Rvk(rvkTok: string)"],"got":"Put","assertion":null,"values":{}"#
    ));
    assert_eq!((&line["consequence"], &line["file"], &line["line"]), (&json!(false), &json!("-"), &json!(3)));
    assert_eq!(line["rejection"], "noP");
}

#[test]
fn the_role_under_scrutiny_changes_the_verdict_not_the_blame() {
    let log = login("1") + &event("1", "client", "server", "Get", &json!({"resource": "r", "reqTok": "u"}));
    for (role, rejection) in [("client", "noP^A"), ("server", "noE^A")] {
        let output = referee(&["--protocol", AUTH, "--role", role, "--format", "json"], &log);
        assert_eq!(status(&output), 1);
        let [line] = &lines(&output)[..] else { panic!("{}", stdout(&output)) };
        assert_eq!((&line["kind"], &line["blame"]), (&json!("assertion"), &json!("client")));
        assert_eq!((&line["rejection"], &line["assertion"]), (&json!(rejection), &json!("reqTok == tok")));
        assert_eq!(line["values"], json!({"reqTok": "u", "tok": "t"}));
    }
}

#[test]
fn later_violations_are_consequences_and_shown_on_request() {
    let wrong = event("1", "client", "server", "Put", &json!({}));
    let log = login("1") + &wrong + &wrong + &wrong;
    let first = referee(&["--protocol", AUTH, "--format", "json"], &log);
    assert_eq!((status(&first), lines(&first).len()), (1, 1));
    let all = referee(&["--protocol", AUTH, "--format", "json", "--all"], &log);
    let flags: Vec<Value> = lines(&all).iter().map(|line| line["consequence"].clone()).collect();
    assert_eq!(flags, [false, true, true]);
}

#[test]
fn lines_that_are_no_events_are_told_on_standard_error_and_leave_no_answer() {
    let log = format!("{}oops\n", login("1"));
    let output = referee(&["--protocol", AUTH, "--format", "json"], &log);
    assert_eq!((status(&output), stdout(&output)), (3, String::new()));
    let text = stderr(&output);
    assert!(
        text.starts_with("-:3: not an event: not a JSON object at column 1\nwarning: 1 line could not"),
        "{text}"
    );
    assert_eq!(status(&referee(&["--protocol", AUTH, "--strict"], &log)), 2);
    assert_eq!(status(&referee(&["--protocol", AUTH, "--lenient"], &log)), 0);
    assert_eq!(status(&referee(&["--protocol", AUTH], "")), 3);
    assert_eq!(status(&referee(&["--protocol", AUTH, "--lenient"], "")), 0);
    // Violations come first.
    let wrong = log + &event("1", "client", "server", "Put", &json!({}));
    for flag in ["--strict", "--lenient", "--all"] {
        assert_eq!(status(&referee(&["--protocol", AUTH, flag], &wrong)), 1);
    }
    let many = "oops\n".repeat(50);
    let output = referee(&["--protocol", AUTH], &many);
    assert_eq!(stderr(&output).lines().count(), 22);
    assert!(stderr(&output).contains("30 more lines are no events"), "{}", stderr(&output));
}

#[test]
fn an_open_session_is_nobodys_fault_but_an_ended_side_is() {
    let end = "{\"session\":\"1\",\"end\":\"server\"}\n";
    let output = referee(&["--protocol", AUTH, "--format", "json"], &(login("1") + end));
    assert_eq!(status(&output), 1);
    let [line] = &lines(&output)[..] else { panic!("{}", stdout(&output)) };
    assert_eq!((&line["kind"], &line["blame"]), (&json!("premature-end"), &json!("server")));
    assert_eq!(line["got"], Value::Null);
}

#[test]
fn any_number_of_threads_prints_the_same() {
    let log: String = (0..200)
        .map(|n| {
            login(&n.to_string())
                + &event(&n.to_string(), "client", "server", ["Put", "Rvk"][n % 2], &json!({"rvkTok": "t"}))
        })
        .collect();
    let one = referee(&["--protocol", AUTH, "--format", "json", "--threads", "1"], &log);
    assert_eq!((status(&one), lines(&one).len()), (1, 100));
    for threads in ["2", "3", "4"] {
        let more = referee(&["--protocol", AUTH, "--format", "json", "--threads", threads], &log);
        assert_eq!(stdout(&more), stdout(&one));
    }
}

#[test]
fn a_multiparty_protocol_needs_a_role() {
    let text = "protocol P(role a, role b, role c) { One() from a to b; Two() from b to c; }";
    let file = protocol("three.scr", text);
    let file = file.to_str().unwrap();
    let output = referee(&["--protocol", file], "");
    assert_eq!(status(&output), 2);
    assert!(
        stderr(&output).contains("3 roles: say with --role which one is under scrutiny (a, b, c)"),
        "{}",
        stderr(&output)
    );
    let log = event("1", "a", "b", "One", &json!({})) + &event("1", "b", "c", "Two", &json!({}));
    let output = referee(&["--protocol", file, "--role", "a"], &log);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("1 event between other roles"), "{}", stdout(&output));
    let output = referee(&["--protocol", file, "--role", "d"], &log);
    assert_eq!(status(&output), 2);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn session_types_have_a_process_and_an_environment_under_any_name() {
    let file = protocol(
        "game.st",
        "S_game=rec X.(&{?Guess(num: Int)[num > 1].!Correct(ans: Int)[ans==num], ?Quit()})",
    );
    let file = file.to_str().unwrap();
    let guess = |from: &str, to: &str, n: i64| event("1", from, to, "Guess", &json!({"num": n}));
    let plain = referee(&["--protocol", file, "--format", "json"], &guess("environment", "process", 1));
    assert_eq!(status(&plain), 1, "{}", stderr(&plain));
    assert_eq!(lines(&plain)[0]["blame"], "environment");
    let names = ["--protocol", file, "--format", "json", "--role-name", "process=server,environment=player"];
    let mapped = referee(&names, &guess("player", "server", 1));
    assert_eq!(status(&mapped), 1, "{}", stderr(&mapped));
    assert_eq!(lines(&mapped)[0]["blame"], "environment");
    assert_eq!(status(&referee(&names, &guess("player", "server", 2))), 0);
    assert_eq!(status(&referee(&["--protocol", file, "--role-name", "nobody=x"], "")), 2);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn external_predicates_are_named() {
    let output = referee(&["--protocol", "../../examples/auth/auth.scr"], "");
    assert_eq!(status(&output), 2);
    let text = stderr(&output);
    assert!(
        text.contains("`validName(string): bool`") && text.contains("`validToken(string, string): bool`"),
        "{text}"
    );
    assert!(text.contains("--functions"), "{text}");
}

#[test]
fn what_is_wrong_with_functions_is_the_configurations_fault() {
    const ASSERTED: &str = "../../examples/auth/auth.scr";
    const WASM: &str = "../../examples/auth/auth.wasm";
    let watch = |arguments: &[&str], input: &str| {
        let output = referee(&[&["--protocol", ASSERTED, "--format", "json"], arguments].concat(), input);
        (status(&output), stdout(&output), stderr(&output))
    };
    let session = |key: &str| {
        event(key, "client", "server", "Auth", &json!({"uname": "bob", "pwd": "x"}))
            + &event(key, "server", "client", "Succ", &json!({"tok": "bob-1"}))
    };
    assert_eq!(watch(&["--functions", WASM], &session("1")), (0, String::new(), String::new()));
    // Before anything is read.
    let other = protocol("other.wasm", "\0asm\u{1}\0\0\0");
    let text = protocol("text.wat", "(module)");
    for (arguments, why) in [
        (&["--functions", "/no/such.wasm"][..], "/no/such.wasm"),
        (&["--functions", text.to_str().unwrap()], "is not a WebAssembly module"),
        (&["--functions", other.to_str().unwrap()], "external functions that nobody defines"),
        (&["--functions", WASM, "--functions", WASM], "is also defined by"),
        (&["--functions", WASM, "--functions-memory", "1000"], "it does not start"),
    ] {
        let (status, out, err) = watch(arguments, &session("1"));
        assert_eq!((status, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(why), "{arguments:?}: {err}");
    }
    // While it is read: nobody is blamed, not even for what follows; another session is judged.
    let late = event("2", "client", "server", "Rvk", &json!({"rvkTok": "x"}));
    let wrong = event("3", "client", "server", "Put", &json!({}));
    let (status, out, err) =
        watch(&["--functions", WASM, "--functions-fuel", "20"], &(session("2") + &late + &wrong));
    assert_eq!(status, 2, "{err}");
    assert!(out.contains(r#""session":"3""#) && !out.contains(r#""session":"2""#), "{out}");
    assert!(err.contains("-:1: not judged, session 2, event 0: `validName(uname)` has no value"), "{err}");
    assert!(err.contains("within 20 units of fuel") && err.contains("--functions-fuel"), "{err}");
    for file in [other, text] {
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn what_is_compressed_is_not_followed() {
    let file = protocol("events.jsonl.gz", "\u{1f}");
    std::fs::write(&file, [0x1f, 0x8b, 8, 0]).unwrap();
    let output = referee(&["--protocol", AUTH, "--follow", file.to_str().unwrap()], "");
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("a compressed file cannot be followed"), "{}", stderr(&output));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_log_of_another_shape_does_not_pass_for_a_good_one() {
    let output =
        referee(&["--protocol", AUTH, "--from", "/src"], "session,from,label\n{\"label\":\"Auth\"}\n{}\n");
    assert_eq!(status(&output), 3);
    for text in [
        "-:2: not an event: it does not say who sent the message (`/src`)",
        "-:3: not an event: it has neither a label (`/label`) nor an end (`/end`)",
        "warning: none of the lines is an event, so nothing was judged; for CSV say --events-format csv",
    ] {
        assert!(stderr(&output).contains(text), "{}", stderr(&output));
    }
}

#[test]
fn wrong_calls_and_wrong_protocols_are_wrong_input() {
    assert_eq!(status(&referee(&[], "")), 2);
    assert_eq!(status(&referee(&["--protocol", "/no/such.scr"], "")), 2);
    assert_eq!(status(&referee(&["--protocol", AUTH, "/no/such.jsonl"], "")), 2);
    assert_eq!(status(&referee(&["--protocol", AUTH, "--session-key", "id"], "")), 2);
    assert_eq!(status(&referee(&["--protocol", AUTH, "--reorder", "5 parsecs"], "")), 2);
    assert_eq!(status(&referee(&["--protocol", AUTH, "-", "-"], "")), 2);
    let file = protocol("broken.scr", "protocol P(role a, role b) { One() from a to c; }");
    let output = referee(&["--protocol", file.to_str().unwrap(), "--format", "json"], "");
    assert_eq!((status(&output), stdout(&output)), (2, String::new()));
    assert!(stderr(&output).contains("RF0103"), "{}", stderr(&output));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn dropped_sessions_are_counted_in_a_warning() {
    let log: String = (0..5).map(|n| login(&n.to_string())).collect::<String>()
        + &event("0", "client", "server", "Put", &json!({}));
    let output = referee(&["--protocol", AUTH, "--idle-sessions", "2", "--format", "json"], &log);
    assert_eq!((status(&output), stdout(&output)), (3, String::new()));
    assert!(
        stderr(&output).contains("warning: dropped 3 idle sessions to keep at most 2; 1 later event"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn foreign_logs_and_csv_are_adapted() {
    let log = r#"{"ts":2,"conn":{"id":7},"dir":"server","kind":"Succ","data":{"tok":"t"}}
{"ts":1,"conn":{"id":7},"dir":"client","kind":"Auth","data":{"uname":"bob","pwd":"x"}}
{"ts":3,"conn":{"id":7},"dir":"client","kind":"Rvk","data":{"rvkTok":"u"}}
"#;
    let adapted = [
        "--protocol",
        AUTH,
        "--format",
        "json",
        "--session-key",
        "/conn/id",
        "--from",
        "/dir",
        "--label",
        "/kind",
        "--payload",
        "/data",
        "--time",
        "/ts",
        "--reorder",
        "5s",
    ];
    let output = referee(&adapted, log);
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    let [line] = &lines(&output)[..] else { panic!("{}", stdout(&output)) };
    assert_eq!((&line["session"], &line["event"], &line["line"]), (&json!("7"), &json!(2), &json!(3)));
    let csv = "session,from,to,label,uname,pwd\n1,client,server,Auth,bob,x\n1,client,server,Auth,bob,x\n";
    let output = referee(&["--protocol", AUTH, "--events-format", "csv", "--format", "json"], csv);
    assert_eq!((status(&output), &lines(&output)[0]["kind"]), (1, &json!("order")));
}

#[test]
fn explaining_draws_the_last_events() {
    let log = login("1") + &event("1", "client", "server", "Put", &json!({}));
    let output = referee(&["--protocol", AUTH, "--explain"], &log);
    let text = stdout(&output);
    assert!(text.contains("Auth {\"uname\":\"bob\",\"pwd\":\"x\"}") && text.contains("✗"), "{text}");
}

#[test]
fn no_answer_is_given_to_a_reader_who_leaves() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
    command
        .args(["watch", "--format", "json", "--protocol", AUTH])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let wrong = event("s", "server", "client", "Succ", &json!({"tok": "t"}));
    let _ = child.stdin.take().unwrap().write_all(wrong.as_bytes());
    let output = child.wait_with_output().unwrap();
    assert_eq!((status(&output), stderr(&output)), (3, String::new()));
}

#[test]
fn what_is_not_known_is_null_and_nothing_reaches_a_terminal_raw() {
    let lost = "{\"session\":\"1\",\"from\":\"server\",\"label\":[]}\n";
    let start = event("1", "client", "server", "Auth", &json!({"uname": "bob", "pwd": "x"}));
    let wrong = event("1", "server", "client", "\u{1b}[2J\u{202e}", &json!({}));
    let log = start + lost + &wrong;
    let output = referee(&["--protocol", AUTH, "--format", "json"], &log);
    assert_eq!(status(&output), 1);
    let [line] = &lines(&output)[..] else { panic!("{}", stdout(&output)) };
    for key in ["blame", "state", "rule", "paper_rule", "rejection"] {
        assert_eq!(line[key], Value::Null, "{key}");
    }
    assert_eq!((&line["certain"], &line["got"]), (&json!(true), &json!("\u{1b}[2J\u{202e}")));
    for arguments in [&["--protocol", AUTH][..], &["--protocol", AUTH, "--explain"]] {
        let output = referee(arguments, &log);
        let text = stdout(&output) + &stderr(&output);
        assert!(text.contains("nobody is blamed") && text.contains("\\u{1b}[2J\\u{202e}"), "{text}");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text:?}");
    }
}

#[test]
fn a_session_that_began_before_the_log_is_joined() {
    let later = event("1", "server", "client", "Succ", &json!({"tok": "t"}))
        + &event("1", "client", "server", "Rvk", &json!({"rvkTok": "u"}));
    assert_eq!(status(&referee(&["--protocol", AUTH], &later)), 1);
    assert_eq!(status(&referee(&["--protocol", AUTH, "--join"], &later)), 1);
    let later = event("1", "client", "server", "Rvk", &json!({"rvkTok": "u"}));
    assert_eq!(status(&referee(&["--protocol", AUTH, "--join"], &later)), 0);
}

#[test]
fn a_source_makes_events_of_lines() {
    let login = protocol(
        "login.scr",
        "protocol Login(role client, role server) { rec L { choice at client {
            Failed(address: string, method: string, port: int, user: string) from client to server; continue L;
        } or {
            Accepted(address: string, method: string, port: int, user: string) from client to server; continue L;
        } } }",
    );
    let line = |pid: u32, text: &str| {
        format!("2026-02-03T04:05:06Z h sshd[{pid}]: {text} from 192.0.2.7 port 4242 ssh2\n")
    };
    let log = line(1, "Failed password for bob")
        + &line(1, "Accepted password for bob")
        + "2026-02-03T04:05:06Z h sshd[1]: other\n";
    let arguments = ["--protocol", login.to_str().unwrap(), "--source", "preset:sshd"];
    let output = referee(&arguments, &log);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("2 events in 1 session: no violation"), "{}", stdout(&output));
    assert!(stderr(&output).contains("1 lines match nothing"), "{}", stderr(&output));
    let closed = log + "2026-02-03T04:05:07Z h sshd[1]: Connection closed by 192.0.2.7 port 4242\n";
    let output = referee(&[&arguments[..], &["--format", "json"]].concat(), &closed);
    let [line] = &lines(&output)[..] else { panic!("{}", stdout(&output)) };
    assert_eq!(
        (&line["session"], &line["kind"], &line["line"]),
        (&json!("h/192.0.2.7:4242"), &json!("premature-end"), &json!(4))
    );
    assert_eq!(status(&referee(&["--protocol", AUTH, "--source", "preset:nope"], "")), 2);
    let extract = process::referee(&["extract", "--source", "preset:sshd"], &closed);
    assert_eq!((status(&extract), lines(&extract).len()), (0, 3), "{}", stderr(&extract));
    assert!(stderr(&extract).contains("4 lines: 3 events, 1 matched nothing"), "{}", stderr(&extract));
    let guessed = process::referee(&["extract", "--guess"], &closed);
    assert!(stdout(&guessed).starts_with("format = \"syslog\""), "{}", stdout(&guessed));
    std::fs::remove_file(login).unwrap();
}

/// A document with many spans is as many events, and all of them are at its line; logs that a source reads are merged.
/// Logs of several kinds in one run, each read by its own source, in the order of their times.
#[test]
fn each_log_has_its_source() {
    let failed =
        "<38>1 2026-02-03T04:05:06Z h sshd 12 - - Failed password for bob from 192.0.2.7 port 4242 ssh2\n";
    let request = "192.0.2.7 - - [03/Feb/2026:05:05:08 +0100] \"GET /admin HTTP/1.1\" 200 12 \"-\" \"-\"\n";
    let deploy = "{\"from\":\"client\",\"label\":\"Deploy\",\"time\":\"2026-02-03T04:05:10Z\"}\n";
    let [auth, access, deploys] =
        [("each-auth.log", failed), ("each-access.log", request), ("each-deploys.jsonl", deploy)]
            .map(|(name, text)| protocol(name, text).to_str().unwrap().to_owned());
    let property = "property p for each \"/from\" { max X.([_ -> _ : Failed][_ -> _ : Request][_ -> _ : Deploy]ff and [_]X) }";
    let property = protocol("each.hml", property);
    let watch = |sources: &[&str], logs: &[&str]| {
        let sources = sources.iter().flat_map(|source| ["--source", *source]);
        let common = ["--property", property.to_str().unwrap(), "--format", "json"];
        referee(&common.into_iter().chain(sources).chain(logs.iter().copied()).collect::<Vec<_>>(), "")
    };
    let own = [format!("{auth}=preset:sshd"), format!("{access}=preset:nginx-combined")];
    let output = watch(&[&own[0], &own[1]], &[&deploys, &access, &auth]);
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    assert_eq!(lines(&output)[0]["source"], json!(format!("{deploys}:1")));
    // What names no log is that of the others.
    let output = watch(&[&own[0], "preset:nginx-combined"], &[&access, &auth]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    for (sources, why) in [
        (vec!["other.log=preset:sshd"], "no input is called `other.log`"),
        (vec!["preset:sshd", "preset:sshd"], "a log is read by one source"),
        (vec![own[0].as_str(), own[0].as_str()], "a log is read by one source"),
    ] {
        let output = watch(&sources, &[&auth]);
        assert_eq!(status(&output), 2);
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
}

#[test]
fn documents_with_many_events_keep_their_lines() {
    let ring = protocol("spans.scr", "protocol P(role a, role b) { One() from a to b; Two() from b to a; }");
    let document = |service: &str, spans: &[(&str, u64)]| {
        let span = |(name, time): &(&str, u64)| json!({"traceId": "t", "name": name, "startTimeUnixNano": time.to_string()});
        let resource = json!({"attributes": [{"key": "service.name", "value": {"stringValue": service}}]});
        let spans: Vec<_> = spans.iter().map(span).collect();
        format!("{}\n", json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}))
    };
    const DAY: u64 = 1_770_091_506_000_000_000;
    let first = protocol("a.otlp", &("\n".to_owned() + &document("a", &[("One", DAY), ("One", DAY + 20)])));
    let second = protocol("b.otlp", &document("b", &[("Two", DAY + 10)]));
    let files = [&second, &first].map(|path| path.to_str().unwrap());
    let arguments =
        ["--protocol", ring.to_str().unwrap(), "--source", "preset:otlp-spans", "--format", "json"];
    let output = referee(&[&arguments[..], &files[..]].concat(), "");
    let [line] = &lines(&output)[..] else { panic!("{}{}", stdout(&output), stderr(&output)) };
    assert_eq!(
        (&line["kind"], &line["blame"], &line["line"], &line["event"]),
        (&json!("after-end"), &json!("a"), &json!(2), &json!(2)),
        "{line}"
    );
    for path in [ring, first, second] {
        std::fs::remove_file(path).unwrap();
    }
}

/// Logs of a real Postfix and PostgreSQL: nobody is blamed, and what is missing from them is found where it is missing.
#[test]
fn recordings_of_real_servers_are_watched() {
    let mail = protocol(
        "mail.scr",
        "protocol Mail(role postfix, role message) {
          choice at postfix { Received(client: string) from postfix to message; do Named(postfix, message); }
          or { MessageId(id: string) from postfix to message; do Queueing(postfix, message); }
        }
        aux protocol Named(role postfix, role message) { MessageId(id: string) from postfix to message; do Queueing(postfix, message); }
        aux protocol Queueing(role postfix, role message) {
          Queued(recipients: int, sender: string, size: int) from postfix to message;
          choice at postfix { Sent(recipient: string) from postfix to message; Removed() from postfix to message; }
          or { Bounced(recipient: string) from postfix to message; Removed() from postfix to message; }
          or { Deferred(recipient: string) from postfix to message; do Queueing(postfix, message); }
        }",
    );
    let base = protocol(
        "base.scr",
        "protocol Base(role client, role server) {
          Connect(host: string) from client to server;
          Authorized(database: string, user: string) from server to client;
          do Idle(client, server);
        }
        aux protocol Idle(role client, role server) {
          choice at client { Statement(statement: string) from client to server; do Idle(client, server); }
          or { Begin() from client to server; do Within(client, server); }
        }
        aux protocol Within(role client, role server) {
          choice at client { Statement(statement: string) from client to server; do Within(client, server); }
          or { Commit() from client to server; do Idle(client, server); }
          or { Rollback() from client to server; do Idle(client, server); }
        }",
    );
    let mail_log = include_str!("../../extract/tests/samples/postfix.log");
    // What the server says when something fails, and ends, are not part of this protocol.
    let base_log: String = include_str!("../../extract/tests/samples/postgresql.log")
        .lines()
        .filter(|line| !["ERROR", "FATAL", "disconnection"].iter().any(|word| line.contains(word)))
        .map(|line| format!("{line}\n"))
        .collect();
    for (protocol, source, log, planted, label) in [
        (&mail, "preset:postfix", mail_log, "status=sent", "Removed"),
        (&base, "preset:postgresql", base_log.as_str(), "statement: begin", "Commit"),
    ] {
        let arguments = ["--protocol", protocol.to_str().unwrap(), "--source", source, "--format", "json"];
        let output = referee(&arguments, log);
        assert_eq!((status(&output), stdout(&output).as_str()), (0, ""), "{}", stderr(&output));
        let at = log.lines().position(|line| line.contains(planted)).unwrap();
        let without: String = log
            .lines()
            .enumerate()
            .filter(|(line, _)| *line != at)
            .map(|(_, line)| format!("{line}\n"))
            .collect();
        let output = referee(&arguments, &without);
        let found = lines(&output);
        assert_eq!((status(&output), found.len()), (1, 1), "{}", stdout(&output));
        assert_eq!(found[0]["got"], json!(label), "{}", found[0]);
        std::fs::remove_file(protocol).unwrap();
    }
}

/// What the user misspells is said.
#[test]
fn names_that_no_event_has_are_said() {
    let property = protocol("key.hml", "property p for each metod { max X.([{event: \"bad\"}]ff and [_]X) }");
    let output =
        referee(&["--property", property.to_str().unwrap()], "{\"method\":\"a\",\"event\":\"bad\"}\n");
    assert_eq!(status(&output), 3, "nothing was judged");
    assert!(stderr(&output).contains("no event concerns anybody"), "{}", stderr(&output));
    std::fs::remove_file(property).unwrap();
    let output = referee(&["--protocol", "preset:redis", "--session-ends", "Quitt"], "");
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("did you mean `Quit`?"), "{}", stderr(&output));
}

/// Packets of a real Redis, against its preset, against a protocol that it does not follow, and where they are something else.
#[test]
fn captured_packets_are_watched() {
    const CAPTURE: &str = "../capture/tests/samples/redis.pcap";
    let redis = ["--pcap", CAPTURE, "--server-port", "16399", "--protocol"];
    let output = referee(&[&redis[..], &["preset:redis"]].concat(), "");
    assert_eq!(status(&output), 0, "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).starts_with("16 events in 2 sessions: no violation\n"), "{}", stdout(&output));

    let once = protocol(
        "once.scr",
        "protocol Once(role client, role server) { Command() from client to server; Reply() from server to client; }",
    );
    let codec = protocol(
        "once.toml",
        "kind = 'resp'\nleave = { client = 'anytime', server = 'anytime' }\nmessages.Command = 'any'\nmessages.Reply = 'any'\n",
    );
    let (once, codec) = (once.to_str().unwrap(), codec.to_str().unwrap());
    let output = referee(&[&redis[..], &[once, "--codec", codec, "--format", "json"]].concat(), "");
    let found = lines(&output);
    assert_eq!((status(&output), found.len()), (1, 2), "{}{}", stdout(&output), stderr(&output));
    assert_eq!((&found[0]["kind"], &found[0]["blame"]), (&json!("after-end"), &json!("client")));
    // The number of the packet, as other tools count them.
    assert_eq!(found[0]["line"], json!(8), "{}", found[0]);

    // The same by a source file, which finds its codec beside it.
    let beside = PathBuf::from(codec).file_name().unwrap().to_str().unwrap().to_owned();
    let source =
        protocol("cap.toml", &format!("format = \"pcap\"\nserver-port = 16399\ncodec = \"{beside}\"\n"));
    let by_source =
        referee(&["--source", source.to_str().unwrap(), "--protocol", once, "--format", "json", CAPTURE], "");
    assert_eq!((status(&by_source), lines(&by_source)), (1, found.clone()), "{}", stderr(&by_source));
    let extract = process::referee(&["extract", "--source", source.to_str().unwrap(), CAPTURE], "");
    assert!(stderr(&extract).contains("which need a protocol"), "{}", stderr(&extract));
    std::fs::remove_file(source).unwrap();

    // No connection to that port; no codec; no capture.
    let output = referee(&[&redis[..2], &["--server-port", "1", "--protocol", "preset:redis"]].concat(), "");
    assert_eq!(status(&output), 3);
    assert!(stderr(&output).contains("no connection to port 1 was captured"), "{}", stderr(&output));
    assert_eq!(status(&referee(&[&redis[..], &[once]].concat(), "")), 2);
    let output = referee(&["--pcap", codec, "--server-port", "1", "--protocol", "preset:redis"], "");
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("this is no capture"), "{}", stderr(&output));
    for path in [once, codec] {
        std::fs::remove_file(path).unwrap();
    }
}

/// Recordings of real servers, watched by the sources that come with Referee: who is right is not blamed, and no request is hidden.
#[test]
fn recorded_logs_are_watched_by_ready_made_sources() {
    const SAMPLES: &str = "../extract/tests/samples";
    let login = protocol(
        "logins.scr",
        "protocol Login(role client, role server) { rec L { choice at client {
            Failed(method: string, user: string, address: string, port: int) from client to server; continue L;
        } or {
            Accepted(method: string, user: string, address: string, port: int) from client to server;
        } or { Left() from client to server; } } }",
    );
    let log = format!("{SAMPLES}/sshd.log");
    let output = referee(
        &["--source", "preset:sshd", "--protocol", login.to_str().unwrap(), &log, "--format", "json"],
        "",
    );
    // Four have left without having been let in, and the others are right.
    let found = lines(&output);
    let kinds: Vec<_> = found.iter().map(|line| (line["kind"].as_str(), line["event"].as_i64())).collect();
    assert_eq!(kinds, [(Some("premature-end"), Some(1)); 4], "{}", stdout(&output));
    // Every time says its year and its zone.
    assert!(!stderr(&output).contains("warning"), "{}", stderr(&output));

    let out = protocol(
        "out.hml",
        "property out { max X.([{\"/payload/path\": p, \"/payload/status\": s} when p == \"/fail\" && s == 502]ff and [_]X) }",
    );
    let access = std::fs::read_to_string(format!("{SAMPLES}/nginx.log")).unwrap();
    for hidden in access.lines().filter(|line| line.contains("/fail")) {
        let arguments = ["--source", "preset:nginx-combined", "--property", out.to_str().unwrap()];
        assert_eq!(status(&referee(&arguments, &format!("{hidden}\n"))), 1, "{hidden}");
    }

    let commit = "../../examples/logs/commit.hml";
    let arguments = ["--source", "preset:postgresql", "--property", commit];
    let log = format!("{SAMPLES}/savepoint.log");
    assert_eq!(status(&referee(&[&arguments[..], &[&log]].concat(), "")), 0);
    let text = std::fs::read_to_string(&log).unwrap();
    let without: String =
        text.lines().filter(|line| !line.contains("rollback to")).map(|line| format!("{line}\n")).collect();
    assert_eq!(status(&referee(&arguments, &without)), 1);
    for path in [login, out] {
        std::fs::remove_file(path).unwrap();
    }
}

/// The blocks of a pcapng file, which is little-endian: their kinds and bytes.
fn blocks(capture: &[u8]) -> Vec<(u32, &[u8])> {
    let mut rest = capture;
    let mut found = Vec::new();
    while let [a, b, c, d, e, f, g, h, ..] = *rest {
        let (block, after) = rest.split_at(u32::from_le_bytes([e, f, g, h]) as usize);
        found.push((u32::from_le_bytes([a, b, c, d]), block));
        rest = after;
    }
    found
}

/// No suffix of a correct connection is a violation: of recordings of real servers and clients, some of which send many requests before
/// an answer, without their first packets.
#[test]
fn joining_a_captured_connection_finds_nothing_in_correct_ones() {
    const PACKET: u32 = 6;
    let folder = PathBuf::from("../capture/tests/samples");
    let cut = protocol("cut.pcapng", "");
    let mut judged = 0;
    for (name, preset, port) in [
        ("smtp", "smtp", "22025"),
        ("postgres", "postgres", "22432"),
        ("redis-pipelined", "redis", "22379"),
        ("http", "http", "22080"),
    ] {
        let capture = std::fs::read(folder.join(format!("{name}.pcap"))).unwrap();
        let blocks = blocks(&capture);
        let packets = blocks.iter().filter(|(kind, _)| *kind == PACKET).count();
        for first in 0..packets.min(24) {
            let mut number = 0;
            let mut text = Vec::new();
            for (kind, block) in &blocks {
                number += usize::from(*kind == PACKET);
                if *kind != PACKET || number > first {
                    text.extend_from_slice(block);
                }
            }
            std::fs::write(&cut, text).unwrap();
            let preset = format!("preset:{preset}");
            let arguments =
                ["--join", "--pcap", cut.to_str().unwrap(), "--protocol", &preset, "--server-port", port];
            let output = referee(&arguments, "");
            assert!(
                [0, 3].contains(&status(&output)),
                "{name} from {first}: {}{}",
                stdout(&output),
                stderr(&output)
            );
            assert!(status(&output) == 0 || first > 0, "{name} whole: {}", stderr(&output));
            judged += usize::from(first > 2 && status(&output) == 0);
        }
    }
    // It is not that nothing is judged.
    assert!(judged > 3, "{judged}");
    std::fs::remove_file(cut).unwrap();
}

#[test]
fn all_roles_are_judged_in_one_call() {
    let ring = protocol(
        "ring.scr",
        "protocol Ring(role a, role b, role c) { One() from a to b; Two() from b to c; Three() from c to a; }",
    );
    let line = |from: &str, to: &str, label: &str| event("1", from, to, label, &json!({}));
    let log = |text: &str| protocol("ring.jsonl", text);
    let good = log(&(line("a", "b", "One") + &line("b", "c", "Two") + &line("c", "a", "Three")));
    let arguments = |file: &PathBuf| {
        referee(
            &[
                "--protocol",
                ring.to_str().unwrap(),
                "--all-roles",
                "--format",
                "json",
                file.to_str().unwrap(),
            ],
            "",
        )
    };
    let output = arguments(&good);
    assert_eq!((status(&output), stdout(&output)), (0, String::new()), "{}", stderr(&output));
    let bad = log(&(line("a", "b", "One") + &line("b", "c", "Three")));
    let output = arguments(&bad);
    let found: Vec<(String, String)> =
        lines(&output).iter().map(|line| (line["role"].to_string(), line["blame"].to_string())).collect();
    assert_eq!(found, [("\"b\"".to_owned(), "\"b\"".to_owned()), ("\"c\"".to_owned(), "\"b\"".to_owned())]);
    assert_eq!(status(&referee(&["--protocol", ring.to_str().unwrap(), "--all-roles"], "")), 2);
    for file in [ring, bad] {
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn documents_for_programs() {
    let log = login("1") + &event("1", "client", "server", "Put", &json!({})) + "oops\n";
    let file = protocol("summary.json", "");
    let output =
        referee(&["--protocol", AUTH, "--format", "sarif", "--summary", file.to_str().unwrap()], &log);
    assert_eq!(status(&output), 1);
    let sarif: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let rules: Vec<&Value> = results.iter().map(|result| &result["ruleId"]).collect();
    assert_eq!(rules, [&json!("protocol/label"), &json!("not-judged")]);
    assert_eq!(results[0]["locations"][0]["physicalLocation"]["region"]["startLine"], json!(3));
    let summary: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((&summary["events"], &summary["violations"]["first"]), (&json!(3), &json!(1)));
    assert_eq!((&summary["not_judged"]["lines"], &summary["by_label"]), (&json!(1), &json!({"Put": 1})));
    std::fs::remove_file(file).unwrap();
}

/// Whole seconds stay whole seconds when a source has read them: nobody is late by half a second, in no format.
#[test]
fn times_of_a_source_are_as_exact_as_they_are_written() {
    let times = protocol(
        "exact.scr",
        "protocol P(role client, role server) { Req() from client to server; Rep() from server to client within 5500ms; \
         Ok() from client to server after 1500ms; }",
    );
    let source = |format: &str| {
        protocol(
            &format!("{}.toml", format.len()),
            &format!(
                "format = \"logfmt\"\ntime = \"{{ts}}\"\ntime-format = \"{format}\"\nsession = \"{{id}}\"\n\
                 [[event]]\nmatch = {{ ev = '^req$' }}\nfrom = \"client\"\nlabel = \"Req\"\n\
                 [[event]]\nmatch = {{ ev = '^rep$' }}\nfrom = \"server\"\nlabel = \"Rep\"\n\
                 [[event]]\nmatch = {{ ev = '^ok$' }}\nfrom = \"client\"\nlabel = \"Ok\"\n"
            ),
        )
    };
    for (format, times_of, certain) in [
        (
            "clf",
            ["03/Feb/2026:10:00:00 +0000", "03/Feb/2026:10:00:06 +0000", "03/Feb/2026:10:00:07 +0000"],
            false,
        ),
        ("rfc3339", ["2026-02-03T10:00:00Z", "2026-02-03T10:00:06Z", "2026-02-03T10:00:07Z"], false),
        ("unix", ["1770112800", "1770112806", "1770112807"], false),
        ("%Y-%m-%d %H:%M", ["2026-02-03 10:00", "2026-02-03 10:01", "2026-02-03 10:01"], false),
        ("unix-ms", ["1770112800000", "1770112806000", "1770112807000"], true),
    ] {
        let [req, rep, ok] = times_of;
        let log = format!("ts=\"{req}\" ev=req id=1\nts=\"{rep}\" ev=rep id=1\nts=\"{ok}\" ev=ok id=1\n");
        let source = source(format);
        let (source, times) = (source.to_str().unwrap(), times.to_str().unwrap());
        let output = referee(&["--source", source, "--protocol", times, "--format", "json"], &log);
        let found = lines(&output);
        assert_eq!(found.len(), 2, "{format}: {found:?}");
        assert!(found.iter().all(|verdict| verdict["certain"] == json!(certain)), "{format}: {found:?}");
    }
}
