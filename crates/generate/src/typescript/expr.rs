//! Expressions in TypeScript. What may fail throws, so that plain operators can stand around it.

use std::sync::Arc;

use referee_theory::Type;
use referee_theory::expr::{Expr, Function, Node, Operator, UnaryOperator, Value};

use super::{TypeScript, constant, field_names, kept_names, lower, quoted};
use crate::plan::{StatePlan, StepPlan};
use crate::typing::Types;

impl TypeScript<'_> {
    /// `expr` as code of a value of type `ty`, which throws where it has none.
    pub(super) fn expression(
        &self,
        state: &StatePlan,
        step: &StepPlan,
        expr: &Arc<Expr>,
        ty: &Type,
    ) -> String {
        let types = self.plan.types(state, step);
        Expressions { target: self, state, step, types }.code(expr, Some(ty)).0
    }
}

struct Expressions<'a> {
    target: &'a TypeScript<'a>,
    state: &'a StatePlan,
    step: &'a StepPlan,
    types: Types<'a>,
}

/// Code, and whether it can throw.
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
                    (UnaryOperator::Not, _) => (format!("(!{code})"), fails),
                    (UnaryOperator::Negate, Type::Float) => (format!("(-{code})"), fails),
                    (UnaryOperator::Negate, _) => (format!("int64(-{code})"), true),
                }
            }
            Node::Binary(operator, operands) => self.binary(*operator, operands, hint),
            Node::And(operands) => self.settle(operands, "&&", "false"),
            Node::Or(operands) => self.settle(operands, "||", "true"),
            Node::Conditional(parts) => {
                let ty = self.types.of_all(&parts[1..], hint);
                let (condition, a) = self.code(&parts[0], Some(&Type::Bool));
                let ((then, b), (otherwise, c)) =
                    (self.code(&parts[1], Some(&ty)), self.code(&parts[2], Some(&ty)));
                (format!("({condition} ? {then} : {otherwise})"), a || b || c)
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
                        (format!("element({container}, {index})"), true)
                    }
                }
            }
            Node::Call(function, args) => self.call(*function, args),
            Node::Matches(text, pattern) => {
                let (text, fails) = self.code(text, Some(&Type::String));
                (format!("matches({}, {text})", self.target.pattern(pattern.text())), fails)
            }
            // Only guards of properties have these; the monitor, and so `Plan`, refuses them in a protocol.
            Node::Tuple(_) | Node::AndAlso(_) | Node::OrElse(_) => (String::new(), false),
            Node::External { name, args } => {
                let (parts, _) = self.all(args, None);
                let call = format!("predicates.{}({})", lower(name), parts.join(", "));
                (format!("ask({}, () => {call})", quoted(name)), true)
            }
        }
    }

    fn all(&self, exprs: &[Expr], hint: Option<&Type>) -> (Vec<String>, bool) {
        let codes: Vec<Code> = exprs.iter().map(|expr| self.code(expr, hint)).collect();
        let fails = codes.iter().any(|(_, fails)| *fails);
        (codes.into_iter().map(|(code, _)| code).collect(), fails)
    }

    fn variable(&self, name: &str) -> String {
        let message = &self.target.plan.messages[self.step.message];
        let own = message.fields.iter().position(|field| field.variable.as_deref() == Some(name));
        if let Some(at) = own {
            return field_names(&message.fields)[at].clone();
        }
        let kept = self.state.kept.iter().position(|(known, _)| **known == *name);
        kept.map_or_else(String::new, |kept| format!("this.{}", kept_names(self.state)[kept]))
    }

    fn binary(&self, operator: Operator, operands: &[Expr; 2], hint: Option<&Type>) -> Code {
        if operator == Operator::In {
            let element = self.types.of(&operands[0], None);
            let (left, a) = self.code(&operands[0], Some(&element));
            let (right, b) = self.code(&operands[1], Some(&Type::list(element)));
            return (format!("contains({left}, {right})"), a || b);
        }
        let ty = self.types.of_all(operands, hint);
        let ((left, a), (right, b)) =
            (self.code(&operands[0], Some(&ty)), self.code(&operands[1], Some(&ty)));
        let fails = a || b;
        let is_number = matches!(ty, Type::Int | Type::Float);
        // TypeScript refuses comparisons between literals that differ; it does not look into a function.
        let code = match (operator, &ty) {
            (Operator::Equal, _) => format!("equal({left}, {right})"),
            (Operator::NotEqual, _) => format!("(!equal({left}, {right}))"),
            (Operator::Less, _) if !is_number => format!("less({left}, {right})"),
            (Operator::Greater, _) if !is_number => format!("less({right}, {left})"),
            (Operator::LessEqual, _) if !is_number => format!("notAbove({left}, {right})"),
            (Operator::GreaterEqual, _) if !is_number => format!("notAbove({right}, {left})"),
            (Operator::Divide, Type::Int) => return (format!("divide({left}, {right})"), true),
            (Operator::Remainder, _) => return (format!("remainder({left}, {right})"), true),
            (Operator::Add | Operator::Subtract | Operator::Multiply, Type::Int) => {
                return (format!("int64({left} {} {right})", operator.symbol()), true);
            }
            (Operator::Add, Type::List(_)) => format!("[...{left}, ...{right}]"),
            (Operator::Add, Type::Bytes) => format!("Uint8Array.of(...{left}, ...{right})"),
            _ => format!("({left} {} {right})", operator.symbol()),
        };
        (code, fails)
    }

    fn settle(&self, operands: &[Expr], operator: &str, settled: &str) -> Code {
        let (parts, fails) = self.all(operands, Some(&Type::Bool));
        if !fails {
            return (format!("({})", parts.join(&format!(" {operator} "))), false);
        }
        let parts: Vec<String> = parts.iter().map(|part| format!("() => {part}")).collect();
        (format!("settle({settled}, [{}])", parts.join(", ")), true)
    }

    fn call(&self, function: Function, args: &[Expr]) -> Code {
        let ty = self.types.of_all(args, None);
        let (parts, fails) = self.all(args, Some(&ty));
        let part = |at: usize| parts.get(at).cloned().unwrap_or_default();
        match (function, &ty) {
            // Characters, not the halves of them that JavaScript counts.
            (Function::Size, Type::String) => (format!("BigInt([...{}].length)", part(0)), fails),
            (Function::Size, _) => (format!("BigInt({}.length)", part(0)), fails),
            (Function::StartsWith, _) => (format!("{}.startsWith({})", part(0), part(1)), fails),
            (Function::EndsWith, _) => (format!("{}.endsWith({})", part(0), part(1)), fails),
            (Function::Contains, _) => (format!("{}.includes({})", part(0), part(1)), fails),
            (Function::Matches, _) => {
                let pattern = match args.get(1).map(Expr::node) {
                    Some(Node::Literal(Value::String(pattern))) => self.target.pattern(pattern),
                    _ => String::new(),
                };
                (format!("matches({pattern}, {})", part(0)), fails)
            }
            (Function::Int, Type::Float) => (format!("floatToInt({})", part(0)), true),
            (Function::Int, Type::String) => (format!("parseInteger({})", part(0)), true),
            (Function::Float, Type::Int) => (format!("Number({})", part(0)), fails),
            (Function::Float, Type::String) => (format!("parseReal({})", part(0)), true),
            (Function::Int | Function::Float, _) => (part(0), fails),
            (Function::String, Type::Bytes) => (format!("textOf({})", part(0)), true),
            (Function::String, Type::Bool | Type::Int) => (format!("String({})", part(0)), fails),
            (Function::String, Type::Float) => (format!("showFloat({})", part(0)), fails),
            (Function::String, _) => (part(0), fails),
            (Function::Abs, Type::Int) => (format!("magnitude({})", part(0)), true),
            (Function::Abs, _) => (format!("Math.abs({})", part(0)), fails),
            (Function::Min, _) => (format!("least({})", parts.join(", ")), fails),
            (Function::Max, _) => (format!("greatest({})", parts.join(", ")), fails),
            // Only guards of properties have the others.
            _ => (String::new(), fails),
        }
    }
}
