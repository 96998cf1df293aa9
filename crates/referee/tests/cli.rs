//! The command line as scripts rely on it: exit statuses, JSON, what goes to which stream.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test reads files and fails by panicking"
)]

#[path = "support/process.rs"]
mod process;

use std::process::Output;

use process::referee;
use serde_json::Value;

const GOOD: &str = "protocol Ping(role a, role b) { Ping(x: int) from a to b where x > 0; }";
const BAD: &str = "protocol Ping(role a, role b) {\n  Ping() from c to b;\n  rec X { continue Y; }\n}\n";

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stdout(output)))
}

#[test]
fn check_of_a_good_protocol_holds() {
    let output = referee(&["check", "-", "--language", "scr", "--format", "json"], GOOD);
    assert_eq!(status(&output), 0);
    let value = json(&output);
    assert_eq!(value["file"], "-");
    assert_eq!(value["language"], "scr");
    assert_eq!(value["kind"], "global");
    assert_eq!(value["roles"], serde_json::json!(["a", "b"]));
    assert_eq!(value["well_formed"], true);
    assert_eq!(value["projection"], serde_json::json!({"local": "defined", "relative": "defined"}));
    assert_eq!(value["diagnostics"], serde_json::json!([]));
    assert_eq!(value["protocols"][0]["assertions"][0]["enforced_by"], serde_json::json!(["a", "b"]));
}

#[test]
fn check_reports_all_errors_with_their_places() {
    let output = referee(&["check", "-", "--language", "scr", "--format", "json"], BAD);
    assert_eq!(status(&output), 2);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let value = json(&output);
    assert_eq!(value["well_formed"], false);
    let places: Vec<(String, u64, u64, u64, u64)> = value["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| {
            let number = |key: &str| d[key].as_u64().unwrap();
            let code = d["code"].as_str().unwrap().to_owned();
            (code, number("line"), number("column"), number("end_line"), number("end_column"))
        })
        .collect();
    assert_eq!(places, [("RF0103".into(), 2, 15, 2, 16), ("RF0105".into(), 3, 20, 3, 21)]);
}

#[test]
fn check_in_text_shows_the_place_and_nothing_else_is_coloured() {
    let output = referee(&["check", "-", "--language", "scr"], BAD);
    assert_eq!(status(&output), 2);
    let text = stdout(&output);
    assert!(
        text.contains("RF0103") && text.contains("there is no role `c`") && text.contains("-:2:15"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "colours in a pipe");
}

#[test]
fn wrong_calls_end_with_status_2_and_say_what_to_do() {
    for (arguments, hint) in [
        (&["check", "no-such-file.scr"][..], "cannot open `no-such-file.scr`"),
        (&["check", "-"][..], "--language"),
        (&["check", "-", "--language", "cobol"][..], "known are"),
        (&["explain", "RF9999"][..], "there is no code"),
        (&["show", "-", "--language", "scr", "--view", "machine", "--role", "c"][..], "the roles are"),
        (&["show", "-", "--language", "scr", "--view", "machine", "--format", "svg"][..], "--role"),
        (&["frobnicate"][..], "unrecognized subcommand"),
    ] {
        let output = referee(arguments, if arguments.contains(&"scr") { GOOD } else { "" });
        assert_eq!(status(&output), 2, "{arguments:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(hint), "{arguments:?}: {text}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

/// What prints them cannot count columns beyond 65,535.
#[test]
fn mistakes_far_along_a_line_are_told() {
    let far = " ".repeat(70_000);
    let unknown = format!("protocol P(role a, role b) {{{far} M() from c to b; }}");
    let syntax = format!("protocol P(role a, role b) {{{far} M( from a to b; }}");
    let long = format!("protocol P(role a, role b) {{ M() from {} to b; }}", "c".repeat(70_000));
    for (text, place) in [(unknown, "-:1:70039: "), (syntax, "-:1:70038: "), (long, "-:1:39: ")] {
        let output = referee(&["check", "-", "--language", "scr"], &text);
        assert_eq!(status(&output), 2);
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &stdout(&output);
        assert!(said.contains(place), "{place}: {}", said.get(..500).unwrap_or(&said));
    }
}

#[test]
fn many_files_are_summed_up() {
    let folder = std::env::temp_dir().join(format!("referee-cli-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("inner")).unwrap();
    std::fs::write(folder.join("good.scr"), GOOD).unwrap();
    std::fs::write(folder.join("inner/bad.scr"), BAD).unwrap();
    std::fs::write(folder.join("notes.md"), "not a protocol").unwrap();
    let path = folder.to_str().unwrap();
    let output = referee(&["check", path], "");
    assert_eq!(status(&output), 2);
    assert!(stdout(&output).ends_with("2 files checked: 1 well formed, 1 not; 2 errors, 0 warnings\n"));
    let output = referee(&["check", path, "--format", "json"], "");
    assert_eq!(json(&output).as_array().unwrap().len(), 2);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn bytes_that_are_not_text_get_a_clear_answer() {
    let output =
        referee(&["check", "-", "--language", "scr", "--format", "json"], "protocol \u{0}\u{fffd}{(");
    assert_eq!(status(&output), 2);
    assert!(!json(&output)["diagnostics"].as_array().unwrap().is_empty());
}

#[test]
fn every_view_is_shown_in_every_form_it_has() {
    for view in ["global", "local", "relative", "machine", "monitor", "sequence"] {
        for format in ["text", "json", "dot", "mermaid", "svg", "scr", "nuscr", "fsm"] {
            let role: &[&str] = match (view, format) {
                ("local" | "machine", "fsm") => &[],
                ("local" | "machine" | "monitor", _) => &["--role", "a"],
                ("relative", _) => &["--pair", "a,b"],
                _ => &[],
            };
            let call =
                [&["show", "-", "--language", "scr", "--view", view, "--format", format], role].concat();
            let output = referee(&call, GOOD);
            let has = match view {
                "global" => format != "fsm",
                "local" => true,
                "machine" => !matches!(format, "scr" | "nuscr"),
                "relative" | "monitor" => !matches!(format, "scr" | "nuscr" | "fsm"),
                _ => matches!(format, "text" | "mermaid" | "svg"),
            };
            assert_eq!(status(&output), if has { 0 } else { 2 }, "{view} {format}: {output:?}");
            assert_eq!(output.stdout.is_empty(), !has, "{view} {format}");
            if format == "json" && has {
                json(&output);
            }
        }
    }
}

/// What two roles do with each other depends on a choice of which neither hears.
const UNHEARD: &str = "a -> b (l . c -> d (m . end), r . c -> d (n . end))";

#[test]
fn what_check_refuses_is_refused_everywhere() {
    assert_eq!(status(&referee(&["check", "-", "--language", "gt"], UNHEARD)), 2);
    let refused = |call: &[&str]| {
        let output = referee(call, UNHEARD);
        assert_eq!(status(&output), 2, "{call:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{call:?}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("RF0410"), "{call:?}: {output:?}");
    };
    for view in ["global", "local", "relative", "machine", "monitor", "sequence", "property"] {
        refused(&["show", "-", "--language", "gt", "--view", view]);
    }
    // The events are in a file: standard input is the protocol's.
    refused(&["watch", "--protocol", "-", "--language", "gt", "--role", "a", "/dev/null"]);
}

/// For components alone an undefined projection is an error in `.scr` files; monitors can do with relative types.
#[test]
fn an_undefined_projection_needs_monitors() {
    let shop = "protocol Shop(role buyer, role shop, role bank) {
        choice at buyer { Buy() from buyer to shop; Pay() from shop to bank; } or { Leave() from buyer to shop; } }";
    let alone = referee(&["check", "-", "--language", "scr", "--format", "json"], shop);
    assert_eq!(status(&alone), 2);
    assert_eq!(json(&alone)["diagnostics"][0]["code"], "RF0401");
    let asked = referee(
        &["check", "-", "--language", "gt", "--require-projection"],
        "a -> b (l . b -> c (m . end), r . end)",
    );
    let asked = String::from_utf8(asked.stderr).unwrap() + &String::from_utf8(asked.stdout).unwrap();
    assert!(
        asked.contains("without `--require-projection`") && !asked.contains("--with-monitors"),
        "{asked}"
    );
    let with = referee(&["check", "-", "--language", "scr", "--format", "json", "--with-monitors"], shop);
    assert_eq!(status(&with), 0, "{}", stdout(&with));
    assert_eq!(json(&with)["diagnostics"][0]["code"], "RF0411");
    assert_eq!(json(&with)["monitors"]["verdict"], "safe");
    let gt = "buyer -> shop (buy . shop -> bank <int> . end, leave . end)";
    assert_eq!(status(&referee(&["check", "-", "--language", "gt"], gt)), 0);
    assert_eq!(status(&referee(&["check", "-", "--language", "gt", "--require-projection"], gt)), 2);
}

/// Imported modules are found where Scribble finds them, and what is wrong with them is said about their file.
#[test]
fn modules_are_found_and_named() {
    let folder = std::env::temp_dir().join(format!("referee-modules-{}", std::process::id()));
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let main = "module shop.Main; import shop.parts.Pay; import lib.Bye;
        protocol Main(role a, role b) { do Pay.Pay(a, b); do lib.Bye.Bye(a, b); }";
    let main = write("src/shop/Main.scr", main);
    let pay = "module shop.parts.Pay; aux global protocol Pay(role p, role q) { Amount(int) from p to q; }";
    write("src/shop/parts/Pay.scr", pay);
    write("more/lib/Bye.nuscr", "module lib.Bye;\naux protocol Bye(role p, role q) { Bye() from q to p; }");
    let more = folder.join("more").display().to_string();
    let missing = referee(&["check", &main, "--format", "json"], "");
    assert_eq!(status(&missing), 2);
    assert_eq!(json(&missing)["diagnostics"][0]["code"], "RF0120");
    let found = referee(&["check", &main, "--import-path", &more], "");
    assert_eq!(status(&found), 0, "{}", stdout(&found));
    let shown = referee(&["show", &main, "--import-path", &more, "--view", "machine", "--role", "a"], "");
    assert!(
        stdout(&shown).contains("b!Amount(int)") && stdout(&shown).contains("b?Bye"),
        "{}",
        stdout(&shown)
    );
    // A mistake in an imported file is shown there.
    write("more/lib/Bye.nuscr", "module lib.Bye;\naux protocol Bye(role p, role q) { Bye() from x to p; }");
    let wrong = referee(&["check", &main, "--import-path", &more, "--format", "json"], "");
    let diagnostic = &json(&wrong)["diagnostics"][0];
    assert_eq!((diagnostic["code"].as_str(), diagnostic["line"].as_u64()), (Some("RF0103"), Some(2)));
    assert!(diagnostic["file"].as_str().unwrap().ends_with("Bye.nuscr"), "{diagnostic}");
    let wrong = referee(&["check", &main, "--import-path", &more], "");
    assert!(stdout(&wrong).contains("Bye.nuscr:2:"), "{}", stdout(&wrong));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Every command that reads a protocol reads what it imports.
#[test]
fn every_command_reads_modules() {
    let folder = std::env::temp_dir().join(format!("referee-imports-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("lib")).unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        folder.join(name).display().to_string()
    };
    let right =
        "module Main;\n\nimport lib.Pay;\n\nprotocol Main(role a, role b) {\n  do Pay.Pay(a, b);\n}\n";
    let main = write("Main.scr", right);
    let pay = "module lib.Pay;\n\naux global protocol Pay(role p, role q) {\n  Amount(int) from p to q;\n}\n";
    write("lib/Pay.scr", pay);
    let shown = referee(&["show", &main, "--view", "local", "--format", "scr", "--role", "b"], "");
    assert!(stdout(&shown).contains("Amount(int) from a;"), "{shown:?}");
    let converted = referee(&["convert", &main, "--to", "kmc"], "");
    assert_eq!(status(&converted), 0, "{converted:?}");
    assert!(stdout(&converted).contains("a: b!Amount<int>"), "{}", stdout(&converted));
    let component = write("a.kmc", "a: b!Amount<int>; end\nb: a?Amount<int>; end\n");
    let plays = referee(&["conform", &component, &main, "--role", "a"], "");
    assert_eq!(status(&plays), 0, "{plays:?}");
    let component = write("a.kmc", "a: b!Sum<int>; end\nb: a?Sum<int>; end\n");
    assert_eq!(status(&referee(&["conform", &component, &main, "--role", "a"], "")), 1);
    assert_eq!(status(&referee(&["fmt", "--check", &main], "")), 0);
    // Nothing is wrong; a slip is put right although the names of the module are not known to the corrections.
    let fixed = referee(&["fix", &main], "");
    assert_eq!(status(&fixed), 0, "{fixed:?}");
    write("Main.scr", &right.replace("do Pay.Pay(a, b);", "do Pay.Pay(a, b)"));
    let fixed = referee(&["fix", &main], "");
    assert_eq!(status(&fixed), 0, "{fixed:?}");
    assert_eq!(std::fs::read_to_string(&main).unwrap(), right);
    // A module that is put right in the same run is read as it is then.
    let pay = write("lib/Pay.scr", &pay.replace("from p", "form p"));
    let dry = referee(&["fix", "--dry-run", &main, &pay], "");
    assert_eq!(status(&dry), 1, "{dry:?}");
    assert_eq!(status(&referee(&["fix", &main, &pay], "")), 0);
    assert_eq!(status(&referee(&["check", &main], "")), 0);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_printed_can_be_read_again() {
    let fsm = referee(&["show", "-", "--language", "scr", "--view", "machine", "--format", "fsm"], GOOD);
    let again = referee(&["check", "-", "--language", "fsm"], &stdout(&fsm));
    assert_eq!(status(&again), 0, "{}", stdout(&again));
    let scr = referee(&["show", "-", "--language", "scr", "--view", "global", "--format", "scr"], GOOD);
    let again = referee(&["check", "-", "--language", "scr"], &stdout(&scr));
    assert_eq!(status(&again), 0, "{}", stdout(&again));
}

#[test]
fn every_code_is_explained() {
    let list = stdout(&referee(&["explain"], ""));
    assert!(list.lines().count() >= 40);
    for line in list.lines() {
        let code = line.split_whitespace().next().unwrap();
        let text = stdout(&referee(&["explain", &code.to_lowercase()], ""));
        match code.starts_with("RF") {
            true => {
                assert!(text.starts_with(code) && text.contains("Wrong") && text.contains("Right"), "{code}")
            }
            false => assert!(text.starts_with(&format!("# {}", code.replace("sound-", "sound "))), "{text}"),
        }
    }
}

#[test]
fn the_demo_ends_well() {
    let output = referee(&["demo"], "");
    assert_eq!(status(&output), 0);
    assert!(stdout(&output).contains("did you mean `SESSION`?"));
}

#[test]
fn fmt_formats_and_checks() {
    let folder = std::env::temp_dir().join(format!("referee-fmt-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("ping.scr");
    std::fs::write(&file, GOOD).unwrap();
    let path = file.to_str().unwrap();
    assert_eq!(status(&referee(&["fmt", "--check", path], "")), 1);
    assert_eq!(status(&referee(&["fmt", path], "")), 0);
    assert_eq!(status(&referee(&["fmt", "--check", path], "")), 0);
    std::fs::write(&file, BAD.replace("from", "form")).unwrap();
    assert_eq!(status(&referee(&["fmt", path], "")), 2);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), BAD.replace("from", "form"), "left alone");
    std::fs::remove_dir_all(folder).unwrap();
}

/// What is no UTF-8 is shown with what cannot be read replaced: written back, it would be lost.
#[test]
fn files_in_other_encodings_are_left_alone() {
    let folder = std::env::temp_dir().join(format!("referee-encodings-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("Lib.scr");
    let importing = folder.join("Main.scr");
    std::fs::write(&importing, "import Lib;\nprotocol P(role a, role b) { do Lib.Q(a, b); }\n").unwrap();
    let text = "module Lib;\nprotocol Q(role a,role b) { m() from a to b; }\n";
    let latin = [text.as_bytes(), b"// caf\xe9\n"].concat();
    let utf16 = ['\u{feff}'].into_iter().chain(text.chars()).flat_map(|c| (c as u16).to_le_bytes()).collect();
    for (bytes, said, imported) in [
        (latin, "is not UTF-8: nothing is changed", 0),
        (utf16, "it is written in UTF-16: save it as UTF-8", 2),
    ] {
        std::fs::write(&file, &bytes).unwrap();
        for command in ["fmt", "fix"] {
            let output = referee(&[command, file.to_str().unwrap()], "");
            assert_eq!(status(&output), 2, "{command}: {}", stderr(&output));
            assert!(stderr(&output).contains(said), "{command}: {}", stderr(&output));
            assert_eq!(std::fs::read(&file).unwrap(), bytes, "{command}: left alone");
        }
        let output = referee(&["check", importing.to_str().unwrap()], "");
        assert_eq!(status(&output), imported, "{}", stderr(&output));
        let all = format!("{}{}", stdout(&output), stderr(&output));
        // Wherever the line was broken.
        let letters = |text: &str| text.replace([' ', '\n', '│'], "");
        assert_eq!(letters(&all).contains(&letters(said)), imported == 2, "{all}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn completions_are_scripts() {
    for shell in ["bash", "zsh", "fish"] {
        let output = referee(&["completions", shell], "");
        assert_eq!(status(&output), 0);
        assert!(stdout(&output).contains("referee"));
    }
}

/// Only the sender knows `z`: the receiver's machine states no assertion, and the two must still meet.
#[test]
fn an_assertion_that_one_side_cannot_check_does_not_separate_the_sides() {
    let text = "protocol Buy(role a, role b, role s) {
        Quote(y: int) from s to b;
        Share(z: int) from a to b;
        choice at b { Ok() from b to s where z > y - 2; } or { Quit() from b to s where z <= y - 2; }
    }";
    let output = referee(&["check", "-", "--language", "scr", "--format", "json"], text);
    assert_eq!(status(&output), 0, "{}", stdout(&output));
    assert_eq!(json(&output)["compatibility"]["verdict"], "safe");
}

const AUTHORISATION: &str =
    "mu X . s -> c (login . c -> a (pwd . c -> a <str> . a -> s (succ . a -> s <bool> . X)), quit . end)";

/// RV'23, Example 11: no classic projection, but monitors, whose network is safe.
#[test]
fn the_authorisation_protocol_is_run_by_monitors() {
    let output = referee(&["check", "-", "--language", "gt", "--format", "json"], AUTHORISATION);
    assert_eq!(status(&output), 0);
    let answer = json(&output);
    assert!(answer["compatibility"].is_null());
    assert_eq!(answer["monitors"]["verdict"], "safe");
    assert_eq!(answer["monitors"]["follows"], serde_json::json!([]));
    let output =
        referee(&["show", "-", "--language", "gt", "--view", "monitor", "--role", "c"], AUTHORISATION);
    let expected =
        "c = mu X.c?s{login<>.c!{a}(login).c!a{pwd<string>.c!{}(pwd).X}, quit<>.c!{a}(quit).end}\n";
    assert_eq!(stdout(&output), expected);
    for format in ["json", "dot", "mermaid", "svg"] {
        let call = ["show", "-", "--language", "gt", "--view", "monitor", "--role", "a", "--format", format];
        let output = referee(&call, AUTHORISATION);
        assert_eq!(status(&output), 0, "{format}");
        assert!(stdout(&output).contains("login"), "{format}");
    }
    let call = ["show", "-", "--language", "gt", "--view", "monitor", "--monitor", "session", "--role", "c"];
    assert!(stdout(&referee(&call, AUTHORISATION)).contains("noE"), "the session monitor of c");
}

/// Every pair does the same in both branches, so `t` learns of nothing; only one order works.
#[test]
fn a_network_that_would_deadlock_is_repaired_or_refused() {
    let four = "s -> r (1 . r -> p (a . p -> t (c . t -> r (b . end))), 2 . t -> r (b . r -> p (a . p -> t (c . end))))";
    let output = referee(&["check", "-", "--language", "gt", "--format", "json"], four);
    assert_eq!(status(&output), 0);
    let followed = &json(&output)["monitors"]["follows"];
    assert_eq!(*followed, serde_json::json!([{"role": "t", "label": "2", "line": 1}]));
    let five =
        "s -> r (1 . r -> p (a . p -> t (c . t -> r (b . t -> r (d . r -> u (f . u -> t (e . end)))))),
        2 . t -> r (b . r -> p (a . p -> t (c . r -> u (f . u -> t (e . t -> r (d . end)))))))";
    let output = referee(&["check", "-", "--language", "gt", "--format", "json"], five);
    assert_eq!(status(&output), 1);
    let answer = json(&output);
    assert_eq!(answer["monitors"]["verdict"], "unsafe");
    assert_eq!(answer["monitors"]["witness"]["property"], "progress");
    assert_eq!(answer["well_formed"], true);
}

/// RV'23, Definition 13, on the client of the authorisation protocol.
#[test]
fn a_component_plays_its_role_or_does_not() {
    let folder = std::env::temp_dir().join(format!("referee-conform-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    std::fs::write(path("p.gt"), AUTHORISATION).unwrap();
    let client = |to: u8| {
        format!(
            ".outputs\n.state graph\nq0 0 ? login q1\nq1 {to} ! pwd q0\nq0 0 ? quit q2\n.marking q0\n.end\n"
        )
    };
    std::fs::write(path("good.fsm"), client(2)).unwrap();
    std::fs::write(path("bad.fsm"), client(0)).unwrap();
    let conform =
        |file: &str| referee(&["conform", &path(file), "--role", "c", &path("p.gt"), "--format", "json"], "");
    let good = conform("good.fsm");
    assert_eq!((status(&good), json(&good)["conforms"].as_bool()), (0, Some(true)));
    assert_eq!(json(&good)["exact"], true);
    let bad = conform("bad.fsm");
    assert_eq!((status(&bad), json(&bad)["conforms"].as_bool()), (1, Some(false)));
    assert_eq!(json(&bad)["steps"].as_array().unwrap().len(), 2);
    assert!(json(&bad)["explanation"].as_str().unwrap().contains("it has to send `pwd` to `a`"));
    // What is wrong with the file is said of this file, which has no other machines.
    for (what, text) in [("9", client(9)), ("q7", client(2).replace("marking q0", "marking q7"))] {
        std::fs::write(path("wrong.fsm"), &text).unwrap();
        let wrong = conform("wrong.fsm");
        let said = String::from_utf8(wrong.stderr.clone()).unwrap();
        let line = text.lines().position(|line| line.contains(what)).unwrap() + 1;
        assert_eq!(status(&wrong), 2, "{said}");
        assert!(said.contains(what) && said.contains(&format!("wrong.fsm:{line}:")), "{said}");
        assert!(!said.contains("RF0510") && !said.contains(".outputs .state"), "{said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Two unsafe systems, one name for the diagram: each has its own file, and the answers say which.
#[test]
fn each_counterexample_is_drawn_in_a_file_of_its_own() {
    let folder = std::env::temp_dir().join(format!("referee-drawn-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    std::fs::write(path("a.kmc"), "A: B!x; end  B: A?y; end").unwrap();
    std::fs::write(path("b.kmc"), "A: B?x; end  B: end").unwrap();
    std::fs::write(path("c.kmc"), "A: B!x; end  B: A?x; end").unwrap();
    let svg = path("trace.svg");
    let all = [path("a.kmc"), path("b.kmc"), path("c.kmc")];
    let output =
        referee(&["check", "--format", "json", "--witness-svg", &svg, &all[0], &all[1], &all[2]], "");
    assert_eq!(status(&output), 1);
    let drawn: Vec<Value> =
        json(&output).as_array().unwrap().iter().map(|file| file["compatibility"]["drawn"].clone()).collect();
    assert_eq!(
        drawn,
        [serde_json::json!([svg]), serde_json::json!([path("trace-2.svg")]), serde_json::json!([])]
    );
    let texts = ["trace.svg", "trace-2.svg"].map(|name| std::fs::read_to_string(path(name)).unwrap());
    assert!(texts.iter().all(|text| text.starts_with("<svg")) && texts[0] != texts[1]);
    assert!(!folder.join("trace-3.svg").exists());

    let output = referee(&["check", "--witness-svg", &path("none.svg"), &all[2]], "");
    assert_eq!(status(&output), 0);
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no counterexample"));
    assert!(!folder.join("none.svg").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A diagram that cannot be written does not keep the answer back; what is asked for too much is refused.
#[test]
fn an_answer_is_given_whatever_happens_beside_it() {
    let unsafe_system = "A: B!x; end  B: A?y; end";
    let arguments = ["check", "--language", "kmc", "--witness-svg", "/nonexistent/x.svg", "-"];
    let output = referee(&arguments, unsafe_system);
    assert_eq!(status(&output), 2);
    assert!(stdout(&output).contains("unsafe"), "{}", stdout(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write"));

    let output = referee(&["generate", "exchange", "--n", "99999999999", "--k", "9", "--m", "9"], "");
    assert_eq!(status(&output), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("transitions"));

    let output = referee(&["check", "--language", "gt", "--format", "json", "-"], "a -> b (l . ");
    assert_eq!((status(&output), &json(&output)["projection"]), (2, &Value::Null));
}

#[test]
fn properties_in_a_folder_are_checked_too() {
    let folder = std::env::temp_dir().join(format!("referee-folder-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("p.hml"), "max X.(X)").unwrap();
    std::fs::write(folder.join("q.kmc"), "A: B!x; end  B: A?x; end").unwrap();
    let output = referee(&["check", folder.to_str().unwrap()], "");
    assert_eq!(status(&output), 2);
    assert!(stdout(&output).contains("2 files checked"), "{}", stdout(&output));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn fix_puts_right_what_is_certain_and_nothing_else() {
    let wrong = "protocol P(role A, role B) {\n  m() from A to B\n}\n";
    let right = "protocol P(role A, role B) {\n  m() from A to B;\n}\n";
    let folder = std::env::temp_dir().join(format!("referee-fix-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("p.scr");
    let path = file.to_str().unwrap();
    std::fs::write(&file, wrong).unwrap();
    let output = referee(&["fix", "--dry-run", path], "");
    assert_eq!(status(&output), 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), wrong);
    let shown = format!("{path}:2: `;` is missing behind `B`\n-   m() from A to B\n+   m() from A to B;\n");
    assert_eq!(stdout(&output), shown);
    let output = referee(&["fix", path], "");
    assert_eq!((status(&output), stdout(&output)), (0, shown));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), right);
    let output = referee(&["fix", path], "");
    assert_eq!((status(&output), stdout(&output)), (0, String::new()));
    let unsure = "protocol P(role A, role B) {\n  m() from to B;\n}\n";
    std::fs::write(&file, unsure).unwrap();
    let output = referee(&["fix", path], "");
    assert_eq!((status(&output), stdout(&output)), (2, String::new()));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), unsure);
    std::fs::remove_dir_all(&folder).unwrap();
    let output = referee(&["fix", "-", "--language", "scr"], wrong);
    assert_eq!((status(&output), stdout(&output)), (0, right.to_owned()));
}

#[test]
fn corrections_are_shown_and_are_data() {
    let wrong = "protocol P(role A, role B) {\n  m() form A to B;\n}\n";
    let output = referee(&["check", "-", "--language", "scr"], wrong);
    let shown = format!("{}{}", stdout(&output), String::from_utf8_lossy(&output.stderr));
    assert!(shown.contains("did you mean `from`?") && shown.contains("+   m() from A to B;"), "{shown}");
    let output = referee(&["check", "-", "--language", "scr", "--format", "json"], wrong);
    let fix = &json(&output)["diagnostics"][0]["fix"];
    let edit = serde_json::json!({"text": "from", "line": 2, "column": 7, "end_line": 2, "end_column": 11});
    assert_eq!(*fix, serde_json::json!({"certain": true, "edits": [edit]}));
}

#[test]
fn protocols_move_between_languages() {
    let machines = "A: rec x . B!ping<int>; B?pong; x\nB: rec x . A?ping<int>; A!pong; x\n";
    let output = referee(&["convert", "-", "--language", "kmc", "--to", "scr"], machines);
    let expected = "protocol Protocol(role A, role B) {\n  rec X {\n    ping(int) from A to B;\n    \
                    pong() from B to A;\n    continue X;\n  }\n}\n";
    assert_eq!((status(&output), stdout(&output)), (0, expected.to_owned()));
    let output = referee(&["convert", "-", "--language", "scr", "--to", "gt"], GOOD);
    assert_eq!(status(&output), 2);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("cannot be expressed in `gt`, because `Ping` has an assertion"), "{said}");
    let output = referee(&["convert", "-", "--language", "scr", "--to", "kmc"], GOOD);
    assert_eq!(status(&output), 0);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("conditions, such as that of `Ping`, cannot be said in `kmc`"), "{said}");
    let output =
        referee(&["convert", "-", "--language", "scr", "--to", "kmc"], &GOOD.replace(" where x > 0", ""));
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    let arguments = ["show", "-", "--language", "scr", "--view", "local", "--role", "b", "--format", "nuscr"];
    assert_eq!(stdout(&referee(&arguments, GOOD)), "Ping(x: int{x > 0}) from a;\n(end)\n");
    let arguments = ["show", "-", "--language", "scr", "--view", "machine", "--role", "b", "--format", "dot"];
    let dot = stdout(&referee(&arguments, GOOD));
    assert!(dot.contains("a?Ping(x: int)"), "{dot}");
}

/// A pipe or a device in a folder may be read for ever: folders stand for their regular files.
#[cfg(unix)]
#[test]
fn pipes_and_devices_in_a_folder_are_not_read() {
    let folder = std::env::temp_dir().join(format!("referee-cli-pipes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.kmc"), "A: B!x; end\nB: A?x; end\n").unwrap();
    std::os::unix::fs::symlink(folder.join("a.kmc"), folder.join("link.kmc")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.scr")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.join("pipe.scr")).status().unwrap();
    assert!(made.success());
    let output = referee(&["check", folder.to_str().unwrap()], "");
    let text = String::from_utf8(output.stdout).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(text.contains("2 files checked"), "{text}");
}

/// A pipe that is named is read, and whoever waits for it can be ended.
#[cfg(unix)]
#[test]
fn waiting_for_a_pipe_ends_with_the_first_signal() {
    let pipe = std::env::temp_dir().join(format!("referee-cli-{}.scr", std::process::id()));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child =
        std::process::Command::new(env!("CARGO_BIN_EXE_referee")).arg("check").arg(&pipe).spawn().unwrap();
    // The handler of signals is set before the pipe is opened: without a reader this waits.
    let writer = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    let kill = std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(kill.success());
    let status = child.wait().unwrap();
    drop(writer);
    std::fs::remove_file(&pipe).unwrap();
    assert!(!status.success());
}
