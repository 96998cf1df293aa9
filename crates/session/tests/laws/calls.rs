//! Sub-sessions on connections: law C8 of `docs/concurrency.md` (a bound on keys never stops reading), policies, ends, and the same verdicts as `watch`.

use std::io;
use std::sync::Arc;

use referee_monitor::{KeyLimits, Policy};
use referee_pipeline::{Language, Monitorable, Parsed};
use referee_session::{Options, TwoPartyRules};
use referee_verdict::EndReason;
use referee_watch::{Input, Notice, Observer, Progress, watch};
use referee_wire::{Sender, Table};

use crate::relay::Relay;

const CALL: &str = "protocol Call(role client, role server) per id: int {
  Request(id: int) from client to server;
  Result(id: int) from server to client;
} interrupted by Cancel(id: int) from client\n";

const ASK: &str = "protocol Ask(role server, role client) per id: int {
  Question(id: int) from server to client;
  Reply(id: int) from client to server;
}\n";

const BOTH: &str = "protocol Rpc(role client, role server) {
  Hello() from client to server; open Call(client, server); open Ask(server, client);
}";

const RPC: &str = "protocol Rpc(role client, role server) {
  Hello() from client to server; open Call(client, server); Bye() from client to server;
}";

const LATE: &str = "protocol Rpc(role client, role server) {
  Hello() from server to client; open Call(client, server); Stop() from server to client; close Call; Bye() from client to server;
}";

fn rules(text: &str, inflight: usize, options: Options) -> Arc<TwoPartyRules> {
    let protocol = Parsed::new(text, Language::Scr).well_formed().unwrap().protocol(None).unwrap();
    let made = protocol.monitorable_between(protocol.role("client").unwrap()).unwrap();
    let limits = KeyLimits { inflight, ended: 8 };
    let calls = Arc::new(made.keyed_monitor(limits, Monitorable::monitor).unwrap());
    let alphabet = Arc::new(calls.alphabet().unwrap());
    let table = Table::parse("kind = 'json'\nframing = 'lines'").unwrap();
    let client = alphabet.vocabulary().find_role("client").unwrap();
    let rules = TwoPartyRules::compile(alphabet, client, &table).unwrap();
    Arc::new(rules.with_options(options).with_calls(calls))
}

fn message(label: &str, key: Option<i64>) -> String {
    match key {
        Some(key) => format!("{{\"type\":\"{label}\",\"id\":{key}}}\n"),
        None => format!("{{\"type\":\"{label}\"}}\n"),
    }
}

fn say(relay: &mut Relay, sender: Sender, label: &str, key: i64) {
    let text = message(label, (key >= 0).then_some(key));
    relay.receive(&[(sender, text.into_bytes())]);
}

/// What `sender` has sent and the other side has.
fn has(relay: &Relay, sender: Sender, label: &str, key: i64) -> bool {
    let text = message(label, (key >= 0).then_some(key));
    String::from_utf8_lossy(&relay.forwarded[sender.index()]).contains(&text)
}

use Sender::{Client, Server};

/// With one call allowed in each direction, the answer that everything waits for stands behind an opening that waits.
#[test]
fn an_answer_behind_an_opening_that_waits_goes_on() {
    let rules = rules(&format!("{CALL}{ASK}{BOTH}"), 1, Options::default());
    let mut relay = Relay::new(&rules);
    for (sender, label, key) in
        [(Client, "Hello", -1), (Client, "Request", 1), (Server, "Question", 1), (Client, "Request", 2)]
    {
        say(&mut relay, sender, label, key);
    }
    assert!(!has(&relay, Client, "Request", 2));
    // Without it the server would not answer: both would wait for ever.
    say(&mut relay, Client, "Reply", 1);
    assert!(has(&relay, Client, "Reply", 1) && !has(&relay, Client, "Request", 2));
    say(&mut relay, Server, "Result", 1);
    assert!(has(&relay, Client, "Request", 2));
    say(&mut relay, Server, "Result", 2);
    assert!(has(&relay, Server, "Result", 2) && relay.engine_verdicts().is_empty() && relay.closed.is_none());
}

/// Every schedule of a client with three calls, some cancelled, and a server that answers what it has got, in any order: all of it gets through.
#[test]
fn with_one_call_allowed_every_right_schedule_gets_through() {
    let rules =
        rules(&format!("{CALL}{BOTH}").replace(" open Ask(server, client);", ""), 1, Options::default());
    // At each step either the client says its next message, or the server answers one of the requests that it has.
    let says: [(&str, i64); 5] =
        [("Hello", -1), ("Request", 1), ("Request", 2), ("Cancel", 1), ("Request", 3)];
    let (steps, most) = (says.len() + 3, 3_usize);
    let mut orders = std::collections::BTreeSet::new();
    for number in 0..most.pow(u32::try_from(steps).unwrap()) {
        let mut relay = Relay::new(&rules);
        let (mut said, mut answered, mut left) = (0, Vec::new(), number);
        let mut order = Vec::new();
        for _ in 0..steps {
            let is_open = |key: &i64| has(&relay, Client, "Request", *key) && !answered.contains(key);
            let open: Vec<i64> = (1..=3).filter(is_open).collect();
            let choices = usize::from(said < says.len()) + open.len();
            // Somebody can go on: nothing waits for ever.
            assert!((1..=most).contains(&choices), "{order:?}");
            let choice = left % choices;
            left /= most;
            if said < says.len() && choice == 0 {
                say(&mut relay, Client, says[said].0, says[said].1);
                order.push(says[said]);
                said += 1;
            } else {
                let key = open[choice - usize::from(said < says.len())];
                say(&mut relay, Server, "Result", key);
                order.push(("Result", key));
                answered.push(key);
            }
        }
        assert!(says.iter().all(|(label, key)| has(&relay, Client, label, *key)), "{order:?}");
        assert!(relay.engine_verdicts().is_empty() && relay.closed.is_none(), "{order:?}");
        orders.insert(order);
    }
    assert!(orders.len() >= 14, "{}", orders.len());
}

#[test]
fn what_waits_goes_on_in_its_place() {
    let rules = rules(&format!("{CALL}{LATE}"), 9, Options::default());
    let mut relay = Relay::new(&rules);
    say(&mut relay, Client, "Request", 1);
    say(&mut relay, Client, "Request", 2);
    assert!(relay.forwarded[0].is_empty());
    say(&mut relay, Server, "Hello", -1);
    assert!(has(&relay, Client, "Request", 1) && has(&relay, Client, "Request", 2));
    // `Bye` waits for all calls; a call that is begun behind it waits as well, and is wrong in its place.
    say(&mut relay, Server, "Stop", -1);
    say(&mut relay, Client, "Bye", -1);
    say(&mut relay, Client, "Request", 3);
    say(&mut relay, Server, "Result", 1);
    assert!(!has(&relay, Client, "Bye", -1));
    say(&mut relay, Server, "Result", 2);
    assert!(has(&relay, Client, "Bye", -1) && !has(&relay, Client, "Request", 3));
    let verdicts = relay.engine_verdicts();
    assert_eq!(verdicts.len(), 1, "{verdicts:?}");
    assert_eq!((verdicts[0].blame.as_deref(), verdicts[0].key.as_deref()), (Some("client"), Some("3")));
    assert_eq!(relay.closed, Some(EndReason::Violation));
}

#[test]
fn policies() {
    let text = format!("{CALL}{RPC}");
    let with = |policy| rules(&text, 9, Options { policy, ..Options::default() });
    let begin = |policy| {
        let mut relay = Relay::new(&with(policy));
        say(&mut relay, Client, "Hello", -1);
        say(&mut relay, Client, "Request", 1);
        relay
    };
    let mut relay = begin(Policy::Halt);
    say(&mut relay, Client, "Request", 1);
    assert_eq!(relay.closed, Some(EndReason::Violation));
    // A wrong opening opens nothing, and the call goes on.
    let mut relay = begin(Policy::Drop);
    say(&mut relay, Client, "Request", 1);
    say(&mut relay, Server, "Result", 9);
    say(&mut relay, Server, "Result", 1);
    assert!(has(&relay, Server, "Result", 1) && !has(&relay, Server, "Result", 9));
    assert_eq!((relay.engine_verdicts().len(), relay.closed), (2, None));
    // What is let through taints its key, and no other.
    let mut relay = begin(Policy::Observe);
    say(&mut relay, Server, "Result", 9);
    say(&mut relay, Server, "Result", 9);
    say(&mut relay, Server, "Result", 1);
    say(&mut relay, Server, "Result", 1);
    let verdicts = relay.engine_verdicts();
    let keys: Vec<_> = verdicts.iter().map(|verdict| verdict.key.clone().unwrap()).collect();
    assert_eq!(keys, ["9", "1"], "{verdicts:?}");
    assert!(verdicts.iter().all(|verdict| verdict.blame.as_deref() == Some("server")));
}

#[test]
fn what_waits_is_bounded_and_nobody_is_blamed() {
    let rules = rules(&format!("{CALL}{LATE}"), 9, Options { max_waiting: 100, ..Options::default() });
    let mut relay = Relay::new(&rules);
    for key in 0..10 {
        say(&mut relay, Client, "Request", key);
    }
    assert_eq!(relay.closed, Some(EndReason::Fault));
    assert!(relay.engine_verdicts().is_empty());
}

#[test]
fn who_leaves_with_something_left_to_say_is_blamed() {
    let rules =
        rules(&format!("{CALL}{BOTH}").replace(" open Ask(server, client);", ""), 9, Options::default());
    let begin = || {
        let mut relay = Relay::new(&rules);
        say(&mut relay, Client, "Hello", -1);
        say(&mut relay, Client, "Request", 1);
        relay
    };
    let mut relay = begin();
    relay.end(Server);
    let verdicts = relay.engine_verdicts();
    assert_eq!(verdicts.len(), 1, "{verdicts:?}");
    assert_eq!((verdicts[0].blame.as_deref(), &*verdicts[0].kind), (Some("server"), "premature-end"));
    // Who closes with calls open waits for no answer, and then nobody owes one.
    let mut relay = begin();
    relay.end(Client);
    relay.end(Server);
    assert!(relay.engine_verdicts().is_empty() && relay.closed.is_none());
}

#[derive(Default)]
struct Verdicts(Vec<Vec<(String, String, Option<String>)>>);

impl Observer for Verdicts {
    fn notice(&mut self, notice: Notice) -> io::Result<()> {
        let Notice::Violation(report) = notice else { panic!("{notice:?}") };
        let session: usize = report.session.as_deref().unwrap().parse().unwrap();
        self.0[session].push((report.blame.unwrap_or_default(), report.kind.name().to_owned(), report.key));
        Ok(())
    }

    fn progress(&mut self, _: &Progress) -> io::Result<()> {
        Ok(())
    }
}

/// A guard that observes says of every stream what `watch` says of its messages.
#[test]
fn the_same_verdicts_as_of_a_log() {
    let mut wrong = 0;
    for parent in [RPC, LATE] {
        let rules =
            rules(&format!("{CALL}{parent}"), 9, Options { policy: Policy::Observe, ..Options::default() });
        let parents: &[(Sender, &str, i64)] = if parent == RPC {
            &[(Client, "Hello", -1), (Client, "Bye", -1)]
        } else {
            &[(Server, "Hello", -1), (Server, "Stop", -1), (Client, "Bye", -1)]
        };
        let mut alphabet = parents.to_vec();
        for key in 0..2 {
            alphabet.extend([(Client, "Request", key), (Server, "Result", key), (Client, "Cancel", key)]);
        }
        let count = alphabet.len().pow(4);
        let stream = |number: usize| {
            (0..4)
                .map(|place| alphabet[number / alphabet.len().pow(place) % alphabet.len()])
                .collect::<Vec<_>>()
        };
        let mut log = String::new();
        for number in 0..count {
            for (sender, label, key) in stream(number) {
                let (from, to) = if sender == Client { ("client", "server") } else { ("server", "client") };
                let payload = if key < 0 { "null".to_owned() } else { format!("{{\"id\":{key}}}") };
                log += &format!(
                    "{{\"session\":{number},\"from\":\"{from}\",\"to\":\"{to}\",\"label\":\"{label}\",\"payload\":{payload}}}\n"
                );
            }
        }
        let mut watched = Verdicts(vec![Vec::new(); count]);
        let calls = rules.calls().cloned();
        let parent_monitor = Arc::clone(rules.calls().unwrap().parent_monitor());
        let options = referee_watch::Options { all: true, calls, ..referee_watch::Options::default() };
        let input = Input::stream("events", io::Cursor::new(log));
        watch(parent_monitor, &[], vec![input], options, &mut watched).unwrap();
        for (number, expected) in watched.0.into_iter().enumerate() {
            let mut relay = Relay::new(&rules);
            for (sender, label, key) in stream(number) {
                say(&mut relay, sender, label, key);
            }
            let found: Vec<_> = relay
                .engine_verdicts()
                .into_iter()
                .map(|record| (record.blame.unwrap_or_default(), record.kind, record.key))
                .collect();
            wrong += found.len();
            assert_eq!(found, expected, "{:?}", stream(number));
        }
    }
    assert!(wrong > 5_000, "{wrong}");
}
