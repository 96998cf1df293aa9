//! Canonical form, depth, equality; values.

use std::hash::{BuildHasher, RandomState};

use super::super::{MAX_DEPTH, TooDeep};
use super::*;
use crate::payload::Type;

#[test]
fn conjunctions_are_flat() {
    let [a, b, c] = ["a", "b", "c"].map(Expr::variable);
    let inner = make(Node::And([a.clone(), b.clone()].into()));
    let left = make(Node::And([inner.clone(), c.clone()].into()));
    let right = make(Node::And([a.clone(), make(Node::And([b.clone(), c.clone()].into()))].into()));
    assert_eq!(left, right);
    assert_eq!(left.node(), &Node::And([a, b, c.clone()].into()));
    assert_eq!(left.depth(), 2);
    let mixed = make(Node::Or([inner.clone(), c].into()));
    assert_eq!(mixed.node().children()[0], inner);
    assert_eq!(mixed.depth(), 3);
}

#[test]
fn short_chains_are_no_chains() {
    let a = Expr::variable("a");
    assert_eq!(make(Node::And([].into())), boolean(true));
    assert_eq!(make(Node::Or([].into())), boolean(false));
    assert_eq!(make(Node::And([a.clone()].into())), a);
    let pair = make(Node::And([a.clone(), a].into()));
    assert_eq!(make(Node::Or([pair.clone()].into())), pair);
}

#[test]
fn depth_is_limited() {
    let mut expr = Expr::variable("a");
    for depth in 1..MAX_DEPTH {
        assert_eq!(expr.depth(), depth);
        expr = unary(UnaryOperator::Not, expr);
    }
    let too_deep = Expr::new(Node::Unary(UnaryOperator::Not, Box::new(expr)), Place::NONE);
    assert_eq!(too_deep, Err(TooDeep));
    assert_eq!(TooDeep.to_string(), "expression nested deeper than 128 levels");
}

#[test]
fn places_do_not_count() {
    let at = |start| Expr::new(Node::Variable("a".into()), Place::new(start, start + 1)).unwrap();
    let hasher = RandomState::new();
    assert_eq!(at(1), at(2));
    assert_eq!(hasher.hash_one(at(1)), hasher.hash_one(at(2)));
    assert_eq!(at(2).place(), Place::new(2, 3));
    assert_ne!(at(1), Expr::variable("b"));
}

#[test]
fn the_sign_of_zero_makes_another_expression() {
    let float = |value| Expr::literal(Value::Float(value));
    assert_eq!(float(1.5), float(1.5));
    assert_ne!(float(0.0), float(-0.0));
    assert_eq!(Expr::new(Node::Literal(Value::Float(-0.0)), Place::NONE), Ok(float(-0.0)));
    assert_eq!(float(-0.0).to_string(), "-0.0");
}

#[test]
fn free_variables_are_found_everywhere() {
    let [a, b, c, d, e, f] = ["a", "b", "c", "d", "e", "f"].map(Expr::variable);
    let expr = make(Node::Conditional(Box::new([
        make(Node::External { name: "g".into(), args: [a.clone(), b].into() }),
        make(Node::Member(Box::new(index(c, d)), "field".into())),
        make(Node::List([call(Function::Size, &[e]), unary(UnaryOperator::Not, f), a].into())),
    ])));
    let names: Vec<_> = expr.free_variables().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn values_know_their_types() {
    let list = Value::List([Value::Int(1), Value::Int(2)].into());
    assert!(list.has_type(&Type::list(Type::Int)));
    assert!(!list.has_type(&Type::list(Type::Float)));
    assert!(Value::List([].into()).has_type(&Type::list(Type::Float)));
    let tuple = Value::Tuple([Value::Unit, Value::Bool(true)].into());
    assert!(tuple.has_type(&Type::Tuple([Type::Unit, Type::Bool].into())));
    assert!(!tuple.has_type(&Type::Tuple([Type::Unit].into())));
    let record = Value::Record([("a".into(), Value::Int(1))].into());
    assert!(record.has_type(&Type::Record([("a".into(), Type::Int)].into())));
    assert!(!record.has_type(&Type::Record([("b".into(), Type::Int)].into())));
    assert!(Value::Opaque("x".into()).has_type(&Type::opaque("Token")));
    assert!(!Value::string("x").has_type(&Type::opaque("Token")));
}

#[test]
fn values_print() {
    let record = Value::Record(
        [
            ("a".into(), Value::List([Value::Float(1.0), Value::Float(0.5)].into())),
            ("b".into(), Value::Tuple([Value::Unit].into())),
            ("c".into(), Value::Bytes(b"\xffx".as_slice().into())),
            ("d".into(), Value::string("q\"\n")),
            ("e".into(), Value::Opaque("tok".into())),
        ]
        .into(),
    );
    assert_eq!(record.to_string(), r#"{a: [1.0, 0.5], b: ((),), c: b"\xffx", d: "q\"\n", e: tok}"#);
}
