//! Guards as text: those of the assertion language by way of its own printer, Erlang's here.

use referee_theory::expr::{Dialect, Expr, Function, Literal, Node, Place, TooDeep, UnaryOperator};
use referee_theory::property::guard::Condition;
use referee_theory::property::{Guard, Items, Value};

use super::pattern::characters;
use super::{Printer, quoted};

impl Printer<'_> {
    pub(super) fn guard(&mut self, guard: &Guard) {
        let text = match guard.dialect {
            Dialect::Assertion | Dialect::Native => self.native_text(&guard.condition),
            Dialect::Erlang => self.alternatives(&guard.condition),
        };
        self.out.push_str(&text);
    }

    pub(super) fn native_text(&self, condition: &Condition) -> String {
        self.expr(condition).map_or_else(|TooDeep| String::new(), |expr| expr.to_string())
    }

    /// The expression a native condition was read from.
    fn expr(&self, condition: &Condition) -> Result<Expr, TooDeep> {
        let node = match condition.node() {
            Node::Literal(Value::Unit) => Node::Variable("null".into()),
            Node::Variable(slot) => Node::Variable(self.name(*slot).into()),
            Node::Matches(text, pattern) => {
                let pattern = Expr::literal(Literal::String(pattern.text().into()));
                Node::Call(Function::Matches, [self.expr(text)?, pattern].into())
            }
            other => match other.over(&mut |part| self.expr(part))? {
                Some(node) => node,
                // Variables are dealt with above.
                None => Node::Literal(Value::Unit),
            },
        };
        Expr::new(node, Place::NONE)
    }

    /// Erlang's `;` and `,` at the top.
    fn alternatives(&self, condition: &Condition) -> String {
        match condition.node() {
            Node::Or(parts) => parts.iter().map(|part| self.tests(part)).collect::<Vec<_>>().join("; "),
            _ => self.tests(condition),
        }
    }

    fn tests(&self, condition: &Condition) -> String {
        match condition.node() {
            Node::And(parts) => {
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
            Node::Literal(Value::List(items)) => quoted(&characters(Items::Owned(items)).unwrap_or_default()),
            Node::Literal(constant) => constant.view().to_string(),
            Node::Variable(slot) => self.name(*slot).to_owned(),
            Node::List(parts) => format!("[{}]", list(parts, ", ", &whole)),
            Node::Tuple(parts) => format!("{{{}}}", list(parts, ", ", &whole)),
            Node::Unary(UnaryOperator::Not, inner) => format!("not {}", operand(inner)),
            // A blank, so that it is not read as a negative constant.
            Node::Unary(UnaryOperator::Negate, inner) => format!("-({})", whole(inner)),
            Node::AndAlso(parts) | Node::And(parts) => list(parts, " andalso ", &operand),
            Node::OrElse(parts) | Node::Or(parts) => list(parts, " orelse ", &operand),
            Node::Binary(operator, operands) => {
                let [left, right] = &**operands;
                format!("{} {} {}", operand(left), operator.symbol_in(Dialect::Erlang), operand(right))
            }
            Node::Call(function, args) => {
                format!("{}({})", function.name_in(Dialect::Erlang), list(args, ", ", &whole))
            }
            Node::Conditional(_)
            | Node::Member(..)
            | Node::Index(_)
            | Node::Matches(..)
            | Node::External { .. } => String::new(),
        }
    }

    /// In parentheses unless it binds tighter than any operator.
    fn operand(&self, condition: &Condition) -> String {
        let text = self.erlang_text(condition);
        match condition.node() {
            Node::Literal(_) | Node::Variable(_) | Node::List(_) | Node::Tuple(_) | Node::Call(..) => text,
            _ => format!("({text})"),
        }
    }
}
