//! What protocols mean, and what is refused because it means nothing: one line for each case.

use referee_syntax::{Analysis, Content, Followers, Language, parse};

/// The codes of the errors that `text` has, in order.
fn errors(text: &str) -> Vec<&'static str> {
    let analysis = Analysis::of(parse(text, Language::Scr));
    analysis.diagnostics.iter().filter(|d| d.is_error()).map(|d| d.code.id).collect()
}

fn in_protocol(body: &str) -> String {
    format!("protocol P(role a, role b, role c, role d) {{ {body} }}")
}

/// What is behind a loop happens only if the loop can be left.
#[test]
fn nothing_follows_an_endless_loop() {
    for (body, expected) in [
        ("rec X { Ping() from a to b; continue X; } Pay() from c to d;", &["RF0205"][..]),
        (
            "rec X { choice at a { L() from a to b; continue X; } or { R() from a to b; continue X; } } Pay() from a to b;",
            &["RF0205"],
        ),
        ("rec X { rec Y { Ping() from a to b; continue Y; } } Pay() from c to d;", &["RF0205"]),
        ("rec X { rec Y { Ping() from a to b; continue X; } Pay() from c to d; }", &["RF0205"]),
        (
            "rec X { choice at a { L() from a to b; continue X; } or { R() from a to b; } } Pay() from a to b;",
            &[],
        ),
        ("rec X { Ping() from a to b; } Pay() from a to b;", &[]),
    ] {
        assert_eq!(errors(&in_protocol(body)), expected, "{body}");
    }
    let done = "aux protocol Loop(role a, role b) { rec X { Ping() from a to b; continue X; } }
        aux protocol Self(role a, role b) { Ping() from a to b; do Self(a, b); }
        aux protocol Once(role a, role b) { Ping() from a to b; }";
    for (called, expected) in [("Loop", &["RF0205"][..]), ("Self", &["RF0205"]), ("Once", &[])] {
        let text = format!("{done} protocol P(role a, role b) {{ do {called}(a, b); Pay() from a to b; }}");
        assert_eq!(errors(&text), expected, "{text}");
    }
}

/// A branch may begin with a `continue`, in a recursion or not: it begins with the messages of the loop that it goes on with. A
/// loop without a message before that `continue` never gets anywhere.
#[test]
fn a_branch_may_begin_with_continue() {
    for (body, expected) in [
        ("rec X { M() from a to b; choice at a { continue X; } or { L() from a to b; } }", &[][..]),
        ("rec X { M() from a to b; choice at a { rec Y { continue X; } } or { L() from a to b; } }", &[]),
        (
            "rec X { M() from a to b; rec Y { choice at a { continue X; } or { K() from a to b; continue Y; } } }",
            &[],
        ),
        // Who chooses sends the first message of the loop.
        ("rec X { M() from a to b; choice at b { continue X; } or { L() from b to a; } }", &["RF0206"]),
        // The loop begins as the other branch does.
        ("rec X { M() from a to b; choice at a { continue X; } or { M(int) from a to b; } }", &["RF0202"]),
        ("rec X { choice at a { continue X; } or { L() from a to b; } }", &["RF0203"]),
        ("rec X { choice at a { rec Y { continue X; } } or { L() from a to b; } }", &["RF0203"]),
        (
            "rec X { M() from a to b; choice at a { rec Y { continue Y; } } or { L() from a to b; } }",
            &["RF0203"],
        ),
    ] {
        assert_eq!(errors(&in_protocol(body)), expected, "{body}");
    }
}

/// Roles that may be connected already are not connected again, whatever the way on which they were.
#[test]
fn connections_are_made_once() {
    for (body, expected) in [
        ("connect a to b; M() from a to b;", &[][..]),
        ("connect a to b; connect b to a; M() from a to b;", &["RF0219"]),
        ("M() connect a to b; connect a to b;", &["RF0219"]),
        ("connect a to b; M() from a to b; disconnect a and b; connect a to b; K() from a to b;", &[]),
        (
            "connect a to b; choice at a { L() from a to b; connect b to c; K() from b to c; } or { R() from a to b; }",
            &[],
        ),
        (
            "connect a to b; choice at a { L() from a to b; connect b to c; K() from b to c; } or { R() from a to b; } connect b to c; K() from b to c;",
            &["RF0219"],
        ),
        ("rec X { connect a to b; M() from a to b; continue X; }", &["RF0219"]),
        ("rec X { connect a to b; M() from a to b; disconnect a and b; continue X; }", &[]),
        (
            "connect a to b; rec X { rec Y { M() from a to b; choice at a { L() from a to b; connect b to c; K() from b to c; continue X; } or { R() from a to b; continue Y; } } }",
            &["RF0219"],
        ),
        (
            "connect a to b; connect a to c; connect b to c; M() from a to b; K() from b to c; L() from a to c;",
            &[],
        ),
    ] {
        let text = in_protocol(body).replacen("protocol", "explicit global protocol", 1);
        assert_eq!(errors(&text), expected, "{body}");
    }
}

/// In an explicit protocol, roles that send one another something are connected on every way that leads there, `do` included.
#[test]
fn who_sends_is_connected() {
    let around = "aux global protocol Open(role x, role y) { connect x to y; M() from x to y; }
        aux global protocol Say(role x, role y) { K() from x to y; }
        aux global protocol Again(role x, role y) { choice at x { K() from x to y; do Again(x, y); } or { L() from x to y; disconnect x and y; } }";
    for (body, expected) in [
        ("M() from a to b;", &["RF0220"][..]),
        ("M() from a to b; K() from b to a; L() from a to b;", &["RF0220"]),
        ("M() from a to b; K() from b to c;", &["RF0220", "RF0220"]),
        ("connect a to b; M() from b to a;", &[]),
        ("M() connect a to b; K() from b to a;", &[]),
        ("connect a to b; disconnect a and b; M() from a to b;", &["RF0220"]),
        ("disconnect a and b; connect a to b; M() from a to b;", &["RF0220"]),
        (
            "connect a to b; choice at a { L() from a to b; connect b to c; K() from b to c; } or { R() from a to b; connect b to c; H() from b to c; } N() from b to c;",
            &[],
        ),
        (
            "connect a to b; choice at a { L() from a to b; connect b to c; K() from b to c; } or { R() from a to b; N() from b to c; }",
            &["RF0220"],
        ),
        // Connected on the way in, not on the way round.
        (
            "connect a to b; connect b to c; rec X { M() from a to b; K() from b to c; disconnect b and c; continue X; }",
            &["RF0220"],
        ),
        ("connect a to b; rec X { M() from a to b; continue X; }", &[]),
        ("do Open(a, b); do Say(b, a);", &[]),
        ("do Say(a, b);", &["RF0220"]),
        ("do Open(a, b); do Open(b, c); do Say(c, a);", &["RF0220"]),
        ("do Open(a, b); do Open(b, a);", &["RF0219"]),
        ("do Open(a, b); do Again(a, b);", &[]),
        ("do Again(a, b);", &["RF0220"]),
        ("do Open(a, b); do Again(a, b); do Say(a, b);", &["RF0220"]),
        // A role that nobody declares is a mistake of its own.
        ("connect a to b; M() from a to b; M() from a to nobody;", &["RF0103"]),
    ] {
        let text = in_protocol(body).replacen("protocol", "explicit global protocol", 1);
        assert_eq!(errors(&format!("{around}\n{text}")), expected, "{body}");
        // Where nothing is said about connections, all are connected.
        let implicit = errors(&format!("{around}\n{}", in_protocol(body)));
        assert!(!implicit.contains(&"RF0220"), "{body}: {implicit:?}");
    }
}

/// Recursion data: names, values, who knows them.
#[test]
fn recursion_data_are_checked() {
    for (body, expected) in [
        ("rec X [n<a>: int = 0] { M(u: int) from a to b where u == n; continue X [n + 1]; }", &[][..]),
        ("rec X [n<a>: int = 0] { M(n: int) from a to b; continue X [n + 1]; }", &["RF0316"]),
        ("rec X [n<a>: int = 0] { rec Y [n<a>: int = 1] { M() from a to b; continue Y; } }", &["RF0316"]),
        ("M(n: int) from a to b; rec X [n<a>: int = n] { K(u: int) from a to b where u == n; continue X; }", &[]),
        ("rec X [n<a>: (n: int{n > 0}) = 0] { M() from a to b; continue X; }", &["RF0312"]),
        ("rec X [n<a>: (x: int{x > 0}) = 1] { M() from a to b; continue X [n + 1]; }", &[]),
        ("rec X [n<a>: (x: int{x > 0}) = 1 / 0] { M() from a to b; continue X; }", &["RF0312"]),
        // c takes part in every round, but b does not tell it which.
        ("rec X [n<a, b, c>: int = 0] {
            choice at a { L() from a to b; M(u: int) from b to c where u == n; continue X [n + 1]; }
            or { R() from a to b; M(u: int) from b to c where u == n; continue X [n + 2]; } }", &["RF0317"]),
        // Who never reads the data need not be able to follow them.
        ("rec X [n<a, b, c>: int = 0] {
            choice at a { L(u: int) from a to b where u == n; continue X [n + 1]; } or { R() from a to b; M() from b to c; } }", &[]),
        ("rec X [n<a>: int = 0] { M() from a to b; choice at a { S() from a to b; } or { continue X [n + 1]; } }", &["RF0318"]),
        ("rec X [n<a>: int = 0] { M(u: int) from a to b where u == n; choice at a { S() from a to b; } or { continue X; } }", &[]),
    ] {
        assert_eq!(errors(&in_protocol(body)), expected, "{body}");
    }
}

/// Arguments of `do` are of the kind of the parameter.
#[test]
fn arguments_have_their_kind() {
    let declared = "sig <java> \"a.B\" from \"a/B.java\" as Known;
        aux protocol T<type X>(role a, role b) { M(X) from a to b; }
        aux protocol S<sig X>(role a, role b) { X from a to b; }";
    for (call, expected) in [
        ("do T<int>(a, b);", &[][..]),
        ("do T<Pay(int)>(a, b);", &["RF0119"]),
        ("do T<Known>(a, b);", &["RF0119"]),
        ("do S<Pay(int)>(a, b);", &[]),
        ("do S<Known>(a, b);", &[]),
        ("do S<int>(a, b);", &["RF0119"]),
        // A type need not be declared; a message without parentheses is one that is.
        ("do T<Unknown>(a, b);", &[]),
        ("do S<Unknown>(a, b);", &["RF0119"]),
        ("do S<Unknown()>(a, b);", &[]),
        ("do S<Pay(int), int>(a, b);", &["RF0107"]),
        ("do S<Pay(int)>(a);", &["RF0107"]),
        // Two mistakes, two errors; and a role given twice is one of them where there are too many.
        ("do S<Pay(int), int>(a);", &["RF0107", "RF0107"]),
        ("do S<Pay(int)>(a, b, b);", &["RF0107"]),
        ("do S<Pay(int)>(a, a);", &["RF0108"]),
    ] {
        let text = format!("{declared} protocol P(role a, role b) {{ {call} }}");
        assert_eq!(errors(&text), expected, "{call}");
    }
}

/// Parameters keep their kind where they are passed on and where they are used, in a protocol that nobody does as well.
#[test]
fn parameters_have_their_kind() {
    let declared = "aux protocol T<type X>(role a, role b) { M(X) from a to b; }
        aux protocol S<sig X>(role a, role b) { X from a to b; }";
    for (parameters, body, expected) in [
        ("type X", "do T<X>(a, b);", &[][..]),
        ("sig X", "do S<X>(a, b);", &[]),
        ("sig X", "do T<X>(a, b);", &["RF0119"]),
        ("type X", "do S<X>(a, b);", &["RF0119"]),
        ("type X", "X from a to b;", &["RF0119"]),
        ("type X", "X() from a to b;", &[]),
        ("type X", "M(list<X>) from a to b;", &[]),
        ("sig X", "X from a to b;", &[]),
        ("sig X", "M(X) from a to b;", &["RF0119"]),
        ("sig X", "M(list<X>) from a to b;", &["RF0119"]),
        // A parameter hides what is declared elsewhere.
        ("sig int", "do S<int>(a, b);", &[]),
    ] {
        for auxiliary in ["", "aux "] {
            let text = format!("{declared} {auxiliary}protocol P<{parameters}>(role a, role b) {{ {body} }}");
            assert_eq!(errors(&text), expected, "{text}");
        }
    }
}

/// One mistake, one error.
#[test]
fn a_recursive_do_that_is_not_last_is_one_mistake() {
    let text = "protocol P(role a, role b) { M() from a to b; do P(a, b); K() from a to b; }";
    assert_eq!(errors(text), ["RF0208"]);
    // What is behind a loop without an exit is told as ever.
    let text = "aux protocol Q(role a, role b) { M() from a to b; do Q(a, b); }
        protocol P(role a, role b) { do Q(a, b); K() from a to b; }";
    assert_eq!(errors(text), ["RF0205"]);
    let text = "protocol P<type T, sig T>(role a, role b) { M() from a to b; }";
    assert_eq!(errors(text), ["RF0109"]);
}

/// A check of an empty file must not succeed; a module of types may be imported.
#[test]
fn an_empty_file_is_an_error() {
    for (text, expected) in [
        ("", &["RF0006"][..]),
        (" \n\t // nothing\n/* here */ (* either *)", &["RF0006"]),
        ("module a.Types; type T = int;", &[]),
        ("type T = int;", &[]),
        ("§", &["RF0001"]),
    ] {
        assert_eq!(errors(text), expected, "{text:?}");
    }
    // There is nothing to lay out, which is no mistake.
    assert_eq!(referee_syntax::scr::format("").ok().as_deref(), Some(""));
}

/// Data are known in the body of their recursion only: elsewhere their name means a field, or nothing.
#[test]
fn data_are_known_in_the_body_of_their_recursion_only() {
    for (body, expected) in [
        (
            "choice at b { rec X [n<a, b>: int = 3] { In() from b to a; } } or { Out() from b to a where n > 1; }",
            &["RF0302"][..],
        ),
        ("rec X [n<a, b>: int = 3] { In() from b to a; } Out() from b to a where n > 1;", &["RF0302"]),
        (
            "rec X [n<a, b>: int = 3] { In() from b to a; } rec Y [k<a, b>: int = n] { M() from a to b where k > 1; }",
            &["RF0302"],
        ),
        ("rec X [n<a, b>: int = 3, k<a, b>: int = n] { M() from a to b where k > n; }", &["RF0302"]),
        ("rec X [n<a, b>: int = 3] { In() from b to a; } Out() from b to a within n;", &["RF0302"]),
        (
            "rec X [n<a, b>: int = 3] { rec Y [k<a, b>: int = n] { M() from a to b where k > n; } Out() from b to a where n > 1; }",
            &[],
        ),
        (
            "M(n: int) from a to b; rec X [n<a, b>: int = n] { In() from b to a where n > 0; } Out() from b to a where n > 1;",
            &[],
        ),
        // A field of the same type or of another one: it is another variable.
        (
            "M(n: string) from a to b; rec X [n<a, b>: int = 3] { In() from b to a where n > 0; } Out() from b to a where size(n) > 1;",
            &[],
        ),
        (
            "rec X [n<a, b>: int = 3] { In() from b to a where n > 0; } rec Y [n<a, b>: string = \"y\"] { On() from b to a where size(n) > 0; }",
            &[],
        ),
        ("rec X [n<a, b>: int = 3] { In() from b to a; } M(n: int) from a to b where n > 1;", &[]),
        (
            "choice at b { rec X [y<a, b>: int = 0] { In() from b to a where y > 0; } } or { Out(y: int) from b to a where y > 1; }",
            &[],
        ),
    ] {
        assert_eq!(errors(&in_protocol(body)), expected, "{body}");
    }
    let text = in_protocol("rec X [n<a, b>: int = 3] { In() from b to a; } Out() from b to a where n > 1;");
    let document = parse(&text, Language::Scr);
    let unknown = document.diagnostics.iter().find(|found| found.code.id == "RF0302").expect("an error");
    assert_eq!(&text[unknown.span.range()], "n");
    assert_eq!(unknown.message, "no message before this binds `n`");
}

/// The first message of a branch, in a recursion that begins it, reads the recursion's data.
#[test]
fn a_branch_begins_with_data() {
    let text = "choice at a {
          rec X [n<a, b>: int = 1] { M(u: int) from a to b where u == n; continue X [n + 1]; }
        } or { S() from a to b; }";
    assert_eq!(errors(&in_protocol(text)), [""; 0]);
    // Two data of one name would both have to have their values before the choice.
    let text = "choice at a {
          rec X [n<a, b>: int = 1] { M(u: int) from a to b where u == n; continue X [n + 1]; }
        } or {
          rec Y [n<a, b>: int = 2] { K(u: int) from a to b where u == n; continue Y [n + 1]; }
        }";
    assert_eq!(errors(&in_protocol(text)), ["RF0316", "RF0316"]);
}

/// Components alone need projections; monitors can pass on what a role does not see.
#[test]
fn an_undefined_projection_is_an_error_without_monitors() {
    let text = "protocol Shop(role buyer, role shop, role bank) {
        choice at buyer { Buy() from buyer to shop; Pay() from shop to bank; } or { Leave() from buyer to shop; } }";
    let said = |followers| {
        let analysis = Analysis::with(parse(text, Language::Scr), followers);
        let found = analysis.diagnostics.into_iter().find(|d| d.code.id.starts_with("RF04"));
        found.map(|d| (d.code.id, text[d.span.range()].to_owned(), d.help.unwrap_or_default()))
    };
    let (code, place, help) = said(Followers::Components).expect("an error");
    assert_eq!((code, place.as_str()), ("RF0401", "choice at buyer"));
    assert!(
        help.starts_with("without monitors `bank` can hang") && help.contains("--with-monitors"),
        "{help}"
    );
    // The note points at the choice, too.
    let (code, place, _) = said(Followers::Monitors).expect("a note");
    assert_eq!((code, place.as_str()), ("RF0411", "choice at buyer"));
}

/// nuScr's pragmas about refinements: what is decided, and that the rest is said.
#[test]
fn pragmas_about_refinements_are_honoured() {
    let said = |pragma: &str, body: &str| {
        let text = format!("(*# RefinementTypes, {pragma} #*) protocol P(role a, role b) {{ {body} }}");
        let found = parse(&text, Language::Scr).diagnostics;
        let asked = found.into_iter().filter(|d| ("RF0319".."RF0322").contains(&d.code.id));
        asked.map(|d| d.code.id).collect::<Vec<_>>()
    };
    for (body, expected) in [
        ("M(x: int{false}) from a to b;", &["RF0319"][..]),
        ("M(x: int{x > 0}) from a to b; K(y: int{y > x && y < 0}) from b to a;", &["RF0319"]),
        ("M(x: int{2 * x = 7}) from a to b;", &["RF0319"]),
        ("M(x: int{x > 0 && x < 2}) from a to b;", &[]),
        ("M(x: int{x % 2 = 0}) from a to b; K(y: int{y % 2 = 1 && x + y = 2 * x}) from b to a;", &["RF0319"]),
        ("M(x: int{x % 4 = 1 && x % 6 = 3}) from a to b;", &[]),
        ("M(x: int{x % 2 = -1 && x > 0}) from a to b;", &["RF0319"]),
        ("M(x: int{x / 2 = 1}) from a to b;", &["RF0321"]),
        ("M(b: bool) from a to b; K(c: bool{b && c && (not c)}) from b to a;", &["RF0319"]),
        ("M(x: int{x > 0}) from a to b; M(x: int{x < 0}) from a to b;", &[]),
        (
            "rec X [n<a, b>: (n: int{n >= 0}) = 0] { M(x: int{x = n && x < 0}) from a to b; continue X [n + 1]; }",
            &["RF0319"],
        ),
        ("M(x: string{x <> \"\"}) from a to b;", &["RF0321"]),
        ("M(x: int{x * x = 4}) from a to b;", &["RF0321"]),
    ] {
        assert_eq!(said("ValidateRefinementSatisfiability", body), expected, "{body}");
    }
    let never = "I(x: int{x > 0}) from a to b; rec X [n<a, b>: (m: int{m < 0}) = x] { M() from a to b; continue X [n]; }";
    assert_eq!(said("ValidateRefinementSatisfiability", never), ["RF0319"]);
    // One mistake, one error.
    let both = "ValidateRefinementSatisfiability, ValidateRefinementProgress";
    assert_eq!(said(both, "M(x: int{x > 3 && x < 2}) from a to b;"), ["RF0319"]);
    for (body, expected) in [
        ("N(x: int) from a to b; choice at b { P(u: unit{x > 0}) from b to a; } or { M(u: unit{x < 0}) from b to a; }", &["RF0320"][..]),
        ("N(x: int) from a to b; choice at b { P(u: unit{x > 0}) from b to a; } or { M(u: unit{x <= 0}) from b to a; }", &[]),
        ("N(x: int{x >= 0}) from a to b; P(y: int{y = x && y > 0}) from b to a;", &["RF0320"]),
        ("N(x: int{x > 0}) from a to b; P(y: int{y = x && y > 0}) from b to a;", &[]),
        ("N(x: int{x >= 0}) from a to b;
          rec X [n<a, b>: (n: int{n >= 0 && n <= x}) = 0] {
            choice at b { H(v: int{v = n && v > 0}) from b to a; continue X [n + 1]; }
            or { Z(v: int{v = n && v = 0}) from b to a; continue X [n + 1]; } }", &["RF0320"]),
        ("N(x: int{x >= 0}) from a to b;
          rec X [n<a, b>: (n: int{n >= 0 && n <= x}) = 0] {
            choice at b { H(u: unit{n < x}) from b to a; continue X [n + 1]; }
            or { Z(u: unit{n = x}) from b to a; } }", &[]),
        ("N(x: int{x % 2 = 0}) from a to b; choice at b { P(u: unit{x % 4 = 0}) from b to a; } or { M(u: unit{x % 4 = 2 || x % 4 = -2}) from b to a; }", &[]),
        ("N(x: int{x % 2 = 0}) from a to b; choice at b { P(u: unit{x % 4 = 0}) from b to a; } or { M(u: unit{x % 4 = 2}) from b to a; }", &["RF0320"]),
        // What recursion data ask of the message before counts.
        ("I() from a to b; rec X [n<a, b>: (m: int{m <= 0}) = 0] { M() from a to b; continue X [n + 1]; }", &["RF0320"]),
        ("N(x: int{x >= 0}) from a to b;
          rec X [n<a, b>: (n: int{n >= 0 && n <= x}) = 0] { H(v: int{v = n && v > 0}) from b to a; continue X [n + 1]; }", &["RF0320"]),
        ("N(x: string) from a to b; P(u: unit{x <> \"\"}) from b to a;", &["RF0321"]),
    ] {
        assert_eq!(said("ValidateRefinementProgress", body), expected, "{body}");
    }
    // Where they are not asked for, nothing is said; none that nuScr has is unknown.
    assert_eq!(said("Verbose", "M(x: int{false}) from a to b;"), [""; 0]);
    for known in ["SenderValidateRefinements", "ReceiverValidateRefinements", "PrintUsage"] {
        let text =
            format!("(*# RefinementTypes, {known} #*) protocol P(role a, role b) {{ M() from a to b; }}");
        assert!(parse(&text, Language::Scr).diagnostics.is_empty(), "{known}");
    }
}

/// Scribble's messages without an operator are told as what they are, not as two quotes.
#[test]
fn empty_labels_are_shown_as_such() {
    let text = "protocol P(role a, role b, role c) {
        choice at a { L() from a to b; (int) from b to c; } or { R() from a to b; (int) from c to b; } }";
    let said: Vec<String> = Analysis::with(parse(text, Language::Scr), Followers::Components)
        .diagnostics
        .into_iter()
        .map(|d| d.message)
        .collect();
    assert!(
        said.iter().any(|message| message.contains("waits for a message without a label from `b`")),
        "{said:?}"
    );
    assert!(said.iter().all(|message| !message.contains("``")), "{said:?}");
}

/// `connect a to b;` is a message like any other: `() connect a to b;` in Scribble's grammar.
#[test]
fn connecting_tells_who_is_connected() {
    let answered = "explicit global protocol P(role a, role b, role s) { connect a to b;
        choice at a { 1() from a to b; connect a to s; Port() from s to a; } or { 2() from a to b; } }";
    let crossed = "explicit global protocol P(role a, role b, role c) { connect a to b; connect a to c;
        choice at a { 1() from a to b; 1() from a to c; connect b to c; }
        or { 1() from a to b; 1() from a to c; connect c to b; } }";
    for (text, expected) in [(answered, &[][..]), (crossed, &["RF0202"])] {
        assert_eq!(errors(text), expected, "{text}");
        let spelt_out = text.replace("connect", "() connect");
        assert_eq!(errors(&spelt_out), expected, "{spelt_out}");
    }
}

/// Who has to be connected first may wait for that for ever, whether or not somebody is sure to connect.
#[test]
fn whoever_is_not_connected_may_wait() {
    for (body, waits) in [
        ("connect a to b; M() from a to b;", true),
        ("M() connect a to b; K() from b to a;", true),
        ("M() from a to b; connect b to c; connect a to b;", false),
        ("M() from b to a; connect a to b;", false),
        ("M() from a to b;", false),
    ] {
        let document = parse(&in_protocol(body), Language::Scr);
        let Content::Global(protocols) = &document.content else { panic!("not global") };
        let global = protocols[0].global.as_ref().expect("no errors");
        let machine =
            global.project(global.vocabulary().find_role("b").expect("role b")).expect("a projection");
        assert_eq!(!machine.accepting_states().is_empty(), waits, "{body}");
    }
}

/// A role that a pragma asks to check what it does not know is refused, and a pragma without effect is told.
#[test]
fn pragmas_that_ask_a_role_to_check_are_honoured() {
    let codes = |pragma: &str, body: &str| {
        let text = format!("(*# RefinementTypes{pragma} #*) {}", in_protocol(body));
        parse(&text, Language::Scr)
            .diagnostics
            .iter()
            .map(|d| d.code.id)
            .filter(|id| *id != "RF0116")
            .collect::<Vec<_>>()
    };
    let unknown_to_receiver = "M(x: int) from a to b; K(y: int{x = y}) from a to c;";
    let unknown_to_sender = "M(x: int) from a to b; N() from a to c; K(y: int{x = y}) from c to b;";
    for (body, sender, receiver) in [
        (unknown_to_receiver, &[][..], &["RF0310"][..]),
        (unknown_to_sender, &["RF0310"], &[]),
        ("M(x: int{x > 0}) from a to b;", &[], &[]),
    ] {
        assert_eq!(codes("", body), [""; 0], "{body}");
        assert_eq!(codes(", SenderValidateRefinements", body), sender, "{body}");
        assert_eq!(codes(", ReceiverValidateRefinements", body), receiver, "{body}");
    }
    // Branches of one label are nuScr's own then: they are neither told apart nor read as one.
    assert_eq!(codes(", GuardedUniqueness", "M() from a to b;"), [""; 0]);
    for (one, other) in [("x > 0", "x < 0"), ("x > 0", "x > 0"), ("true", "true")] {
        let body = format!(
            "choice at a {{ M(x: int{{{one}}}) from a to b; L() from a to b; }} or {{ M(x: int{{{other}}}) from a to b; R() from a to b; }}"
        );
        assert_eq!(codes(", GuardedUniqueness", &body), ["RF0118", "RF0202"], "{body}");
    }
}

/// Who answers for a value that others have settled, and has no other message to send, is told of before it is blamed.
#[test]
fn conditions_that_their_sender_cannot_meet_are_told() {
    let codes = |body: &str| {
        let text = format!("protocol P(role a, role b) {{ {body} }}");
        let document = parse(&text, Language::Scr);
        let ids = document.diagnostics.iter().map(|d| d.code.id).collect::<Vec<_>>();
        assert!(document.is_usable(), "{ids:?} {body}");
        ids
    };
    let looped = "rec X [n<a, b>: (n: int{n >= 0}) = k] { choice at a { L() from a to b; continue X [n - 1]; } or { R() from a to b; } }";
    for (before, expected) in [
        ("B(k: int) from a to b; C() from b to a;", &["RF0322"][..]),
        // Whoever settles the value answers for it, there or later.
        ("B(k: int) from a to b;", &[]),
        ("B(k: int) from a to b; C() from a to b;", &[]),
        ("B(k: int) from a to b where k > 3; C() from b to a;", &[]),
        ("B(k: int) from a to b where k > -3; C() from b to a;", &["RF0322"]),
        ("B(k: int) from a to b; C() from b to a where k >= 0;", &[]),
        ("B(k: int) from a to b where k % 2 == 0 && k > 0; C() from b to a;", &[]),
        // It may send something else.
        ("B(k: int) from a to b; choice at b { C() from b to a; } or { D(k: int{k > 0}) from b to a; }", &[]),
    ] {
        assert_eq!(codes(&format!("{before} {looped}")), expected, "{before}");
    }
    // Nobody has a say in a loop that counts down and is never left.
    assert_eq!(
        codes("rec X [n<a>: (n: int{n >= 0}) = 3] { L() from a to b; continue X [n - 1]; }"),
        ["RF0322"]
    );
    assert_eq!(codes("rec X [n<a>: (n: int{n >= 0}) = 3] { L() from a to b; continue X [n + 1]; }"), [""; 0]);
}

/// A declared message is read as a type where one stands, as nuScr reads it, of whichever module it is.
#[test]
fn declared_messages_are_types_as_well() {
    let text = "module a.B; sig <java> \"x.M\" from \"M.java\" as msg;
        protocol P(role a, role b) { L(msg, B.msg, a.B.msg) from a to b; K(B.sgm) from b to a; }";
    let ids: Vec<&str> = parse(text, Language::Scr).diagnostics.iter().map(|d| d.code.id).collect();
    assert_eq!(ids, ["RF0106"]);
}

/// `rec X` inside `rec X` is another loop: `continue X` goes to the innermost one that is called so, and gives its data.
#[test]
fn continue_goes_to_the_innermost_loop_of_that_name() {
    let text = |inner: &str| {
        in_protocol(&format!(
            "rec X [n<a, b>: int = 1] {{
               O(x: int) from a to b where x == n;
               rec {inner} [k<a, b>: int = 5] {{
                 choice at a {{ I(y: int) from a to b where y == k; continue {inner} [k + 1]; }} or {{ E() from a to b; }}
               }}
             }}"
        ))
    };
    let machine = |text: &str| {
        let document = parse(text, Language::Scr);
        let Content::Global(protocols) = document.content else { panic!("global protocols") };
        let global = protocols[0].global.as_ref().expect("a protocol without mistakes");
        referee_syntax::print::scr("P", global, &[]).expect("it can be printed")
    };
    assert_eq!(errors(&text("X")), [""; 0]);
    assert_eq!(machine(&text("X")).replace("X_2", "Y"), machine(&text("Y")));
    // Data of one name are refused, whatever the loops are called.
    assert_eq!(errors(&text("X").replace("k<a, b>", "n<a, b>").replace("y == k", "y == n")), ["RF0316"]);
}
