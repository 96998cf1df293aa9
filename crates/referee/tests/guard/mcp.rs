//! `referee mcp`: calls that break a rule are refused, and the agent carries on.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::support::*;

/// Answers whatever asks, and says on standard error what it was asked. The id comes last, as real servers write it.
const SERVER: &str = r#"while read -r line; do
  echo "$line" >&2
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([^,}]*\).*/\1/p')
  [ -z "$id" ] || printf '{"result":{"content":[]},"jsonrpc":"2.0","id":%s}\n' "$id"
done"#;

struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Agent {
    /// Most tests are about calls, and leave out how sessions begin.
    fn new(arguments: &[&str], server: &str) -> Self {
        Self::with_lifecycle(&[&["--no-lifecycle"], arguments].concat(), server)
    }

    fn with_lifecycle(arguments: &[&str], server: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
        command.arg("mcp").args(arguments).args(["--", "sh", "-c", server]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn send(&mut self, line: &str) {
        self.input.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn ask(&mut self, id: u32, method: &str, params: &str) -> Value {
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
        let answer = self.receive();
        assert_eq!(answer["id"], json!(id), "{answer}");
        answer
    }

    fn call(&mut self, id: u32, tool: &str, arguments: &str) -> Value {
        self.ask(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
    }

    /// The exit status, and what came on standard error.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

fn rules(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mcp").join(name).display().to_string()
}

#[test]
fn a_call_that_breaks_a_rule_is_refused_and_the_agent_carries_on() {
    let folder = Folder::new();
    let log = folder.0.join("mcp.log");
    let refund = rules("refund.hml");
    let mut agent = Agent::new(&["--rules", &refund, "--log", log.to_str().unwrap()], SERVER);
    assert_eq!(agent.ask(0, "initialize", "{}")["result"], json!({"content": []}));
    agent.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    // As often as it tries, and with the same id, for it was answered.
    for _ in 0..2 {
        let refused = agent.call(1, "refund", r#"{"order_id":"7"}"#);
        assert_eq!(refused["error"]["code"], json!(-32000));
        let why = refused["error"]["message"].as_str().unwrap();
        assert!(why.contains("refund_after_lookup") && why.contains("Look up an order"), "{why}");
    }
    assert!(agent.call(2, "lookup", r#"{"order_id":"7"}"#).get("result").is_some());
    assert!(agent.call(3, "refund", r#"{"order_id":"8"}"#).get("error").is_some());
    assert!(agent.call(4, "refund", r#"{"order_id":"7"}"#).get("result").is_some());
    // Which of the two would the server take?
    let twice = agent.call(5, "refund", r#"{"order_id":"7","order_id":"8"}"#);
    assert!(twice["error"]["message"].as_str().unwrap().contains("twice"), "{twice}");
    let (code, seen) = agent.end();
    let calls: Vec<&str> = seen.lines().filter(|line| line.contains("tools/call")).collect();
    assert_eq!((code, calls.len()), (Some(0), 2), "{seen}");
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("refused") && log.contains("refund_after_lookup"), "{log}");
}

/// A tool that takes too long is reported when it does, and the call goes on; the rest is judged as before.
#[test]
fn a_rule_may_speak_of_time() {
    let folder = Folder::new();
    let (log, rule) = (folder.0.join("mcp.log"), folder.0.join("slow.hml"));
    let text = "/// A tool answers within half a second.
        property quick for each \"/payload/tool\" {
          max X.([client -> server : Call]expect [server -> client : CallResult] within 500ms and [_]X) }
        /// Not more than two calls a minute.
        property few { max X.([client -> server : Call when count([client -> server : Call] in 60s) > 2]ff and [_]X) }";
    fs::write(&rule, text).unwrap();
    let server = r#"while read -r line; do
      id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
      case $line in *slow*) sleep 1.5;; esac
      printf '{"result":{"content":[]},"jsonrpc":"2.0","id":%s}\n' "$id"
    done"#;
    let arguments = ["--rules", rule.to_str().unwrap(), "--log", log.to_str().unwrap()];
    let mut agent = Agent::new(&arguments, server);
    assert!(agent.call(1, "fast", "{}").get("result").is_some());
    assert!(agent.call(2, "slow", "{}").get("result").is_some());
    let refused = agent.call(3, "fast", "{}");
    let why = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(why.contains("`few`") && why.contains("Not more than two calls"), "{why}");
    assert_eq!(agent.end().0, Some(0));
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("came within 500 ms of event 0, which violates property `quick`"), "{log}");
    assert_eq!(log.matches("`quick`").count(), 1, "{log}");
}

#[test]
fn answers_come_in_any_order_and_each_once() {
    let crossing = r#"read -r a; read -r b
      echo '{"jsonrpc":"2.0","id":"b","result":{}}'; echo '{"jsonrpc":"2.0","id":1e0,"result":{}}'
      echo '{"jsonrpc":"2.0","method":"notifications/progress"}'; echo '{"jsonrpc":"2.0","id":1,"method":"ping"}'
      read -r c; exit 5"#;
    let mut agent = Agent::new(&[], crossing);
    agent.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    agent.send(r#"{"jsonrpc":"2.0","id":"\u0062","method":"tools/call","params":{"name":"x"}}"#);
    assert_eq!(agent.receive()["id"], json!("b"));
    assert_eq!(agent.receive()["id"], json!(1.0));
    agent.receive();
    assert_eq!(agent.receive()["method"], json!("ping"));
    agent.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let (code, errors) = agent.end();
    assert_eq!((code, errors.as_str()), (Some(5), ""));

    for (server, what) in [
        (r#"read -r a; echo '{"jsonrpc":"2.0","id":9,"result":{}}'; read -r b"#, "never asked"),
        (
            r#"read -r a; for i in 1 2; do echo '{"jsonrpc":"2.0","id":1,"result":{}}'; done; read -r b"#,
            "answered twice",
        ),
        (r#"read -r a; echo '{"jsonrpc":"2.0","id":"1","result":{}}'; read -r b"#, "a text is no number"),
    ] {
        let mut agent = Agent::new(&[], server);
        agent.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        let mut rest = String::new();
        while agent.output.read_line(&mut rest).unwrap() > 0 {}
        let (code, errors) = agent.end();
        assert!(code == Some(1) && errors.contains("server sent"), "{what}: {code:?} {errors}");
    }
    // Of what could not be read, the server does not know the id.
    let answer = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}"#;
    let mut agent = Agent::new(&[], &format!("read -r a; echo '{answer}'; read -r b; exit 3"));
    agent.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert_eq!(agent.receive()["error"]["code"], json!(-32700));
    assert_eq!(agent.end(), (Some(3), String::new()));
    // A limit of the guard is nobody's fault.
    let mut agent = Agent::new(&[], "cat >/dev/null");
    (0..=1024).for_each(|id| agent.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)));
    let (code, errors) = agent.end();
    assert!(code == Some(1) && !errors.contains("client"), "{errors}");
    // The id is in flight: the asker is wrong.
    let mut agent = Agent::new(&[], "read -r a; read -r b");
    agent.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    agent.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let (code, errors) = agent.end();
    assert!(code == Some(1) && errors.contains("client sent"), "{errors}");
}

#[test]
fn under_observe_everything_goes_on_and_is_told() {
    let folder = Folder::new();
    let (once, journal) = (rules("once.hml"), folder.0.join("journal"));
    let arguments = ["--rules", &once, "--policy", "observe", "--journal", journal.to_str().unwrap()];
    let mut agent = Agent::new(&arguments, SERVER);
    for id in 0..3 {
        assert!(agent.call(id, "pay", r#"{"invoice":1}"#).get("result").is_some());
    }
    assert_eq!(agent.end().0, Some(0));
    let run = fs::read_dir(journal).unwrap().next().unwrap().unwrap().path();
    let read =
        Command::new(env!("CARGO_BIN_EXE_referee")).args(["journal", "show"]).arg(run).output().unwrap();
    assert!(String::from_utf8_lossy(&read.stdout).contains("paid_once"), "{read:?}");
}

/// A session, judged by the guard and again from its journal: by the same rules, and by others. What was refused is judged, and has not
/// happened.
#[test]
fn a_recorded_session_is_judged_again() {
    let folder = Folder::new();
    let journal = folder.0.join("journal");
    let journal = journal.to_str().unwrap();
    let (once, refund) = (rules("once.hml"), rules("refund.hml"));
    for orders in [["7", "8"], ["9", "7"]] {
        let mut agent = Agent::new(&["--rules", &refund, "--journal", journal], SERVER);
        agent.call(1, "refund", &format!(r#"{{"order_id":"{}","invoice":1}}"#, orders[0]));
        agent.call(2, "lookup", &format!(r#"{{"order_id":"{}"}}"#, orders[0]));
        agent.call(3, "refund", &format!(r#"{{"order_id":"{}"}}"#, orders[0]));
        agent.call(4, "pay", r#"{"invoice":1}"#);
        assert_eq!(agent.end().0, Some(0));
    }
    let told = |rules: &[&str]| {
        let mut watch = Command::new(env!("CARGO_BIN_EXE_referee"));
        watch.args(["watch", "--journal", journal, "--format", "json"]);
        for rules in rules {
            watch.args(["--rules", rules]);
        }
        let output = watch.output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let verdicts = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let verdicts = verdicts.filter(|verdict| verdict["verdict"] == "violation");
        let verdicts =
            verdicts.map(|verdict| format!("{} {}", verdict["property"].as_str().unwrap(), verdict["key"]));
        (output.status.code(), verdicts.collect::<Vec<_>>())
    };
    // The guard's own verdicts: one for each session, whose `refund` came before its `lookup`.
    let own = ["refund_after_lookup \"7\"", "refund_after_lookup \"9\""].map(str::to_owned);
    assert_eq!(told(&[&refund]), (Some(1), own.to_vec()));
    // A rule that was not there: the same invoice in two sessions. (The refused refund had an `invoice`, and paid nothing.)
    assert_eq!(told(&[&once]), (Some(1), vec!["paid_once \"1\"".to_owned()]));
    let never = folder.0.join("never.hml");
    let text = "rule never: never call pay after call refund(invoice: _)\nrule paid: never call lookup after call pay in the same session";
    fs::write(&never, text).unwrap();
    assert_eq!(told(&[never.to_str().unwrap()]), (Some(0), vec![]));
}

/// Each rule of `examples/mcp`: it stops exactly the wrong call, and what comes after goes on.
#[test]
fn each_rule_stops_the_wrong_call_alone() {
    for (file, calls) in [
        (
            "refund.hml",
            [
                ("lookup", r#"{"order_id":1}"#),
                ("refund", r#"{"order_id":2}"#),
                ("refund", r#"{"order_id":1}"#),
            ],
        ),
        (
            "write.hml",
            [
                ("read_file", r#"{"path":"a"}"#),
                ("write_file", r#"{"path":"b"}"#),
                ("write_file", r#"{"path":"a"}"#),
            ],
        ),
        ("private.hml", [("private_notes", "{}"), ("fetch", r#"{"url":"u"}"#), ("read", "{}")]),
        ("once.hml", [("pay", r#"{"invoice":1}"#), ("pay", r#"{"invoice":1}"#), ("pay", r#"{"invoice":2}"#)]),
        ("delete.hml", [("confirm", r#"{"id":1}"#), ("delete", r#"{"id":2}"#), ("delete", r#"{"id":1}"#)]),
    ] {
        let mut agent = Agent::new(&["--rules", &rules(file)], SERVER);
        let answers: Vec<bool> = (1_u32..)
            .zip(calls)
            .map(|(id, (tool, arguments))| agent.call(id, tool, arguments).get("error").is_some())
            .collect();
        assert_eq!(answers, [false, true, false], "{file}");
        assert_eq!(agent.end().0, Some(0), "{file}");
    }
}

/// Ten calls a minute: the eleventh is refused, and is none of the ten.
#[test]
fn calls_are_counted_in_a_minute() {
    let mut agent = Agent::new(&["--rules", &rules("rate.hml")], SERVER);
    let answers: Vec<bool> = (1..=12).map(|id| agent.call(id, "x", "{}").get("error").is_some()).collect();
    assert_eq!(answers, [[false; 10].as_slice(), &[true; 2]].concat());
    assert_eq!(agent.ask(13, "tools/list", "{}").get("error"), None);
    assert_eq!(agent.end().0, Some(0));
}

/// What the revisions demand, whichever a session opens with.
#[test]
fn a_session_keeps_the_revision_that_it_opens_with() {
    let is_error =
        |answer: &Value| answer.get("error").map(|error| error["message"].as_str().unwrap().to_owned());
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    // Up to 2025-11-25: `initialize` first, and a client that asks before is told so.
    let mut agent = Agent::with_lifecycle(&[], SERVER);
    assert_eq!(is_error(&agent.ask(1, "ping", "{}")), None);
    let why = is_error(&agent.ask(2, "tools/list", "{}")).unwrap();
    assert!(why.contains("initialize_first") && why.contains("the first request is `initialize`"), "{why}");
    assert_eq!(is_error(&agent.ask(3, "initialize", "{}")), None);
    assert_eq!(is_error(&agent.ask(4, "tools/list", "{}")), None);
    assert_eq!(is_error(&agent.call(5, "x", "{}")), None);
    assert_eq!(agent.end().0, Some(0));
    // 2026-07-28: none, and each request names its revision.
    let modern = SERVER.replace(r#"{"content":[]}"#, r#"{"resultType":"complete"}"#);
    let mut agent = Agent::with_lifecycle(&[], &modern);
    assert_eq!(is_error(&agent.ask(1, "server/discover", meta)), None);
    assert_eq!(is_error(&agent.ask(2, "tools/list", meta)), None);
    for (id, method) in [(3, "tools/list"), (4, "initialize")] {
        let why = is_error(&agent.ask(id, method, "{}")).unwrap();
        assert!(why.contains("stateless_session"), "{why}");
    }
    assert_eq!(agent.end().0, Some(0));
    // A server of the older kind does not know `server/discover`: its client falls back, and nobody is wrong.
    let older = r#"while read -r line; do
      id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
      case "$line" in *discover*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"?"}}\n' "$id";;
      *) printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id";; esac; done"#;
    let mut agent = Agent::with_lifecycle(&[], older);
    assert_eq!(is_error(&agent.ask(1, "server/discover", meta)).as_deref(), Some("?"));
    assert_eq!(is_error(&agent.ask(2, "initialize", "{}")), None);
    assert_eq!(is_error(&agent.ask(3, "tools/list", "{}")), None);
    assert_eq!(agent.end(), (Some(0), String::new()));
    // Observed, a session that begins otherwise works, and is told of.
    let folder = Folder::new();
    let log = folder.0.join("mcp.log");
    let mut agent = Agent::with_lifecycle(&["--policy", "observe", "--log", log.to_str().unwrap()], SERVER);
    assert_eq!(is_error(&agent.ask(1, "tools/list", "{}")), None);
    agent.end();
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("initialize_first"), "{log}");
}
