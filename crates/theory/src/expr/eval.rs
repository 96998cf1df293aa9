//! The meaning of expressions, slow and obviously right.
//!
//! This is the definition every faster engine is compared with, so it computes plainly and by the tree.
//!
//! - **Errors** are values of the evaluation, not verdicts: overflow of an `int` (also `-x`, `abs`, and the
//!   smallest int divided by −1), `/` and `%` of ints by zero, an index outside its list, a conversion that
//!   fails, an external predicate that fails. Floats follow IEEE 754 and never fail.
//! - **`&&` and `||`** follow CEL, where an error on one side is outweighed by the other side: a conjunction
//!   with a false operand is false even if another operand fails, before it or after it; otherwise the first
//!   failure from the left is the result; otherwise it is true. `||` likewise with true. Once the result is
//!   settled the operands to the right are not evaluated.
//! - **`c ? a : b`** evaluates `c` and then one branch only. Everything else evaluates its operands from
//!   left to right and fails with the first failure.
//! - **Order**: strings by code points, bytes by bytes, `false < true`; every comparison with NaN but `!=`
//!   is false. **Equality** is [`equal`].
//! - A well-typed expression never ends in [`EvalErrorKind::IllTyped`] or [`EvalErrorKind::Unbound`]
//!   provided [`Bindings`] answers every variable with a value of its type, and [`Externals`] with values
//!   of the declared result type.

mod built_in;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::{Expr, Node, Operator, Place, UnaryOperator, Value};

/// The values of the variables.
pub trait Bindings {
    /// The value of the variable `name`.
    fn variable(&self, name: &str) -> Option<Value>;
}

impl<S: BuildHasher> Bindings for HashMap<Arc<str>, Value, S> {
    fn variable(&self, name: &str) -> Option<Value> {
        self.get(name).cloned()
    }
}

/// The implementations of the external predicates.
pub trait Externals {
    /// The result of `name` applied to `args`. How often and whether a predicate is called is not part of
    /// the meaning of an expression, so it should depend on its arguments only.
    ///
    /// # Errors
    /// Why there is no result, in a few words.
    fn call(&self, name: &str, args: &[Value]) -> Result<Value, String>;
}

/// No external predicates: every call fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoExternals;

impl Externals for NoExternals {
    fn call(&self, _name: &str, _args: &[Value]) -> Result<Value, String> {
        Err("it is not available here".to_owned())
    }
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalError {
    /// What went wrong.
    pub kind: EvalErrorKind,
    /// The subexpression in which it did.
    pub place: Place,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EvalErrorKind {
    /// The result of an integer operation needs more than 64 bits.
    Overflow {
        /// The operator or function.
        operation: &'static str,
    },
    /// `/` or `%` of an int by zero.
    DivisionByZero,
    /// No element at this index.
    IndexOutOfRange {
        /// The index.
        index: i64,
        /// How many elements there are.
        length: usize,
    },
    /// `int`, `double` or `string` of a value that has no such form.
    Conversion {
        /// The function.
        function: &'static str,
        /// What it was applied to.
        value: Value,
    },
    /// An external predicate gave no result.
    External {
        /// Its name.
        name: Arc<str>,
        /// Its reason.
        reason: String,
    },
    /// A variable without a value.
    Unbound {
        /// Its name.
        name: Arc<str>,
    },
    /// A value no well-typed expression would have here.
    IllTyped {
        /// The operator, function or construct.
        operation: &'static str,
        /// The kinds of its operands.
        found: Vec<&'static str>,
    },
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            EvalErrorKind::Overflow { operation } => write!(f, "`{operation}` overflows"),
            EvalErrorKind::DivisionByZero => f.write_str("division by zero"),
            EvalErrorKind::IndexOutOfRange { index, length } => {
                write!(f, "index `{index}` is outside a list of {length}")
            }
            EvalErrorKind::Conversion { function, value } => write!(f, "no `{function}` of `{value}`"),
            EvalErrorKind::External { name, reason } => write!(f, "`{name}` failed: {reason}"),
            EvalErrorKind::Unbound { name } => write!(f, "variable `{name}` has no value"),
            EvalErrorKind::IllTyped { operation, found } => {
                write!(f, "`{operation}` does not apply to {}", found.join(" and "))
            }
        }
    }
}

impl std::error::Error for EvalError {}

/// The value of `expr`.
///
/// # Errors
/// [`EvalError`] as the module's documentation says.
pub fn eval(expr: &Expr, bindings: &dyn Bindings, externals: &dyn Externals) -> Result<Value, EvalError> {
    Evaluator { bindings, externals }.eval(expr)
}

struct Evaluator<'a> {
    bindings: &'a dyn Bindings,
    externals: &'a dyn Externals,
}

impl Evaluator<'_> {
    fn eval(&self, expr: &Expr) -> Result<Value, EvalError> {
        let fail = |kind| EvalError { kind, place: expr.place() };
        match expr.node() {
            Node::Literal(literal) => Ok(literal.clone()),
            Node::Variable(name) => self
                .bindings
                .variable(name)
                .ok_or_else(|| fail(EvalErrorKind::Unbound { name: Arc::clone(name) })),
            Node::List(elements) => Ok(Value::List(self.all(elements)?.into())),
            Node::Unary(operator, operand) => {
                let value = self.eval(operand)?;
                unary(*operator, &value).map_err(fail)
            }
            Node::Binary(operator, operands) => {
                let [left, right] = &**operands;
                let (left, right) = (self.eval(left)?, self.eval(right)?);
                binary(*operator, &left, &right).map_err(fail)
            }
            Node::And(operands) => self.settle(operands, false, "&&"),
            Node::Or(operands) => self.settle(operands, true, "||"),
            Node::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                let branch = if self.truth(condition, "?")? { then } else { otherwise };
                self.eval(branch)
            }
            Node::Member(record, field) => {
                let record = self.eval(record)?;
                member(&record, field).map_err(fail)
            }
            Node::Index(parts) => {
                let [container, index] = &**parts;
                let (container, index) = (self.eval(container)?, self.eval(index)?);
                element(&container, &index).map_err(fail)
            }
            Node::Call(function, args) => built_in::call(*function, &self.all(args)?).map_err(fail),
            Node::External { name, args } => self
                .externals
                .call(name, &self.all(args)?)
                .map_err(|reason| fail(EvalErrorKind::External { name: Arc::clone(name), reason })),
        }
    }

    fn all(&self, exprs: &[Expr]) -> Result<Vec<Value>, EvalError> {
        exprs.iter().map(|expr| self.eval(expr)).collect()
    }

    /// An operand equal to `settled` decides; else the first error; else all operands say the opposite.
    fn settle(&self, operands: &[Expr], settled: bool, operation: &'static str) -> Result<Value, EvalError> {
        let mut failure = None;
        for operand in operands {
            match self.truth(operand, operation) {
                Ok(value) if value == settled => return Ok(Value::Bool(settled)),
                Ok(_) => {}
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(Value::Bool(!settled)), Err)
    }

    fn truth(&self, expr: &Expr, operation: &'static str) -> Result<bool, EvalError> {
        match self.eval(expr)? {
            Value::Bool(value) => Ok(value),
            other => Err(EvalError { kind: ill_typed(operation, &[&other]), place: expr.place() }),
        }
    }
}

fn unary(operator: UnaryOperator, value: &Value) -> Result<Value, EvalErrorKind> {
    match (operator, value) {
        (UnaryOperator::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
        (UnaryOperator::Negate, Value::Int(value)) => int(value.checked_neg(), operator.symbol()),
        (UnaryOperator::Negate, Value::Float(value)) => Ok(Value::Float(-value)),
        _ => Err(ill_typed(operator.symbol(), &[value])),
    }
}

fn binary(operator: Operator, left: &Value, right: &Value) -> Result<Value, EvalErrorKind> {
    match operator {
        Operator::Equal => Ok(Value::Bool(equal(left, right))),
        Operator::NotEqual => Ok(Value::Bool(!equal(left, right))),
        Operator::Less => compare(operator, left, right, Ordering::is_lt),
        Operator::LessEqual => compare(operator, left, right, Ordering::is_le),
        Operator::Greater => compare(operator, left, right, Ordering::is_gt),
        Operator::GreaterEqual => compare(operator, left, right, Ordering::is_ge),
        Operator::In => match right {
            Value::List(values) => Ok(Value::Bool(values.iter().any(|value| equal(value, left)))),
            _ => Err(ill_typed(operator.symbol(), &[left, right])),
        },
        Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
            arithmetic(operator, left, right)
        }
    }
}

/// CEL's `==`: structural, floats by IEEE 754 (NaN is unequal to itself, `0.0 == -0.0`), fields in their order.
#[must_use]
pub fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        #[expect(clippy::float_cmp, reason = "equality is that of IEEE 754")]
        (Value::Float(left), Value::Float(right)) => left == right,
        (Value::List(left), Value::List(right)) | (Value::Tuple(left), Value::Tuple(right)) => {
            left.len() == right.len() && left.iter().zip(&**right).all(|(left, right)| equal(left, right))
        }
        (Value::Record(left), Value::Record(right)) => {
            let mut fields = left.iter().zip(&**right);
            left.len() == right.len() && fields.all(|(l, r)| l.0 == r.0 && equal(&l.1, &r.1))
        }
        _ => left == right,
    }
}

fn compare(
    operator: Operator,
    left: &Value,
    right: &Value,
    holds: fn(Ordering) -> bool,
) -> Result<Value, EvalErrorKind> {
    let ordering = match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bytes(left), Value::Bytes(right)) => Some(left.cmp(right)),
        _ => return Err(ill_typed(operator.symbol(), &[left, right])),
    };
    Ok(Value::Bool(ordering.is_some_and(holds)))
}

fn arithmetic(operator: Operator, left: &Value, right: &Value) -> Result<Value, EvalErrorKind> {
    let symbol = operator.symbol();
    match (operator, left, right) {
        (Operator::Divide | Operator::Remainder, Value::Int(_), Value::Int(0)) => {
            Err(EvalErrorKind::DivisionByZero)
        }
        (Operator::Add, Value::Int(l), Value::Int(r)) => int(l.checked_add(*r), symbol),
        (Operator::Subtract, Value::Int(l), Value::Int(r)) => int(l.checked_sub(*r), symbol),
        (Operator::Multiply, Value::Int(l), Value::Int(r)) => int(l.checked_mul(*r), symbol),
        (Operator::Divide, Value::Int(l), Value::Int(r)) => int(l.checked_div(*r), symbol),
        (Operator::Remainder, Value::Int(l), Value::Int(r)) => int(l.checked_rem(*r), symbol),
        (Operator::Add, Value::Float(l), Value::Float(r)) => Ok(Value::Float(l + r)),
        (Operator::Subtract, Value::Float(l), Value::Float(r)) => Ok(Value::Float(l - r)),
        (Operator::Multiply, Value::Float(l), Value::Float(r)) => Ok(Value::Float(l * r)),
        (Operator::Divide, Value::Float(l), Value::Float(r)) => Ok(Value::Float(l / r)),
        (Operator::Add, Value::String(l), Value::String(r)) => {
            Ok(Value::String([&**l, &**r].concat().into()))
        }
        (Operator::Add, Value::Bytes(l), Value::Bytes(r)) => Ok(Value::Bytes([&**l, &**r].concat().into())),
        (Operator::Add, Value::List(l), Value::List(r)) => Ok(Value::List([&**l, &**r].concat().into())),
        _ => Err(ill_typed(symbol, &[left, right])),
    }
}

fn member(record: &Value, field: &str) -> Result<Value, EvalErrorKind> {
    let found = match record {
        Value::Record(fields) => fields.iter().find(|(name, _)| **name == *field),
        _ => None,
    };
    found.map(|(_, value)| value.clone()).ok_or_else(|| ill_typed(".", &[record]))
}

fn element(container: &Value, index: &Value) -> Result<Value, EvalErrorKind> {
    match (container, index) {
        (Value::List(values) | Value::Tuple(values), Value::Int(index)) => usize::try_from(*index)
            .ok()
            .and_then(|index| values.get(index).cloned())
            .ok_or(EvalErrorKind::IndexOutOfRange { index: *index, length: values.len() }),
        (Value::Record(_), Value::String(field)) => member(container, field),
        _ => Err(ill_typed("[]", &[container, index])),
    }
}

fn int(result: Option<i64>, operation: &'static str) -> Result<Value, EvalErrorKind> {
    result.map(Value::Int).ok_or(EvalErrorKind::Overflow { operation })
}

fn ill_typed(operation: &'static str, operands: &[&Value]) -> EvalErrorKind {
    EvalErrorKind::IllTyped { operation, found: operands.iter().map(|value| value.kind()).collect() }
}
