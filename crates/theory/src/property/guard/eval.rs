//! The meaning of guards. `None` everywhere stands for "has no value".

use std::cmp::Ordering;

use super::super::pattern::Environment;
use super::{Condition, ConditionNode, Dialect, GuardFunction, GuardOperator};
use crate::value::{Items, Term, Value, erlang_order, loosely_equal, number_order};

/// A value that is borrowed as long as nothing new is made.
enum Computed<'a> {
    Term(Term<'a>),
    Owned(Value),
}

impl Computed<'_> {
    fn view(&self) -> Term<'_> {
        match self {
            Self::Term(term) => *term,
            Self::Owned(term) => term.view(),
        }
    }
}

#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
}

/// The truth value of `condition`.
pub(super) fn truth(dialect: Dialect, condition: &Condition, environment: &dyn Environment) -> Option<bool> {
    let evaluator = Evaluator { dialect, environment };
    evaluator.truth(condition)
}

struct Evaluator<'e> {
    dialect: Dialect,
    environment: &'e dyn Environment,
}

impl<'e> Evaluator<'e> {
    fn truth(&self, condition: &'e Condition) -> Option<bool> {
        match self.value(condition)?.view() {
            Term::Bool(value) => Some(value),
            _ => None,
        }
    }

    fn value(&self, condition: &'e Condition) -> Option<Computed<'e>> {
        let bool = |value| Some(Computed::Term(Term::Bool(value)));
        match condition.node() {
            ConditionNode::Constant(term) => Some(Computed::Term(term.view())),
            ConditionNode::Slot(slot) => self.environment.get(*slot).map(Computed::Term),
            ConditionNode::List(parts) => Some(Computed::Owned(Value::List(self.all(parts)?.into()))),
            ConditionNode::Tuple(parts) => Some(Computed::Owned(Value::Tuple(self.all(parts)?.into()))),
            ConditionNode::Not(operand) => bool(!self.truth(operand)?),
            ConditionNode::Negate(operand) => match number(self.value(operand)?.view())? {
                Number::Int(value) => integer(value.checked_neg()),
                Number::Float(value) => float(-value),
            },
            ConditionNode::All(parts) => bool(self.settle(parts, false)?),
            ConditionNode::Any(parts) => bool(self.settle(parts, true)?),
            ConditionNode::AndAlso(parts) => bool(self.sequence(parts, false)?),
            ConditionNode::OrElse(parts) => bool(self.sequence(parts, true)?),
            ConditionNode::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.value(if self.truth(condition)? { then } else { otherwise })
            }
            ConditionNode::Binary(operator, operands) => {
                let [left, right] = &**operands;
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.binary(*operator, left.view(), right.view())
            }
            ConditionNode::Member(record, name) => match self.value(record)? {
                Computed::Term(Term::Record(members)) => members.get(name).map(Computed::Term),
                other => match other.view() {
                    Term::Record(members) => members.get(name).map(|term| Computed::Owned(term.to_owned())),
                    _ => None,
                },
            },
            ConditionNode::Index(parts) => {
                let [container, index] = &**parts;
                let (container, index) = (self.value(container)?, self.value(index)?);
                let found = match (container.view(), index.view()) {
                    (Term::List(items) | Term::Tuple(items), Term::Int(index)) => {
                        items.get(usize::try_from(index).ok()?)?
                    }
                    (Term::Record(members), Term::Text(name)) => members.get(name)?,
                    _ => return None,
                };
                Some(Computed::Owned(found.to_owned()))
            }
            ConditionNode::Matches(text, pattern) => match self.value(text)?.view() {
                Term::Text(text) => bool(pattern.is_match(text)),
                _ => None,
            },
            ConditionNode::Call(function, args) => {
                let args: Vec<_> = args.iter().map(|arg| self.value(arg)).collect::<Option<_>>()?;
                let terms: Vec<_> = args.iter().map(Computed::view).collect();
                self.call(*function, &terms)
            }
        }
    }

    fn all(&self, parts: &'e [Condition]) -> Option<Vec<Value>> {
        parts.iter().map(|part| Some(self.value(part)?.view().to_owned())).collect()
    }

    /// An operand equal to `settled` decides, wherever it stands.
    fn settle(&self, parts: &'e [Condition], settled: bool) -> Option<bool> {
        let mut result = Some(!settled);
        for part in parts {
            match self.truth(part) {
                Some(value) if value == settled => return Some(settled),
                Some(_) => {}
                None => result = None,
            }
        }
        result
    }

    /// The first operand equal to `settled` decides; one without a value before it leaves the whole without one.
    fn sequence(&self, parts: &'e [Condition], settled: bool) -> Option<bool> {
        for part in parts {
            if self.truth(part)? == settled {
                return Some(settled);
            }
        }
        Some(!settled)
    }

    fn binary(&self, operator: GuardOperator, left: Term<'_>, right: Term<'_>) -> Option<Computed<'e>> {
        use GuardOperator as Op;
        let truth = match operator {
            Op::Equal => loosely_equal(left, right),
            Op::NotEqual => !loosely_equal(left, right),
            Op::Identical => left == right,
            Op::NotIdentical => left != right,
            Op::Less => self.order(left, right)?.is_lt(),
            Op::LessEqual => self.order(left, right)?.is_le(),
            Op::Greater => self.order(left, right)?.is_gt(),
            Op::GreaterEqual => self.order(left, right)?.is_ge(),
            Op::In => match right {
                Term::List(items) => items.iter().any(|item| loosely_equal(item, left)),
                Term::Record(members) => match left {
                    Term::Text(name) => members.get(name).is_some(),
                    _ => return None,
                },
                _ => return None,
            },
            Op::StrictAnd | Op::StrictOr | Op::StrictXor => match (left, right) {
                (Term::Bool(left), Term::Bool(right)) => match operator {
                    Op::StrictAnd => left && right,
                    Op::StrictOr => left || right,
                    _ => left != right,
                },
                _ => return None,
            },
            Op::Append => return append(left, right),
            Op::Add if self.dialect == Dialect::Native && number(left).is_none() => {
                return append(left, right);
            }
            _ => return arithmetic(operator, number(left)?, number(right)?),
        };
        Some(Computed::Term(Term::Bool(truth)))
    }

    fn order(&self, left: Term<'_>, right: Term<'_>) -> Option<Ordering> {
        match (self.dialect, left, right) {
            (Dialect::Erlang, ..) => Some(erlang_order(left, right)),
            (_, Term::Text(left) | Term::Atom(left), Term::Text(right) | Term::Atom(right)) => {
                Some(left.cmp(right))
            }
            (_, Term::Bool(left), Term::Bool(right)) => Some(left.cmp(&right)),
            _ => number_order(left, right),
        }
    }

    fn call(&self, function: GuardFunction, args: &[Term<'_>]) -> Option<Computed<'e>> {
        use GuardFunction as F;
        let first = *args.first()?;
        let second = args.get(1).copied();
        let truth = match function {
            F::IsAtom => matches!(first, Term::Atom(_) | Term::Bool(_)),
            F::IsBoolean => matches!(first, Term::Bool(_)),
            F::IsText => matches!(first, Term::Text(_)),
            F::IsRecord => matches!(first, Term::Record(_)),
            F::IsInteger => matches!(first, Term::Int(_) | Term::Big(_)),
            F::IsFloat => matches!(first, Term::Float(_)),
            F::IsNumber => matches!(first, Term::Int(_) | Term::Big(_) | Term::Float(_)),
            F::IsList => matches!(first, Term::List(_)),
            F::IsTuple => matches!(first, Term::Tuple(_)),
            F::IsPid => matches!(first, Term::Pid(_)),
            F::IsReference => matches!(first, Term::Reference(_)),
            F::StartsWith | F::EndsWith | F::Contains => match (function, first, second?) {
                (F::StartsWith, Term::Text(text), Term::Text(part)) => text.starts_with(part),
                (F::EndsWith, Term::Text(text), Term::Text(part)) => text.ends_with(part),
                (F::Contains, Term::Text(text), Term::Text(part)) => text.contains(part),
                _ => return None,
            },
            F::Size | F::Length | F::TupleSize => {
                let size = match (function, first) {
                    (F::Size, Term::Text(text)) => text.chars().count(),
                    (F::Size, Term::Record(members)) => members.len(),
                    (F::Size | F::Length, Term::List(items)) => items.len(),
                    (F::Size | F::TupleSize, Term::Tuple(items)) => items.len(),
                    _ => return None,
                };
                return integer(i128::try_from(size).ok());
            }
            F::Head => match first {
                Term::List(items) => return items.get(0).map(|term| Computed::Owned(term.to_owned())),
                _ => return None,
            },
            F::Tail => match first {
                Term::List(items) if !items.is_empty() => {
                    return Some(Computed::Owned(Term::List(items.skip(1)).to_owned()));
                }
                _ => return None,
            },
            F::Element => match (first, second?) {
                (Term::Int(index), Term::Tuple(items)) => {
                    let index = usize::try_from(index).ok()?.checked_sub(1)?;
                    return items.get(index).map(|term| Computed::Owned(term.to_owned()));
                }
                _ => return None,
            },
            F::Min | F::Max => {
                let mut best = first;
                for arg in args.iter().skip(1) {
                    let order = self.order(*arg, best)?;
                    if (function == F::Min && order.is_lt()) || (function == F::Max && order.is_gt()) {
                        best = *arg;
                    }
                }
                return Some(Computed::Owned(best.to_owned()));
            }
            F::Int | F::Round | F::Float | F::String | F::Abs => return convert(function, first),
        };
        Some(Computed::Term(Term::Bool(truth)))
    }
}

fn convert<'e>(function: GuardFunction, term: Term<'_>) -> Option<Computed<'e>> {
    use GuardFunction as F;
    match (function, term) {
        (F::String, Term::Text(text) | Term::Big(text)) => Some(Computed::Owned(Value::string(text))),
        (F::String, Term::Bool(_) | Term::Int(_) | Term::Float(_)) => {
            Some(Computed::Owned(Value::String(term.to_string().into())))
        }
        (F::String, _) => None,
        (F::Int, Term::Text(text)) => integer(text.parse().ok()),
        (F::Float, Term::Text(text)) => float(text.parse().ok()?),
        (F::Int | F::Round, _) => match number(term)? {
            Number::Int(value) => integer(Some(value)),
            Number::Float(value) => {
                let whole = if function == F::Int { value.trunc() } else { value.round() };
                // Within these bounds the conversion is exact.
                integer((whole.abs() < 1e38).then_some(whole as i128))
            }
        },
        (F::Float, _) => match number(term)? {
            Number::Int(value) => float(value as f64),
            Number::Float(value) => float(value),
        },
        (F::Abs, _) => match number(term)? {
            Number::Int(value) => integer(value.checked_abs()),
            Number::Float(value) => float(value.abs()),
        },
        _ => None,
    }
}

fn append<'e>(left: Term<'_>, right: Term<'_>) -> Option<Computed<'e>> {
    let joined = |left: Items<'_>, right: Items<'_>| -> Value {
        Value::List(left.iter().chain(right.iter()).map(Term::to_owned).collect())
    };
    match (left, right) {
        (Term::Text(left), Term::Text(right)) => {
            Some(Computed::Owned(Value::String([left, right].concat().into())))
        }
        (Term::List(left), Term::List(right)) => Some(Computed::Owned(joined(left, right))),
        _ => None,
    }
}

fn number(term: Term<'_>) -> Option<Number> {
    match term {
        Term::Int(value) => Some(Number::Int(value.into())),
        Term::Big(digits) => digits.parse().ok().map(Number::Int),
        Term::Float(value) => Some(Number::Float(value)),
        _ => None,
    }
}

fn integer<'e>(value: Option<i128>) -> Option<Computed<'e>> {
    value.map(|value| Computed::Owned(Value::integer(value)))
}

/// Infinities and NaN are no terms, in neither dialect.
fn float<'e>(value: f64) -> Option<Computed<'e>> {
    value.is_finite().then_some(Computed::Term(Term::Float(value)))
}

fn arithmetic<'e>(operator: GuardOperator, left: Number, right: Number) -> Option<Computed<'e>> {
    use GuardOperator as Op;
    if let (Number::Int(left), Number::Int(right)) = (left, right) {
        let result = match operator {
            Op::Add => left.checked_add(right),
            Op::Subtract => left.checked_sub(right),
            Op::Multiply => left.checked_mul(right),
            Op::Divide | Op::IntDivide => left.checked_div(right),
            Op::Remainder => left.checked_rem(right),
            Op::FloatDivide if right != 0 => return float(left as f64 / right as f64),
            _ => None,
        };
        return integer(result);
    }
    let float_of = |number| match number {
        Number::Int(value) => value as f64,
        Number::Float(value) => value,
    };
    let (left, right) = (float_of(left), float_of(right));
    match operator {
        Op::Add => float(left + right),
        Op::Subtract => float(left - right),
        Op::Multiply => float(left * right),
        Op::Divide | Op::FloatDivide if right != 0.0 => float(left / right),
        _ => None,
    }
}
