//! The native dialect.

use referee_theory::expr::{Literal, Node, Place};

use super::super::{Dialect, parse, parse_prefix};
use super::reads;

#[track_caller]
fn cel(text: &str, expected: &str) {
    reads(Dialect::Cel, text, expected);
}

#[test]
fn operators_bind_as_in_cel() {
    cel("a || b && c", "(|| a (&& b c))");
    cel("a && b || c && d", "(|| (&& a b) (&& c d))");
    cel("a && b == c", "(&& a (== b c))");
    cel("a == b + c", "(== a (+ b c))");
    cel("a + b * c", "(+ a (* b c))");
    cel("a - b - c", "(- (- a b) c)");
    cel("a - (b - c)", "(- a (- b c))");
    cel("a / b % c * d", "(* (% (/ a b) c) d)");
    cel("a < b == c", "(== (< a b) c)");
    cel("c == a < b", "(< (== c a) b)");
    cel("a in b == c", "(== (in a b) c)");
    cel("!a && b", "(&& (! a) b)");
    cel("-a + b", "(+ (- a) b)");
    cel("-a.b", "(- (.b a))");
    cel("!!a", "(! (! a))");
    cel("a <= b", "(<= a b)");
    cel("a >= b", "(>= a b)");
    cel("a > b", "(> a b)");
    cel("a != b", "(!= a b)");
}

#[test]
fn chains_are_flat() {
    cel("a && b && c", "(&& a b c)");
    cel("a && (b && c)", "(&& a b c)");
    cel("(a || b) || (c || d)", "(|| a b c d)");
    cel("(a || b) && c", "(&& (|| a b) c)");
}

#[test]
fn conditionals_group_to_the_right() {
    cel("a ? b : c ? d : e", "(? a b (? c d e))");
    cel("a || b ? c && d : e", "(? (|| a b) (&& c d) e)");
    cel("(a ? b : c) ? d : e", "(? (? a b c) d e)");
}

#[test]
fn postfix() {
    cel("r.a.b", "(.b (.a r))");
    cel("r.in", "(.in r)");
    cel("xs[i + 1].f", "(.f ([] xs (+ i 1)))");
    cel("m[\"k\"]", "([] m \"k\")");
    cel("[1, 2,][0]", "([] (list 1 2) 0)");
    cel("[]", "(list)");
    cel("5.size()", "(size 5)");
}

#[test]
fn calls() {
    cel("size(x)", "(size x)");
    cel("x.size()", "(size x)");
    cel("x.matches(\"a+\")", "(matches x \"a+\")");
    cel("a.b.startsWith(c)", "(startsWith (.b a) c)");
    cel("x[0].endsWith(c)", "(endsWith ([] x 0) c)");
    cel("\"ab\".contains(c)", "(contains \"ab\" c)");
    cel("double(x) + float(y)", "(+ (double x) (double y))");
    cel("int(x)", "(int x)");
    cel("string(x)", "(string x)");
    cel("abs(x)", "(abs x)");
    cel("min(x, y)", "(min x y)");
    cel("max(x, y, z)", "(max x y z)");
    cel("util.validTok(x, y)", "(@util.validTok x y)");
    cel("a.b.c()", "(@a.b.c)");
    cel("valid(x)", "(@valid x)");
    cel("util.min(x)", "(@util.min x)");
    cel(".util.matches(x)", "(@util.matches x)");
    cel(".size(x)", "(@size x)");
    // A variable may be called like a function.
    cel("size + max", "(+ size max)");
}

#[test]
fn numbers() {
    cel("0x1F", "31");
    cel("-0x10", "-16");
    cel("9223372036854775807", "9223372036854775807");
    cel("-9223372036854775808", "-9223372036854775808");
    cel("- 5", "-5");
    cel("-(5)", "(- 5)");
    cel("--5", "(- -5)");
    cel("a -5", "(- a 5)");
    cel("a - -5", "(- a -5)");
    cel("-5.size()", "(- (size 5))");
    cel("-xs[0]", "(- ([] xs 0))");
    cel("1.5", "1.5");
    cel("1e3", "1000.0");
    cel("1.5e-3", "0.0015");
    cel(".5", "0.5");
    cel("-0.0", "(- 0.0)");
}

#[track_caller]
fn string(text: &str, expected: &str) {
    let expr = parse(text, 0, Dialect::Cel).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(*expr.node(), Node::Literal(Literal::String(expected.into())), "{text}");
}

#[track_caller]
fn bytes(text: &str, expected: &[u8]) {
    let expr = parse(text, 0, Dialect::Cel).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(*expr.node(), Node::Literal(Literal::Bytes(expected.into())), "{text}");
}

#[test]
fn strings() {
    string(r#""""#, "");
    string("''", "");
    string("'a\"b'", "a\"b");
    string(r#""a'b""#, "a'b");
    string(r#""\a\b\f\n\r\t\v\\\?\"\'\`""#, "\x07\x08\x0c\n\r\t\x0b\\?\"'`");
    string(r#""\x41\u00e9\U0001F600\101""#, "Aé😀A");
    string(r#""\xe9""#, "é");
    string(r#"r"\d+\n""#, r"\d+\n");
    string("R\"\\\"", "\\");
    string("\"\"\"a\"b\n\"c\"\"\"", "a\"b\n\"c");
    string("'''it's'''", "it's");
    string("\"\"\"\"\"\"", "");
    string("r\"\"\"a\\\"\"\"", "a\\");
}

#[test]
fn byte_strings() {
    bytes(r#"b"ab""#, b"ab");
    bytes(r#"B"\xff\x00\377\n""#, b"\xff\0\xff\n");
    bytes(r#"b"é""#, "é".as_bytes());
    bytes(r#"br"\n""#, b"\\n");
    bytes(r#"rb"\n""#, b"\\n");
}

#[test]
fn a_prime_after_a_name_belongs_to_it() {
    cel("x' == x''", "(== x' x'')");
    cel("x'y", "x'y");
    cel("x=='a'", "(== x \"a\")");
    cel("x == 'a' && y' == 'b'", "(&& (== x \"a\") (== y' \"b\"))");
    cel("f('a')", "(@f \"a\")");
    cel("'a'in xs", "(in \"a\" xs)");
    // Not a raw string: prefixes take double quotes.
    cel("r'a'", "r'a'");
}

#[test]
fn quoted_names() {
    cel("`in` + `2nd`.`a b`", "(+ in (.a b 2nd))");
    cel("util.`in`(x)", "(@util.in x)");
}

#[test]
fn comments_and_blanks() {
    cel("a // b\n && /* c */ d (* e (* f *) g *)", "(&& a d)");
    cel("a (*) b\n && c", "(&& a c)");
    cel("a / b //", "(/ a b)");
    cel(" \t\r\n a", "a");
}

#[test]
fn places_are_file_offsets() {
    let expr = parse("(a + b) * foo", 100, Dialect::Cel).unwrap();
    assert_eq!(expr.place(), Place::new(100, 113));
    let children = expr.node().children();
    assert_eq!(children[0].place(), Place::new(101, 106));
    assert_eq!(children[1].place(), Place::new(110, 113));
    let expr = parse("a && util.f(x) && c", 0, Dialect::Cel).unwrap();
    assert_eq!(expr.place(), Place::new(0, 19));
    assert_eq!(expr.node().children()[1].place(), Place::new(5, 14));
    assert_eq!(parse("-5", 7, Dialect::Cel).unwrap().place(), Place::new(7, 9));
}

#[test]
fn equality_ignores_places() {
    let (left, right) = (parse("a+b", 0, Dialect::Cel).unwrap(), parse("a + b", 9, Dialect::Cel).unwrap());
    assert_eq!(left, right);
    assert_ne!(left.place(), right.place());
}

#[test]
fn prefixes_end_where_the_expression_does() {
    let consumed = |text| parse_prefix(text, 0, Dialect::Cel).map(|(_, consumed)| consumed);
    assert_eq!(consumed("x > 0;"), Ok(5));
    assert_eq!(consumed("x > 0 }"), Ok(5));
    assert_eq!(consumed("x > 0 // comment\n }"), Ok(5));
    assert_eq!(consumed("xs[0]]"), Ok(5));
    assert_eq!(consumed("(x), y"), Ok(3));
    assert_eq!(consumed("x from client"), Ok(1));
    assert_eq!(consumed("x § \"unterminated"), Ok(1));
    assert_eq!(consumed("x \"unterminated"), Ok(1));
    assert_eq!(consumed("x {"), Ok(1));
    assert_eq!(consumed("  x"), Ok(3));
    assert!(consumed("x > ;").is_err());
    assert!(consumed("{}").is_err());
}
