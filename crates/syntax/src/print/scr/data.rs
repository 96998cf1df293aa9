//! Recursion data, which `.scr` writes in nuScr's dialect.

use referee_theory::expr::{Expr, Function, Literal, Node, Operator, UnaryOperator};

use crate::expr::{Dialect, parse};
use crate::print::Inexpressible;

/// `expr` in nuScr's dialect.
///
/// # Errors
/// When that dialect cannot say it: it has no conditionals, no `in`, no escapes in strings.
pub(in crate::print) fn text(expr: &Expr) -> Result<String, Inexpressible> {
    // Rather than knowing all corners of the dialect, see whether it is understood.
    written(expr)
        .filter(|text| parse(text, 0, Dialect::NuScr).as_ref() == Ok(expr))
        .ok_or_else(|| Inexpressible::new(format!("`{expr}` cannot be written as nuScr writes expressions")))
}

/// Whether nuScr itself has every operator and literal of `expr`: Referee reads more in its dialect.
pub(super) fn is_nuscr(expr: &Expr) -> bool {
    match expr.node() {
        Node::Literal(Literal::Float(_)) => false,
        Node::Literal(_) | Node::Variable(_) => true,
        Node::Unary(_, operand) => is_nuscr(operand),
        Node::Binary(operator, operands) => {
            !matches!(operator, Operator::Multiply | Operator::Divide | Operator::Remainder)
                && operands.iter().all(is_nuscr)
        }
        Node::And(operands) | Node::Or(operands) => operands.iter().all(is_nuscr),
        Node::Call(Function::Size, args) => args.iter().all(is_nuscr),
        _ => false,
    }
}

/// Recursion is bounded: expressions are.
fn written(expr: &Expr) -> Option<String> {
    Some(match expr.node() {
        Node::Literal(Literal::String(text)) => format!("\"{text}\""),
        Node::Literal(literal) => literal.to_string(),
        Node::Variable(name) => name.to_string(),
        Node::List(elements) => format!("[{}]", all(elements)?.join(", ")),
        Node::Unary(UnaryOperator::Not, operand) => format!("not {}", operand_text(operand)?),
        Node::Unary(UnaryOperator::Negate, operand) => format!("-{}", operand_text(operand)?),
        Node::Binary(operator, operands) => {
            let [left, right] = &**operands;
            let symbol = match operator {
                Operator::Equal => "=",
                Operator::NotEqual => "<>",
                other => other.symbol(),
            };
            format!("{} {symbol} {}", operand_text(left)?, operand_text(right)?)
        }
        Node::And(operands) => operands.iter().map(operand_text).collect::<Option<Vec<_>>>()?.join(" && "),
        Node::Or(operands) => operands.iter().map(operand_text).collect::<Option<Vec<_>>>()?.join(" || "),
        Node::Conditional(_) | Node::Tuple(_) | Node::AndAlso(_) | Node::OrElse(_) | Node::Matches(..) => {
            return None;
        }
        Node::Member(record, field) => format!("{}.{field}", operand_text(record)?),
        Node::Index(parts) => {
            let [container, index] = &**parts;
            format!("{}[{}]", operand_text(container)?, written(index)?)
        }
        Node::Call(function, args) => match &**args {
            [receiver, args @ ..] if function.is_method() && *function != Function::Size => {
                format!("{}.{}({})", operand_text(receiver)?, function.name(), all(args)?.join(", "))
            }
            args => {
                let name = if *function == Function::Size { "len" } else { function.name() };
                format!("{name}({})", all(args)?.join(", "))
            }
        },
        Node::External { name, args } => format!("{name}({})", all(args)?.join(", ")),
    })
}

fn all(exprs: &[Expr]) -> Option<Vec<String>> {
    exprs.iter().map(written).collect()
}

/// `expr` as part of another: between parentheses if it has parts that could be torn apart.
fn operand_text(expr: &Expr) -> Option<String> {
    let text = written(expr)?;
    let is_open = matches!(expr.node(), Node::Unary(..) | Node::Binary(..) | Node::And(_) | Node::Or(_));
    Some(if is_open { format!("({text})") } else { text })
}
