//! From expressions to code.

use std::sync::Arc;

use referee_theory::Type;
use referee_theory::expr::{Expr, Function, Literal, Node, Operator, Pattern, UnaryOperator};

use super::{Code, IntLeaf, Load, Orderings, TextLeaf};

/// What the names in an assertion stand for.
pub(crate) trait Binding {
    /// The variable called `name`.
    fn variable(&self, name: &str) -> Option<Load>;

    /// The predicate called `name`.
    fn predicate(&mut self, name: &str) -> Option<u32>;
}

/// The code of `expr`, which is well typed; `None` if it is not.
pub(crate) fn compile(expr: &Expr, binding: &mut dyn Binding) -> Option<Code> {
    Some(match expr.node() {
        Node::Literal(literal) => match literal {
            Literal::Bool(value) => Code::Bool(*value),
            Literal::Int(value) => Code::Int(*value),
            Literal::Float(value) => Code::Float(*value),
            Literal::String(text) => Code::Text(Arc::clone(text)),
            Literal::Bytes(bytes) => Code::Octets(Arc::clone(bytes)),
            _ => return None,
        },
        Node::Variable(name) => Code::Load(binding.variable(name)?),
        Node::List(elements) => Code::List(all(elements, binding)?),
        Node::Unary(UnaryOperator::Not, operand) => Code::Not(Box::new(compile(operand, binding)?)),
        Node::Unary(UnaryOperator::Negate, operand) => Code::Negate(Box::new(compile(operand, binding)?)),
        Node::Binary(operator, operands) => {
            let [left, right] = &**operands;
            binary(*operator, compile(left, binding)?, compile(right, binding)?)
        }
        // What only guards can say has no code.
        Node::Tuple(_) | Node::AndAlso(_) | Node::OrElse(_) => return None,
        Node::Matches(text, pattern) => {
            Code::Matches(Box::new(compile(text, binding)?), Box::new(Pattern::new(pattern.text()).ok()?))
        }
        Node::And(operands) => Code::All(all(operands, binding)?),
        Node::Or(operands) => Code::Any(all(operands, binding)?),
        Node::Conditional(parts) => {
            let [condition, then, otherwise] = &**parts;
            let condition = compile(condition, binding)?;
            Code::If(Box::new([condition, compile(then, binding)?, compile(otherwise, binding)?]))
        }
        Node::Member(record, field) => Code::Member(Box::new(compile(record, binding)?), Arc::clone(field)),
        Node::Index(parts) => {
            let [container, index] = &**parts;
            let container = compile(container, binding)?;
            match index.node() {
                Node::Literal(Literal::String(field)) => Code::Member(Box::new(container), Arc::clone(field)),
                _ => Code::Index(Box::new([container, compile(index, binding)?])),
            }
        }
        Node::Call(Function::Matches, args) => {
            let [text, pattern] = &**args else { return None };
            let Node::Literal(Literal::String(pattern)) = pattern.node() else { return None };
            Code::Matches(Box::new(compile(text, binding)?), Box::new(Pattern::new(pattern).ok()?))
        }
        Node::Call(function, args) => Code::Call(*function, all(args, binding)?),
        Node::External { name, args } => {
            let args = all(args, binding)?;
            Code::External(binding.predicate(name)?, args)
        }
    })
}

fn all(exprs: &[Expr], binding: &mut dyn Binding) -> Option<Box<[Code]>> {
    exprs.iter().map(|expr| compile(expr, binding)).collect()
}

fn binary(operator: Operator, left: Code, right: Code) -> Code {
    if let Operator::In = operator
        && let Code::List(elements) = right
    {
        return Code::OneOf(Box::new(left), elements);
    }
    if let (Some(orderings), Some(left), Some(right)) =
        (Orderings::of(operator), int_leaf(&left), int_leaf(&right))
    {
        return Code::CompareInts(orderings, left, right);
    }
    let equality = matches!(operator, Operator::Equal | Operator::NotEqual);
    if let (true, Some(left), Some(right)) = (equality, text_leaf(&left), text_leaf(&right)) {
        return Code::EqualTexts { negated: operator == Operator::NotEqual, left, right };
    }
    Code::Binary(operator, Box::new([left, right]))
}

fn int_leaf(code: &Code) -> Option<IntLeaf> {
    match code {
        Code::Int(value) => Some(IntLeaf::Constant(*value)),
        Code::Load(Load::Field(field, Type::Int)) => Some(IntLeaf::Field(*field)),
        Code::Load(Load::Slot(slot, Type::Int)) => Some(IntLeaf::Slot(*slot)),
        _ => None,
    }
}

fn text_leaf(code: &Code) -> Option<TextLeaf> {
    match code {
        Code::Text(text) => Some(TextLeaf::Constant(Arc::clone(text))),
        Code::Load(Load::Field(field, Type::String)) => Some(TextLeaf::Field(*field)),
        Code::Load(Load::Slot(slot, Type::String)) => Some(TextLeaf::Slot(*slot)),
        _ => None,
    }
}
