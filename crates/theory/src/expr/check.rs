//! The typing rules.
//!
//! | construct | operands | result |
//! |---|---|---|
//! | `==` `!=` | two of one type, any type | bool |
//! | `<` `<=` `>` `>=` | two of one type: bool, int, float, string, bytes | bool |
//! | `+` | two of one type: int, float, string, bytes, list | that type |
//! | `-` `*` `/` | two int or two float | that type |
//! | `%` | two int | int |
//! | `x in xs` | `T` and `list<T>` | bool |
//! | `!` `&&` <code>&#124;&#124;</code> | bool | bool |
//! | `-x` | int or float | that type |
//! | `c ? a : b` | bool, then two of one type | that type |
//! | `xs[i]` | a list and an int; a tuple and a constant int; a record and a constant string | the element |
//! | `r.f` | a record | the field |
//! | `[a, b]` | elements of one type | a list |
//!
//! int and float never mix, not even `x > 1` for a float `x`: [`TypeErrorKind::MixedNumbers`] carries the
//! text that repairs it. `[]` takes its type from what it is compared with, added to or passed as.
//!
//! Values of an **opaque** type may be compared with `==`, `!=` and `in` to values of the same opaque type,
//! be passed to external predicates, and be carried: as an element, a field or a branch. No other operator
//! and no built-in takes them. Types are compared structurally, records with the order of their fields.

mod call;
mod container;

use std::sync::Arc;

use super::error::{Expected, Fix, Position, TypeError, TypeErrorKind};
use super::{Environment, Expr, Function, InferredExternal, Literal, Node, Operator, UnaryOperator};
use crate::payload::Type;

/// What the checker found out about a well-typed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Its type.
    pub ty: Type,
    /// The undeclared predicates it calls, in order of their first call.
    pub inferred: Vec<InferredExternal>,
}

/// Finds the type of `expr`.
///
/// # Errors
/// Every mistake that is not a consequence of another one.
pub fn check(expr: &Expr, environment: &dyn Environment) -> Result<Checked, Vec<TypeError>> {
    let mut checker = Checker::new(environment);
    let ty = checker.infer(expr, None);
    checker.finish(ty)
}

/// Like [`check`] for an assertion: `expr` must be boolean. Gives the undeclared predicates it calls.
///
/// # Errors
/// As [`check`], and if the type is not `bool`.
pub fn check_assertion(
    expr: &Expr,
    environment: &dyn Environment,
) -> Result<Vec<InferredExternal>, Vec<TypeError>> {
    let mut checker = Checker::new(environment);
    let ty = checker.boolean(expr, Position::Assertion);
    checker.finish(ty).map(|checked| checked.inferred)
}

struct Checker<'a> {
    environment: &'a dyn Environment,
    errors: Vec<TypeError>,
    inferred: Vec<InferredExternal>,
}

impl<'a> Checker<'a> {
    fn new(environment: &'a dyn Environment) -> Self {
        Self { environment, errors: Vec::new(), inferred: Vec::new() }
    }

    fn finish(mut self, ty: Option<Type>) -> Result<Checked, Vec<TypeError>> {
        self.errors.sort_by_key(|error| error.place);
        match ty {
            Some(ty) if self.errors.is_empty() => Ok(Checked { ty, inferred: self.inferred }),
            _ => Err(self.errors),
        }
    }

    fn report(&mut self, expr: &Expr, kind: TypeErrorKind) {
        self.errors.push(TypeError { kind, place: expr.place() });
    }

    /// The type of `expr`, or nothing if it has none: then the reason has been reported. `hint` is the
    /// type the context would like; only `[]` listens to it.
    ///
    /// An operation whose result type does not depend on its operands has a type even if they are wrong,
    /// so that a mistake elsewhere in the assertion is reported in the same run.
    fn infer(&mut self, expr: &Expr, hint: Option<&Type>) -> Option<Type> {
        match expr.node() {
            Node::Literal(literal) => Some(match literal {
                Literal::Bool(_) => Type::Bool,
                Literal::Int(_) => Type::Int,
                Literal::Float(_) => Type::Float,
                Literal::String(_) => Type::String,
                Literal::Bytes(_) => Type::Bytes,
                // No dialect with declared types can write others down.
                _ => return None,
            }),
            Node::Variable(name) => {
                let ty = self.environment.variable(name);
                if ty.is_none() {
                    let candidates = self.environment.variables();
                    let name = Arc::clone(name);
                    self.report(expr, TypeErrorKind::UnknownVariable { name, candidates });
                }
                ty
            }
            Node::List(elements) => self.list(expr, elements, hint),
            Node::Tuple(elements) => {
                let types: Vec<_> = elements.iter().map(|element| self.infer(element, None)).collect();
                types.into_iter().collect::<Option<_>>().map(Type::Tuple)
            }
            Node::Unary(UnaryOperator::Not, operand) => {
                self.boolean(operand, Position::Not);
                Some(Type::Bool)
            }
            Node::Unary(UnaryOperator::Negate, operand) => {
                let ty = self.infer(operand, None)?;
                self.operand(UnaryOperator::Negate.symbol(), operand, &ty, Expected::Number).then_some(ty)
            }
            Node::And(operands) | Node::AndAlso(operands) => {
                for operand in operands {
                    self.boolean(operand, Position::And);
                }
                Some(Type::Bool)
            }
            Node::Or(operands) | Node::OrElse(operands) => {
                for operand in operands {
                    self.boolean(operand, Position::Or);
                }
                Some(Type::Bool)
            }
            Node::Binary(operator, operands) => self.binary(expr, *operator, operands, hint),
            Node::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.boolean(condition, Position::Condition);
                let (then, otherwise) = self.pair(then, otherwise, hint);
                let (then, otherwise) = (then?, otherwise?);
                if then == otherwise {
                    return Some(then);
                }
                self.report(expr, TypeErrorKind::UnequalBranches { then, otherwise });
                None
            }
            Node::Member(record, field) => {
                let ty = self.infer(record, None)?;
                self.field(expr, &ty, field)
            }
            Node::Index(parts) => {
                let [container, index] = &**parts;
                self.index(expr, container, index)
            }
            Node::Call(function, args) => self.built_in(expr, *function, args),
            Node::Matches(text, _) => {
                let found = self.infer(text, None)?;
                self.operand(Function::Matches.name(), text, &found, Expected::Type(Type::String));
                Some(Type::Bool)
            }
            Node::External { name, args } => self.external(expr, name, args),
        }
    }

    fn boolean(&mut self, expr: &Expr, position: Position) -> Option<Type> {
        let found = self.infer(expr, None)?;
        if found == Type::Bool {
            return Some(found);
        }
        self.report(expr, TypeErrorKind::NotBoolean { position, found });
        None
    }

    fn binary(
        &mut self,
        expr: &Expr,
        operator: Operator,
        operands: &[Expr; 2],
        hint: Option<&Type>,
    ) -> Option<Type> {
        let [left, right] = operands;
        let accepted = match operator {
            Operator::In => {
                self.membership(expr, left, right);
                return Some(Type::Bool);
            }
            Operator::Equal | Operator::NotEqual | Operator::Identical | Operator::NotIdentical => None,
            Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual => {
                Some(Expected::Ordered)
            }
            Operator::Add => Some(Expected::Addable),
            Operator::Subtract | Operator::Multiply | Operator::Divide => Some(Expected::Number),
            Operator::FloatDivide => Some(Expected::Type(Type::Float)),
            Operator::Remainder | Operator::IntDivide => Some(Expected::Type(Type::Int)),
            Operator::StrictAnd | Operator::StrictOr | Operator::StrictXor => {
                Some(Expected::Type(Type::Bool))
            }
            Operator::Append => Some(Expected::List),
        };
        let hint = if operator == Operator::Add { hint } else { None };
        let (left_type, right_type) = self.pair(left, right, hint);
        let result = left_type.clone();
        let agreed = match (left_type, right_type) {
            (Some(left_type), Some(right_type)) => {
                self.operands(expr, operator, accepted, (left, left_type), (right, right_type))
            }
            _ => false,
        };
        match operator {
            Operator::Add
            | Operator::Subtract
            | Operator::Multiply
            | Operator::Divide
            | Operator::FloatDivide
            | Operator::IntDivide
            | Operator::Append
            | Operator::Remainder => result.filter(|_| agreed),
            _ => Some(Type::Bool),
        }
    }

    /// Whether both operands suit `operator` and agree.
    fn operands(
        &mut self,
        expr: &Expr,
        operator: Operator,
        accepted: Option<Expected>,
        (left, left_type): (&Expr, Type),
        (right, right_type): (&Expr, Type),
    ) -> bool {
        let symbol = operator.symbol();
        if let Some(accepted) = accepted {
            if !self.operand(symbol, left, &left_type, accepted.clone()) {
                return false;
            }
            if !self.operand(symbol, right, &right_type, accepted) {
                return false;
            }
        }
        if left_type == right_type {
            return true;
        }
        let (operator, left_type, right_type) = (symbol, left_type, right_type);
        let kind = match (&left_type, &right_type) {
            (Type::Int, Type::Float) => TypeErrorKind::MixedNumbers {
                operator,
                left: left_type,
                right: right_type,
                fix: to_float(left),
            },
            (Type::Float, Type::Int) => TypeErrorKind::MixedNumbers {
                operator,
                left: left_type,
                right: right_type,
                fix: to_float(right),
            },
            _ => TypeErrorKind::UnequalOperands { operator, left: left_type, right: right_type },
        };
        self.report(expr, kind);
        false
    }

    fn operand(&mut self, operator: &'static str, expr: &Expr, found: &Type, expected: Expected) -> bool {
        let suits = expected.admits(found);
        if !suits {
            self.report(expr, TypeErrorKind::WrongOperand { operator, expected, found: found.clone() });
        }
        suits
    }
}

impl Expected {
    /// Whether `ty` is one of these.
    #[must_use]
    pub fn admits(&self, ty: &Type) -> bool {
        match self {
            Self::Type(expected) => ty == expected,
            Self::Number => matches!(ty, Type::Int | Type::Float),
            Self::Ordered | Self::Printable => {
                matches!(ty, Type::Bool | Type::Int | Type::Float | Type::String | Type::Bytes)
            }
            Self::Addable => {
                matches!(ty, Type::Int | Type::Float | Type::String | Type::Bytes | Type::List(_))
            }
            Self::Sized => matches!(ty, Type::String | Type::Bytes | Type::List(_)),
            Self::List => matches!(ty, Type::List(_)),
            Self::Numeral => matches!(ty, Type::Int | Type::Float | Type::String),
        }
    }
}

/// What to write instead of the int `expr` so that it becomes a float.
fn to_float(expr: &Expr) -> Fix {
    let as_constant = match expr.node() {
        // Beyond 2⁵³ a float cannot hold every int; then the conversion had better be visible.
        Node::Literal(Literal::Int(value)) if value.unsigned_abs() <= 1 << 53 => {
            Some(Literal::Float(*value as f64).to_string())
        }
        _ => None,
    };
    Fix { place: expr.place(), replacement: as_constant.unwrap_or_else(|| format!("double({expr})")) }
}
