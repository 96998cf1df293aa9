//! Tests of trees, typing and meaning that need no parser. Those from text are in `referee-syntax`.

mod connectives;
mod meaning;
mod soundness;
mod tree;

use std::collections::HashMap;
use std::sync::Arc;

use super::{
    EvalError, EvalErrorKind, Expr, Function, Literal, NoExternals, Node, Operator, Place, UnaryOperator,
    Value, eval,
};

fn make(node: Node) -> Expr {
    Expr::new(node, Place::NONE).unwrap()
}

fn int(value: i64) -> Expr {
    Expr::literal(Literal::Int(value))
}

fn boolean(value: bool) -> Expr {
    Expr::literal(Literal::Bool(value))
}

fn text(value: &str) -> Expr {
    Expr::literal(Literal::String(value.into()))
}

fn unary(operator: UnaryOperator, operand: Expr) -> Expr {
    make(Node::Unary(operator, Box::new(operand)))
}

fn binary(operator: Operator, left: Expr, right: Expr) -> Expr {
    make(Node::Binary(operator, Box::new([left, right])))
}

fn index(container: Expr, at: Expr) -> Expr {
    make(Node::Index(Box::new([container, at])))
}

fn call(function: Function, args: &[Expr]) -> Expr {
    make(Node::Call(function, args.into()))
}

type Bound = HashMap<Arc<str>, Value>;

fn bind<const N: usize>(values: [(&str, Value); N]) -> Bound {
    values.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

fn value_of(expr: &Expr) -> Result<Value, EvalErrorKind> {
    value_in(expr, &Bound::new())
}

fn value_in(expr: &Expr, bound: &Bound) -> Result<Value, EvalErrorKind> {
    eval(expr, bound, &NoExternals).map_err(|EvalError { kind, .. }| kind)
}
