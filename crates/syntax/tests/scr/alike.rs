//! Branches of a choice that begin with the same message.

use referee_syntax::source::Span;
use referee_syntax::{Analysis, Content, Language, parse};

/// Errors and warnings about branches, in a protocol of four roles with this body.
fn said(body: &str) -> Vec<&'static str> {
    let text = format!("protocol P(role a, role b, role c, role d) {{ {body} }}");
    let found = Analysis::of(parse(&text, Language::Scr)).diagnostics;
    let about = found.iter().filter(|d| d.is_error() || d.code.id == "RF0221");
    about.map(|d| d.code.id).collect()
}

/// Branches that begin alike are one, as long as one role sends what tells them apart.
#[test]
fn branches_may_begin_alike() {
    for (body, expected) in [
        ("choice at a { M() from a to b; } or { M() from a to b; }", &[][..]),
        (
            "choice at a { M() from a to b; K() from b to a; L() from a to b; } or { M() from a to b; K() from b to a; R() from a to b; }",
            &[],
        ),
        (
            "rec X { choice at a { M() from a to b; L() from a to b; continue X; } or { M() from a to b; R() from a to b; } }",
            &[],
        ),
        // Another role decides: Scribble accepts the first, because nobody else has to know.
        (
            "choice at a { M() from a to b; L() from b to c; } or { M() from a to b; R() from b to c; }",
            &["RF0221"],
        ),
        (
            "choice at a { M() from a to b; L() from b to a; } or { M() from a to b; R() from b to a; }",
            &["RF0221"],
        ),
        (
            "rec X { choice at a { M() from a to b; L() from b to c; continue X; } or { M() from a to b; R() from b to c; continue X; } }",
            &["RF0221"],
        ),
        // What `b` chooses in either branch decides between none of them: `a` does.
        (
            "choice at a { M() from a to b; choice at b { L() from b to a; } or { R() from b to a; } E() from a to b; }
             or { M() from a to b; choice at b { L() from b to a; } or { R() from b to a; } F() from a to b; }",
            &[],
        ),
        // Who decides is one thing, whether others learn of it another.
        (
            "choice at a { M() from a to b; L() from b to c; S() from a to d; } or { M() from a to b; R() from b to c; T() from a to d; }",
            &["RF0404", "RF0221"],
        ),
    ] {
        assert_eq!(said(body), expected, "{body}");
    }
}

/// Who decides is told where it does: `b` between the first two branches and the third, then `c` between those two.
#[test]
fn the_warning_is_at_what_tells_branches_apart() {
    let text = "protocol P(role a, role b, role c) { choice at a {
        M() from a to b; L() from b to c; E() from c to a; } or {
        M() from a to b; L() from b to c; F() from c to a; } or {
        M() from a to b; K() from b to c; F() from c to a; } }";
    let found = Analysis::of(parse(text, Language::Scr)).diagnostics;
    let at = |span: Span| &text[span.start as usize..][..1];
    let said: Vec<(&str, &str)> = found
        .iter()
        .filter(|found| found.code.id == "RF0221")
        .map(|found| (at(found.span), at(found.related[0].0)))
        .collect();
    assert_eq!(said, [("F", "E"), ("K", "L")]);
}

/// What is refused, each for its reason: no determinisation of the roles' machines is safe, or there is none. Which messages nobody can
/// choose between is said.
#[test]
fn branches_that_cannot_be_told_apart_are_refused() {
    for body in [
        // One branch ends: whoever waits for `L` cannot know whether it comes.
        "choice at a { M() from a to b; L() from a to b; } or { M() from a to b; }",
        // Told apart by two roles, neither of which knows of the other: `L` and `R` may both be sent.
        "choice at a { M() from a to b; L() from a to b; } or { M() from a to b; R() from b to a; }",
        // `b` sends `K` first if it guesses one branch, and then waits for `L` while `a` has sent `R`.
        "choice at a { M() from a to b; K() from b to c; L() from a to b; } or { M() from a to b; R() from a to b; K() from b to c; }",
        // One label, two payloads or two conditions.
        "choice at a { M(int) from a to b; L() from a to b; } or { M(string) from a to b; R() from a to b; }",
        "choice at a { M(x: int) from a to b where x > 0; } or { M(x: int) from a to b where x < 0; }",
        // Messages that have a role in common, or of which one reads what the other says, keep their order.
        "choice at a { M() from a to b; X() from a to c; Y() from d to c; } or { M() from a to b; Y() from d to c; X() from a to c; }",
        "choice at a { M() from a to b; X(n: int) from a to c; Y(n: int) from b to d; K() from a to c where n > 0; }
         or { M() from a to b; Y(n: int) from b to d; X(n: int) from a to c; K() from a to c where n > 0; }",
    ] {
        assert_eq!(said(body), ["RF0202"], "{body}");
    }
}

/// The order of messages that have no role in common is nobody's: branches that differ in it are read as if they did not.
#[test]
fn the_order_of_independent_messages_is_nobodys() {
    let header = "protocol P(role a, role b, role c, role d, role e, role f)";
    for (one, other, expected, together) in [
        (
            "X() from a to c; Y() from b to d;",
            "Y() from b to d; X() from a to c;",
            &[][..],
            "X() from a to c; Y() from b to d;",
        ),
        (
            "X() from a to c; Y() from b to d; Z() from e to f;",
            "Z() from e to f; Y() from b to d; X() from a to c;",
            &[],
            "X() from a to c; Y() from b to d; Z() from e to f;",
        ),
        (
            "X() from a to c; Y() from b to d; L() from a to c;",
            "Y() from b to d; R() from a to c;",
            &[],
            "choice at a { X() from a to c; Y() from b to d; L() from a to c; } or { R() from a to c; Y() from b to d; }",
        ),
        (
            "Y() from b to d; L() from c to e; K() from e to a;",
            "R() from c to e; K() from e to a; Y() from b to d;",
            &["RF0221"],
            "choice at c { L() from c to e; Y() from b to d; K() from e to a; } or { R() from c to e; Y() from b to d; K() from e to a; }",
        ),
    ] {
        let alike = format!(
            "{header} {{ choice at a {{ M() from a to b; {one} }} or {{ M() from a to b; {other} }} }}"
        );
        let apart = format!("{header} {{ M() from a to b; {together} }}");
        let found = Analysis::of(parse(&alike, Language::Scr)).diagnostics;
        let found: Vec<&str> =
            found.iter().filter(|d| d.is_error() || d.code.id == "RF0221").map(|d| d.code.id).collect();
        assert_eq!(found, expected, "{alike}");
        for role in ["a", "b", "c", "d", "e", "f"] {
            assert_eq!(machine(&alike, role), machine(&apart, role), "{role}: {alike}");
        }
    }
}

/// Who waits in vain for a message that two branches begin with may do so only if both say it; that one does has no effect, which is
/// said.
#[test]
fn whoever_may_wait_may_in_every_branch() {
    for (one, other, expected) in [
        ("@\"may wait\"", "", 1),
        ("", "@\"may wait\"", 1),
        ("@\"may wait\"", "@\"may wait\"", 0),
        ("", "", 0),
    ] {
        let text = format!(
            "protocol P(role a, role b) {{ choice at a {{ M() from a to b; {one} L() from a to b; }} or {{ M() from a to b; {other} R() from a to b; }} }}"
        );
        let document = parse(&text, Language::Scr);
        let said = document.diagnostics.iter().filter(|found| found.code.id == "RF0222").count();
        assert_eq!((said, document.is_usable()), (expected, true), "{text}");
    }
}

/// The transitions of the machine of `role` in the first protocol of `text`.
fn machine(text: &str, role: &str) -> Vec<String> {
    let document = parse(text, Language::Scr);
    let Content::Global(protocols) = &document.content else { panic!("not global") };
    let global = protocols[0].global.as_ref().expect("no errors");
    let vocabulary = global.vocabulary();
    let machine = global.project(vocabulary.find_role(role).expect("a role")).expect("a projection");
    let mut steps = Vec::new();
    for state in machine.states() {
        for t in machine.transitions(state) {
            let (peer, label) = (vocabulary.role_name(t.peer), vocabulary.label_of(t.message));
            steps.push(format!("{} {peer}{}{label} {}", state.0, t.action.symbol(), t.target.0));
        }
    }
    steps
}

/// Every role's machine is that of the protocol with the common message before the choice: its monitor accepts each branch, and
/// blames nobody who follows one.
#[test]
fn what_begins_alike_is_a_choice_behind_the_common_message() {
    for (by, first, one, other) in [
        ("b", "M() from a to b;", "L() from b to c; N() from b to a;", "R() from b to c; O() from b to a;"),
        (
            "a",
            "M() from a to b; K() from b to c;",
            "L() from a to b; P() from b to c;",
            "R() from a to b; Q() from b to c;",
        ),
        ("c", "M() from a to b; K() from b to c;", "L() from c to b;", "R() from c to b; N() from b to a;"),
    ] {
        let header = "protocol P(role a, role b, role c)";
        let alike = format!("{header} {{ choice at a {{ {first} {one} }} or {{ {first} {other} }} }}");
        let apart = format!("{header} {{ {first} choice at {by} {{ {one} }} or {{ {other} }} }}");
        for role in ["b", "c"] {
            assert_eq!(machine(&alike, role), machine(&apart, role), "{alike}");
        }
        let errors = |text: &str| -> Vec<&str> {
            let found = Analysis::of(parse(text, Language::Scr)).diagnostics;
            found.iter().filter(|d| d.is_error()).map(|d| d.code.id).collect()
        };
        assert_eq!(errors(&alike), errors(&apart), "{alike}");
    }
}
