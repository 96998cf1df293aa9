//! What protocols mean, and what is refused because it means nothing: one line for each case.

use referee_syntax::{Analysis, Language, parse};

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
        ("do S<Pay(int), int>(a, b);", &["RF0107"]),
        ("do S<Pay(int)>(a);", &["RF0107"]),
    ] {
        let text = format!("{declared} protocol P(role a, role b) {{ {call} }}");
        assert_eq!(errors(&text), expected, "{call}");
    }
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
