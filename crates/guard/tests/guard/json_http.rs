//! MCP over HTTP: sessions over several connections, rules over calls, refusals in responses and streams.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use referee_guard::Guard;
use referee_guard::report::Report;

use super::support::*;

const RULES: &str = r#"
/// Look it up first.
rule looked_up: before call refund(order: o) there must be result of lookup(order: o)

/// Nothing leaves.
rule nothing_leaves: never call fetch after call secret in the same session

rule few: call ping at most 2 times in 10m

rule no_bad_results: never result of bad

rule no_cancelling: never message Notification(method: "notifications/cancelled") from client to server

rule no_news: never message ServerNotification(method: "notifications/news") from server to client
"#;

/// A request of HTTP as the server sees it.
struct Asked {
    head: String,
    body: String,
    /// What is answered, in pieces; the connection is closed when it is dropped.
    answer: Sender<Vec<u8>>,
}

impl Asked {
    fn say(&self, bytes: &str) {
        self.answer.send(bytes.as_bytes().to_vec()).unwrap();
    }

    /// Answers with a document.
    fn json(&self, headers: &str, document: &str) {
        let length = document.len();
        self.say(&format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{document}"
        ));
    }

    /// Begins a stream in chunks.
    fn events(&self) {
        self.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    }

    fn event(&self, text: &str) {
        self.say(&chunk(text));
    }

    fn id(&self) -> String {
        let (_, id) = self.body.split_once("\"id\":").unwrap();
        id[..id.find([',', '}']).unwrap()].to_owned()
    }
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// A server whose requests are answered by the test, in the order in which they come.
fn server() -> (String, Receiver<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (asked, all) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let asked = asked.clone();
            std::thread::spawn(move || serve(stream, &asked));
        }
    });
    (address, all)
}

fn serve(mut stream: TcpStream, asked: &Sender<Asked>) {
    let mut pending = Vec::new();
    loop {
        let Some((head, body)) = request(&mut stream, &mut pending) else { return };
        let (answer, pieces) = channel();
        if asked.send(Asked { head, body, answer }).is_err() {
            return;
        }
        let mut last = Vec::new();
        for piece in pieces {
            if stream.write_all(&piece).is_err() {
                return;
            }
            last = piece;
        }
        // Dropped within a stream: the connection is closed.
        if last.ends_with(b"\n\r\n") && !last.ends_with(b"0\r\n\r\n") && last.starts_with(b"HTTP") {
            return;
        }
        if !last.starts_with(b"HTTP") && !last.ends_with(b"0\r\n\r\n") {
            return;
        }
    }
}

fn request(stream: &mut TcpStream, pending: &mut Vec<u8>) -> Option<(String, String)> {
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(pending).into_owned();
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if rest.len() >= length {
                pending.drain(..head.len() + 4 + length);
                return Some((head.to_owned(), rest[..length].to_owned()));
            }
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => pending.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
}

struct Mcp {
    setup: Setup,
    server: Receiver<Asked>,
}

impl Mcp {
    fn new(extra: &str) -> Self {
        let (upstream, server) = server();
        let folder = Folder::new();
        std::fs::write(folder.0.join("r.hml"), RULES).unwrap();
        let text = format!(
            "threads = 2\n[journal]\nfolder = \"{}/journal\"\n[[listener]]\nname = \"mcp\"\nlisten = \"127.0.0.1:0\"\n\
             upstream = \"{upstream}\"\nprotocol = \"preset:mcp-http\"\nproperties = \"r.hml\"\nrecord = true\n{extra}",
            folder.0.display()
        );
        let guard = Guard::start(&plans(&folder, &text), Vec::new()).unwrap();
        let address = guard.addresses()[0].1.clone();
        Self { setup: Setup { guard, address, folder }, server }
    }

    fn rejecting() -> Self {
        Self::new("policy = \"reject\"")
    }

    fn asked(&self) -> Asked {
        self.server.recv_timeout(PATIENCE).unwrap()
    }

    /// A session that has begun, with its name.
    fn session(&self, name: &str) -> Peer {
        let mut peer = self.setup.connect();
        post(&mut peer, "", &message(0, "initialize", "{}"));
        let asked = self.asked();
        asked.json(&format!("Mcp-Session-Id: {name}\r\n"), &result(&asked.id()));
        drop(asked);
        assert!(answer(&mut peer).1.contains("result"));
        peer
    }

    /// Calls a tool on `peer`, and answers. What the client is answered.
    fn call(&self, peer: &mut Peer, session: &str, tool: &str, order: u32) -> String {
        post(peer, session, &call(1, tool, order));
        if let Ok(asked) = self.server.recv_timeout(std::time::Duration::from_millis(300)) {
            asked.json("", &result(&asked.id()));
        }
        answer(peer).1
    }

    fn verdicts(&self) -> Vec<String> {
        let verdicts = self.setup.verdicts();
        let shown = |verdict: &referee_guard::report::VerdictReport| {
            let record = &verdict.record;
            let blamed = record.blame.clone().unwrap_or_default();
            format!("{}{blamed} {}", record.property.clone().unwrap_or_default(), record.kind)
        };
        verdicts.iter().map(shown).collect()
    }
}

fn message(id: u32, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn call(id: u32, tool: &str, order: u32) -> String {
    message(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{{"order":{order}}}}}"#))
}

fn result(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#)
}

fn post(peer: &mut Peer, session: &str, body: &str) {
    let session = if session.is_empty() { String::new() } else { format!("Mcp-Session-Id: {session}\r\n") };
    let length = body.len();
    peer.say(&format!(
        "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{session}Content-Length: {length}\r\n\r\n{body}"
    ));
}

fn get(peer: &mut Peer, session: &str, more: &str) {
    peer.say(&format!(
        "GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n{more}\r\n"
    ));
}

fn head(peer: &mut Peer) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match peer.0.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            other => panic!("{other:?} after {:?}", String::from_utf8_lossy(&head)),
        }
    }
    String::from_utf8(head).unwrap()
}

/// A response with a length: its head and its body.
fn answer(peer: &mut Peer) -> (String, String) {
    let head = head(peer);
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    peer.0.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

#[test]
fn rules_hold_over_the_connections_of_a_session() {
    let mcp = Mcp::rejecting();
    let mut one = mcp.session("a");
    let mut two = mcp.setup.connect();
    let refused = mcp.call(&mut one, "a", "refund", 7);
    assert!(
        refused.contains("Look it up first") && refused.starts_with(r#"{"jsonrpc":"2.0","id":1,"error""#),
        "{refused}"
    );
    assert!(mcp.call(&mut two, "a", "lookup", 7).contains("result"));
    assert!(mcp.call(&mut one, "a", "refund", 7).contains("result"));
    assert!(mcp.call(&mut one, "a", "refund", 8).contains("error"));
    // What is said of no session holds for all of them; what is said of one, for that one.
    let mut other = mcp.session("b");
    assert!(mcp.call(&mut other, "b", "refund", 7).contains("result"));
    assert!(mcp.call(&mut two, "a", "secret", 0).contains("result"));
    assert!(mcp.call(&mut one, "a", "fetch", 0).contains("Nothing leaves"));
    assert!(mcp.call(&mut other, "b", "fetch", 0).contains("result"));
    // How often something happened counts over all of them.
    let pings = [(&mut one, "a"), (&mut two, "a"), (&mut other, "b")];
    let pings = pings.map(|(peer, session)| mcp.call(peer, session, "ping", 0).contains("result"));
    assert_eq!(pings, [true, true, false]);
    drop((one, two, other));
    let expected = ["looked_up", "looked_up", "nothing_leaves", "few"];
    assert_eq!(mcp.verdicts(), expected.map(|name| format!("{name} property")));
}

/// The journal says of which session a message was, not on which connection it came.
#[test]
fn messages_are_recorded_with_their_session() {
    let mcp = Mcp::rejecting();
    let mut one = mcp.session("a");
    let mut two = mcp.setup.connect();
    mcp.call(&mut one, "a", "secret", 0);
    mcp.call(&mut two, "a", "fetch", 0);
    mcp.call(&mut two, "", "lookup", 1);
    drop((one, two));
    let session = |report| match report {
        Report::Message(message) => Some(format!("{} {}", message.session, message.label)),
        _ => None,
    };
    let mut sessions: Vec<String> = mcp.setup.journal().into_iter().filter_map(session).collect();
    sessions.sort();
    let expected = ["0 Call", "0 CallResult", "0 Request", "0 Result", "1 Call", "1 Call", "1 CallResult"];
    assert_eq!(sessions, expected);
}

/// The server asks on one connection and is answered on another; a call is answered on a stream that was resumed.
#[test]
fn requests_and_answers_on_different_connections() {
    let mcp = Mcp::new("");
    let mut one = mcp.session("a");
    let mut stream = mcp.setup.connect();
    get(&mut stream, "a", "");
    let listening = mcp.asked();
    listening.events();
    head(&mut stream);
    let question = "data: {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}\n\n";
    listening.event(question);
    stream.hear(&chunk(question));
    post(&mut one, "a", &result("5"));
    let asked = mcp.asked();
    assert!(asked.body.contains("result"));
    asked.say("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    drop(asked);
    assert!(head(&mut one).contains("202"));
    // A call whose stream breaks off behind an event with an id.
    post(&mut one, "a", &call(9, "slow", 0));
    let asked = mcp.asked();
    asked.events();
    asked.event("id: e1\ndata: \n\n");
    drop(asked);
    assert!(one.rest().ends_with("data: \n\n\r\n"));
    let mut resumed = mcp.setup.connect();
    get(&mut resumed, "a", "Last-Event-ID: e1\r\n");
    let asked = mcp.asked();
    asked.events();
    head(&mut resumed);
    let event = format!("id: e2\ndata: {}\n\n", result("9"));
    asked.event(&event);
    resumed.hear(&chunk(&event));
    drop((asked, listening, resumed, stream, one));
    assert_eq!(mcp.verdicts(), [""; 0]);
}

/// An answer to a request that nobody made is the server's fault, also where another connection could have made it.
#[test]
fn an_answer_to_nothing_is_blamed_in_a_session() {
    let mcp = Mcp::new("");
    let one = mcp.session("a");
    let mut stream = mcp.setup.connect();
    get(&mut stream, "a", "");
    let asked = mcp.asked();
    asked.events();
    head(&mut stream);
    asked.event(&format!("data: {}\n\n", result("77")));
    assert_eq!(stream.rest(), "");
    drop((asked, one));
    assert_eq!(mcp.verdicts(), ["server label"]);
}

/// Clients without a session all begin with the same id, at the same time.
#[test]
fn exchanges_without_a_session_have_their_own_ids() {
    let mcp = Mcp::rejecting();
    let mut peers = [mcp.setup.connect(), mcp.setup.connect(), mcp.setup.connect()];
    let mut asked = Vec::new();
    for peer in &mut peers {
        post(peer, "", &call(1, "lookup", 3));
        asked.push(mcp.asked());
    }
    for asked in asked {
        asked.json("", &result("1"));
    }
    for peer in &mut peers {
        assert!(answer(peer).1.contains("result"));
    }
    // The rules hold over all of them, those of a session as well: they are one, which has no name.
    let [one, two, three] = &mut peers;
    assert!(mcp.call(one, "", "refund", 3).contains("result"));
    assert!(mcp.call(two, "", "secret", 0).contains("result"));
    assert!(mcp.call(three, "", "fetch", 0).contains("Nothing leaves"));
    drop(peers);
    assert_eq!(mcp.verdicts().len(), 1);
}

/// Of a session that began before the guard did, nobody knows what happened: its client is told to begin a new one.
#[test]
fn a_session_that_is_not_known_begins_anew() {
    let mcp = Mcp::rejecting();
    let mut peer = mcp.setup.connect();
    post(&mut peer, "old", &call(4, "refund", 1));
    let (head, body) = answer(&mut peer);
    assert!(head.starts_with("HTTP/1.1 404 ") && body.contains(r#""id":4,"error""#), "{head}{body}");
    get(&mut peer, "old", "");
    assert!(answer(&mut peer).0.starts_with("HTTP/1.1 404 "));
    // The connection goes on.
    post(&mut peer, "", &message(0, "initialize", "{}"));
    let asked = mcp.asked();
    asked.json("Mcp-Session-Id: new\r\n", &result("0"));
    drop(asked);
    answer(&mut peer);
    assert!(mcp.call(&mut peer, "new", "lookup", 1).contains("result"));
    drop(peer);
    assert_eq!(mcp.verdicts(), [""; 0]);
    // Where everything goes on it goes on as well.
    let mcp = Mcp::new("policy = \"observe\"");
    let mut peer = mcp.setup.connect();
    assert!(mcp.call(&mut peer, "old", "refund", 1).contains("result"));
    drop(peer);
    assert_eq!(mcp.verdicts(), ["looked_up property"]);
}

#[test]
fn sessions_beyond_the_limit_are_forgotten_oldest_first() {
    let mcp = Mcp::new("policy = \"reject\"\nlimits = { sessions = 2 }");
    let mut peers = [mcp.session("a"), mcp.session("b")];
    assert!(mcp.call(&mut peers[0], "a", "lookup", 1).contains("result"));
    let mut third = mcp.session("c");
    assert!(mcp.call(&mut third, "a", "lookup", 1).contains("result"));
    post(&mut third, "b", &call(1, "lookup", 1));
    assert!(answer(&mut third).0.starts_with("HTTP/1.1 404 "));
}

#[test]
fn a_wrong_result_is_replaced_where_it_stands() {
    let mcp = Mcp::rejecting();
    let mut peer = mcp.session("a");
    let refused = mcp.call(&mut peer, "a", "bad", 1);
    assert!(refused.contains("no_bad_results") && refused.contains(r#""id":1,"error""#), "{refused}");
    // In a stream: what comes before and after it is as it was.
    post(&mut peer, "a", &call(2, "bad", 1));
    let asked = mcp.asked();
    asked.events();
    head(&mut peer);
    let news =
        |method: &str| format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{method}\"}}\n\n");
    asked.event(&news("progress"));
    asked.event(&news("news"));
    asked.event(&format!("data: {}\n\n", result("2")));
    asked.say("0\r\n\r\n");
    peer.hear(&chunk(&news("progress")));
    let mut size = String::new();
    while !size.ends_with("\r\n") {
        let mut byte = [0];
        peer.0.read_exact(&mut byte).unwrap();
        size.push(char::from(byte[0]));
    }
    let mut event = vec![0; usize::from_str_radix(size.trim(), 16).unwrap() + 2];
    peer.0.read_exact(&mut event).unwrap();
    let event = String::from_utf8(event).unwrap();
    assert!(event.starts_with("event: message\r\ndata: {") && event.ends_with("\r\n\r\n\r\n"), "{event}");
    assert!(event.contains("no_bad_results") && event.contains(r#""id":2,"#), "{event}");
    peer.hear("0\r\n\r\n");
    drop(asked);
    // The connection is as good as before.
    assert!(mcp.call(&mut peer, "a", "lookup", 1).contains("result"));
    // Two events in one chunk: nothing can stand in place of one of them.
    post(&mut peer, "a", &call(3, "bad", 1));
    let asked = mcp.asked();
    asked.events();
    head(&mut peer);
    asked.event(&format!("{}data: {}\n\n", news("progress"), result("3")));
    assert!(!peer.rest().contains("result"));
    drop(asked);
    let expected = ["no_bad_results", "no_news", "no_bad_results", "no_bad_results"];
    assert_eq!(mcp.verdicts(), expected.map(|name| format!("{name} property")));
}

#[test]
fn a_wrong_notification_is_answered_400() {
    let mcp = Mcp::rejecting();
    let mut peer = mcp.session("a");
    post(&mut peer, "a", r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    let (head, body) = answer(&mut peer);
    assert!(head.starts_with("HTTP/1.1 400 ") && body.contains(r#""id":null,"error""#), "{head}{body}");
    assert!(mcp.call(&mut peer, "a", "lookup", 1).contains("result"));
    drop(peer);
    assert_eq!(mcp.verdicts(), ["no_cancelling property"]);
}

/// The messages of an array are judged one by one, and it goes on as it came; with a wrong one in it nothing of it does.
#[test]
fn arrays_of_messages_go_on_as_they_came() {
    let mcp = Mcp::rejecting();
    let mut peer = mcp.session("a");
    let array = format!("[{} ,{}]", call(1, "lookup", 1), call(2, "lookup", 2));
    post(&mut peer, "a", &array);
    let asked = mcp.asked();
    assert_eq!(asked.body, array);
    let answers = format!("[{},\n{}]", result("2"), result("1"));
    asked.json("", &answers);
    drop(asked);
    assert_eq!(answer(&mut peer).1, answers);
    assert!(mcp.call(&mut peer, "a", "refund", 2).contains("result"));
    post(&mut peer, "a", &format!("[{},{}]", call(1, "refund", 1), call(2, "refund", 3)));
    assert_eq!(peer.rest(), "");
    drop(peer);
    assert_eq!(mcp.verdicts(), ["looked_up property"]);
    assert!(mcp.server.try_recv().is_err(), "nothing of it has gone on");
}

/// A request behind another one on the connection is refused in its turn.
#[test]
fn a_refusal_stands_behind_the_answer_before_it() {
    let mcp = Mcp::rejecting();
    let mut peer = mcp.session("a");
    post(&mut peer, "a", &call(1, "lookup", 1));
    post(&mut peer, "a", &call(2, "refund", 2));
    let asked = mcp.asked();
    asked.json("", &result("1"));
    drop(asked);
    assert!(answer(&mut peer).1.contains(r#""id":1,"result""#));
    assert!(answer(&mut peer).1.contains(r#""id":2,"error""#));
    // And behind a body that nobody reads, however long it takes.
    peer.say("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    post(&mut peer, "a", &call(3, "refund", 2));
    let asked = mcp.asked();
    assert!(asked.head.starts_with("GET /health"));
    asked.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
    assert!(head(&mut peer).contains("200"));
    peer.hear("ab");
    std::thread::sleep(std::time::Duration::from_millis(50));
    asked.say("cd");
    peer.hear("cd");
    assert!(answer(&mut peer).1.contains(r#""id":3,"error""#));
}

/// What a client has asked for and no longer waits for is not in flight for ever.
#[test]
fn a_call_whose_connection_ends_may_be_made_again() {
    let mcp = Mcp::rejecting();
    let mut peer = mcp.session("a");
    for _ in 0..3 {
        post(&mut peer, "a", &call(1, "lookup", 1));
        drop((mcp.asked(), peer));
        mcp.setup.wait_idle();
        peer = mcp.setup.connect();
    }
    assert!(mcp.call(&mut peer, "a", "lookup", 1).contains("result"));
    drop(peer);
    assert_eq!(mcp.verdicts(), [""; 0]);
}

#[test]
fn what_cannot_be_had_over_several_connections_is_refused() {
    let folder = Folder::new();
    std::fs::write(
        folder.0.join("late.hml"),
        "property late { max X.([client -> server : Call] expect [server -> client : CallResult] within 5s and [_]X) }",
    )
    .unwrap();
    let wrong = |extra: &str| {
        let text = format!("[[listener]]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:1\"\n{extra}");
        let refusal = referee_guard::Plans::read(&text, &folder.0, &|_| None).err().unwrap();
        refusal.problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ")
    };
    let preset = "protocol = \"preset:mcp-http\"\n";
    assert!(wrong(&format!("{preset}policy = \"drop\"")).contains("wait for an answer for ever"));
    let late = wrong(&format!("{preset}properties = \"late.hml\""));
    assert!(late.contains("`late` says what has to happen"), "{late}");
    let ordered = "protocol = \"protocol P(role client, role server) { A() from client to server; B() from server to client; }\"\n\
         [listener.codec]\nkind = \"json-http\"\nrpc = true\n[listener.codec.messages]\nA = \"a\"\nB = { answers = \"A\" }\n";
    let said = wrong(ordered);
    assert!(said.contains("its protocol has one state"), "{said}");
}
