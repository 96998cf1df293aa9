//! Protocols whose recursions carry data, of the five shapes that nuScr's tests have: each goes through `check`, `watch` and a
//! guard with a monitor for each role, once as it should be and once with a last message that only the data forbid.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Map, Value, json};

use crate::support::{Folder, Process, connect};

/// Sender, receiver, label, and the fields as JSON.
type Said = (&'static str, &'static str, &'static str, &'static str);

struct Case {
    name: &'static str,
    roles: &'static [&'static str],
    text: &'static str,
    good: &'static [Said],
    /// What may not be said instead of the last message; its sender is to blame.
    bad: Said,
}

const CASES: [Case; 5] = [
    Case {
        name: "Tally",
        roles: &["Guest", "Door"],
        text: "(*# RefinementTypes #*)
            global protocol Tally(role Guest, role Door) {
              rec Count [inside<Door>: int = 0] {
                choice at Guest { Enter() from Guest to Door; continue Count [inside + 1]; }
                or { Leave() from Guest to Door; continue Count [inside - 1]; }
                or { Ask() from Guest to Door; Inside(total: int{total = inside}) from Door to Guest; }
              }
            }",
        good: &[
            ("Guest", "Door", "Enter", "{}"),
            ("Guest", "Door", "Enter", "{}"),
            ("Guest", "Door", "Leave", "{}"),
            ("Guest", "Door", "Ask", "{}"),
            ("Door", "Guest", "Inside", r#"{"total":1}"#),
        ],
        bad: ("Door", "Guest", "Inside", r#"{"total":2}"#),
    },
    Case {
        name: "Numbered",
        roles: &["Source", "Sink"],
        text: "(*# RefinementTypes #*)
            global protocol Numbered(role Source, role Sink) {
              rec Next [seq<Source>: (s: int{s >= 0}) = 0] {
                Item(number: int{number = seq}) from Source to Sink;
                continue Next [seq + 1];
              }
            }",
        good: &[
            ("Source", "Sink", "Item", r#"{"number":0}"#),
            ("Source", "Sink", "Item", r#"{"number":1}"#),
            ("Source", "Sink", "Item", r#"{"number":2}"#),
        ],
        bad: ("Source", "Sink", "Item", r#"{"number":1}"#),
    },
    Case {
        name: "Haggle",
        roles: &["Buyer", "Seller"],
        text: "(*# RefinementTypes #*)
            global protocol Haggle(role Buyer, role Seller) {
              Open(first: int) from Buyer to Seller;
              rec Offer [price<Buyer, Seller>: int = first] {
                choice at Seller {
                  Deal(agreed: int{agreed = price}) from Seller to Buyer;
                  Thanks() from Buyer to Seller;
                } or {
                  Counter(asked: int{asked <> price}) from Seller to Buyer;
                  choice at Buyer { Deal(agreed: int{agreed = asked}) from Buyer to Seller; Thanks() from Seller to Buyer; }
                  or { Counter(offered: int{asked <> offered}) from Buyer to Seller; continue Offer [offered]; }
                  or { No() from Buyer to Seller; }
                } or { No() from Seller to Buyer; }
              }
            }",
        good: &[
            ("Buyer", "Seller", "Open", r#"{"first":10}"#),
            ("Seller", "Buyer", "Counter", r#"{"asked":20}"#),
            ("Buyer", "Seller", "Counter", r#"{"offered":15}"#),
            ("Seller", "Buyer", "Deal", r#"{"agreed":15}"#),
        ],
        bad: ("Seller", "Buyer", "Deal", r#"{"agreed":10}"#),
    },
    Case {
        name: "Guess",
        roles: &["Setter", "Host", "Player"],
        text: "(*# RefinementTypes #*)
            global protocol Guess(role Setter, role Host, role Player) {
              Secret(n: int{0 <= n && n < 100}) from Setter to Host;
              Tries(most: int{0 < most}) from Setter to Host;
              rec Round [t<Host>: (left: int{0 < left}) = most] {
                Try(x: int{0 <= x && x < 100}) from Player to Host;
                choice at Host {
                  Higher(a: int{n > x && t > 1}) from Host to Player; Up() from Host to Setter; continue Round [t - 1];
                } or {
                  Lower(b: int{n < x && t > 1}) from Host to Player; Down() from Host to Setter; continue Round [t - 1];
                } or {
                  Win(c: int{n = x}) from Host to Player; Lost() from Host to Setter;
                } or {
                  Lose(d: int{n <> x && t = 1}) from Host to Player; Won() from Host to Setter;
                }
              }
            }",
        good: &[
            ("Setter", "Host", "Secret", r#"{"n":40}"#),
            ("Setter", "Host", "Tries", r#"{"most":2}"#),
            ("Player", "Host", "Try", r#"{"x":30}"#),
            ("Host", "Player", "Higher", r#"{"a":0}"#),
            ("Host", "Setter", "Up", "{}"),
            ("Player", "Host", "Try", r#"{"x":50}"#),
            ("Host", "Player", "Lose", r#"{"d":0}"#),
        ],
        bad: ("Host", "Player", "Lower", r#"{"b":0}"#),
    },
    Case {
        name: "Climb",
        roles: &["Coach", "Runner"],
        text: "(*# RefinementTypes #*)
            global protocol Climb(role Coach, role Runner) {
              Top(x: int{x >= 0}) from Coach to Runner;
              rec Step [n<Coach, Runner>: (m: int{m >= 0 && m <= x}) = 0] {
                choice at Runner { High(v: int{v = n && v > 0}) from Runner to Coach; continue Step [n + 1]; }
                or { Zero(v: int{v = n && v = 0}) from Runner to Coach; continue Step [n + 1]; }
              }
            }",
        good: &[
            ("Coach", "Runner", "Top", r#"{"x":5}"#),
            ("Runner", "Coach", "Zero", r#"{"v":0}"#),
            ("Runner", "Coach", "High", r#"{"v":1}"#),
            ("Runner", "Coach", "High", r#"{"v":2}"#),
        ],
        bad: ("Runner", "Coach", "High", r#"{"v":3}"#),
    },
];

fn fields(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

fn referee(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_referee")).args(arguments).current_dir(folder).output().unwrap()
}

impl Case {
    fn wrong(&self) -> Vec<Said> {
        let before = &self.good[..self.good.len() - 1];
        before.iter().copied().chain([self.bad]).collect()
    }

    /// Whose monitors see the data: of two roles either, whichever knows them.
    fn watchers(&self) -> Vec<Option<&'static str>> {
        match self.roles {
            [first, second] => vec![None, Some(first), Some(second)],
            _ => vec![Some(self.bad.0)],
        }
    }

    fn watch(&self, folder: &Path, role: Option<&str>, said: &[Said]) -> Output {
        let event = |(from, to, label, payload): &Said| json!({"session": "1", "from": from, "to": to, "label": label, "payload": fields(payload)});
        let log: String = said.iter().map(|said| format!("{}\n", event(said))).collect();
        fs::write(folder.join("log.jsonl"), log).unwrap();
        let mut arguments = vec!["watch", "--protocol", "p.scr", "--format", "json", "log.jsonl"];
        arguments.extend(role.into_iter().flat_map(|role| ["--role", role]));
        referee(folder, &arguments)
    }

    /// What each receiver got, in order.
    fn play(&self, guard: &Process, said: &[Said]) -> Vec<String> {
        let mut components: BTreeMap<&str, BufReader<TcpStream>> = BTreeMap::new();
        for role in self.roles {
            let stream = connect(&guard.address(&format!("{}/{role} listens on", self.name)));
            components.insert(role, BufReader::new(stream));
        }
        let mut got = Vec::new();
        for (from, to, label, payload) in said {
            let mut message = fields(payload);
            message.insert("type".to_owned(), json!(label));
            let line = format!("{}\n", Value::Object(message));
            components.get_mut(from).unwrap().get_mut().write_all(line.as_bytes()).unwrap();
            let mut seen = String::new();
            components.get_mut(to).unwrap().read_line(&mut seen).unwrap();
            got.push(seen);
        }
        got
    }
}

#[test]
fn protocols_with_recursion_data_are_checked_watched_and_guarded() {
    for case in CASES {
        let folder = Folder::new();
        fs::write(folder.0.join("p.scr"), case.text).unwrap();
        let checked = referee(&folder.0, &["check", "p.scr"]);
        assert_eq!(checked.status.code(), Some(0), "{}: {checked:?}", case.name);

        for role in case.watchers() {
            let watched = case.watch(&folder.0, role, case.good);
            assert_eq!(watched.status.code(), Some(0), "{}: {watched:?}", case.name);
            let watched = case.watch(&folder.0, role, &case.wrong());
            assert_eq!(watched.status.code(), Some(1), "{}: {watched:?}", case.name);
            let verdict: Value = serde_json::from_slice(&watched.stdout).unwrap();
            assert_eq!(
                (&verdict["blame"], &verdict["event"], &verdict["got"]),
                (&json!(case.bad.0), &json!(case.good.len() - 1), &json!(case.bad.2)),
                "{}: {verdict}",
                case.name
            );
        }

        let role = |name: &&str| {
            format!(
                "[[multiparty.role]]\nname = \"{name}\"\nlisten = \"127.0.0.1:0\"\nclose-message = '{{json}}'\n\
                 codec = {{ kind = \"json\" }}\n"
            )
        };
        let roles: String = case.roles.iter().map(role).collect();
        let config = folder.0.join("guard.toml");
        fs::write(&config, format!("[multiparty]\nprotocol = \"p.scr\"\n{roles}")).unwrap();
        let guard = Process::start(&config, "");
        let got = case.play(&guard, case.good);
        for (said, got) in case.good.iter().zip(&got) {
            assert!(got.contains(&format!("\"type\":\"{}\"", said.2)), "{}: {said:?}: {got}", case.name);
        }
        let got = case.play(&guard, &case.wrong());
        let last = got.last().unwrap();
        assert!(last.contains(&format!("\"blame\":\"{}\"", case.bad.0)), "{}: {last}", case.name);
    }
}
