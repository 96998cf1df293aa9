//! nuScr's refinements, with the traps of its grammar.

use super::super::{Dialect, SyntaxErrorKind, parse, parse_prefix};
use super::reads;

#[track_caller]
fn nuscr(text: &str, expected: &str) {
    reads(Dialect::NuScr, text, expected);
}

#[test]
fn and_and_or_share_one_level() {
    nuscr("a = 1 || b = 2 && c = 3", "(&& (|| (== a 1) (== b 2)) (== c 3))");
    nuscr("a && b || c && d", "(&& (|| (&& a b) c) d)");
    nuscr("a || b || c", "(|| a b c)");
    nuscr("a && (b || c)", "(&& a (|| b c))");
}

#[test]
fn comparisons_and_sums() {
    nuscr("y=x+x", "(== y (+ x x))");
    nuscr("a <> b", "(!= a b)");
    nuscr("a < b = c", "(== (< a b) c)");
    nuscr("a = b < c", "(< (== a b) c)");
    nuscr("a + b - c <= d", "(<= (- (+ a b) c) d)");
    nuscr("a > b && c >= d", "(&& (> a b) (>= c d))");
}

#[test]
fn negations_reach_as_far_right_as_they_can() {
    nuscr("not a && b", "(! (&& a b))");
    nuscr("not a = b", "(! (== a b))");
    nuscr("not not a", "(! (! a))");
    nuscr("not - a", "(! (- a))");
    nuscr("-a + b", "(- (+ a b))");
    nuscr("-1 + x", "(- (+ 1 x))");
    nuscr("(not a) && b", "(&& (! a) b)");
    nuscr("len(not a)", "(size (! a))");
}

#[test]
fn negations_stand_at_the_start_only() {
    let error = |text| parse(text, 0, Dialect::NuScr).unwrap_err().kind;
    assert!(matches!(error("a + -b"), SyntaxErrorKind::Unexpected { .. }));
    for text in ["a && not b", "a = not"] {
        assert_eq!(error(text), SyntaxErrorKind::MisplacedNot, "{text}");
    }
}

#[test]
fn more_than_nuscr_has() {
    nuscr("x > -1", "(> x -1)");
    nuscr("a == b != c", "(!= (== a b) c)");
    nuscr("a + b * c", "(+ a (* b c))");
    nuscr("max(a, b) > len(s)", "(> (max a b) (size s))");
    nuscr("util.ok(a)", "(@util.ok a)");
}

#[test]
fn names_and_constants() {
    nuscr("x' = x", "(== x' x)");
    nuscr("true && false", "(&& true false)");
    nuscr("2nd = 0x1 + 1e5", "(== 2nd (+ 0x1 1e5))");
    nuscr("in = size", "(== in size)");
    // No escapes: the backslash stands for itself, also before the closing quote.
    nuscr(r#"s = "C:\" "#, r#"(== s "C:\\")"#);
}

#[test]
fn a_refinement_ends_at_its_brace() {
    let (expr, consumed) = parse_prefix(" x > 0 }) from A to B;", 0, Dialect::NuScr).unwrap();
    assert_eq!((expr.to_string().as_str(), consumed), ("x > 0", 6));
    assert_eq!(parse_prefix("true}", 0, Dialect::NuScr).unwrap().1, 4);
}

#[test]
fn names_that_cel_lacks_print_quoted_and_read_back() {
    let expr = parse("2nd = in", 0, Dialect::NuScr).unwrap();
    assert_eq!(expr.to_string(), "`2nd` == `in`");
    assert_eq!(parse(&expr.to_string(), 0, Dialect::Cel).unwrap(), expr);
}
