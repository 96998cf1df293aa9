//! Sub-sessions in logs: laws C4 to C6 of `docs/concurrency.md` on the whole way from a text and a log to verdicts.

use std::fmt::Write as _;
use std::sync::Arc;

use referee_monitor::{Key, KeyLimits, KeyedMonitor, KeyedSession, KeyedVerdict, Lane, Payload, Side, Wrong};
use referee_pipeline::{Language, Monitorable, Parsed};
use referee_reference::keyed::{Event, Place, Protocol};
use referee_watch::{Options, Summary};

use crate::support::text;

const LIMITS: KeyLimits = KeyLimits { inflight: usize::MAX, ended: usize::MAX };

fn keyed(text: &str, limits: KeyLimits) -> Arc<KeyedMonitor> {
    let protocol = Parsed::new(text, Language::Scr).well_formed().unwrap().protocol(None).unwrap();
    let made = protocol.monitorable_between(protocol.role("client").unwrap()).unwrap();
    assert!(made.opens_calls() && protocol.monitorable(protocol.role("client").unwrap()).is_err());
    Arc::new(made.keyed_monitor(limits, Monitorable::monitor).unwrap())
}

fn judged(monitor: &Arc<KeyedMonitor>, log: &str, options: Options) -> (Vec<String>, Summary) {
    let options = Options { calls: Some(Arc::clone(monitor)), ..options };
    text(monitor.parent_monitor(), log, options)
}

const CALL: &str = "protocol Call(role client, role server) per id: int {
  Request(id: int) from client to server;
  Result(id: int) from server to client;
} interrupted by Cancel(id: int) from client\n";

const RPC: &str = "protocol Rpc(role client, role server) {
  Hello() from client to server; open Call(client, server); Bye() from client to server;
}";

/// Parents and calls as texts, and the same by hand.
fn protocols() -> Vec<(String, Protocol)> {
    use Place::{Closed, Closing, Ended, Open};
    let (client, server) = (true, false);
    let name = |is_client: bool| if is_client { "client to server" } else { "server to client" };
    let open = "open Call(client, server);";
    let one = |label: &str, who: bool| format!("{label}() from {};", name(who));
    let parents = [
        (
            [&one("Hello", client), open, &one("Bye", client)].concat(),
            vec![vec![(client, "Hello", 1)], vec![(client, "Bye", 2)], vec![]],
            vec![Closed, Open, Ended],
        ),
        (
            [&one("Hello", server), open, &one("Bye", server)].concat(),
            vec![vec![(server, "Hello", 1)], vec![(server, "Bye", 2)], vec![]],
            vec![Closed, Open, Ended],
        ),
        (
            [open, &one("A", server), "close Call;", &one("Bye", client)].concat(),
            vec![vec![(server, "A", 1)], vec![(client, "Bye", 2)], vec![]],
            vec![Open, Closing, Closed],
        ),
        (
            [&one("Hello", client), open].concat(),
            vec![vec![(client, "Hello", 1)], vec![]],
            vec![Closed, Open],
        ),
    ];
    let acked = CALL.replace("  Result", "  Ack(id: int) from server to client;\n  Result");
    let calls = [
        (CALL.to_owned(), vec![vec![(client, "Request", 1)], vec![(server, "Result", 2)], vec![]]),
        (
            acked,
            vec![vec![(client, "Request", 1)], vec![(server, "Ack", 2)], vec![(server, "Result", 3)], vec![]],
        ),
    ];
    let mut all = Vec::new();
    for (body, parent, places) in &parents {
        for (text, call) in &calls {
            let text = format!("{text}protocol Rpc(role client, role server) {{ {body} }}");
            let interrupted_by = Some((client, "Cancel"));
            let (parent, places, call) = (parent.clone(), places.clone(), call.clone());
            all.push((text, Protocol { parent, places, call, interrupted_by }));
        }
    }
    all
}

fn alphabet(protocol: &Protocol, keys: u8) -> Vec<Event> {
    let parent = protocol.parent.iter().flatten().map(|(client, label, _)| (*client, *label, None));
    let mut all: Vec<Event> = parent.collect();
    for key in 0..keys {
        let call = protocol.call.iter().flatten().map(|(client, label, _)| (*client, *label));
        all.extend(call.chain(protocol.interrupted_by).map(|(client, label)| (client, label, Some(key))));
    }
    all
}

fn side(client: bool) -> Side {
    if client { Side::Process } else { Side::Environment }
}

fn line(session: usize, (client, label, key): Event) -> String {
    let (from, to) = if client { ("client", "server") } else { ("server", "client") };
    let payload = key.map_or("null".to_owned(), |key| format!("{{\"id\":{key}}}"));
    format!(
        "{{\"session\":{session},\"from\":\"{from}\",\"to\":\"{to}\",\"label\":\"{label}\",\"payload\":{payload}}}\n"
    )
}

/// What is blamed, and how many messages wait at the end: every message that waits is offered again after every other, as long as something moves.
fn literally(monitor: &KeyedMonitor, trace: &[Event]) -> (Vec<usize>, u64) {
    let mut session = monitor.session();
    let mut waiting: Vec<(Side, Lane, usize)> = Vec::new();
    let mut blamed = Vec::new();
    let judge = |session: &mut KeyedSession, blamed: &mut Vec<usize>, number: usize| {
        let (client, label, key) = trace[number];
        let key = key.map(|key| Key::from(i64::from(key)));
        let values =
            key.iter().map(|_| referee_monitor::FieldValue::Int(i64::from(trace[number].2.unwrap())));
        let values: Vec<_> = values.collect();
        let payload = Payload::Positional(&values);
        match monitor.judge(session, side(client), label, key.as_ref(), payload) {
            KeyedVerdict::Early => return false,
            KeyedVerdict::Violation(violation, wrong) => {
                assert_eq!(violation.side, side(client));
                match wrong {
                    Wrong::InParent | Wrong::CallsOpen(_) => drop(monitor.taint_parent(session, violation)),
                    _ => monitor.taint(session, side(client), label, key.as_ref()),
                }
                blamed.push(number);
            }
            _ => {}
        }
        true
    };
    for (number, (client, label, key)) in trace.iter().enumerate() {
        let key = key.map(|key| Key::from(i64::from(key)));
        let lane = monitor.lane(side(*client), label, key.as_ref());
        waiting.push((side(*client), lane, number));
        loop {
            let free = |at: &usize| {
                let (own, lane, _) = &waiting[*at];
                let earlier = waiting[..*at].iter().filter(|(side, ..)| side == own);
                earlier.into_iter().all(|(_, waits, _)| KeyedMonitor::may_overtake(lane, waits))
            };
            let taken =
                (0..waiting.len()).filter(free).find(|at| judge(&mut session, &mut blamed, waiting[*at].2));
            match taken {
                Some(at) => drop(waiting.remove(at)),
                None => break,
            }
        }
    }
    (blamed, waiting.len() as u64)
}

/// Every trace up to a length is a session: right ones have no verdict, and the verdicts of all are those of the literal way.
#[test]
fn every_trace_gets_the_verdicts_of_the_definition() {
    let (mut right, mut wrong, mut waited) = (0, 0, 0);
    for (text, protocol) in protocols() {
        let monitor = keyed(&text, LIMITS);
        for (keys, length) in [(1, 5), (2, 4)] {
            let alphabet = alphabet(&protocol, keys);
            let count = alphabet.len().pow(length);
            let (mut log, mut expected, mut waiting) = (String::new(), Vec::new(), 0);
            for number in 0..count {
                let digits = (0..length).map(|place| number / alphabet.len().pow(place) % alphabet.len());
                let trace: Vec<Event> = digits.map(|digit| alphabet[digit]).collect();
                trace.iter().for_each(|event| log.push_str(&line(number, *event)));
                let (blamed, waits) = literally(&monitor, &trace);
                if protocol.right(&trace) {
                    assert!(blamed.is_empty() && waits == 0, "{text} {trace:?}");
                    right += 1;
                }
                wrong += blamed.len();
                waited += waits;
                waiting += waits;
                expected.extend(blamed.into_iter().map(|event| (number, event)));
            }
            let options = Options { all: true, ..Options::default() };
            let (told, summary) = judged(&monitor, &log, options);
            let word = |told: &str, after: &str| {
                let rest = told.split(after).nth(1).and_then(|rest| rest.split(' ').next());
                rest.and_then(|word| word.parse::<usize>().ok()).unwrap()
            };
            let mut found: Vec<(usize, usize)> =
                told.iter().map(|told| (word(told, " session "), word(told, " event "))).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{text}");
            assert_eq!(summary.counts.unjudged, waiting, "{text}");
        }
    }
    assert!(right > 500 && wrong > 10_000 && waited > 1_000, "{right} {wrong} {waited}");
}

fn events(all: &[(&str, &str, i64)]) -> String {
    let mut log = String::new();
    for (from, label, key) in all {
        let to = if *from == "client" { "server" } else { "client" };
        let payload = if *key < 0 { "null".to_owned() } else { format!("{{\"id\":{key}}}") };
        writeln!(log, "{{\"from\":\"{from}\",\"to\":\"{to}\",\"label\":\"{label}\",\"payload\":{payload}}}")
            .unwrap();
    }
    log
}

#[test]
fn verdicts_say_which_call() {
    let monitor = keyed(&format!("{CALL}{RPC}"), LIMITS);
    let (client, server) = ("client", "server");
    let told = |all: &[(&str, &str, i64)]| judged(&monitor, &events(all), Options::default()).0;
    let hello = (client, "Hello", -1);
    assert_eq!(
        told(&[
            hello,
            (client, "Request", 1),
            (client, "Request", 2),
            (server, "Result", 2),
            (server, "Result", 2)
        ]),
        [
            "log:5 session - event 4 order by server: server sent `Result` for 2, of which no call of `Call(client, server)` is in flight"
        ]
    );
    assert_eq!(
        told(&[hello, (client, "Request", 1), (client, "Request", 1)]),
        [
            "log:3 session - event 2 order by client: client sent `Request` for 1, of which a call of `Call(client, server)` is in flight already"
        ]
    );
    assert_eq!(
        told(&[(client, "Request", 1)]),
        [
            "log:1 session - event 0 order by client: client sent `Request` for 1 where no call of `Call(client, server)` can begin"
        ]
    );
    let right =
        [hello, (client, "Request", 7), (client, "Cancel", 7), (server, "Result", 7), (client, "Cancel", 9)];
    assert_eq!(told(&right), [""; 0]);
    // Each call by itself: the first wrong message of each is told, and what follows of it is not judged.
    let two = [hello, (server, "Result", 1), (server, "Result", 2), (server, "Result", 1)];
    assert_eq!(told(&two).len(), 2);
    // A side that leaves with something left to say.
    let mut log = events(&[hello, (client, "Request", 1)]);
    log += "{\"end\":\"server\"}\n";
    let (told, _) = judged(&monitor, &log, Options::default());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("by server"), "{told:?}");
}

/// A message of the parent may have a label of a call: it has no key.
#[test]
fn a_message_without_a_key_is_the_parents() {
    let parent = RPC.replace("Bye() from client to server;", "Result(all: bool) from server to client;");
    let monitor = keyed(&format!("{CALL}{parent}"), LIMITS);
    let all = |last: &str| {
        let begin = events(&[("client", "Hello", -1), ("client", "Request", 1)]);
        format!("{begin}{{\"from\":\"server\",\"to\":\"client\",\"label\":\"Result\",\"payload\":{last}}}\n")
    };
    assert_eq!(judged(&monitor, &all("{\"id\":1}"), Options::default()).0, [""; 0]);
    let (told, summary) = judged(&monitor, &all("{\"all\":true}"), Options::default());
    assert_eq!((told.len(), summary.counts.unjudged), (0, 0));
    assert_eq!(judged(&monitor, &all("{\"id\":2}"), Options::default()).0.len(), 1);
}

/// Keys are equal by value, and a text is no number.
#[test]
fn keys_are_values() {
    let call = CALL.replace("id: int", "id: Id");
    let monitor = keyed(&format!("type Id;\n{call}{RPC}"), LIMITS);
    let line = |from: &str, label: &str, key: &str| {
        let to = if from == "client" { "server" } else { "client" };
        format!(
            "{{\"from\":\"{from}\",\"to\":\"{to}\",\"label\":\"{label}\",\"payload\":{{\"id\":{key}}}}}\n"
        )
    };
    let hello = "{\"from\":\"client\",\"to\":\"server\",\"label\":\"Hello\"}\n";
    let log = [hello, &line("client", "Request", "1"), &line("server", "Result", "1.0")].concat();
    assert_eq!(judged(&monitor, &log, Options::default()).0, [""; 0]);
    let log = [hello, &line("client", "Request", "1"), &line("server", "Result", "\"1\"")].concat();
    assert_eq!(judged(&monitor, &log, Options::default()).0.len(), 1);
}

/// What waits is bounded, and a lost event of a session with calls sets it aside: nobody is blamed.
#[test]
fn what_waits_is_bounded_and_counted() {
    let parent = RPC.replace("Hello() from client to server", "Hello() from server to client");
    let monitor = keyed(&format!("{CALL}{parent}"), LIMITS);
    let requests = |count: i64| events(&(0..count).map(|key| ("client", "Request", key)).collect::<Vec<_>>());
    let (told, summary) = judged(&monitor, &requests(100), Options::default());
    assert_eq!((told.len(), summary.counts.unjudged), (0, 100));
    let (told, summary) =
        judged(&monitor, &(requests(100) + &events(&[("server", "Hello", -1)])), Options::default());
    assert_eq!((told.len(), summary.counts.unjudged), (0, 0));
    let (told, summary) = judged(&monitor, &requests(3000), Options::default());
    assert_eq!((told.len(), summary.counts.unjudged), (0, 3000));
    let log = "{\"from\":\"client\",\"to\":\"server\",\"label\":\"Request\",\"payload\":{\"id\":tru}}\n";
    let log = [&events(&[("server", "Hello", -1)]), log, &events(&[("server", "Result", 1)])].concat();
    let (told, summary) = judged(&monitor, &log, Options::default());
    assert!(told.iter().all(|told| told.contains("malformed")) && summary.counts.is_incomplete(), "{told:?}");
}
