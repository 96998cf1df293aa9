//! What is wrong, where, and said once.

use referee_syntax::{Language, parse};

/// Each text with the codes it gets, in order.
const DIAGNOSED: &[(&str, &[&str])] = &[
    ("", &["RF0004"]),
    ("[a?b]", &["RF0004"]),
    ("[a?b]ff ff", &["RF0004"]),
    ("max X.(X)", &["RF0801"]),
    ("max X.(max Y.(X and [a?b]Y))", &["RF0801"]),
    ("[a?b]Y", &["RF0105"]),
    ("max X.([p!b](X and X))", &["RF0802"]),
    ("[a?b]<a?c>tt", &["RF0802"]),
    ("[a?b]ff and <a?c>tt", &["RF0803"]),
    ("<a?b>tt or [a?c]ff", &["RF0803"]),
    ("[a?b]ff and tt", &[]),
    ("[a?V][b!V when V > 1]ff", &[]),
    ("[a?V][b!V when W > 1]ff", &["RF0806"]),
    ("[a?V when V > ]ff", &["RF0315"]),
    ("[a?V when V && 1]ff", &["RF0807"]),
    ("[{e: 1} at t][_ at u when u - t > 5]ff", &["RF0807"]),
    ("[{e: 1} at t][_ at u when u - t > 5s]ff", &[]),
    ("[{e: x} when time(x, \"iso\") > time(0)]ff", &["RF0807"]),
    ("[{e: x} when time(x, \"clf\") > time(x, \"%Y\")]ff", &[]),
    ("[{e: x} when time(x, x, x) > time(0)]ff", &["RF0304"]),
    ("[_]expect [_] within -5s", &["RF0807"]),
    ("[_]never [_] for 5s - 6s", &["RF0807"]),
    ("[_]expect [_] within 5", &["RF0807"]),
    ("[{e: x}]expect [_] within x * 1s", &[]),
    ("[a?V when abs(V, V) > 1]ff", &["RF0304"]),
    ("[a?V when nothing(V)]ff", &["RF0303"]),
    ("[a?V when V.matches(\"[\")]ff", &["RF0306"]),
    ("<a?V when V > 1>tt", &["RF0004"]),
    ("[a?1.0e999]ff", &["RF0810"]),
    ("[a?'\\q']ff", &["RF0810"]),
    ("[a?'open]ff", &["RF0003"]),
    ("property p { [a?b]ff } property p { [a?b]ff }", &["RF0808"]),
    ("property p { [a?b] } property q { [a?b } property r { [a?b]ff }", &["RF0004", "RF0004"]),
    ("property p for each \"/~\" { ff }", &["RF0809"]),
    ("property p { [a -> b : C(x: _, x: _)]ff }", &["RF0313"]),
    ("property p { [a -> b : C(_)][a -> b : C(_, _)]ff }", &["RF0811"]),
    ("property p { [a -> b : C(_)][a -> b : C(_, ...)]ff }", &[]),
    ("max X.([p?V](max Y.([q!V]ff and [p?_]Y)) and [p?_]X)", &["RF0804"]),
    ("max X.([p?V](max Y.([q!V]ff and [r?_]Y)) and [p?_]X)", &[]),
    ("max X.([p?V][q!V]X and [p?V][r!V]ff)", &[]),
    ("max X.([p?V](max Y.([q!V]ff and [P?_ when P != \"p\"]Y)) and [p?_]X)", &[]),
    ("property p { [a -> b : C except a -> b : C(x) when count([_] in 5s) > 1]ff }", &["RF0806"]),
    ("property p { [_ when count([_ except a -> b : C] in 5s) > 1]ff }", &[]),
    ("property p { [a -> b : C(x)][_ when count([_ except a -> b : C(x)] in 5s) > 1]ff }", &["RF0806"]),
    ("rule r: before call a(x: v) there must be result of b(x: v)", &[]),
    ("rule r: before call a(x: v) there must be result of b(y: v)", &["RF0812"]),
    ("rule r: before call a(x: v) or call c there must be result of b(x: v)", &["RF0812"]),
    ("rule r: before call a(x: v) there must be result of b", &["RF0813"]),
    ("rule r: before call a(x: v) when (v > 1) there must be result of b", &[]),
    ("rule r: never call a when (v > 1)", &["RF0806"]),
    ("rule r: never call a when v > 1", &["RF0004"]),
    ("rule r: never call a(x: 1, x: 2)", &["RF0313"]),
    ("rule r: before call a there must be a new result of b", &["RF0004"]),
    ("rule r: before each call a there must be result of b", &["RF0004"]),
    ("rule r: call a", &["RF0004"]),
    ("rule r: call a at most once in the same session", &[]),
    ("rule r: call a(x: v) at most once", &["RF0813"]),
    ("rule r: call a(x: v) at most once for each v", &[]),
    ("rule r: call a(x: v) when (v > 1) at most 3 times in 1m in the same session", &[]),
    ("rule r: call a(x: v) at most once for each w", &["RF0806"]),
    ("rule r: call a(x: v) or call b at most once for each v", &["RF0812"]),
    ("rule r: call a at most 1 time", &[]),
    ("rule r: call a at most 1 times", &[]),
    ("rule r: call a at most 0 times", &["RF0814"]),
    ("rule r: call a at most 51 times", &["RF0814"]),
    ("rule r: call a at most 9999999999999999999999 times in 1m", &["RF0814"]),
    ("rule r: call a or call b or call c at most 30 times", &["RF0814"]),
    ("rule r: call a at most 51 times in 1m", &[]),
    ("rule r: call a at most once in minute", &["RF0815"]),
    ("rule r: call a at most once in", &["RF0815"]),
    ("rule r: call a at most once in 1m in the same", &["RF0004"]),
    ("rule r: never call a rule q: never any property p { [_]ff }", &["RF0004"]),
    ("rule r: never call a rule r: never call b", &["RF0808"]),
    ("with m:f(_) check [{_ ? {C, a}}][{_ : C ! b}]ff.", &["RF0805"]),
    ("with m:f(_) check [{_ ? {C, C}}][{_ : D ! b when D =:= C}]ff.", &[]),
    ("with m:f(_) check [{_ ? a}]ff", &["RF0004"]),
    ("with m:f(A) check [{_ ? a when B =:= A}]ff.", &["RF0806"]),
    ("with m:f(A) check [{_ ? a when length(A, A) =:= 1}]ff.", &["RF0304"]),
    ("with m:f(A) check [{_ ? a when self() =:= A}]ff.", &["RF0303"]),
    ("with m:f(A) check [{_ ? a when length({A}) =:= 1}]ff.", &["RF0807"]),
];

#[test]
fn each_mistake_has_its_code_once() {
    let mut wrong = Vec::new();
    for (text, expected) in DIAGNOSED {
        let diagnostics = parse(text, Language::Hml).diagnostics;
        let found: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.code.id).collect();
        if found != *expected {
            let messages: Vec<&str> = diagnostics.iter().map(|diagnostic| &*diagnostic.message).collect();
            wrong.push(format!("{text}\n  expected {expected:?}, found {found:?}: {messages:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_unguarded_path_is_shown() {
    let text = "max X.([a?b]ff and (ff or X))";
    let document = parse(text, Language::Hml);
    let [diagnostic] = &document.diagnostics[..] else { panic!("{:?}", document.diagnostics) };
    assert_eq!(&text[diagnostic.span.range()], "X");
    let places: Vec<&str> = diagnostic.related.iter().map(|(span, _)| &text[span.range()]).collect();
    assert_eq!(places, ["max X", "[a?b]ff and (ff or X)", "ff or X"]);
}

#[test]
fn deep_nesting_is_an_answer() {
    for opening in ["(", "max X.(", "[a?{", "[a?[", "[a -> b : C((", "[a?V when ((", "[{x: {y: "] {
        let deep = opening.repeat(100_000);
        let text = format!("property p {{ {deep} }}");
        let document = parse(&text, Language::Hml);
        assert!(!document.is_usable(), "{opening}");
    }
    let deep = format!("with m:f(A) when {} 1 check ff.", "(".repeat(100_000));
    assert!(!parse(&deep, Language::Hml).is_usable());
    let deep = format!("with m:f(A) when {} A check ff.", "not ".repeat(100_000));
    assert!(!parse(&deep, Language::Hml).is_usable());
    let deep = format!("with m:f(A) when {} A check ff.", "A ++ ".repeat(100_000));
    assert!(!parse(&deep, Language::Hml).is_usable());
}

#[test]
fn every_beginning_of_a_text_is_an_answer() {
    for text in crate::round_trip::ACCEPTED {
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            for diagnostic in parse(&text[..end], Language::Hml).diagnostics {
                assert!(text.get(diagnostic.span.range()).is_some(), "{}", &text[..end]);
            }
        }
    }
}
