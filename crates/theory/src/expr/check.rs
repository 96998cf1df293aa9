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

use std::sync::Arc;

use super::error::{Expected, Fix, Position, TypeError, TypeErrorKind};
use super::{Environment, Expr, Float, InferredExternal, Literal, Node, Operator, UnaryOperator};
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
            Node::Unary(UnaryOperator::Not, operand) => {
                self.boolean(operand, Position::Not);
                Some(Type::Bool)
            }
            Node::Unary(UnaryOperator::Negate, operand) => {
                let ty = self.infer(operand, None)?;
                self.operand(UnaryOperator::Negate.symbol(), operand, &ty, Expected::Number).then_some(ty)
            }
            Node::And(operands) => {
                for operand in operands {
                    self.boolean(operand, Position::And);
                }
                Some(Type::Bool)
            }
            Node::Or(operands) => {
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

    /// The types of two expressions that should agree: a list without a type of its own comes second.
    fn pair(&mut self, left: &Expr, right: &Expr, hint: Option<&Type>) -> (Option<Type>, Option<Type>) {
        if is_untyped(left) && !is_untyped(right) {
            let right = self.infer(right, hint);
            // Without the other side's type, `[]` would be a second report of the same mistake.
            let left = right.as_ref().and_then(|right| self.infer(left, Some(right)));
            return (left, right);
        }
        let left = self.infer(left, hint);
        if left.is_none() && is_untyped(right) {
            return (None, None);
        }
        let right = self.infer(right, left.as_ref().or(hint));
        (left, right)
    }

    fn list(&mut self, expr: &Expr, elements: &[Expr], hint: Option<&Type>) -> Option<Type> {
        let wanted = match hint {
            Some(Type::List(element)) => Some(&**element),
            _ => None,
        };
        let Some(typed) = elements.iter().find(|element| !is_untyped(element)).or(elements.first()) else {
            if let Some(element) = wanted {
                return Some(Type::list(element.clone()));
            }
            self.report(expr, TypeErrorKind::EmptyList);
            return None;
        };
        let first = self.infer(typed, wanted)?;
        let mut uniform = true;
        for element in elements.iter().filter(|element| !std::ptr::eq(*element, typed)) {
            match self.infer(element, Some(&first)) {
                Some(found) if found == first => {}
                Some(found) => {
                    self.report(element, TypeErrorKind::UnequalElements { first: first.clone(), found });
                    uniform = false;
                }
                None => uniform = false,
            }
        }
        uniform.then(|| Type::list(first))
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
            Operator::Equal | Operator::NotEqual => None,
            Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual => {
                Some(Expected::Ordered)
            }
            Operator::Add => Some(Expected::Addable),
            Operator::Subtract | Operator::Multiply | Operator::Divide => Some(Expected::Number),
            Operator::Remainder => Some(Expected::Type(Type::Int)),
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

    fn membership(&mut self, expr: &Expr, element: &Expr, list: &Expr) {
        let Some(element_type) = self.infer(element, None) else {
            if !is_untyped(list) {
                self.infer(list, None);
            }
            return;
        };
        let Some(list_type) = self.infer(list, Some(&Type::list(element_type.clone()))) else { return };
        match &list_type {
            Type::List(inner) if **inner == element_type => {}
            Type::List(_) => self.report(
                expr,
                TypeErrorKind::UnequalOperands {
                    operator: Operator::In.symbol(),
                    left: element_type,
                    right: list_type,
                },
            ),
            _ => {
                self.operand(Operator::In.symbol(), list, &list_type, Expected::List);
            }
        }
    }

    fn field(&mut self, expr: &Expr, record: &Type, field: &Arc<str>) -> Option<Type> {
        let field = Arc::clone(field);
        let Type::Record(fields) = record else {
            self.report(expr, TypeErrorKind::NotARecord { field, found: record.clone() });
            return None;
        };
        if let Some((_, ty)) = fields.iter().find(|(name, _)| *name == field) {
            return Some(ty.clone());
        }
        let candidates = fields.iter().map(|(name, _)| Arc::clone(name)).collect();
        self.report(expr, TypeErrorKind::UnknownField { field, record: record.clone(), candidates });
        None
    }

    fn index(&mut self, expr: &Expr, container: &Expr, index: &Expr) -> Option<Type> {
        let container_type = self.infer(container, None);
        let index_type = self.infer(index, None);
        let (container, found) = (container_type?, index_type?);
        let expected = match &container {
            Type::List(_) | Type::Tuple(_) => Type::Int,
            Type::Record(_) => Type::String,
            _ => {
                self.report(expr, TypeErrorKind::NotIndexable { found: container });
                return None;
            }
        };
        if found != expected {
            self.report(index, TypeErrorKind::WrongIndex { container, expected, found });
            return None;
        }
        match (&container, index.node()) {
            (Type::List(element), _) => Some((**element).clone()),
            (Type::Record(_), Node::Literal(Literal::String(field))) => self.field(expr, &container, field),
            (Type::Tuple(parts), Node::Literal(Literal::Int(at))) => {
                let part = usize::try_from(*at).ok().and_then(|at| parts.get(at));
                if part.is_none() {
                    let length = parts.len();
                    self.report(index, TypeErrorKind::IndexOutOfRange { index: *at, length });
                }
                part.cloned()
            }
            _ => {
                self.report(index, TypeErrorKind::NonLiteralIndex { container });
                None
            }
        }
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

/// Whether `expr` is a list that holds nothing with a type: `[]`, `[[], []]`.
fn is_untyped(expr: &Expr) -> bool {
    match expr.node() {
        Node::List(elements) => elements.iter().all(is_untyped),
        _ => false,
    }
}

/// What to write instead of the int `expr` so that it becomes a float.
fn to_float(expr: &Expr) -> Fix {
    let as_constant = match expr.node() {
        // Beyond 2⁵³ a float cannot hold every int; then the conversion had better be visible.
        Node::Literal(Literal::Int(value)) if value.unsigned_abs() <= 1 << 53 => {
            Float::new(*value as f64).map(|float| Literal::Float(float).to_string())
        }
        _ => None,
    };
    Fix { place: expr.place(), replacement: as_constant.unwrap_or_else(|| format!("double({expr})")) }
}
