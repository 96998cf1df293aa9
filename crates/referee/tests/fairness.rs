//! Liveness with fairness of choices and without: the answers that Scribble gives, with `-fair` and without it, for
//! protocols of the shapes of its tests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test may panic")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

/// A protocol, and whether Scribble accepts it with `-fair` and without.
struct Case {
    shape: &'static str,
    fair: bool,
    unfair: bool,
    text: &'static str,
}

const fn case(shape: &'static str, fair: bool, unfair: bool, text: &'static str) -> Case {
    Case { shape, fair, unfair, text }
}

const CASES: [Case; 12] = [
    case(
        "who waits hears only when the loop is left",
        true,
        false,
        "global protocol P(role buyer, role shop, role bank) { rec L { choice at buyer
           { pay() from buyer to shop; transfer() from shop to bank; }
           or { browse() from buyer to shop; continue L; } } }",
    ),
    case(
        "who waits hears in every round",
        true,
        true,
        "global protocol P(role buyer, role shop, role bank) { rec L { choice at buyer
           { pay() from buyer to shop; transfer() from shop to bank; }
           or { browse() from buyer to shop; hold() from shop to bank; continue L; } } }",
    ),
    case(
        "the other branch leaves the loop by way of who waits",
        true,
        false,
        "global protocol P(role a, role b, role c) { rec L { step() from a to c; choice at a
           { more() from a to c; continue L; }
           or { done() from a to b; done() from a to c; } } }",
    ),
    case(
        "an endless loop tells somebody in one branch only",
        true,
        false,
        "global protocol P(role a, role b, role c) { rec L { choice at a
           { both() from a to b; too() from a to c; continue L; }
           or { one() from a to b; continue L; } } }",
    ),
    case(
        "a loop behind a choice, with a choice of another role in it",
        true,
        false,
        "global protocol P(role a, role b, role c, role d) { choice at a {
             go() from a to b;
             rec L { next() from a to b; ask() from b to c; choice at c
               { quiet() from c to a; continue L; }
               or { loud() from c to a; news() from c to d; continue L; } } }
           or { stop() from a to b; stop() from b to c; stop() from c to d; } }",
    ),
    case(
        "the same, with the continuation behind the choice",
        true,
        false,
        "global protocol P(role a, role b, role c, role d) { choice at a {
             go() from a to b;
             rec L { next() from a to b; ask() from b to c; choice at c
               { quiet() from c to a; }
               or { loud() from c to a; news() from c to d; }
               continue L; } }
           or { stop() from a to b; stop() from b to c; stop() from c to d; } }",
    ),
    case(
        "recursion through other protocols",
        true,
        false,
        "global protocol P(role a, role b, role c) { choice at a { skip() from a to b; do P(a, b, c); }
           or { do Tell(a, b, c); } }
         aux global protocol Tell(role a, role b, role c) { say() from a to b; on() from b to c; do P(a, b, c); }",
    ),
    case(
        "loops in one another",
        true,
        false,
        "global protocol P(role a, role b, role c) { rec O { choice at a
           { rec I { choice at a { in() from a to b; continue I; }
                     or { out() from a to c; continue O; }
                     or { end() from a to b; end() from a to c; } } }
           or { again() from a to b; continue O; } } }",
    ),
    case(
        "the receiver answers, and chooses whether to tell",
        true,
        false,
        "global protocol P(role a, role b, role c) { rec L { ask() from a to b; choice at b
           { no() from b to a; continue L; }
           or { yes() from b to a; told() from b to c; continue L; } } }",
    ),
    case(
        "the choice tells everybody, whichever it is",
        true,
        true,
        "global protocol P(role a, role b, role c) { rec L { choice at a
           { left() from a to b; left() from a to c; continue L; }
           or { right() from a to b; right() from a to c; continue L; } } }",
    ),
    case(
        "no choice",
        true,
        true,
        "global protocol P(role a, role b, role c) { rec L { x() from a to b; y() from b to c; z() from c to a; continue L; } }",
    ),
    case(
        "a loop between two",
        true,
        true,
        "global protocol P(role a, role b) { rec L { choice at a { more() from a to b; continue L; } or { end() from a to b; } } }",
    ),
];

/// The verdict of `check` with `option`, and its witness' kind.
fn verdict(text: &str, option: &str) -> (String, Value) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_referee"))
        .args(["check", "--language", "scr", "--format", "json", option, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answer = &value["protocols"][0]["compatibility"];
    assert_eq!(answer["fair"], option == "--fair", "{value:#}");
    (answer["verdict"].as_str().unwrap_or_else(|| panic!("{value:#}")).to_owned(), answer["witness"].clone())
}

#[test]
fn scribbles_liveness() {
    for Case { shape, fair, unfair, text } in CASES {
        let name = |safe| if safe { "safe" } else { "unsafe" };
        assert_eq!(verdict(text, "--fair").0, name(fair), "with fairness: {shape}");
        let (verdict, witness) = verdict(text, "--no-fair");
        assert_eq!(verdict, name(unfair), "without: {shape}");
        if !unfair {
            assert_eq!(witness["violation"], "starved", "{shape}");
        }
    }
}

/// What is wrong with fairness is wrong without, too.
#[test]
fn no_fairness_excuses_nothing() {
    let stuck = "protocol P(role a, role b, role c) { rec L { x() from a to b; continue L; } }
                 protocol Q(role a, role b) { x() from a to b; }";
    assert_eq!(verdict(stuck, "--no-fair").0, "safe");
}

#[test]
fn the_loop_is_shown() {
    let (_, witness) = verdict(CASES[0].text, "--no-fair");
    assert_eq!(
        witness["explanation"],
        "`bank` waits for `transfer` from `shop` for ever if the last 2 steps are repeated, as `buyer` may choose without fairness"
    );
    assert_eq!(witness["loop_from"], 0, "{witness:#}");
    assert_eq!(witness["ground"], "repeated", "{witness:#}");
}
