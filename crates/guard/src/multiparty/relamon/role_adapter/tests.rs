//! Role adapters joined in one process: what one is ordered to post, the other takes.

use std::collections::VecDeque;

use hyper::body::Bytes;
use referee_monitor::Kind;
use referee_monitor::multiparty::{Breach, Dependencies};
use serde_json::{Value, json};

use super::super::role_config::{RelamonOptions, read_relamon};
use super::{AdapterAction, Envelope, RoleAdapter};

/// The stations of all roles; what each component was given; violations, by who found them.
struct Wired {
    adapters: Vec<(String, RoleAdapter)>,
    given: Vec<VecDeque<Bytes>>,
    violations: Vec<(String, Vec<String>, Breach)>,
}

impl Wired {
    fn new(roles: &[&str], global: &Value, dependencies: Dependencies) -> Self {
        let options = RelamonOptions { dependencies, ..RelamonOptions::default() };
        let addresses: serde_json::Map<String, Value> =
            roles.iter().map(|role| ((*role).to_owned(), "http://localhost:1".into())).collect();
        let adapter = |role: &&str| {
            let file = json!({ "implementingParty": role, "monitorPort": 1, "participants": addresses,
                               "globalType": global });
            let mut adapter = read_relamon(&file.to_string(), options).unwrap().adapter;
            assert!(adapter.start().is_empty());
            ((*role).to_owned(), adapter)
        };
        let adapters = roles.iter().map(adapter).collect();
        Self { adapters, given: roles.iter().map(|_| VecDeque::new()).collect(), violations: Vec::new() }
    }

    fn at(&self, role: &str) -> usize {
        self.adapters.iter().position(|(name, _)| name == role).unwrap()
    }

    /// The component of `role` posts `body`, and everything that follows happens.
    fn post(&mut self, role: &str, body: &str) {
        let envelope = Envelope::read(Bytes::copy_from_slice(body.as_bytes())).unwrap();
        let at = self.at(role);
        let actions = self.adapters[at].1.take(envelope);
        self.perform(at, actions);
    }

    fn send(&mut self, from: &str, to: &str, payload: &Value) {
        self.post(from, &json!({ "sender": from, "receiver": to, "payload": payload }).to_string());
    }

    fn perform(&mut self, at: usize, actions: Vec<AdapterAction>) {
        let mut open: VecDeque<(usize, AdapterAction)> =
            actions.into_iter().map(|action| (at, action)).collect();
        while let Some((at, action)) = open.pop_front() {
            let name = |role| self.adapters[at].1.vocabulary().role_name(role).to_owned();
            let (next, made) = match action {
                AdapterAction::Component(body) => {
                    self.given[at].push_back(body);
                    (at, self.adapters[at].1.delivered())
                }
                AdapterAction::Inform(to, body) | AdapterAction::Monitor(to, body) => {
                    let to = self.at(&name(to));
                    self.adapters[at].1.sent();
                    (to, self.adapters[to].1.take(Envelope::read(body).unwrap()))
                }
                AdapterAction::Violated(notice) => {
                    let blamed = notice.blamed.iter().map(|role| name(*role)).collect();
                    self.violations.push((self.adapters[at].0.clone(), blamed, notice.breach));
                    (at, Vec::new())
                }
                AdapterAction::ForwardNotice(_) | AdapterAction::Finished => (at, Vec::new()),
            };
            open.extend(made.into_iter().map(|action| (next, action)));
        }
    }

    fn given(&mut self, role: &str) -> Vec<Value> {
        let at = self.at(role);
        self.given[at]
            .drain(..)
            .map(|body| serde_json::from_slice::<Value>(&body).unwrap()["payload"].clone())
            .collect()
    }
}

fn exchange(from: &str, to: &str, branches: Value) -> Value {
    json!({ "type": "EXCHANGE", "sender": from, "receiver": to, "branches": branches })
}

fn branch(value: &str, next: Value) -> Value {
    json!({ "valueType": value, "protocolContinuation": next })
}

/// The weather protocol: `w` is told, or not, what goes on between `c` and `d`.
fn weather() -> Value {
    let again = json!({ "type": "RECURSIVE_CALL", "recursionVariable": "X" });
    let temperature = exchange("w", "c", json!({ "temperature": branch("real", again.clone()) }));
    let address = exchange("c", "w", json!({ "place": branch("str", temperature) }));
    let answer =
        exchange("d", "c", json!({ "place": branch("str", address), "unknown": branch("unit", again) }));
    let end = json!({ "type": "END" });
    let city = exchange("c", "d", json!({ "city": branch("str", answer), "quit": branch("unit", end) }));
    let body =
        json!({ "type": "RECURSIVE_DEFINITION", "recursionVariable": "X", "protocolContinuation": city });
    exchange("c", "w", json!({ "key": branch("str", body) }))
}

/// A service that knows nothing of monitors gets its own messages and nothing else.
#[test]
fn dependencies_are_hidden_from_those_who_know_nothing_of_them() {
    for (dependencies, notice_received) in [(Dependencies::Hide, false), (Dependencies::Deliver, true)] {
        let mut wired = Wired::new(&["c", "d", "w"], &weather(), dependencies);
        for payload in ["key", "opensesame"] {
            wired.send("c", "w", &payload.into());
        }
        for known in [false, true] {
            wired.send("c", "d", &"city".into());
            wired.send("c", "d", &"Groningen".into());
            if known {
                for (from, to, text) in
                    [("d", "c", "place"), ("d", "c", "53,6"), ("c", "w", "place"), ("c", "w", "53,6")]
                {
                    wired.send(from, to, &text.into());
                }
                wired.send("w", "c", &"temperature".into());
                wired.send("w", "c", &json!(17.5));
            } else {
                wired.send("d", "c", &"unknown".into());
            }
        }
        wired.send("c", "d", &"quit".into());
        assert!(wired.violations.is_empty(), "{:?}", wired.violations);
        let expected = if notice_received {
            json!(["key", "opensesame", "city", "unknown", "city", "place", "place", "53,6", "quit"])
        } else {
            json!(["key", "opensesame", "place", "53,6"])
        };
        assert_eq!(Value::Array(wired.given("w")), expected);
        assert_eq!(Value::Array(wired.given("c")), json!(["unknown", "place", "53,6", "temperature", 17.5]));
        assert!(wired.adapters.iter().all(|(_, adapter)| adapter.is_over()));
    }
}

fn one(value: &str) -> Wired {
    let global = exchange("a", "b", json!({ "m": branch(value, json!({ "type": "END" })) }));
    Wired::new(&["a", "b"], &global, Dependencies::DeliverOnce)
}

/// What goes on is what came: other keys, their order, blanks, and integers of any size.
#[test]
fn bodies_go_on_byte_for_byte() {
    for (ty, value) in [
        ("int", "9007199254740993"),
        ("int", "123456789012345678901234567890"),
        ("int", "1.0"),
        ("real", "2"),
        ("real", "1e-3"),
        ("str", r#""\u00e9""#),
        ("bool", "true"),
        ("Anything", r#"{"a":[1,null]}"#),
    ] {
        let mut wired = one(ty);
        let label = r#"{ "extra": [1,  2], "sender":"a","receiver":"b","payload":"m" }"#;
        let value = format!(r#"{{"payload":{value} ,"receiver":"b","sender":"a","more":null}}"#);
        wired.post("a", label);
        assert!(wired.given[1].is_empty(), "half a message");
        wired.post("a", &value);
        assert!(wired.violations.is_empty(), "{ty} {value}: {:?}", wired.violations);
        assert_eq!(wired.given[1], [label, &value]);
    }
}

#[test]
fn values_of_other_types_are_not_passed_on() {
    for (ty, value) in [
        ("int", json!(1.5)),
        ("int", json!("1")),
        ("real", json!("1")),
        ("str", json!(1)),
        ("bool", json!(0)),
    ] {
        let mut wired = one(ty);
        wired.send("a", "b", &"m".into());
        wired.send("a", "b", &value);
        assert_eq!(wired.violations, [("a".to_owned(), vec!["a".to_owned()], Breach::Kind(Kind::Type))]);
        assert!(wired.given[1].is_empty());
    }
}

/// A label that names a value in one place and none in another is read as its place says.
#[test]
fn a_value_is_expected_where_the_protocol_has_one() {
    let inner = exchange("a", "b", json!({ "m": branch("str", json!({ "type": "END" })) }));
    let global = exchange("a", "b", json!({ "m": branch("unit", inner) }));
    let mut wired = Wired::new(&["a", "b"], &global, Dependencies::DeliverOnce);
    for _ in 0..3 {
        wired.send("a", "b", &"m".into());
    }
    assert!(wired.violations.is_empty() && wired.adapters.iter().all(|(_, adapter)| adapter.is_over()));
    wired.send("a", "b", &"m".into());
    assert_eq!(wired.violations, [("a".to_owned(), vec!["a".to_owned()], Breach::Kind(Kind::AfterEnd))]);
}

/// A monitor that is gone between a label and its value is waited for, and so missed.
#[test]
fn half_a_message_is_waited_for() {
    let global = exchange("p", "q", json!({ "n": branch("num", json!({ "type": "END" })) }));
    let mut wired = Wired::new(&["p", "q"], &global, Dependencies::Deliver);
    let (p, q) = (wired.at("p"), wired.at("q"));
    let peer = wired.adapters[p].1.role();
    for (payload, waits) in [(json!("n"), Some(peer)), (json!(1), None)] {
        assert_eq!(wired.adapters[q].1.waits_for(), Some(peer));
        let body = json!({ "sender": "p", "receiver": "q", "payload": payload }).to_string();
        let actions = wired.adapters[q].1.take(Envelope::read(Bytes::from(body)).unwrap());
        wired.perform(q, actions);
        assert_eq!(wired.adapters[q].1.waits_for(), waits, "{payload}");
    }
    assert_eq!(wired.given("q"), [json!("n"), json!(1)]);
    assert!(wired.violations.is_empty());
}

/// Whoever has a part in all that can still happen must be there, although nobody waits for it; nobody else must.
#[test]
fn who_is_needed() {
    let mut wired = Wired::new(&["c", "d", "w"], &weather(), Dependencies::Hide);
    let needs = |wired: &Wired, role: &str| -> Vec<&'static str> {
        let role_of = |name: &str| wired.adapters[wired.at(name)].1.role();
        let adapter = &wired.adapters[wired.at(role)].1;
        ["c", "d", "w"].into_iter().filter(|name| *name != role && adapter.needs(role_of(name))).collect()
    };
    // `w` is told of whatever is chosen, so everyone is needed until `quit` has been sent.
    assert_eq!(needs(&wired, "c"), ["d", "w"]);
    assert_eq!(needs(&wired, "d"), ["c"]);
    for (from, to, payload) in [("c", "w", json!("key")), ("c", "w", json!("k")), ("c", "d", json!("quit"))] {
        wired.send(from, to, &payload);
    }
    assert!(wired.violations.is_empty());
    for role in ["c", "d", "w"] {
        assert_eq!(needs(&wired, role), [""; 0], "{role}");
    }
}

/// RelaMon's monitors post without waiting, so a value may come before its label, and a message before a dependency. Nobody is
/// blamed for that; what never fits is judged in the end. Where posts wait for answers, order is what it is.
#[test]
fn what_was_overtaken_is_put_in_order() {
    let end = || json!({ "type": "END" });
    let number = |next: Value| exchange("b", "c", json!({ "number": branch("int", next) }));
    let global = exchange(
        "a",
        "b",
        json!({ "one": branch("unit", number(end())),
                                            "two": branch("unit", number(number(end()))) }),
    );
    for foreign in [true, false] {
        let mut wired = Wired::new(&["a", "b", "c"], &global, Dependencies::DeliverOnce);
        let at = wired.at("c");
        let adapter = &mut wired.adapters[at].1;
        for sender in ["a", "b"].into_iter().filter(|_| foreign) {
            let role = adapter.vocabulary().find_role(sender).unwrap();
            adapter.mark_foreign(role);
        }
        // All of them from monitors: to this role adapter they are others' posts.
        let come = |wired: &mut Wired, sender: &str, payload: Value| {
            let body = json!({ "sender": sender, "receiver": "c", "payload": payload }).to_string();
            let actions = wired.adapters[at].1.take(Envelope::read(Bytes::from(body)).unwrap());
            wired.perform(at, actions);
        };
        come(&mut wired, "b", json!(17));
        come(&mut wired, "b", "number".into());
        come(&mut wired, "b", "two".into());
        come(&mut wired, "a", "two".into());
        let blamed = !wired.violations.is_empty();
        assert_eq!(blamed, !foreign, "{:?}", wired.violations);
        if foreign {
            assert_eq!(wired.given("c"), [json!("two"), "number".into(), json!(17)]);
            assert!(!wired.adapters[at].1.is_reordering());
            come(&mut wired, "b", "nonsense".into());
            assert!(wired.adapters[at].1.is_reordering() && wired.violations.is_empty());
            let actions = wired.adapters[at].1.flush_reordered();
            wired.perform(at, actions);
            assert_eq!(wired.violations.len(), 1);
        }
    }
}
