//! Expressions in Rust. What may fail ends in `?`, so that plain operators can stand around it.

use std::sync::Arc;

use referee_theory::Type;
use referee_theory::expr::{Expr, Function, Node, Operator, UnaryOperator, Value};

use super::Rust;
use crate::names::among;
use crate::plan::{StatePlan, StepPlan};
use crate::typing::Types;

/// An expression, and how its value is held.
struct Code {
    text: String,
    held: Held,
    /// Whether it can fail.
    fails: bool,
}

/// How an expression has its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// It is a value of its own.
    Value,
    /// It is the place of somebody else's value: a field of the state.
    Place,
    /// It is a reference: `&str`, `&[T]`, `&T`.
    Reference,
}

impl Rust<'_> {
    /// `expr` as code of a value of type `ty` in a function that returns a `Result`.
    pub(super) fn expression(
        &self,
        state: &StatePlan,
        step: &StepPlan,
        expr: &Arc<Expr>,
        ty: &Type,
    ) -> String {
        let types = self.plan.types(state, step);
        let writer = Expressions { rust: self, state, step, types };
        let code = writer.code(expr, Some(ty));
        writer.owned(code, ty)
    }
}

struct Expressions<'a> {
    rust: &'a Rust<'a>,
    state: &'a StatePlan,
    step: &'a StepPlan,
    types: Types<'a>,
}

fn value(text: String, fails: bool) -> Code {
    Code { text, held: Held::Value, fails }
}

fn place(text: String, fails: bool) -> Code {
    Code { text, held: Held::Place, fails }
}

/// Whether references to values of this type are `&str` or slices.
fn is_slice(ty: &Type) -> bool {
    matches!(ty, Type::String | Type::Bytes | Type::List(_))
}

impl Expressions<'_> {
    /// As a value that owns its parts.
    fn owned(&self, code: Code, ty: &Type) -> String {
        match code.held {
            Held::Value => code.text,
            _ if super::is_copy(ty) => code.text,
            Held::Reference if is_slice(ty) => format!("{}.to_owned()", code.text),
            Held::Place | Held::Reference => format!("{}.clone()", code.text),
        }
    }

    /// As a reference; `&str` and slices for texts, bytes and lists.
    fn reference(&self, code: &Code, ty: &Type) -> String {
        match code.held {
            Held::Reference => code.text.clone(),
            Held::Value | Held::Place if is_slice(ty) => format!("&*{}", code.text),
            Held::Value | Held::Place => format!("&{}", code.text),
        }
    }

    /// As what is behind such a reference, to be compared.
    fn compared(&self, code: &Code, ty: &Type) -> String {
        if !super::is_copy(ty) && (is_slice(ty) || code.held == Held::Reference) {
            return format!("*{}", code.text);
        }
        code.text.clone()
    }

    fn code(&self, expr: &Expr, hint: Option<&Type>) -> Code {
        match expr.node() {
            Node::Literal(literal) => match literal {
                Value::String(text) => {
                    Code { text: format!("{text:?}"), held: Held::Reference, fails: false }
                }
                Value::Bytes(bytes) => {
                    Code { text: format!("(&{:?}[..])", &**bytes), held: Held::Reference, fails: false }
                }
                other => value(constant(other), false),
            },
            Node::Variable(name) => {
                let (text, own) = self.rust.variable(self.state, self.step, name);
                // A field of the message is borrowed by the check already.
                let held = if own && !super::is_copy(&self.types.of(expr, None)) {
                    Held::Reference
                } else {
                    Held::Place
                };
                Code { text, held, fails: false }
            }
            Node::List(elements) => self.list(elements, hint),
            Node::Unary(operator, operand) => {
                let ty = self.types.of(operand, hint);
                let code = self.code(operand, hint);
                match (operator, ty) {
                    (UnaryOperator::Not, _) => value(format!("(!{})", code.text), code.fails),
                    (UnaryOperator::Negate, Type::Float) => value(format!("(-{})", code.text), code.fails),
                    (UnaryOperator::Negate, _) => value(format!("eval::negate({})?", code.text), true),
                }
            }
            Node::Binary(operator, operands) => self.binary(*operator, operands, hint),
            Node::And(operands) => self.settle(operands, "&&", "and"),
            Node::Or(operands) => self.settle(operands, "||", "or"),
            Node::Conditional(parts) => self.conditional(parts, hint),
            Node::Member(record, field) => {
                let code = self.code(record, None);
                place(format!("{}.{}", code.text, self.member(record, field)), code.fails)
            }
            Node::Index(parts) => self.index(parts),
            Node::Call(function, args) => self.call(*function, args),
            Node::Matches(text, pattern) => {
                let code = self.code(text, Some(&Type::String));
                let text = self.reference(&code, &Type::String);
                value(format!("{}.is_match({text})", self.rust.pattern(pattern.text())), code.fails)
            }
            // Only guards of properties have these; the monitor, and so `Plan`, refuses them in a protocol.
            Node::Tuple(_) | Node::AndAlso(_) | Node::OrElse(_) => value(String::new(), false),
            Node::External { name, args } => {
                let signature = self.types.predicates.get(name);
                let arguments: Vec<String> = args
                    .iter()
                    .enumerate()
                    .map(|(at, argument)| {
                        let declared = signature.and_then(|signature| signature.parameters.get(at));
                        let ty = self.types.of(argument, declared);
                        let code = self.code(argument, declared);
                        if super::is_copy(&ty) { code.text } else { self.reference(&code, &ty) }
                    })
                    .collect();
                let call = format!("{}({})", self.rust.predicate(name), arguments.join(", "));
                value(format!("eval::ask({name:?}, {call})?"), true)
            }
        }
    }

    fn list(&self, elements: &[Expr], hint: Option<&Type>) -> Code {
        let wanted = if let Some(Type::List(wanted)) = hint { Some(Type::clone(wanted)) } else { None };
        let wanted =
            if elements.is_empty() { wanted } else { Some(self.types.of_all(elements, wanted.as_ref())) };
        let wanted = wanted.unwrap_or(Type::Unit);
        let mut fails = false;
        let parts: Vec<String> = elements
            .iter()
            .map(|element| {
                let code = self.code(element, Some(&wanted));
                fails |= code.fails;
                self.owned(code, &wanted)
            })
            .collect();
        let ty = self.rust.ty(&wanted);
        let text = match parts.len() {
            0 => format!("Vec::<{ty}>::new()"),
            _ => format!("alloc::vec![{}]", parts.join(", ")),
        };
        value(text, fails)
    }

    fn binary(&self, operator: Operator, operands: &[Expr; 2], hint: Option<&Type>) -> Code {
        let [left, right] = operands;
        if operator == Operator::In {
            let element = self.types.of(left, None);
            let list = Type::list(element.clone());
            let (left, right) = (self.code(left, Some(&element)), self.code(right, Some(&list)));
            let (needle, hay) = (self.compared(&left, &element), self.reference(&right, &list));
            let fails = left.fails || right.fails;
            // In the closure nothing can fail: what can is computed before. No field is called as its variables are.
            return if left.fails {
                let needle = format!("let sought_ = &({});", left.text);
                value(format!("{{ {needle} ({hay}).iter().any(|part_| *part_ == *sought_) }}"), fails)
            } else {
                value(format!("({hay}).iter().any(|part_| *part_ == {needle})"), fails)
            };
        }
        let ty = self.types.of_all(operands, hint);
        let (left, right) = (self.code(left, Some(&ty)), self.code(right, Some(&ty)));
        let fails = left.fails || right.fails;
        let compared = |symbol: &str| {
            let (left, right) = (self.compared(&left, &ty), self.compared(&right, &ty));
            value(format!("({left} {symbol} {right})"), fails)
        };
        let function = match operator {
            Operator::Add => "add",
            Operator::Subtract => "subtract",
            Operator::Multiply => "multiply",
            Operator::Divide => "divide",
            Operator::Remainder => "remainder",
            other => return compared(other.symbol()),
        };
        match ty {
            Type::Float => value(format!("({} {} {})", left.text, operator.symbol(), right.text), fails),
            Type::Int => value(format!("eval::{function}({}, {})?", left.text, right.text), true),
            _ => {
                let (left, right) = (self.reference(&left, &ty), self.reference(&right, &ty));
                value(format!("[{left}, {right}].concat()"), fails)
            }
        }
    }

    /// Conjunctions and disjunctions: plain where no operand can fail.
    fn settle(&self, operands: &[Expr], symbol: &str, function: &str) -> Code {
        let parts: Vec<Code> = operands.iter().map(|operand| self.code(operand, Some(&Type::Bool))).collect();
        if parts.iter().all(|part| !part.fails) {
            let texts: Vec<String> = parts.into_iter().map(|part| part.text).collect();
            return value(format!("({})", texts.join(&format!(" {symbol} "))), false);
        }
        let mut texts = parts.into_iter().map(|part| format!("Ok({})", part.text));
        let first = texts.next().unwrap_or_default();
        let all = texts.fold(first, |left, right| format!("eval::{function}(|| {left}, || {right})"));
        value(format!("{all}?"), true)
    }

    fn conditional(&self, parts: &[Expr; 3], hint: Option<&Type>) -> Code {
        let ty = self.types.of_all(&parts[1..], hint);
        let condition = self.code(&parts[0], Some(&Type::Bool));
        let (then, otherwise) = (self.code(&parts[1], Some(&ty)), self.code(&parts[2], Some(&ty)));
        let fails = condition.fails || then.fails || otherwise.fails;
        let (then, otherwise) = (self.owned(then, &ty), self.owned(otherwise, &ty));
        value(format!("(if {} {{ {then} }} else {{ {otherwise} }})", condition.text), fails)
    }

    /// What a member of `record` is called.
    fn member(&self, record: &Expr, field: &str) -> String {
        let Type::Record(fields) = self.types.of(record, None) else { return super::lower(field) };
        among(field, fields.iter().map(|(name, _)| name), super::lower)
    }

    fn index(&self, parts: &[Expr; 2]) -> Code {
        let container = self.code(&parts[0], None);
        match (self.types.of(&parts[0], None), parts[1].node()) {
            (Type::Tuple(_), Node::Literal(Value::Int(at))) => {
                place(format!("{}.{at}", container.text), container.fails)
            }
            (Type::Record(_), Node::Literal(Value::String(field))) => {
                let text = format!("{}.{}", container.text, self.member(&parts[0], field));
                place(text, container.fails)
            }
            (ty, _) => {
                let list = self.reference(&container, &ty);
                let index = self.code(&parts[1], Some(&Type::Int));
                place(format!("(*eval::element({list}, {})?)", index.text), true)
            }
        }
    }

    fn call(&self, function: Function, args: &[Expr]) -> Code {
        let ty = self.types.of_all(args, None);
        let codes: Vec<Code> = args.iter().map(|argument| self.code(argument, Some(&ty))).collect();
        let fails = codes.iter().any(|code| code.fails);
        let reference = |at: usize| codes.get(at).map_or_else(String::new, |code| self.reference(code, &ty));
        let plain = |at: usize| codes.get(at).map_or_else(String::new, |code| code.text.clone());
        let method = |name: &str| value(format!("({}).{name}({})", reference(0), reference(1)), fails);
        match (function, &ty) {
            (Function::Size, Type::String) => value(format!("eval::characters({})", reference(0)), fails),
            (Function::Size, _) => value(format!("eval::length(({}).len())", reference(0)), fails),
            (Function::StartsWith, _) => method("starts_with"),
            (Function::EndsWith, _) => method("ends_with"),
            (Function::Contains, _) => method("contains"),
            (Function::Matches, _) => {
                let pattern = match args.get(1).map(Expr::node) {
                    Some(Node::Literal(Value::String(pattern))) => self.rust.pattern(pattern),
                    _ => String::new(),
                };
                value(format!("{pattern}.is_match({})", reference(0)), fails)
            }
            (Function::Int, Type::Float) => value(format!("eval::float_to_int({})?", plain(0)), true),
            (Function::Int, Type::String) => value(format!("eval::parse::<i64>({})?", reference(0)), true),
            (Function::Float, Type::Int) => value(format!("({} as f64)", plain(0)), fails),
            (Function::Float, Type::String) => value(format!("eval::parse::<f64>({})?", reference(0)), true),
            (Function::Int | Function::Float, _) => value(plain(0), fails),
            (Function::String, Type::Bytes) => {
                value(format!("eval::text({})?.to_owned()", reference(0)), true)
            }
            (Function::String, Type::String) => value(format!("({}).to_owned()", reference(0)), fails),
            (Function::String, _) => value(format!("({}).to_string()", plain(0)), fails),
            (Function::Abs, Type::Float) => value(format!("eval::abs_float({})", plain(0)), fails),
            (Function::Abs, _) => value(format!("eval::abs({})?", plain(0)), true),
            (Function::Min | Function::Max, _) => {
                let name = function.name();
                let mut texts = codes.into_iter().map(|code| code.text);
                let first = texts.next().unwrap_or_default();
                value(texts.fold(first, |best, next| format!("eval::{name}({best}, {next})")), fails)
            }
            // Only guards of properties have the others.
            _ => value(String::new(), fails),
        }
    }
}

/// A constant, owned.
pub(super) fn constant(value: &Value) -> String {
    match value {
        Value::Unit => "()".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) if *value == i64::MIN => "i64::MIN".to_owned(),
        Value::Int(value) if *value < 0 => format!("({value}_i64)"),
        Value::Int(value) => format!("{value}_i64"),
        Value::Float(value) if value.is_nan() => "f64::NAN".to_owned(),
        Value::Float(value) if value.is_infinite() => {
            if *value > 0.0 { "f64::INFINITY" } else { "f64::NEG_INFINITY" }.to_owned()
        }
        Value::Float(value) => format!("({value:?}_f64)"),
        Value::String(text) => format!("{text:?}.to_owned()"),
        Value::Bytes(bytes) => format!("alloc::vec!{:?}", &**bytes),
        Value::Opaque(text) => format!("Opaque({text:?}.to_owned())"),
        Value::List(values) => {
            let parts: Vec<String> = values.iter().map(constant).collect();
            format!("alloc::vec![{}]", parts.join(", "))
        }
        Value::Tuple(values) => {
            let parts: String = values.iter().map(|value| format!("{}, ", constant(value))).collect();
            format!("({parts})")
        }
        // INVARIANT: no literal is one of these, and `Plan` refuses them as values before the first message.
        Value::Record(_)
        | Value::Big(_)
        | Value::Atom(_)
        | Value::Pid(_)
        | Value::Reference(_)
        | Value::Time(_)
        | Value::Duration(_) => String::new(),
    }
}
