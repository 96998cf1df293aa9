//! What `referee check` says: diagrams of counterexamples, properties of one's own, faults.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

#[path = "support/process.rs"]
mod process;

use std::path::PathBuf;

use process::referee;
use serde_json::{Value, json};

/// Exit status and text of a check of the system `input`, in the language `language`.
fn said(language: &str, options: &[&str], input: &str) -> (i32, String) {
    let output = referee(&[&["check", "-", "--language", language], options].concat(), input);
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text)
}

/// Exit status and JSON.
fn answered(language: &str, options: &[&str], input: &str) -> (i32, Value) {
    let output =
        referee(&[&["check", "-", "--language", language, "--format", "json"], options].concat(), input);
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap(), value)
}

/// A file that is gone when this is dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("referee-check-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const LOGIN: &str = "A: B!login; B?ok; B!quit; end\nB: A?login; A!ok; A?exit; end";

/// The example of the issue, as people see it: the mistake is marked, and what was meant is said.
#[test]
fn the_mistake_is_marked() {
    let (status, text) = said("kmc", &[], LOGIN);
    assert_eq!(status, 1);
    assert!(
        text.contains("`B` waits for `exit` from `A`, but the next message from `A` is `quit`"),
        "{text}"
    );
    assert!(text.contains("did you mean `exit`?"), "{text}");
    let line = text.lines().find(|line| line.contains("quit") && line.contains('─')).unwrap();
    assert!(line.contains('✗') || line.contains('x') || line.contains('╳') || line.contains('X'), "{line}");
    let (_, answer) = answered("kmc", &[], LOGIN);
    let witness = &answer["compatibility"]["witness"];
    assert_eq!(witness["violation"], "unexpected-message");
    let last = &witness["steps"][4];
    assert_eq!(
        (&last["label"], &last["line"], &last["from_state"]),
        (&json!("quit"), &json!(1), &json!("q2"))
    );
    assert!(last["column"].as_u64().unwrap() > 1);
}

/// Eighteen roles of which two take part, and a loop of seven rounds: two lifelines, and the loop once.
#[test]
fn diagrams_leave_out_and_fold_and_fit() {
    let idle: String = (0..16).map(|number| format!("R{number}: end\n")).collect();
    let rounds = |text: &str| text.repeat(7);
    let a = format!("A: {} B!stop; B?never; end\n", rounds("B!ping; B?pong; "));
    let b = format!("B: {} A?stop; end\n", rounds("A?ping; A!pong; "));
    let (status, text) = said("kmc", &[], &(idle + &a + &b));
    assert_eq!(status, 1);
    let drawing: Vec<&str> = text.lines().filter(|line| line.starts_with("    ")).collect();
    assert!(drawing.iter().all(|line| line.chars().count() <= 100), "{text}");
    assert!(drawing.iter().all(|line| !line.contains("R7")), "{text}");
    assert!(text.contains("7 times"), "{text}");
    assert_eq!(text.matches(" ping ").count() + text.matches("ping─").count().min(1), 1, "{text}");
}

/// `C` takes the vote of `A` first, though `B` voted first; and where messages cross, each role's lifeline has its own order.
#[test]
fn lifelines_have_the_order_of_their_role() {
    let votes = "C: A?yes; B?no; A!abort; B!abort; end\nA: C!yes; C?abort; end\nB: C!no; C?commit; end";
    let (_, text) = said("kmc", &[], votes);
    let row = |text: &str, label: &str| {
        text.lines().position(|line| line.contains(&format!(" {label} ─"))).unwrap()
    };
    assert!(row(&text, "yes") < row(&text, "no"), "{text}");
    let crossing = "A: B!a1; B!a2; B?b; B!c; end\nB: A!b; A?a1; A?a2; A?d; end";
    let (_, text) = said("kmc", &[], crossing);
    let rows: Vec<&str> = text.lines().map(|line| line.trim().trim_matches(['│', ' '])).collect();
    let of = |label: &str, begins: &str, ends: &str| {
        let is_it = |row: &&str| {
            row.contains(&format!(" {label} ")) && row.starts_with(begins) && row.ends_with(ends)
        };
        rows.iter().position(is_it).unwrap_or_else(|| panic!("{label}: {text}"))
    };
    // `a1` and `b` are sent before either is received; `A` receives `b` after it sent `a2`.
    let order =
        [of("a1", "├", "○"), of("b", "○", "┤"), of("a1", "○", "▶"), of("a2", "├", "▶"), of("b", "◀", "○")];
    assert!(order.is_sorted(), "{order:?} {text}");
}

/// Thirty roles that all take part do not fit: then there is a list, with lines of the text.
#[test]
fn what_does_not_fit_is_a_list() {
    let mut text = String::new();
    for role in 0..30 {
        let next = format!("R{}", role + 1);
        let before = format!("R{}", role.max(1) - 1);
        text += &match role {
            0 => format!("R0: {next}!m; end\n"),
            29 => format!("R29: {before}?wrong; end\n"),
            _ => format!("R{role}: {before}?m; {next}!m; end\n"),
        };
    }
    let (_, said) = said("kmc", &[], &text);
    assert!(said.contains(" 1. R0 sends `m` to R1  (line 1)"), "{said}");
    assert!(said.contains("R28 sends `m` to R29  (line 29)  ✗"), "{said}");
}

/// One run tells of several violations, and of no more than asked for.
#[test]
fn as_many_witnesses_as_asked_for() {
    let text = "A: {B!x; end, B!y; C!m; end}  B: {A?x; A?z; end, A?y; end}  C: end";
    let count = |options: &[&str]| {
        answered("kmc", options, text).1["compatibility"]["witnesses"].as_array().unwrap().len()
    };
    assert_eq!((count(&[]), count(&["--max-witnesses", "1"])), (2, 1));
    assert!(said("kmc", &[], text).1.contains("also orphan-message"));
}

/// Machines of `.fsm` files have names, and states in which they may wait.
#[test]
fn machines_are_called_by_their_names() {
    let server = |accepting: &str| {
        format!(
            ".name client .outputs .state graph q0 server ! req q1 q1 server ? ans q2 .marking q0 .end\n\
             .name server .outputs .state graph q0 client ? req q1 q1 client ! ans q0 .marking q0 {accepting} .end"
        )
    };
    let (status, answer) = answered("fsm", &[], &server(""));
    assert_eq!((status, &answer["roles"]), (1, &json!(["client", "server"])));
    assert_eq!(answer["compatibility"]["witness"]["role"], "server");
    let (status, answer) = answered("fsm", &[], &server(".accepting q0"));
    assert_eq!((status, &answer["compatibility"]["may_wait"]), (0, &json!(["server"])));
}

/// A token that is granted twice; and two-phase commit's agreement.
#[test]
fn properties_are_asked_of_every_execution() {
    let file = Temporary::new(
        "agreement.hml",
        "property agreement { max X.([_ -> _ : commit](max Y.([_ -> _ : abort]ff and [_]Y)) and [_]X) }\n\
         property never_no { max X.([_ -> C : no]ff and [_]X) }",
    );
    let voter = |name: &str| {
        format!("{name}: C?prepare; {{C!yes; {{C?commit; end, C?abort; end}}, C!no; C?abort; end}}\n")
    };
    let decide = "P?yes; {Q?yes; P!commit; Q!commit; end, Q?no; P!abort; Q!abort; end}, \
                  P?no; {Q?yes; P!abort; Q!abort; end, Q?no; P!abort; Q!abort; end}";
    let text = format!("C: P!prepare; Q!prepare; {{{decide}}}\n{}{}", voter("P"), voter("Q"));
    let (status, answer) = answered("kmc", &["--property", file.path()], &text);
    assert_eq!((status, &answer["compatibility"]["verdict"]), (1, &json!("safe")));
    let properties = answer["compatibility"]["properties"].as_array().unwrap();
    assert_eq!((&properties[0]["name"], &properties[0]["verdict"]), (&json!("agreement"), &json!("holds")));
    assert_eq!((&properties[1]["verdict"], &properties[1]["reason"]), (&json!("unsafe"), &Value::Null));
    assert_eq!(properties[1]["witness"]["steps"].as_array().unwrap().len(), 3);
    let (_, said) = said("kmc", &["--property", file.path()], &text);
    assert!(said.contains("property `agreement` holds: no execution violates it"), "{said}");
    assert!(said.contains("property `never_no` fails: this execution violates it"), "{said}");
}

/// What cannot be asked, or is not known, says so.
#[test]
fn properties_that_are_not_known() {
    let file = Temporary::new("positive.hml", "max X.([A -> B : a(x) when x < 0]ff and [_]X)");
    let (status, answer) =
        answered("kmc", &["--property", file.path()], "A: B!a<int>; end  B: A?a<int>; end");
    let property = &answer["compatibility"]["properties"][0];
    assert_eq!(
        (status, &property["verdict"], &property["reason"]["code"]),
        (3, &json!("unknown"), &json!("values"))
    );
    let broken = Temporary::new("broken.hml", "max X.(X)");
    assert_eq!(said("kmc", &["--property", broken.path()], LOGIN).0, 2);
}

/// The answer is for so many faults, and says so.
#[test]
fn faults_are_part_of_the_answer() {
    let text = "A: B!req; B?ans; end  B: A?req; A!ans; end";
    let (status, answer) = answered("kmc", &["--faults", "crash=B"], text);
    assert_eq!((status, &answer["compatibility"]["verdict"]), (1, &json!("unsafe")));
    let steps = answer["compatibility"]["witness"]["steps"].as_array().unwrap();
    let crash = steps.iter().find(|step| step["fault"] == "crash").unwrap();
    assert_eq!(
        (&crash["action"], &crash["peer"], &crash["label"]),
        (&json!("crash"), &Value::Null, &Value::Null)
    );
    let (_, shown) = said("kmc", &["--faults", "crash=B"], text);
    assert!(shown.contains("`A` waits for `ans` from `B`, which has crashed"), "{shown}");
    assert!(shown.contains("with at most 1 fault: B may crash"), "{shown}");
    assert!(shown.contains("crashes") && shown.contains("has crashed"), "{shown}");
    let endless = "A: rec x. B!a; x  B: rec y. A?a; y";
    let (status, shown) = said("kmc", &["--faults", "lossy=A->B", "--max-faults", "2", "--k", "3"], endless);
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("safe with room for 3 messages per channel: "), "{shown}");
    assert!(shown.contains("with at most 2 faults: A->B may lose messages"), "{shown}");
    for (wrong, why) in
        [("crash=Z", "there is no role `Z`"), ("lossy=A", "ROLE->ROLE"), ("sleepy=A", "known are")]
    {
        let (status, shown) = said("kmc", &["--faults", wrong], endless);
        assert!(status == 2 && shown.contains(why), "{shown}");
    }
}

/// Optimised double buffering: the kernel asks for the next part before it has passed on the first. No monitor of the kernel
/// lets that pass, and the system is safe.
#[test]
fn a_component_in_a_roles_place() {
    let protocol = Temporary::new(
        "buffer.scr",
        "protocol Buffer(role K, role S, role T) {
           rec X { Ready() from K to S; Copy() from S to K; Ask() from T to K; Value() from K to T; continue X; } }",
    );
    let kernel = |first: &str| {
        format!(
            ".name K .outputs .state graph\n{first}\na S ! Ready b\nb S ? Copy c\nc T ? Ask d\nd T ! Value a\n\
             .marking s .end\n"
        )
    };
    let optimised = Temporary::new("optimised.fsm", &kernel("s S ! Ready a"));
    let with = format!("K={}", optimised.path());
    let output = referee(&["check", protocol.path(), "--with", &with, "--format", "json"], "");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["compatibility"]["verdict"], "safe", "{answer:#}");
    let blamed = answer["compatibility"]["with"][0]["blamed"].as_str().unwrap();
    assert!(!blamed.is_empty());
    let arguments = ["conform", optimised.path(), "--role", "K", protocol.path()];
    let output = referee(&[&arguments[..], &["--format", "json"]].concat(), "");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &answer["conforms"]), (Some(1), &json!(false)));
    assert_eq!(answer["in_system"], "safe");
    let text = String::from_utf8(referee(&arguments, "").stdout).unwrap();
    assert!(
        text.contains("does not play `K`") && text.contains("beside the other roles it is safe"),
        "{text}"
    );
    // One that sends something else is not safe either.
    let wrong = Temporary::new("wrong.fsm", &kernel("s S ! Steady a"));
    let with = format!("K={}", wrong.path());
    assert_eq!(referee(&["check", protocol.path(), "--with", &with], "").status.code(), Some(1));
}

/// A step of a component, or of an imported protocol, is in its own file, and is said to be there.
#[test]
fn a_place_is_in_the_file_that_has_it() {
    let folder = std::env::temp_dir().join(format!("referee-places-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        folder.join(name).to_str().unwrap().to_owned()
    };
    let library =
        file("Lib.scr", "module Lib;\n\nglobal protocol Hello(role A, role B) {\n  Hi() from A to B;\n}\n");
    let protocol = file(
        "Main.scr",
        "module Main;\nimport Lib;\nglobal protocol P(role A, role B) {\n  do Lib.Hello(A, B);\n  End() from B to A;\n}\n",
    );
    // The lone machine of a role: its text is put between those of the others to be read.
    let component = file("b.fsm", ".outputs .state graph\nq0 A ? Hi q1\nq1 A ! Bye q2\n.marking q0 .end\n");
    let with = format!("B={component}");
    let check = |format: &str| {
        let output = referee(&["check", &protocol, "--with", &with, "--format", format], "");
        String::from_utf8(output.stdout).unwrap()
    };
    let answer: Value = serde_json::from_str(&check("json")).unwrap();
    let steps = &answer["protocols"][0]["compatibility"]["witness"]["steps"];
    let places: Vec<(&str, &Value, u64, u64)> = steps
        .as_array()
        .unwrap_or_else(|| panic!("{answer:#}"))
        .iter()
        .map(|step| {
            let number = |key: &str| step[key].as_u64().unwrap_or(0);
            (step["role"].as_str().unwrap(), &step["file"], number("line"), number("column"))
        })
        .collect();
    let (library, component) = (json!(library), json!(component));
    assert_eq!(places, [("A", &library, 4, 3), ("B", &component, 2, 1), ("B", &component, 3, 1)]);
    let sarif: Value = serde_json::from_str(&check("sarif")).unwrap();
    let flow = &sarif["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"];
    let uri = |index: usize| &flow[index]["location"]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!([uri(0), uri(1)], [&library, &component], "{sarif:#}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// A system of machines has no relative types: the monitor of a role is its machine. Both notions are told there, too.
#[test]
fn a_component_in_the_place_of_a_machine() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/known");
    let file = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let (plain, optimised) = (file("double-buffering.kmc"), file("double-buffering-optimised.kmc"));
    let check = |component: &str| {
        let with = format!("Kernel={component}");
        let output = referee(&["check", &plain, "--with", &with, "--format", "json"], "");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["compatibility"]["verdict"], "safe", "{answer:#}");
        answer["compatibility"]["with"][0].clone()
    };
    assert_eq!((&check(&plain)["plays"], &check(&plain)["blamed"]), (&json!(true), &Value::Null));
    let blamed = check(&optimised);
    assert_eq!(blamed["plays"], false);
    let why = "it sends `ready` to `Source`, but `block` from `Source` comes first";
    assert_eq!(blamed["blamed"], why);
    let output = referee(&["conform", &optimised, "--role", "Kernel", &plain], "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains(why) && text.contains("beside the other roles it is safe"), "{text}");
    assert_eq!(referee(&["conform", &plain, "--role", "Kernel", &plain], "").status.code(), Some(0));
    // The component's file need not speak of the others.
    let text = std::fs::read_to_string(&plain).unwrap();
    let kernel = text.lines().find(|line| line.starts_with("Kernel:")).unwrap();
    let alone = Temporary::new("kernel.kmc", kernel);
    assert_eq!(referee(&["conform", alone.path(), "--role", "Kernel", &plain], "").status.code(), Some(0));
    // Who can send and receive at once is beyond a monitor that sees only messages.
    let tcp = file("tcp.kmc");
    let output = referee(&["conform", &tcp, "--role", "A", &tcp], "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(3) && text.contains("a monitor could not follow"), "{text}");
}

#[test]
fn edits_that_would_help_are_suggested() {
    let (status, text) = said("kmc", &["--minimal-fix"], LOGIN);
    assert_eq!(status, 1);
    let wanted = "it would be safe to rename `exit`, which `B` receives from `A`, to `quit` (line 2)";
    assert!(text.contains(wanted), "{text}");
    let (_, answer) = answered("kmc", &["--minimal-fix"], LOGIN);
    assert_eq!(answer["compatibility"]["fixes"][0]["action"], "rename");
    assert_eq!(answered("kmc", &[], LOGIN).1["compatibility"]["fixes"], json!([]));
}

/// The first lines need no theory; `--explain` has it, and the words it uses have pages.
#[test]
fn theory_is_behind_explain() {
    let text = "A: B!x; end  B: A?x; end";
    let plain = said("kmc", &[], text).1;
    let theory = |text: &str| ["OBI", "Theorem", "k = ", "compatible"].iter().any(|word| text.contains(word));
    assert!(!theory(&plain) && plain.contains("safe: nobody gets stuck"), "{plain}");
    let explained = said("kmc", &["--explain"], text).1;
    assert!(explained.contains("1-multiparty compatible (CAV'19, Theorem 5)"), "{explained}");
    let racy = "A: rec x. C!a; x B: rec y. C!b; y C: rec z. {A?a; z, B?b; z}";
    let plain = said("kmc", &[], racy).1;
    assert!(plain.contains("unknown: with 1 message per channel `C` can receive `a`"), "{plain}");
    assert!(plain.contains("what to do: what is received first must not depend on speed"), "{plain}");
    for word in ["CIBI", "sibi", "OBI", "exhaustive", "k", "mailbox", "sound reduction"] {
        let output = referee(&["explain", word], "");
        assert_eq!(output.status.code(), Some(0), "{word}");
    }
}

/// What is printed as JSON is as the schema says, of all kinds of answers.
/// The page about the JSON contract has a row for each key of the schema, with what the schema says of it.
#[test]
fn every_key_is_documented() {
    let schema: Value = serde_json::from_str(include_str!("../src/command/check/schema.json")).unwrap();
    let page = include_str!("../../../docs/check-json.md");
    let mut keys = 0;
    for (name, part) in schema["$defs"].as_object().unwrap() {
        let heading = format!("\n## {name}\n");
        let (_, section) = page.split_once(&heading).unwrap_or_else(|| panic!("{name}"));
        let section = section.split("\n## ").next().unwrap();
        for (key, said) in part["properties"].as_object().unwrap() {
            let row = section.lines().find(|line| line.starts_with(&format!("| `{key}` |")));
            let said = said["description"].as_str().unwrap_or_else(|| panic!("{name}.{key}"));
            assert!(row.is_some_and(|row| row.contains(&said.replace('|', "\\|"))), "{name}.{key}: {row:?}");
            keys += 1;
        }
    }
    assert!(keys > 100, "{keys}");
}

#[test]
fn the_schema_is_right() {
    let schema: Value = serde_json::from_slice(&referee(&["check", "--schema"], "").stdout).unwrap();
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("check.json", schema).unwrap();
    let index = compiler.compile("check.json", &mut schemas).unwrap();
    let property = Temporary::new("schema.hml", "max X.([A -> B : a(x) when x < 0]ff and [_]X)");
    let systems = [
        LOGIN,
        "A: B!x; end  B: A?x; end",
        "A: rec x. C!a; x B: rec y. C!b; y C: rec z. {A?a; z, B?b; z}",
        "A: {B!a; end, B?b; end}  B: {A!b; end, A?a; end}",
        "A: B!",
    ];
    let options: [&[&str]; 7] = [
        &[],
        &["--instances", "B=1..2"],
        &["--mailbox", "--stable"],
        &["--faults", "crash=A,lossy=A->B", "--max-faults", "2"],
        &["--property", property.path(), "--max-states", "3"],
        &["--minimal-fix", "--bound-agnostic"],
        &["--may-wait", "B", "--reduction", "paper"],
    ];
    let valid = |answer: &Value| {
        let found = schemas.validate(answer, index).map_err(|error| format!("{error:#}"));
        found.unwrap_or_else(|error| panic!("{error}\n{answer:#}"));
    };
    for system in systems {
        for options in options {
            valid(&answered("kmc", options, system).1);
        }
    }
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    for folder in ["auth3", "atm-implicit", "pruned-loop", "shop", "auth-session", "game"] {
        let output = referee(&["check", "--format", "json", &format!("{examples}/{folder}")], "");
        valid(&serde_json::from_slice(&output.stdout).unwrap());
    }
    // A key that is not in it is seen.
    let mut odd = answered("kmc", &[], LOGIN).1;
    odd["compatibility"]["new"] = json!(1);
    assert!(schemas.validate(&odd, index).is_err());
}

#[test]
fn copies_of_a_role() {
    let text = "C: W!task; W?done; end  W: C?task; C!done; end";
    let (status, shown) = said("kmc", &["--instances", "W=1..4"], text);
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("W × 4: safe") && shown.contains("this is no proof for other numbers"), "{shown}");
    let votes = "C: {W?yes; end, W?no; end}  W: {C!yes; end, C!no; end}";
    let (status, answer) = answered("kmc", &["--instances", "W=1..3"], votes);
    let verdicts: Vec<&Value> = answer["compatibility"]["instances"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| &found["verdict"])
        .collect();
    assert_eq!((status, verdicts), (1, vec![&json!("safe"), &json!("unsafe"), &json!("unsafe")]));
    // Every copy of a server may outlive the client.
    let server = "C: S!req; S?ans; end  S: rec x. C?req; C!ans; x";
    assert_eq!(said("kmc", &["--instances", "S=1..3"], server).0, 1);
    assert_eq!(said("kmc", &["--instances", "S=1..3", "--may-wait", "S"], server).0, 0);
    let (status, shown) = said("kmc", &["--instances", "Z=2"], text);
    assert!(status == 2 && shown.contains("there is no role `Z`"), "{shown}");
    assert_eq!(said("kmc", &["--instances", "W=3..1"], text).0, 2);
}

/// `role worker[n]`: a protocol says which role may have copies, and the call how many.
#[test]
fn copies_are_declared() {
    let pool = "protocol Pool(role master, role worker[n]) {
        rec Next {
            choice at master { Task() from master to worker; Done() from worker to master; continue Next; }
            or { Stop() from master to worker; }
        }
    }";
    for options in [&["--instances", "worker=1..4"][..], &["--instances", "worker=1..4", "--mailbox"]] {
        let (status, shown) = said("scr", options, pool);
        assert!(status == 0 && shown.contains("worker × 4: safe"), "{shown}");
        assert!(shown.contains("this is no proof for other numbers of copies"), "{shown}");
    }
    // `Done` twice in a row is never sent by one worker, but by two.
    let property = Temporary::new("turns.hml", "max X.([_ -> master : Done][_ -> master : Done]ff and [_]X)");
    let verdict = |copies: &str| {
        let options = ["--instances", copies, "--property", property.path()];
        answered("scr", &options, pool).1["compatibility"]["properties"][0]["verdict"].clone()
    };
    assert_eq!((verdict("worker=1"), verdict("worker=2")), (json!("holds"), json!("unsafe")));
    let (status, shown) = said("scr", &[], pool);
    let hint = "with one copy of `worker`; --instances worker=1..6 checks more";
    assert_eq!((status, shown.matches(hint).count()), (0, 1), "{shown}");
    let (status, shown) = said("scr", &["--instances", "master=1..2"], pool);
    assert!(status == 2 && shown.contains("declare it as `role master[n]`"), "{shown}");
}

/// `@"may wait"`: a server of a `.scr` protocol outlives its client, which need not say good-bye to it.
#[test]
fn a_server_of_a_protocol_may_wait() {
    let serve = "protocol Serve(role client, role server, role log) {
        rec Next {
            choice at client { Ask() from client to server; @\"may wait\" Tell() from server to client; continue Next; }
            or { Left() from client to log; }
        }
    }";
    let (status, shown) = said("scr", &[], serve);
    assert!(status == 0 && shown.contains("where it is fine that server may wait for ever"), "{shown}");
    let (status, shown) = said("scr", &[], &serve.replace("@\"may wait\"", ""));
    assert!(status == 2 && shown.contains("RF0401"), "{shown}");
}

/// A cycle of roles that wait for each other is one violation, whatever may wait.
#[test]
fn a_wait_cycle_is_told_once() {
    let text = "A: B?x; B!y; end  B: A?y; A!x; end";
    let (status, shown) = said("kmc", &["--may-wait", "A", "--may-wait", "B"], text);
    assert!(status == 1 && shown.matches("none of them can go on").count() < 4, "{shown}");
    assert!(!shown.contains("also wait-cycle"), "{shown}");
    assert_eq!(answered("kmc", &[], text).1["compatibility"]["witnesses"].as_array().map(Vec::len), Some(1));
}

/// Problems with their places, for tools of continuous integration.
#[test]
fn problems_for_continuous_integration() {
    let (status, text) = said("kmc", &["--format", "sarif"], LOGIN);
    assert_eq!(status, 1);
    let document: Value = serde_json::from_str(&text).unwrap();
    let run = &document["runs"][0];
    assert_eq!((&document["version"], &run["tool"]["driver"]["name"]), (&json!("2.1.0"), &json!("referee")));
    let result = &run["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("unexpected-message"), &json!("error")));
    let region = &result["locations"][0]["physicalLocation"]["region"];
    // Where B waits for `exit`.
    assert_eq!((&region["startLine"], &region["startColumn"]), (&json!(2), &json!(19)), "{result:#}");
    let steps = &result["codeFlows"][0]["threadFlows"][0]["locations"];
    assert_eq!(steps.as_array().unwrap().len(), 5);
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "unexpected-message");
    let (status, text) = said("kmc", &["--format", "github"], LOGIN);
    assert_eq!(status, 1);
    let start = "::error file=-,line=2,col=19,endLine=2,endColumn=25,title=unexpected-message::`B` waits for `exit` from";
    assert!(text.starts_with(start), "{text}");
    // What is wrong with the text is a problem, too; in values of keys nothing is left that means something.
    let (status, text) = said("kmc", &["--format", "github"], "A: C!x; end");
    assert_eq!(status, 2);
    assert!(text.starts_with("::error file=-,line=1,col=4") && text.contains("title=RF0502::"), "{text}");
    assert_eq!(said("kmc", &["--format", "github"], "A: B!x; end  B: A?x; end"), (0, String::new()));
}

/// A protocol of `.gt` that only monitors can run is refused where a projection is demanded.
#[test]
fn a_projection_can_be_demanded() {
    let text = "b -> s (buy . s -> k (pay . end), leave . end)";
    let (status, shown) = said("gt", &[], text);
    assert_eq!(status, 0, "{shown}");
    let (status, shown) = said("gt", &["--require-projection"], text);
    assert!(status == 2 && shown.contains("RF0401") && shown.contains('✗'), "{shown}");
    // Programs are told, too.
    let (status, shown) = said("gt", &["--require-projection", "--format", "github"], text);
    assert!(status == 2 && shown.starts_with("::error"), "{shown}");
    let (_, shown) = said("gt", &["--require-projection", "--format", "json"], text);
    assert!(shown.contains("\"well_formed\": false"), "{shown}");
    assert_eq!(said("gt", &["--require-projection"], "b -> s (buy . s -> k (pay . end))").0, 0);
}
