//! Relative types in the paper's notation: the paper's own examples (RV'23, Examples 6 and 10, Appendices A
//! and B).

use referee_reference::global::{Tree, call, exchange, message, rec};
use referee_theory::relative::Cause;

fn text(tree: &Tree, p: &str, q: &str) -> String {
    let participants: Vec<String> = tree.participants().into_iter().collect();
    let roles: Vec<&str> = participants.iter().map(String::as_str).collect();
    let global = tree.to_theory(&roles).unwrap();
    let role = |name| global.vocabulary().find_role(name).unwrap();
    global.relative(role(p), role(q)).unwrap().to_text()
}

/// Ga, equation (1).
fn authorisation() -> Tree {
    let login =
        exchange("c", "a", vec![("pwd", "str", exchange("a", "s", vec![("succ", "bool", call("X"))]))]);
    rec("X", exchange("s", "c", vec![("login", "", login), ("quit", "", Tree::End)]))
}

#[test]
fn example_6() {
    let tree = authorisation();
    assert_eq!(text(&tree, "c", "s"), "mu X.s!c{login<>.X, quit<>.end}");
    assert_eq!(text(&tree, "c", "a"), "mu X.(c?s)!a{login.c!a{pwd<str>.X}, quit.end}");
    assert_eq!(text(&tree, "s", "a"), "mu X.(s!c)!a{login.a!s{succ<bool>.X}, quit.end}");
}

/// The loop of Appendix A.
fn accounts() -> Tree {
    let commands =
        vec![("withdraw", "int", call("X")), ("deposit", "int", call("X")), ("quit", "", Tree::End)];
    rec("X", exchange("s", "c", vec![("account", "int", exchange("c", "s", commands))]))
}

const ACCOUNTS: &str = "mu X.s!c{account<int>.c!s{withdraw<int>.X, deposit<int>.X, quit<>.end}}";

/// G_ATM. The paper prints `quit` for the label `fail` in two of the projections.
#[test]
fn cash_machine() {
    let outcome = vec![
        ("ok", "", message("a", "c", "ok", accounts())),
        ("fail", "", message("a", "c", "fail", Tree::End)),
    ];
    let tree = exchange("c", "a", vec![("login", "str", exchange("a", "s", outcome))]);
    assert_eq!(text(&tree, "c", "s"), format!("(s?a)!c{{ok.{ACCOUNTS}, fail.end}}"));
    assert_eq!(text(&tree, "c", "a"), "c!a{login<str>.(a!s)!c{ok.a!c{ok<>.end}, fail.a!c{fail<>.end}}}");
    assert_eq!(text(&tree, "s", "a"), "a!s{ok<>.end, fail<>.end}");
}

/// G'_ATM: the same, with the dependency implicit.
#[test]
fn cash_machine_without_forwarding() {
    let outcome = vec![("ok", "", accounts()), ("fail", "", Tree::End)];
    let tree = exchange("c", "a", vec![("login", "str", exchange("a", "s", outcome))]);
    assert_eq!(text(&tree, "c", "s"), format!("(s?a)!c{{ok.{ACCOUNTS}, fail.end}}"));
    assert_eq!(text(&tree, "c", "a"), "c!a{login<str>.end}");
    assert_eq!(text(&tree, "s", "a"), "a!s{ok<>.end, fail<>.end}");
}

#[test]
fn example_10() {
    let body = exchange("p", "r", vec![("l'", "T'", call("X")), ("l''", "T''", Tree::End)]);
    let tree = exchange("p", "q", vec![("l", "T", rec("X", body))]);
    assert_eq!(text(&tree, "p", "q"), "p!q{l<T>.end}");
    assert_eq!(text(&tree, "p", "r"), "mu X.p!r{l'<T'>.X, l''<T''>.end}");
    assert_eq!(text(&tree, "q", "r"), "end");
}

/// G_w, Appendix B.
#[test]
fn weather() {
    let known =
        exchange("c", "w", vec![("coord", "str", exchange("w", "c", vec![("temp", "real", call("X"))]))]);
    let answer = exchange("d", "c", vec![("coord", "str", known), ("unknown", "", call("X"))]);
    let body = rec("X", exchange("c", "d", vec![("city", "str", answer)]));
    let tree = exchange("c", "w", vec![("key", "str", body)]);
    assert_eq!(text(&tree, "c", "d"), "mu X.c!d{city<str>.d!c{coord<str>.X, unknown<>.X}}");
    assert_eq!(
        text(&tree, "c", "w"),
        "c!w{key<str>.mu X.(c?d)!w{coord.c!w{coord<str>.w!c{temp<real>.X}}, unknown.X}}"
    );
    assert_eq!(text(&tree, "d", "w"), "end");
}

/// Names stay apart where levels do: the inner loop is not called X as well.
#[test]
fn names_that_would_clash() {
    let mut names = referee_theory::Vocabulary::new();
    let (a, b) = (names.add_role("a"), names.add_role("b"));
    let (l, m) = (names.add_plain_message("l"), names.add_plain_message("m"));
    let mut builder = referee_theory::GlobalTypeBuilder::new();
    let origin = referee_theory::Origin::NONE;
    let (outer, inner) = (builder.reserve(), builder.reserve());
    let (again, back) = (builder.call(inner, origin), builder.call(outer, origin));
    let branch = |message, next| referee_theory::Branch { receiver: b, message, next, origin };
    let body = builder.exchange(a, vec![branch(l, again), branch(m, back)], origin);
    builder.define(inner, "X", body, origin);
    builder.define(outer, "X", inner, origin);
    let global = builder.finish(std::sync::Arc::new(names), outer).unwrap();
    assert_eq!(global.relative(a, b).unwrap().to_text(), "mu X.mu X'.a!b{l<>.X', m<>.X}");
}

/// An undefined projection says what the pair would do, in the variables of the text.
#[test]
fn undefined_between_two_loops() {
    let inner = rec("Y", exchange("a", "b", vec![("l", "", call("X")), ("m", "", call("Y"))]));
    let tree = rec("X", message("a", "b", "k", inner));
    let global = tree.to_theory(&["a", "b", "c", "d"]).unwrap();
    let role = |name| global.vocabulary().find_role(name).unwrap();
    let cause = global.relative(role("c"), role("d")).expect_err("undefined").cause;
    let Cause::Undefined(undefined) = cause else { panic!("there is no `par`") };
    assert_eq!((undefined.left.2.as_str(), undefined.right.2.as_str()), ("X", "Y"));
    assert_eq!((undefined.sender, undefined.receivers), (role("a"), vec![role("b")]));
}

/// A text that would be exponentially long is cut off.
#[test]
fn a_text_without_end() {
    // Shared 40 times over: 2⁴⁰ copies as text.
    let mut names = referee_theory::Vocabulary::new();
    let (a, b) = (names.add_role("a"), names.add_role("b"));
    let (l, m) = (names.add_plain_message("l"), names.add_plain_message("m"));
    let origin = referee_theory::Origin::NONE;
    let mut builder = referee_theory::GlobalTypeBuilder::new();
    let mut next = builder.end();
    for _ in 0..40 {
        let branch = |message| referee_theory::Branch { receiver: b, message, next, origin };
        next = builder.exchange(a, vec![branch(l), branch(m)], origin);
    }
    let global = builder.finish(std::sync::Arc::new(names), next).unwrap();
    let text = global.relative(a, b).unwrap().to_text();
    assert!(text.ends_with('…') && text.len() < 2 << 20);
}
