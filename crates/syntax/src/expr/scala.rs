//! What methods of the Scala dialect become.

use std::sync::Arc;

use referee_theory::expr::{Expr, Function, Literal, Node, Operator, Pattern};

/// What `receiver.name` or `receiver.name(args)` stands for; nothing if `name` is not a method known here.
///
/// `length` counts code points where Scala counts UTF-16 units: they differ beyond the Basic Multilingual
/// Plane only.
pub(super) fn method(receiver: Expr, name: &str, mut args: Vec<Expr>) -> Result<Node, (Expr, Vec<Expr>)> {
    let function = match (name, args.len()) {
        ("length" | "size", 0) => Function::Size,
        ("toInt" | "toLong", 0) => Function::Int,
        ("toDouble" | "toFloat", 0) => Function::Float,
        ("toString", 0) => Function::String,
        ("abs", 0) => Function::Abs,
        ("min", 1) => Function::Min,
        ("max", 1) => Function::Max,
        ("startsWith", 1) => Function::StartsWith,
        ("endsWith", 1) => Function::EndsWith,
        ("contains", 1) => Function::Contains,
        ("matches", 1) => {
            args = args.into_iter().map(anchor).collect();
            Function::Matches
        }
        ("equals", 1) => {
            let Some(argument) = args.pop() else { return Err((receiver, args)) };
            return Ok(Node::Binary(Operator::Equal, Box::new([receiver, argument])));
        }
        ("isEmpty", 0) => return Ok(emptiness(receiver, Operator::Equal)),
        ("nonEmpty", 0) => return Ok(emptiness(receiver, Operator::NotEqual)),
        _ => return Err((receiver, args)),
    };
    args.insert(0, receiver);
    Ok(Node::Call(function, args.into()))
}

/// The built-in behind the qualified name `path`.
pub(super) fn function(path: &str) -> Option<Function> {
    match path {
        "math.abs" | "Math.abs" => Some(Function::Abs),
        "math.min" | "Math.min" => Some(Function::Min),
        "math.max" | "Math.max" => Some(Function::Max),
        _ => None,
    }
}

/// `receiver == ""` or `receiver != ""`: Scala's `isEmpty` on the only sized type of `.st` files.
fn emptiness(receiver: Expr, operator: Operator) -> Node {
    Node::Binary(operator, Box::new([receiver, Expr::literal(Literal::String("".into()))]))
}

/// Scala's `matches` is about the whole string, the built-in about any part of it.
fn anchor(pattern: Expr) -> Expr {
    let anchored = match pattern.node() {
        // A bad pattern stays as it is, so that the user's own text is what gets reported.
        Node::Literal(Literal::String(text)) if Pattern::new(text).is_ok() => {
            Some(Node::Literal(Literal::String(Arc::from(format!(r"\A(?:{text})\z")))))
        }
        _ => None,
    };
    match anchored.map(|node| Expr::new(node, pattern.place())) {
        Some(Ok(anchored)) => anchored,
        _ => pattern,
    }
}
