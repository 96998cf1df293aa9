//! Assertions as the Scala of `.st` files.

use referee_theory::expr::{Expr, Function, Literal, Node, Operator, UnaryOperator};

use crate::expr::{Dialect, parse};

/// `expr` in Scala, on one line; `None` if reading it back would give something else.
pub(super) fn scala(expr: &Expr) -> Option<String> {
    let text = write(expr)?;
    let same = parse(&text, 0, Dialect::Scala).is_ok_and(|read| read == *expr);
    // An assertion ends at its `]`, on its line.
    (same && !text.contains(['\n', '\r'])).then_some(text)
}

// Expressions are at most `MAX_DEPTH` deep.
fn write(expr: &Expr) -> Option<String> {
    Some(match expr.node() {
        Node::Literal(Literal::Bytes(_))
        | Node::List(_)
        | Node::Tuple(_)
        | Node::AndAlso(_)
        | Node::OrElse(_)
        | Node::Index(_)
        | Node::Conditional(_)
        | Node::Matches(..) => return None,
        Node::Literal(literal) => literal.to_string(),
        Node::Variable(name) => name.to_string(),
        Node::Unary(UnaryOperator::Not, operand) => format!("!{}", atom(operand)?),
        Node::Unary(UnaryOperator::Negate, operand) => format!("-({})", write(operand)?),
        Node::Binary(Operator::In, _) => return None,
        Node::Binary(operator, operands) => {
            let [left, right] = &**operands;
            format!("{} {} {}", atom(left)?, operator.symbol(), atom(right)?)
        }
        Node::And(operands) => joined(operands, " && ")?,
        Node::Or(operands) => joined(operands, " || ")?,
        Node::Member(record, field) => format!("{}.{field}", atom(record)?),
        Node::External { name, args } => format!("{name}({})", arguments(args)?),
        Node::Call(function, args) => call(*function, args)?,
    })
}

fn call(function: Function, args: &[Expr]) -> Option<String> {
    let [receiver, rest @ ..] = args else { return None };
    let method = match function {
        Function::Abs => return Some(format!("math.abs({})", arguments(args)?)),
        Function::Min => return Some(format!("math.min({})", arguments(args)?)),
        Function::Max => return Some(format!("math.max({})", arguments(args)?)),
        Function::Size => "length",
        Function::Int => "toInt",
        Function::Float => "toDouble",
        Function::String => "toString",
        Function::StartsWith => "startsWith",
        Function::EndsWith => "endsWith",
        Function::Contains => "contains",
        Function::Matches => {
            // Scala's `matches` is about the whole string.
            let [pattern] = rest else { return None };
            let Node::Literal(Literal::String(text)) = pattern.node() else { return None };
            let whole = text.strip_prefix(r"\A(?:").and_then(|text| text.strip_suffix(r")\z"))?;
            let pattern = Literal::String(whole.into());
            return Some(format!("{}.matches({pattern})", atom(receiver)?));
        }
        // Scala's assertions do not know what only guards can say.
        _ => return None,
    };
    let receiver = atom(receiver)?;
    if rest.is_empty() {
        return Some(format!("{receiver}.{method}"));
    }
    Some(format!("{receiver}.{method}({})", arguments(rest)?))
}

/// In parentheses unless nothing could come between.
fn atom(expr: &Expr) -> Option<String> {
    let text = write(expr)?;
    let plain = match expr.node() {
        Node::Literal(_) => !text.starts_with('-'),
        Node::Variable(_) | Node::Member(..) | Node::Call(..) | Node::External { .. } => true,
        _ => false,
    };
    Some(if plain { text } else { format!("({text})") })
}

fn joined(operands: &[Expr], symbol: &str) -> Option<String> {
    let operand = |expr: &Expr| match expr.node() {
        Node::Binary(..) => write(expr),
        _ => atom(expr),
    };
    Some(operands.iter().map(operand).collect::<Option<Vec<_>>>()?.join(symbol))
}

fn arguments(args: &[Expr]) -> Option<String> {
    Some(args.iter().map(write).collect::<Option<Vec<_>>>()?.join(", "))
}
