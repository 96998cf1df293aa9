//! The meaning of expressions, in every dialect, computed plainly and by the tree.
//!
//! The compiled assertions of `referee-monitor` are compared with it, and it with the definition in `referee-reference`. What is
//! borrowed stays borrowed as long as nothing new is made.
//!
//! **In assertions**
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
//!
//! **In guards** what an operation is given has no declared type; where it does not apply, the guard has no value. Integers are
//! computed with 128 bits, and what needs more has no value; nor has a float that is not finite. Time − time is a duration,
//! time ± duration a time; durations add, subtract, and are multiplied by numbers; two of a kind are compared.

mod built_in;
mod duration;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;
use std::marker::PhantomData;
use std::sync::Arc;

use self::duration::{temporal, timely};
use super::{Dialect, Expr, Node, Operator, Place, UnaryOperator, Value};
use crate::value::{Items, Term, erlang_order, loosely_equal, number_order};

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

/// A value that is borrowed as long as nothing new is made.
#[derive(Clone, Debug)]
pub enum Computed<'a> {
    /// Borrowed from the expression or from a variable.
    Term(Term<'a>),
    /// Made by an operation.
    Owned(Value),
}

impl Computed<'_> {
    /// The value, looked at.
    #[must_use]
    pub fn view(&self) -> Term<'_> {
        match self {
            Self::Term(term) => *term,
            Self::Owned(value) => value.view(),
        }
    }

    /// The value, kept.
    #[must_use]
    pub fn into_value(self) -> Value {
        match self {
            Self::Term(term) => term.to_owned(),
            Self::Owned(value) => value,
        }
    }
}

/// What the variables of an expression stand for, however they are named.
pub trait Variables<V> {
    /// The value of `variable`.
    fn value(&self, variable: &V) -> Option<Computed<'_>>;

    /// What it is called.
    fn name(&self, variable: &V) -> Arc<str>;
}

/// Payload variables by name.
struct Named<'b>(&'b dyn Bindings);

impl Variables<Arc<str>> for Named<'_> {
    fn value(&self, variable: &Arc<str>) -> Option<Computed<'_>> {
        self.0.variable(variable).map(Computed::Owned)
    }

    fn name(&self, variable: &Arc<str>) -> Arc<str> {
        Arc::clone(variable)
    }
}

/// A reason for having no value. Guards ask for none, and then none is made.
trait Failure: Sized {
    fn of(kind: impl FnOnce() -> EvalErrorKind) -> Self;

    /// The same, in the expression at `place` if it has no place yet.
    fn at(self, place: Place) -> Self;
}

impl Failure for EvalError {
    fn of(kind: impl FnOnce() -> EvalErrorKind) -> Self {
        Self { kind: kind(), place: Place::NONE }
    }

    fn at(self, place: Place) -> Self {
        Self { place: if self.place == Place::NONE { place } else { self.place }, ..self }
    }
}

/// There is no value.
struct NoValue;

impl Failure for NoValue {
    #[inline]
    fn of(_kind: impl FnOnce() -> EvalErrorKind) -> Self {
        Self
    }

    #[inline]
    fn at(self, _place: Place) -> Self {
        self
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
            EvalErrorKind::Unbound { name } => {
                write!(f, "variable `{}` has no value", super::written_name(name))
            }
            EvalErrorKind::IllTyped { operation, found } => {
                write!(f, "`{operation}` does not apply to {}", found.join(" and "))
            }
        }
    }
}

impl std::error::Error for EvalError {}

/// The value of the assertion `expr`.
///
/// # Errors
/// [`EvalError`] as the module's documentation says.
pub fn eval(expr: &Expr, bindings: &dyn Bindings, externals: &dyn Externals) -> Result<Value, EvalError> {
    let variables = &Named(bindings);
    let evaluator = Evaluator { dialect: Dialect::Assertion, variables, externals, failure: PhantomData };
    evaluator.value(expr).map(Computed::into_value)
}

/// The value of the guard `expr`, if it has one.
pub fn value<'e, V>(
    dialect: Dialect,
    expr: &'e Expr<V>,
    variables: &'e impl Variables<V>,
) -> Option<Computed<'e>> {
    let evaluator =
        Evaluator::<V, _, NoValue> { dialect, variables, externals: &NoExternals, failure: PhantomData };
    evaluator.value(expr).ok()
}

/// The truth value of the guard `expr`, if it has one.
pub(crate) fn truth<V>(dialect: Dialect, expr: &Expr<V>, variables: &impl Variables<V>) -> Option<bool> {
    match value(dialect, expr, variables)?.view() {
        Term::Bool(value) => Some(value),
        _ => None,
    }
}

struct Evaluator<'e, V, S, F> {
    dialect: Dialect,
    variables: &'e S,
    externals: &'e dyn Externals,
    failure: PhantomData<(V, F)>,
}

/// What an operation gives.
type Outcome<'e, F> = Result<Computed<'e>, F>;

fn bool<'e, F>(value: bool) -> Outcome<'e, F> {
    Ok(Computed::Term(Term::Bool(value)))
}

impl<'e, V, S: Variables<V>, F: Failure> Evaluator<'e, V, S, F> {
    fn value(&self, expr: &'e Expr<V>) -> Outcome<'e, F> {
        let found = match expr.node() {
            Node::Literal(literal) => Ok(Computed::Term(literal.view())),
            Node::Variable(variable) => self
                .variables
                .value(variable)
                .ok_or_else(|| F::of(|| EvalErrorKind::Unbound { name: self.variables.name(variable) })),
            Node::Binary(operator, operands) => {
                let [left, right] = &**operands;
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.binary(*operator, left.view(), right.view())
            }
            Node::Unary(UnaryOperator::Not, operand) => bool(!self.truth(operand, "!")?),
            Node::Unary(UnaryOperator::Negate, operand) => self.negate(self.value(operand)?.view()),
            Node::And(operands) => bool(self.settle(operands, false, "&&")?),
            Node::Or(operands) => bool(self.settle(operands, true, "||")?),
            Node::AndAlso(operands) => bool(self.sequence(operands, false, "andalso")?),
            Node::OrElse(operands) => bool(self.sequence(operands, true, "orelse")?),
            Node::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.value(if self.truth(condition, "?")? { then } else { otherwise })
            }
            Node::List(parts) => Ok(Computed::Owned(Value::List(self.all(parts)?.into()))),
            Node::Tuple(parts) => Ok(Computed::Owned(Value::Tuple(self.all(parts)?.into()))),
            Node::Member(record, name) => self.member(self.value(record)?, name),
            Node::Index(parts) => {
                let [container, index] = &**parts;
                let (container, index) = (self.value(container)?, self.value(index)?);
                self.element(container.view(), index.view())
            }
            Node::Matches(text, pattern) => match self.value(text)?.view() {
                Term::Text(text) => bool(pattern.is_match(text)),
                other => Err(ill_typed("matches", &[other])),
            },
            Node::Call(function, args) => {
                let args: Vec<_> = args.iter().map(|arg| self.value(arg)).collect::<Result<_, F>>()?;
                let terms: Vec<_> = args.iter().map(Computed::view).collect();
                self.call(*function, &terms)
            }
            Node::External { name, args } => {
                let answer = self.externals.call(name, &self.all(args)?);
                let failure = |reason| F::of(|| EvalErrorKind::External { name: Arc::clone(name), reason });
                answer.map(Computed::Owned).map_err(failure)
            }
        };
        found.map_err(|failure| failure.at(expr.place()))
    }

    fn all(&self, exprs: &'e [Expr<V>]) -> Result<Vec<Value>, F> {
        exprs.iter().map(|expr| self.value(expr).map(Computed::into_value)).collect()
    }

    /// An operand equal to `settled` decides, wherever it stands; else the first failure; else all say the opposite.
    fn settle(&self, operands: &'e [Expr<V>], settled: bool, operation: &'static str) -> Result<bool, F> {
        let mut failure = None;
        for operand in operands {
            match self.truth(operand, operation) {
                Ok(value) if value == settled => return Ok(settled),
                Ok(_) => {}
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(!settled), Err)
    }

    /// The first operand equal to `settled` decides; a failure before it is one of the whole.
    fn sequence(&self, operands: &'e [Expr<V>], settled: bool, operation: &'static str) -> Result<bool, F> {
        for operand in operands {
            if self.truth(operand, operation)? == settled {
                return Ok(settled);
            }
        }
        Ok(!settled)
    }

    fn truth(&self, expr: &'e Expr<V>, operation: &'static str) -> Result<bool, F> {
        match self.value(expr)?.view() {
            Term::Bool(value) => Ok(value),
            other => Err(ill_typed::<F>(operation, &[other]).at(expr.place())),
        }
    }

    fn negate(&self, term: Term<'_>) -> Outcome<'e, F> {
        match number(term) {
            Some(Number::Int(value)) => self.integer(value.checked_neg(), || overflow("-")),
            Some(Number::Float(value)) => self.float(-value, || overflow("-")),
            None => match term {
                Term::Duration(length) => temporal(length.checked_neg().map(Value::Duration), "-"),
                _ => Err(ill_typed("-", &[term])),
            },
        }
    }

    fn member(&self, record: Computed<'e>, name: &str) -> Outcome<'e, F> {
        let failure = |record: Term<'_>| ill_typed(".", &[record]);
        match record {
            Computed::Term(term @ Term::Record(members)) => {
                members.get(name).map(Computed::Term).ok_or_else(|| failure(term))
            }
            other => match other.view() {
                term @ Term::Record(members) => {
                    let found = members.get(name).map(|found| Computed::Owned(found.to_owned()));
                    found.ok_or_else(|| failure(term))
                }
                term => Err(failure(term)),
            },
        }
    }

    fn element(&self, container: Term<'_>, index: Term<'_>) -> Outcome<'e, F> {
        let found = match (container, index) {
            (Term::List(items) | Term::Tuple(items), Term::Int(index)) => {
                let found = usize::try_from(index).ok().and_then(|index| items.get(index));
                let failure = || EvalErrorKind::IndexOutOfRange { index, length: items.len() };
                found.ok_or_else(|| F::of(failure))?
            }
            (Term::Record(members), Term::Text(name)) => {
                members.get(name).ok_or_else(|| ill_typed(".", &[container]))?
            }
            _ => return Err(ill_typed("[]", &[container, index])),
        };
        Ok(Computed::Owned(found.to_owned()))
    }

    fn binary(&self, operator: Operator, left: Term<'_>, right: Term<'_>) -> Outcome<'e, F> {
        use Operator as Op;
        let mismatch = || ill_typed(operator.symbol(), &[left, right]);
        bool(match operator {
            Op::Equal => self.equals(left, right),
            Op::NotEqual => !self.equals(left, right),
            Op::Identical => left == right,
            Op::NotIdentical => left != right,
            // Nothing but NaN is of one kind and has no order.
            Op::Less => self.order(operator.symbol(), left, right)?.is_some_and(Ordering::is_lt),
            Op::LessEqual => self.order(operator.symbol(), left, right)?.is_some_and(Ordering::is_le),
            Op::Greater => self.order(operator.symbol(), left, right)?.is_some_and(Ordering::is_gt),
            Op::GreaterEqual => self.order(operator.symbol(), left, right)?.is_some_and(Ordering::is_ge),
            Op::In => match (left, right) {
                (_, Term::List(items)) => items.iter().any(|item| self.equals(item, left)),
                (Term::Text(name), Term::Record(members)) if !self.is_typed() => members.get(name).is_some(),
                _ => return Err(mismatch()),
            },
            Op::StrictAnd | Op::StrictOr | Op::StrictXor => match (operator, left, right) {
                (Op::StrictAnd, Term::Bool(left), Term::Bool(right)) => left && right,
                (Op::StrictOr, Term::Bool(left), Term::Bool(right)) => left || right,
                (_, Term::Bool(left), Term::Bool(right)) => left != right,
                _ => return Err(mismatch()),
            },
            Op::Add | Op::Append | Op::Subtract | Op::Multiply | Op::Divide | Op::Remainder => {
                return self.arithmetic(operator, left, right);
            }
            Op::FloatDivide | Op::IntDivide => return self.arithmetic(operator, left, right),
        })
    }

    /// Whether operands have declared types, so that what mixes them is a mistake of the expression.
    fn is_typed(&self) -> bool {
        self.dialect == Dialect::Assertion
    }

    fn equals(&self, left: Term<'_>, right: Term<'_>) -> bool {
        if self.is_typed() { structurally_equal(left, right) } else { loosely_equal(left, right) }
    }

    /// How two values of one kind compare.
    fn order(&self, operation: &'static str, left: Term<'_>, right: Term<'_>) -> Result<Option<Ordering>, F> {
        match (left, right) {
            _ if self.is_typed() && !same_kind(left, right) => Err(ill_typed(operation, &[left, right])),
            _ if self.dialect == Dialect::Erlang => Ok(Some(erlang_order(left, right))),
            (Term::Int(left), Term::Int(right)) => Ok(Some(left.cmp(&right))),
            (Term::Text(left) | Term::Atom(left), Term::Text(right) | Term::Atom(right)) => {
                Ok(Some(left.cmp(right)))
            }
            (Term::Bool(left), Term::Bool(right)) => Ok(Some(left.cmp(&right))),
            (Term::Time(left), Term::Time(right)) | (Term::Duration(left), Term::Duration(right)) => {
                Ok(Some(left.cmp(&right)))
            }
            (Term::Bytes(left), Term::Bytes(right)) => Ok(Some(left.cmp(right))),
            _ if is_number(left) && is_number(right) => Ok(number_order(left, right)),
            _ => Err(ill_typed(operation, &[left, right])),
        }
    }

    fn arithmetic(&self, operator: Operator, left: Term<'_>, right: Term<'_>) -> Outcome<'e, F> {
        use Operator as Op;
        let symbol = operator.symbol();
        let mismatch = || ill_typed(symbol, &[left, right]);
        let joins = operator == Op::Append || (operator == Op::Add && self.dialect != Dialect::Erlang);
        let (l, r) = match (number(left), number(right)) {
            (Some(_), Some(_)) if self.is_typed() && !same_kind(left, right) => return Err(mismatch()),
            (Some(l), Some(r)) if operator != Op::Append => (l, r),
            _ => {
                return match timely(operator, left, right) {
                    Some(result) => temporal(result, symbol),
                    None if joins => joined(left, right).map(Computed::Owned).ok_or_else(mismatch),
                    None => Err(mismatch()),
                };
            }
        };
        if let (Number::Int(l), Number::Int(r)) = (l, r) {
            if r == 0 && !matches!(operator, Op::Add | Op::Subtract | Op::Multiply) {
                return Err(F::of(|| EvalErrorKind::DivisionByZero));
            }
            let result = match operator {
                Op::Add => l.checked_add(r),
                Op::Subtract => l.checked_sub(r),
                Op::Multiply => l.checked_mul(r),
                Op::Divide | Op::IntDivide => l.checked_div(r),
                Op::FloatDivide => return self.float(l as f64 / r as f64, || overflow(symbol)),
                // As the processor does it: with 64 bits the division that belongs to it overflows.
                _ if self.dialect == Dialect::Assertion && l == i128::from(i64::MIN) && r == -1 => None,
                _ => l.checked_rem(r),
            };
            return self.integer(result, || overflow(symbol));
        }
        let (l, r) = (l.float(), r.float());
        let result = match operator {
            Op::Add => l + r,
            Op::Subtract => l - r,
            Op::Multiply => l * r,
            Op::Divide | Op::FloatDivide => l / r,
            _ => return Err(mismatch()),
        };
        self.float(result, || overflow(symbol))
    }

    /// An integer, if the dialect has one so large.
    fn integer(&self, value: Option<i128>, failure: impl FnOnce() -> EvalErrorKind) -> Outcome<'e, F> {
        let value = value.filter(|value| self.dialect != Dialect::Assertion || i64::try_from(*value).is_ok());
        value.map(|value| Computed::Owned(Value::integer(value))).ok_or_else(|| F::of(failure))
    }

    /// A float; infinities and NaN are no values of guards.
    fn float(&self, value: f64, failure: impl FnOnce() -> EvalErrorKind) -> Outcome<'e, F> {
        match value.is_finite() || self.dialect == Dialect::Assertion {
            true => Ok(Computed::Term(Term::Float(value))),
            false => Err(F::of(failure)),
        }
    }
}

#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    fn float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

fn is_number(term: Term<'_>) -> bool {
    matches!(term, Term::Int(_) | Term::Big(_) | Term::Float(_))
}

fn number(term: Term<'_>) -> Option<Number> {
    match term {
        Term::Int(value) => Some(Number::Int(value.into())),
        Term::Big(digits) => digits.parse().ok().map(Number::Int),
        Term::Float(value) => Some(Number::Float(value)),
        _ => None,
    }
}

/// Texts, bytes or lists one after the other.
fn joined(left: Term<'_>, right: Term<'_>) -> Option<Value> {
    let list = |left: Items<'_>, right: Items<'_>| -> Value {
        Value::List(left.iter().chain(right.iter()).map(Term::to_owned).collect())
    };
    match (left, right) {
        (Term::Text(left), Term::Text(right)) => Some(Value::String([left, right].concat().into())),
        (Term::Bytes(left), Term::Bytes(right)) => Some(Value::Bytes([left, right].concat().into())),
        (Term::List(left), Term::List(right)) => Some(list(left, right)),
        _ => None,
    }
}

/// CEL's `==`: structural, floats by IEEE 754 (NaN is unequal to itself, `0.0 == -0.0`), fields in their order.
#[must_use]
pub fn equal(left: &Value, right: &Value) -> bool {
    structurally_equal(left.view(), right.view())
}

fn structurally_equal(left: Term<'_>, right: Term<'_>) -> bool {
    match (left, right) {
        #[expect(clippy::float_cmp, reason = "equality is that of IEEE 754")]
        (Term::Float(left), Term::Float(right)) => left == right,
        (Term::List(left), Term::List(right)) | (Term::Tuple(left), Term::Tuple(right)) => {
            left.len() == right.len() && left.iter().zip(right.iter()).all(|(l, r)| structurally_equal(l, r))
        }
        (Term::Record(left), Term::Record(right)) => {
            let mut fields = left.iter().zip(right.iter());
            left.len() == right.len() && fields.all(|(l, r)| l.0 == r.0 && structurally_equal(l.1, r.1))
        }
        _ => left == right,
    }
}

fn same_kind(left: Term<'_>, right: Term<'_>) -> bool {
    std::mem::discriminant(&left) == std::mem::discriminant(&right)
}

fn overflow(operation: &'static str) -> EvalErrorKind {
    EvalErrorKind::Overflow { operation }
}

fn ill_typed<F: Failure>(operation: &'static str, operands: &[Term<'_>]) -> F {
    F::of(|| EvalErrorKind::IllTyped { operation, found: operands.iter().map(|term| term.kind()).collect() })
}
