//! The assertions of STMonitor's files.

use super::super::{Dialect, parse_prefix};
use super::reads;

#[track_caller]
fn scala(text: &str, expected: &str) {
    reads(Dialect::Scala, text, expected);
}

#[test]
fn the_published_assertions() {
    scala("util.validateUname(uname)", "(@util.validateUname uname)");
    scala("util.validateTok(origTok, uname)", "(@util.validateTok origTok uname)");
    scala("origTok==reqTok", "(== origTok reqTok)");
    scala("num > 1 && num < 100", "(&& (> num 1) (< num 100))");
}

#[test]
fn operators_bind_as_in_scala() {
    scala("a || b && c", "(|| a (&& b c))");
    scala("c == a < b", "(== c (< a b))");
    scala("a < b == c", "(== (< a b) c)");
    scala("a != b && !c", "(&& (!= a b) (! c))");
    scala("-a * b + c % 2", "(+ (* (- a) b) (% c 2))");
}

#[test]
fn methods_are_built_in() {
    scala("x.length > 3", "(> (size x) 3)");
    scala("x.length() > x.size", "(> (size x) (size x))");
    scala("x.startsWith(\"a\") || x.endsWith(y)", "(|| (startsWith x \"a\") (endsWith x y))");
    scala("x.contains(y)", "(contains x y)");
    scala("x.toInt + y.toDouble", "(+ (int x) (double y))");
    scala("x.toString == y", "(== (string x) y)");
    scala("x.isEmpty || y.nonEmpty", "(|| (== x \"\") (!= y \"\"))");
    scala("x.equals(y)", "(== x y)");
    scala("math.max(a, b) >= a.min(b)", "(>= (max a b) (min a b))");
    scala("a.abs < Math.abs(b)", "(< (abs a) (abs b))");
}

#[test]
fn matches_is_about_the_whole_string() {
    scala(r#"x.matches("a|b")"#, r#"(matches x "\\A(?:a|b)\\z")"#);
    scala(r#"x.matches("""\d+""")"#, r#"(matches x "\\A(?:\\d+)\\z")"#);
    // A bad pattern is left as it is: wrapped, this one would become a good one.
    scala(r#"x.matches("a)(b")"#, r#"(matches x "a)(b")"#);
}

#[test]
fn other_dotted_calls_are_external() {
    scala("util.matches(a)", "(@util.matches a)");
    scala("util.size(a)", "(@util.size a)");
    scala("my.util.check(a)", "(@my.util.check a)");
    scala("check(a)", "(@check a)");
}

#[test]
fn constants() {
    scala("5L + 7l", "(+ 5 7)");
    scala("\"a\\tb\"", "\"a\\tb\"");
    scala("true == false", "(== true false)");
    scala("x.f", "(.f x)");
}

#[test]
fn an_assertion_ends_at_its_bracket() {
    let (expr, consumed) = parse_prefix("x==\"]\"].end", 0, Dialect::Scala).unwrap();
    assert_eq!((expr.to_string().as_str(), consumed), ("x == \"]\"", 6));
}
