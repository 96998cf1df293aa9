//! Every kind of syntax error, with its place.

use referee_theory::expr::Place;

use super::super::{Dialect, Expectation, SyntaxErrorKind, parse};

#[track_caller]
fn fails(dialect: Dialect, text: &str, kind: SyntaxErrorKind, start: u32, end: u32) {
    match parse(text, 1000, dialect) {
        Ok(expr) => panic!("{text} reads as {expr}"),
        Err(error) => {
            assert_eq!(error.kind, kind, "{text}");
            assert_eq!(error.place, Place::new(1000 + start, 1000 + end), "{text}");
        }
    }
}

fn unexpected(found: &str, expected: Expectation) -> SyntaxErrorKind {
    SyntaxErrorKind::Unexpected { found: Some(found.to_owned()), expected }
}

fn ends(expected: Expectation) -> SyntaxErrorKind {
    SyntaxErrorKind::Unexpected { found: None, expected }
}

#[test]
fn unexpected_tokens() {
    let cel = Dialect::Cel;
    fails(cel, "", ends(Expectation::Expression), 0, 0);
    fails(cel, "a && ", ends(Expectation::Expression), 5, 5);
    fails(cel, "a && )", unexpected(")", Expectation::Expression), 5, 6);
    fails(cel, "a b", unexpected("b", Expectation::Operator), 2, 3);
    fails(cel, "a )", unexpected(")", Expectation::Operator), 2, 3);
    fails(cel, "a # b", unexpected("#", Expectation::Operator), 2, 3);
    fails(cel, "§", unexpected("§", Expectation::Expression), 0, 2);
    fails(cel, "a `", unexpected("`", Expectation::Operator), 2, 3);
    fails(cel, "a.5", unexpected(".5", Expectation::Operator), 1, 3);
    fails(cel, "a.(b)", unexpected("(", Expectation::Name), 2, 3);
    fails(cel, "(a", ends(Expectation::Token(")")), 2, 2);
    fails(cel, "f(a b)", unexpected("b", Expectation::CommaOr(")")), 4, 5);
    fails(cel, "[a; b]", unexpected(";", Expectation::CommaOr("]")), 2, 3);
    fails(cel, "xs[0", ends(Expectation::Token("]")), 4, 4);
    fails(cel, "a ? b", ends(Expectation::Token(":")), 5, 5);
    fails(cel, "a ? b ? c : d : e", unexpected("?", Expectation::Token(":")), 6, 7);
    fails(cel, "{}", unexpected("{", Expectation::Expression), 0, 1);
    fails(cel, "in", unexpected("in", Expectation::Expression), 0, 2);
    fails(cel, ".a", ends(Expectation::Token("(")), 2, 2);
    fails(cel, "a.b(c)(d)", unexpected("(", Expectation::Operator), 6, 7);
    fails(Dialect::NuScr, "not", ends(Expectation::Expression), 3, 3);
    fails(Dialect::NuScr, "'a'", unexpected("'a'", Expectation::Expression), 0, 3);
    fails(Dialect::Scala, "'a'", unexpected("'a'", Expectation::Expression), 0, 3);
    fails(Dialect::Scala, "a ? b : c", unexpected("?", Expectation::Operator), 2, 3);
    fails(Dialect::Scala, "r\"a\"", unexpected("r\"a\"", Expectation::Expression), 0, 4);
}

#[test]
fn unterminated() {
    let cel = Dialect::Cel;
    fails(cel, "a == \"bc", SyntaxErrorKind::UnterminatedString, 5, 8);
    fails(cel, "\"a\nb\"", SyntaxErrorKind::UnterminatedString, 0, 2);
    fails(cel, "\"a\\\nb\"", SyntaxErrorKind::UnterminatedString, 0, 3);
    fails(cel, "\"a\\\"", SyntaxErrorKind::UnterminatedString, 0, 4);
    fails(cel, "'''a''", SyntaxErrorKind::UnterminatedString, 0, 6);
    fails(cel, "a && /* b", SyntaxErrorKind::UnterminatedComment, 5, 9);
    fails(cel, "a (* (* *)", SyntaxErrorKind::UnterminatedComment, 2, 10);
}

#[test]
fn bad_constants() {
    let cel = Dialect::Cel;
    let escape = |escape: &str| SyntaxErrorKind::BadEscape { escape: escape.to_owned() };
    fails(cel, r#"a == "b\qc""#, escape("\\q"), 7, 9);
    fails(cel, r#"b"\u0041""#, escape("\\u"), 2, 4);
    fails(cel, r#""\ud800""#, escape("\\ud800"), 1, 7);
    fails(cel, r#""\xg0""#, escape("\\xg0"), 1, 5);
    fails(cel, r#""""\é""""#, escape("\\é"), 3, 6);
    fails(cel, r#""\x""#, escape("\\x"), 1, 3);
    let number = |text: &str| SyntaxErrorKind::BadNumber { text: text.to_owned() };
    fails(cel, "a > 5u", number("5u"), 4, 6);
    fails(cel, "0xg", number("0xg"), 0, 3);
    fails(cel, "5L", number("5L"), 0, 2);
    fails(Dialect::Scala, "5x", number("5x"), 0, 2);
    let range = |text: &str| SyntaxErrorKind::NumberOutOfRange { text: text.to_owned() };
    fails(cel, "9223372036854775808", range("9223372036854775808"), 0, 19);
    fails(cel, "x-9223372036854775809", range("9223372036854775809"), 2, 21);
    fails(cel, "-9223372036854775809", range("-9223372036854775809"), 0, 20);
    fails(cel, "1e999", range("1e999"), 0, 5);
}

#[test]
fn foreign_operators() {
    let foreign =
        |found: &str, instead| SyntaxErrorKind::ForeignOperator { found: found.to_owned(), instead };
    fails(Dialect::Cel, "a = b", foreign("=", "=="), 2, 3);
    fails(Dialect::Cel, "(a <> b)", foreign("<>", "!="), 3, 5);
    fails(Dialect::Cel, "a & b", foreign("&", "&&"), 2, 3);
    fails(Dialect::Scala, "a | b", foreign("|", "||"), 2, 3);
    fails(Dialect::NuScr, "a & b", foreign("&", "&&"), 2, 3);
    fails(Dialect::NuScr, "a && !b", foreign("!", "(not …)"), 5, 6);
    fails(Dialect::NuScr, "a && not b", SyntaxErrorKind::MisplacedNot, 5, 8);
}

#[test]
fn unknown_methods() {
    let kind = SyntaxErrorKind::UnknownMethod { name: "foo".to_owned() };
    fails(Dialect::Cel, "xs[0].foo(1)", kind.clone(), 6, 9);
    fails(Dialect::Cel, "(a).foo(1)", kind.clone(), 4, 7);
    fails(Dialect::Scala, "a.trim().foo()", kind, 9, 12);
}

#[test]
fn errors_read_as_sentences() {
    let message = |text| parse(text, 0, Dialect::Cel).unwrap_err().to_string();
    assert_eq!(message("a b"), "expected an operator, found `b`");
    assert_eq!(message("f(a"), "expected `,` or `)`, found the end");
    assert_eq!(message("a = b"), "no operator `=`: write `==`");
    assert_eq!(message(&"(".repeat(1000)), "expression nested deeper than 128 levels");
}
