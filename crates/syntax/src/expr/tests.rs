//! Tests of the parser, by dialect; what is read is shown as `(operator operand …)`.

mod cel;
mod errors;
mod limits;
mod nuscr;
mod round_trip;
mod scala;
mod typing;

use referee_theory::expr::{Expr, Node};

use super::{Dialect, parse};

/// The shape of an expression, without a doubt about how it groups.
fn shape(expr: &Expr) -> String {
    let head = match expr.node() {
        Node::Literal(literal) => return literal.to_string(),
        Node::Variable(name) => return name.to_string(),
        Node::List(_) => "list".to_owned(),
        Node::Unary(operator, _) => operator.symbol().to_owned(),
        Node::Binary(operator, _) => operator.symbol().to_owned(),
        Node::And(_) => "&&".to_owned(),
        Node::Or(_) => "||".to_owned(),
        Node::Conditional(_) => "?".to_owned(),
        Node::Member(_, field) => format!(".{field}"),
        Node::Index(_) => "[]".to_owned(),
        Node::Call(function, _) => function.name().to_owned(),
        Node::External { name, .. } => format!("@{name}"),
        Node::Tuple(_) => "tuple".to_owned(),
        Node::AndAlso(_) => "andalso".to_owned(),
        Node::OrElse(_) => "orelse".to_owned(),
        Node::Matches(_, pattern) => format!("matches {}", pattern.text()),
    };
    let parts: Vec<_> = std::iter::once(head).chain(expr.node().children().iter().map(shape)).collect();
    format!("({})", parts.join(" "))
}

#[track_caller]
fn reads(dialect: Dialect, text: &str, expected: &str) {
    match parse(text, 0, dialect) {
        Ok(expr) => assert_eq!(shape(&expr), expected, "{text}"),
        Err(error) => panic!("{text}: {error} at {:?}", error.place),
    }
}

/// Found by fuzzing: a dot inside a quoted name would be read as a separator once printed.
#[test]
fn quoted_names_contain_no_dots() {
    for text in ["`.sa`.f(x)", "`a.b`", "a.`b.c`(x)"] {
        assert!(parse(text, 0, Dialect::Cel).is_err(), "{text}");
    }
}
