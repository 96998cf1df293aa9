//! Expressions in Python. What may fail raises, so that plain operators can stand around it.

use std::sync::Arc;

use referee_theory::Type;
use referee_theory::expr::{Expr, Function, Node, Operator, UnaryOperator, Value};

use super::{Python, constant, field_names, kept_names, lower};
use crate::plan::{StatePlan, StepPlan};
use crate::typing::Types;

impl Python<'_> {
    /// `expr` as code of a value of type `ty`, which raises where it has none.
    pub(super) fn expression(
        &self,
        state: &StatePlan,
        step: &StepPlan,
        expr: &Arc<Expr>,
        ty: &Type,
        predicates: &str,
    ) -> String {
        let types = self.plan.types(state, step);
        Expressions { python: self, state, step, types, predicates }.code(expr, Some(ty)).0
    }
}

struct Expressions<'a> {
    python: &'a Python<'a>,
    state: &'a StatePlan,
    step: &'a StepPlan,
    types: Types<'a>,
    predicates: &'a str,
}

/// Code, and whether it can raise.
type Code = (String, bool);

impl Expressions<'_> {
    fn code(&self, expr: &Expr, hint: Option<&Type>) -> Code {
        match expr.node() {
            Node::Literal(literal) => (constant(literal), false),
            Node::Variable(name) => (self.variable(name), false),
            Node::List(elements) => {
                let wanted = if let Some(Type::List(wanted)) = hint { Some(&**wanted) } else { None };
                let (parts, fails) = self.all(elements, wanted);
                (format!("[{}]", parts.join(", ")), fails)
            }
            Node::Unary(operator, operand) => {
                let (code, fails) = self.code(operand, hint);
                match (operator, self.types.of(operand, hint)) {
                    (UnaryOperator::Not, _) => (format!("(not {code})"), fails),
                    (UnaryOperator::Negate, Type::Float) => (format!("(-{code})"), fails),
                    (UnaryOperator::Negate, _) => (format!("_int64(-{code})"), true),
                }
            }
            Node::Binary(operator, operands) => self.binary(*operator, operands, hint),
            Node::And(operands) => self.settle(operands, "and", "False"),
            Node::Or(operands) => self.settle(operands, "or", "True"),
            Node::Conditional(parts) => {
                let ty = self.types.of_all(&parts[1..], hint);
                let (condition, a) = self.code(&parts[0], Some(&Type::Bool));
                let ((then, b), (otherwise, c)) =
                    (self.code(&parts[1], Some(&ty)), self.code(&parts[2], Some(&ty)));
                (format!("({then} if {condition} else {otherwise})"), a || b || c)
            }
            Node::Member(record, field) => {
                let (code, fails) = self.code(record, None);
                (format!("{code}.{}", lower(field)), fails)
            }
            Node::Index(parts) => {
                let (container, fails) = self.code(&parts[0], None);
                match (self.types.of(&parts[0], None), parts[1].node()) {
                    (Type::Tuple(_), Node::Literal(Value::Int(at))) => (format!("{container}[{at}]"), fails),
                    (Type::Record(_), Node::Literal(Value::String(field))) => {
                        (format!("{container}.{}", lower(field)), fails)
                    }
                    _ => {
                        let (index, _) = self.code(&parts[1], Some(&Type::Int));
                        (format!("_element({container}, {index})"), true)
                    }
                }
            }
            Node::Call(function, args) => self.call(*function, args),
            Node::Matches(text, pattern) => {
                let (text, fails) = self.code(text, Some(&Type::String));
                (format!("_matches({}, {text})", self.python.pattern(pattern.text())), fails)
            }
            // Only guards of properties have these; the monitor, and so `Plan`, refuses them in a protocol.
            Node::Tuple(_) | Node::AndAlso(_) | Node::OrElse(_) => (String::new(), false),
            Node::External { name, args } => {
                let (parts, _) = self.all(args, None);
                let arguments: String = parts.iter().map(|part| format!(", {part}")).collect();
                (
                    format!("_ask({}, {}.{}{arguments})", super::quoted(name), self.predicates, lower(name)),
                    true,
                )
            }
        }
    }

    fn all(&self, exprs: &[Expr], hint: Option<&Type>) -> (Vec<String>, bool) {
        let codes: Vec<Code> = exprs.iter().map(|expr| self.code(expr, hint)).collect();
        let fails = codes.iter().any(|(_, fails)| *fails);
        (codes.into_iter().map(|(code, _)| code).collect(), fails)
    }

    fn variable(&self, name: &str) -> String {
        let message = &self.python.plan.messages[self.step.message];
        let own = message.fields.iter().position(|field| field.variable.as_deref() == Some(name));
        if let Some(at) = own {
            return field_names(&message.fields)[at].clone();
        }
        let kept = self.state.kept.iter().position(|(known, _)| **known == *name);
        kept.map_or_else(String::new, |at| format!("self.{}", kept_names(self.state)[at]))
    }

    fn binary(&self, operator: Operator, operands: &[Expr; 2], hint: Option<&Type>) -> Code {
        if operator == Operator::In {
            let element = self.types.of(&operands[0], None);
            let (left, a) = self.code(&operands[0], Some(&element));
            let (right, b) = self.code(&operands[1], Some(&Type::list(element)));
            return (format!("_contains({left}, {right})"), a || b);
        }
        let ty = self.types.of_all(operands, hint);
        let ((left, a), (right, b)) =
            (self.code(&operands[0], Some(&ty)), self.code(&operands[1], Some(&ty)));
        let fails = a || b;
        let structured = matches!(ty, Type::List(_) | Type::Tuple(_) | Type::Record(_));
        match (operator, &ty) {
            (Operator::Equal, _) if structured => (format!("_equal({left}, {right})"), fails),
            (Operator::NotEqual, _) if structured => (format!("(not _equal({left}, {right}))"), fails),
            (Operator::Divide, Type::Int) => (format!("_divide({left}, {right})"), true),
            (Operator::Remainder, _) => (format!("_remainder({left}, {right})"), true),
            (Operator::Divide, _) => (format!("_divide_floats({left}, {right})"), fails),
            (Operator::Add | Operator::Subtract | Operator::Multiply, Type::Int) => {
                (format!("_int64({left} {} {right})", operator.symbol()), true)
            }
            _ => (format!("({left} {} {right})", operator.symbol()), fails),
        }
    }

    fn settle(&self, operands: &[Expr], word: &str, settled: &str) -> Code {
        let (parts, fails) = self.all(operands, Some(&Type::Bool));
        if !fails {
            return (format!("({})", parts.join(&format!(" {word} "))), false);
        }
        let parts: Vec<String> = parts.iter().map(|part| format!("lambda: {part}")).collect();
        (format!("_settle({settled}, [{}])", parts.join(", ")), true)
    }

    fn call(&self, function: Function, args: &[Expr]) -> Code {
        let ty = self.types.of_all(args, None);
        let (parts, fails) = self.all(args, Some(&ty));
        let part = |at: usize| parts.get(at).cloned().unwrap_or_default();
        match (function, &ty) {
            (Function::Size, _) => (format!("len({})", part(0)), fails),
            (Function::StartsWith, _) => (format!("{}.startswith({})", part(0), part(1)), fails),
            (Function::EndsWith, _) => (format!("{}.endswith({})", part(0), part(1)), fails),
            (Function::Contains, _) => (format!("({} in {})", part(1), part(0)), fails),
            (Function::Matches, _) => {
                let pattern = match args.get(1).map(Expr::node) {
                    Some(Node::Literal(Value::String(pattern))) => self.python.pattern(pattern),
                    _ => String::new(),
                };
                (format!("_matches({pattern}, {})", part(0)), fails)
            }
            (Function::Int, Type::Float) => (format!("_float_to_int({})", part(0)), true),
            (Function::Int, Type::String) => (format!("_parse_int({})", part(0)), true),
            (Function::Float, Type::Int) => (format!("float({})", part(0)), fails),
            (Function::Float, Type::String) => (format!("_parse_float({})", part(0)), true),
            (Function::Int | Function::Float, _) => (part(0), fails),
            (Function::String, Type::Bytes) => (format!("_text({})", part(0)), true),
            (Function::String, Type::Bool) => (format!("(\"true\" if {} else \"false\")", part(0)), fails),
            (Function::String, Type::Int) => (format!("str({})", part(0)), fails),
            (Function::String, Type::Float) => (format!("_show_float({})", part(0)), fails),
            (Function::String, _) => (part(0), fails),
            (Function::Abs, Type::Int) => (format!("_int64(abs({}))", part(0)), true),
            (Function::Abs, _) => (format!("abs({})", part(0)), fails),
            (Function::Min | Function::Max, _) => {
                (format!("_{}({})", function.name(), parts.join(", ")), fails)
            }
            // Only guards of properties have the others.
            _ => (String::new(), fails),
        }
    }
}
