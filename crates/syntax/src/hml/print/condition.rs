//! Guards as text: those of the assertion language by way of its own printer, Erlang's here.

use referee_theory::expr::{Expr, Function, Literal, Node, Operator, Place, UnaryOperator};
use referee_theory::property::guard::{Condition, ConditionNode, Dialect, GuardFunction, GuardOperator};
use referee_theory::property::{Guard, Items, Value};

use super::pattern::characters;
use super::{Printer, quoted};

impl Printer<'_> {
    pub(super) fn guard(&mut self, guard: &Guard) {
        let text = match guard.dialect {
            Dialect::Native => self.expr(&guard.condition).map_or_else(String::new, |expr| expr.to_string()),
            Dialect::Erlang => self.alternatives(&guard.condition),
        };
        self.out.push_str(&text);
    }

    /// The expression a native condition was read from.
    fn expr(&self, condition: &Condition) -> Option<Expr> {
        let one = |condition: &Condition| self.expr(condition);
        let all = |parts: &[Condition]| parts.iter().map(one).collect::<Option<Box<[Expr]>>>();
        let node = match condition.node() {
            ConditionNode::Constant(Value::Unit) => Node::Variable("null".into()),
            ConditionNode::Constant(constant) => Node::Literal(constant.clone()),
            ConditionNode::Slot(slot) => Node::Variable(self.name(*slot).into()),
            ConditionNode::List(parts) => Node::List(all(parts)?),
            ConditionNode::Not(operand) => Node::Unary(UnaryOperator::Not, Box::new(one(operand)?)),
            ConditionNode::Negate(operand) => Node::Unary(UnaryOperator::Negate, Box::new(one(operand)?)),
            ConditionNode::All(parts) => Node::And(all(parts)?),
            ConditionNode::Any(parts) => Node::Or(all(parts)?),
            ConditionNode::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                Node::Conditional(Box::new([one(condition)?, one(then)?, one(otherwise)?]))
            }
            ConditionNode::Binary(operator, operands) => {
                let [left, right] = &**operands;
                Node::Binary(native_operator(*operator)?, Box::new([one(left)?, one(right)?]))
            }
            ConditionNode::Member(record, field) => Node::Member(Box::new(one(record)?), field.clone()),
            ConditionNode::Index(parts) => {
                let [container, index] = &**parts;
                Node::Index(Box::new([one(container)?, one(index)?]))
            }
            ConditionNode::Matches(text, pattern) => {
                let pattern = Expr::literal(Literal::String(pattern.text().into()));
                Node::Call(Function::Matches, [one(text)?, pattern].into())
            }
            ConditionNode::Call(function, args) => match native_function(*function) {
                Some(function) => Node::Call(function, all(args)?),
                None => Node::External { name: function.name(Dialect::Native).into(), args: all(args)? },
            },
            ConditionNode::Tuple(_) | ConditionNode::AndAlso(_) | ConditionNode::OrElse(_) => return None,
        };
        Expr::new(node, Place::NONE).ok()
    }

    /// Erlang's `;` and `,` at the top.
    fn alternatives(&self, condition: &Condition) -> String {
        match condition.node() {
            ConditionNode::Any(parts) => {
                parts.iter().map(|part| self.tests(part)).collect::<Vec<_>>().join("; ")
            }
            _ => self.tests(condition),
        }
    }

    fn tests(&self, condition: &Condition) -> String {
        match condition.node() {
            ConditionNode::All(parts) => {
                parts.iter().map(|part| self.erlang_text(part)).collect::<Vec<_>>().join(", ")
            }
            _ => self.erlang_text(condition),
        }
    }

    fn erlang_text(&self, condition: &Condition) -> String {
        let list = |parts: &[Condition], between: &str, write: &dyn Fn(&Condition) -> String| {
            parts.iter().map(write).collect::<Vec<_>>().join(between)
        };
        let whole = |condition: &Condition| self.erlang_text(condition);
        let operand = |condition: &Condition| self.operand(condition);
        match condition.node() {
            ConditionNode::Constant(Value::List(items)) => {
                quoted(&characters(Items::Owned(items)).unwrap_or_default())
            }
            ConditionNode::Constant(constant) => constant.view().to_string(),
            ConditionNode::Slot(slot) => self.name(*slot).to_owned(),
            ConditionNode::List(parts) => format!("[{}]", list(parts, ", ", &whole)),
            ConditionNode::Tuple(parts) => format!("{{{}}}", list(parts, ", ", &whole)),
            ConditionNode::Not(inner) => format!("not {}", operand(inner)),
            // A blank, so that it is not read as a negative constant.
            ConditionNode::Negate(inner) => format!("-({})", whole(inner)),
            ConditionNode::AndAlso(parts) | ConditionNode::All(parts) => list(parts, " andalso ", &operand),
            ConditionNode::OrElse(parts) | ConditionNode::Any(parts) => list(parts, " orelse ", &operand),
            ConditionNode::Binary(operator, operands) => {
                let [left, right] = &**operands;
                format!("{} {} {}", operand(left), operator.symbol(Dialect::Erlang), operand(right))
            }
            ConditionNode::Call(function, args) => {
                format!("{}({})", function.name(Dialect::Erlang), list(args, ", ", &whole))
            }
            ConditionNode::Conditional(_)
            | ConditionNode::Member(..)
            | ConditionNode::Index(_)
            | ConditionNode::Matches(..) => String::new(),
        }
    }

    /// In parentheses unless it binds tighter than any operator.
    fn operand(&self, condition: &Condition) -> String {
        let text = self.erlang_text(condition);
        match condition.node() {
            ConditionNode::Constant(_)
            | ConditionNode::Slot(_)
            | ConditionNode::List(_)
            | ConditionNode::Tuple(_)
            | ConditionNode::Call(..) => text,
            _ => format!("({text})"),
        }
    }
}

fn native_operator(operator: GuardOperator) -> Option<Operator> {
    Some(match operator {
        GuardOperator::Equal => Operator::Equal,
        GuardOperator::NotEqual => Operator::NotEqual,
        GuardOperator::Less => Operator::Less,
        GuardOperator::LessEqual => Operator::LessEqual,
        GuardOperator::Greater => Operator::Greater,
        GuardOperator::GreaterEqual => Operator::GreaterEqual,
        GuardOperator::In => Operator::In,
        GuardOperator::Add => Operator::Add,
        GuardOperator::Subtract => Operator::Subtract,
        GuardOperator::Multiply => Operator::Multiply,
        GuardOperator::Divide => Operator::Divide,
        GuardOperator::Remainder => Operator::Remainder,
        _ => return None,
    })
}

fn native_function(function: GuardFunction) -> Option<Function> {
    Some(match function {
        GuardFunction::Size => Function::Size,
        GuardFunction::StartsWith => Function::StartsWith,
        GuardFunction::EndsWith => Function::EndsWith,
        GuardFunction::Contains => Function::Contains,
        GuardFunction::Int => Function::Int,
        GuardFunction::Float => Function::Float,
        GuardFunction::String => Function::String,
        GuardFunction::Abs => Function::Abs,
        GuardFunction::Min => Function::Min,
        GuardFunction::Max => Function::Max,
        _ => return None,
    })
}
