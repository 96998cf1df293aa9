//! Protocols whose recursions carry data, of the five shapes that nuScr's tests have: each goes through `check`, `watch` and a
//! guard with a monitor for each role, once as it should be and once with a last message that only the data forbid.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Map, Value, json};

use crate::support::{Folder, PATIENCE, Process, connect};

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

/// The monitors of both roles begin with the values, and compute the next ones with the messages; local protocols declare them.
#[test]
fn data_are_shown_as_monitors_and_local_protocols() {
    let case = &CASES[0];
    let folder = Folder::new();
    fs::write(folder.0.join("p.scr"), case.text).unwrap();
    let show = |arguments: &[&str]| {
        let shown = referee(&folder.0, &[&["show", "p.scr", "--view"], arguments].concat());
        assert_eq!(shown.status.code(), Some(0), "{arguments:?}: {shown:?}");
        String::from_utf8(shown.stdout).unwrap()
    };
    let door = show(&["monitor", "--role", "Door"]);
    for line in
        ["inside := 0\n", "q0, inside := inside + 1\n", "q0, inside := inside - 1\n", "total == inside"]
    {
        assert!(door.contains(line), "`{line}`: {door}");
    }
    // Who does not know them does not follow them.
    let guest = show(&["monitor", "--role", "Guest"]);
    assert!(!guest.contains("inside"), "{guest}");
    let json: Value =
        serde_json::from_str(&show(&["monitor", "--role", "Door", "--format", "json"])).unwrap();
    assert!(json.to_string().contains("inside"), "{json}");
    let local = show(&["local", "--role", "Door", "--format", "nuscr"]);
    assert!(local.starts_with("rec Count [inside<Door>: int = 0] {\n"), "{local}");
    assert!(local.contains("continue Count [inside - 1];\n"), "{local}");
    assert!(local.contains("Inside(total: int{total = inside}) to Guest;\n"), "{local}");
    let local = show(&["local", "--role", "Guest", "--format", "scr"]);
    assert!(
        local.starts_with("local protocol Tally_Guest(self Guest, role Door) {\n  rec Count {\n"),
        "{local}"
    );
}

/// A secret that only the server knows, and changes when the client says so.
const LOCKER: &str = r#"
[[listener]]
name = "locker"
listen = "127.0.0.1:0"
upstream = "UPSTREAM"
protocol = """
(*# RefinementTypes #*)
global protocol Locker(role client, role server) {
  rec Use [stored<server>: string = "pass"] {
    Open(given: string) from client to server;
    choice at server {
      Denied(no: unit{given <> stored}) from server to client;
      continue Use [stored];
    } or {
      Opened(yes: unit{given = stored}) from server to client;
      choice at client {
        Change(next: string{len(next) >= 6}) from client to server;
        continue Use [next];
      } or {
        Close() from client to server;
      }
    }
  }
}
"""
[listener.codec]
kind = "json"
"#;

/// Whether the client says it, and what.
type Line = (bool, &'static str);

const OPENED: [Line; 2] = [(true, r#"{"type":"Open","given":"pass"}"#), (false, r#"{"type":"Opened"}"#)];
const CHANGED: Line = (true, r#"{"type":"Change","next":"secret"}"#);

/// A listener follows the data of the role that knows them, and blames whoever does not.
#[test]
fn a_listener_follows_recursion_data() {
    let upstream = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = Folder::new();
    let config = folder.0.join("guard.toml");
    fs::write(&config, LOCKER.replace("UPSTREAM", &upstream.local_addr().unwrap().to_string())).unwrap();
    let guard = Process::start(&config, "");
    let address = guard.address("locker listens on");
    let again = (true, r#"{"type":"Open","given":"secret"}"#);
    let denied = (false, r#"{"type":"Denied"}"#);
    let (old, close) = (OPENED[0], (true, r#"{"type":"Close"}"#));
    let [open, opened] = OPENED;
    let mut wrong = 0;
    for (lines, blamed) in [
        (&[open, opened, CHANGED, old, denied, again, opened, close][..], None),
        (&[again, denied, open, opened, close], None),
        // The password has changed, or has not.
        (&[open, opened, CHANGED, old, opened], Some("server")),
        (&[open, opened, CHANGED, again, denied], Some("server")),
        (&[open, denied], Some("server")),
        (&[open, opened, (true, r#"{"type":"Change","next":"short"}"#)], Some("client")),
    ] {
        let client = connect(&address);
        let (server, _) = upstream.accept().unwrap();
        let mut sides = [BufReader::new(server), BufReader::new(client)];
        for (index, (by_client, line)) in lines.iter().enumerate() {
            sides[usize::from(*by_client)].get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
            let mut seen = String::new();
            let _ = sides[usize::from(!*by_client)].read_line(&mut seen);
            let is_wrong = blamed.is_some() && index + 1 == lines.len();
            let expected = if is_wrong { String::new() } else { format!("{line}\n") };
            assert_eq!(seen, expected, "{lines:?}: {}", guard.said());
        }
        // Whoever is wrong is told of; in the end there is nothing else.
        if let Some(side) = blamed {
            wrong += 1;
            let start = std::time::Instant::now();
            while verdicts(&guard).len() < wrong && start.elapsed() < PATIENCE {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            let told = verdicts(&guard);
            assert_eq!(told.len(), wrong, "{lines:?}: {told:?}");
            assert!(told[wrong - 1].contains(&format!("blame=\"{side}\"")), "{lines:?}: {told:?}");
        }
    }
    assert_eq!(verdicts(&guard).len(), wrong);
}

/// The verdicts that `guard` has told of, in order.
fn verdicts(guard: &Process) -> Vec<String> {
    guard.said().lines().filter(|line| line.contains("blame=")).map(str::to_owned).collect()
}

/// nuScr's own protocols with recursion data, where a corpus has them: file, protocol, role, and events of which the last is wrong.
const NUSCR: [(&str, &str, &[Said]); 5] = [
    (
        "Counter.nuscr",
        "Counter",
        &[
            ("A", "B", "Incr", "{}"),
            ("A", "B", "Result", "{}"),
            ("B", "A", "Total", r#"{"sum":1}"#),
            ("B", "A", "Total", r#"{"sum":0}"#),
        ],
    ),
    (
        "Recursion.nuscr",
        "Recursion1",
        &[
            ("A", "B", "Num", r#"{"curr":0}"#),
            ("A", "B", "Num", r#"{"curr":1}"#),
            ("A", "B", "Num", r#"{"curr":2}"#),
        ],
    ),
    (
        "PasswordManager.nuscr",
        "PasswordManager",
        &[
            ("C", "S", "Login", r#"{"entered_pass":"pass"}"#),
            ("S", "C", "Authenticated", "{}"),
            ("C", "S", "NewPass", r#"{"new_pass":"longer"}"#),
            ("C", "S", "Login", r#"{"entered_pass":"pass"}"#),
            ("S", "C", "WrongPass", "{}"),
            ("S", "C", "Authenticated", "{}"),
        ],
    ),
    (
        "HigherLower.nuscr",
        "HigherLower",
        &[
            ("A", "B", "start", r#"{"n":40}"#),
            ("A", "B", "limit", r#"{"t0":2}"#),
            ("C", "B", "guess", r#"{"x":30}"#),
            ("B", "C", "higher", "{}"),
            ("B", "A", "higher", "{}"),
            ("C", "B", "guess", r#"{"x":50}"#),
            ("B", "C", "lose", "{}"),
            ("B", "C", "lower", "{}"),
        ],
    ),
    (
        "Contract.nuscr",
        "Contract",
        &[
            ("C", "P", "propose", r#"{"initialPrice":10}"#),
            ("P", "C", "counter", r#"{"counterPrice":20}"#),
            ("C", "P", "counter", r#"{"newCounterPrice":15}"#),
            ("P", "C", "accept", r#"{"confirmedPrice":15}"#),
            ("P", "C", "accept", r#"{"confirmedPrice":10}"#),
        ],
    ),
];

/// The files below `folder`.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// As above, the last two events are alternatives: with the first the session is right, with the other its sender is wrong.
#[test]
fn nuscrs_protocols_with_data_are_checked_and_watched() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let corpus = std::env::var_os("REFEREE_CORPUS").map_or(beside, Into::into).join("nuscr");
    let files = files(&corpus);
    for (file, name, said) in NUSCR {
        let Some(path) = files.iter().find(|path| path.ends_with(file)) else {
            println!("skipped: no `{file}` in the corpus");
            continue;
        };
        let folder = Folder::new();
        fs::copy(path, folder.0.join("p.nuscr")).unwrap();
        let checked = referee(&folder.0, &["check", "p.nuscr"]);
        assert_eq!(checked.status.code(), Some(0), "{file}: {checked:?}");
        let (before, [right, wrong]) = said.split_at(said.len() - 2) else { panic!("two alternatives") };
        for (last, status) in [(right, 0), (wrong, 1)] {
            let event = |(from, to, label, payload): &Said| json!({"session": "1", "from": from, "to": to, "label": label, "payload": fields(payload)});
            let log: String = before.iter().chain([last]).map(|said| format!("{}\n", event(said))).collect();
            fs::write(folder.0.join("log.jsonl"), log).unwrap();
            let watched = referee(
                &folder.0,
                &[
                    "watch",
                    "--protocol",
                    "p.nuscr",
                    "--protocol-name",
                    name,
                    "--role",
                    last.0,
                    "--format",
                    "json",
                    "log.jsonl",
                ],
            );
            assert_eq!(watched.status.code(), Some(status), "{file}: {watched:?}");
            if status == 1 {
                let verdict: Value = serde_json::from_slice(&watched.stdout).unwrap();
                assert_eq!(verdict["blame"], json!(last.0), "{file}: {verdict}");
            }
        }
    }
}
