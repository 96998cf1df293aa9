//! Running code: what `referee_theory::expr::eval` computes, on borrowed operands.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use referee_theory::Type;
use referee_theory::expr::{Function, Operator, Value};

use super::operand::Operand;
use super::{Code, Failure, IntLeaf, Load, Orderings, TextLeaf};
use crate::event::{FieldValue, Payload};
use crate::registry::Predicate;
use crate::session::Session;

/// What an assertion may look at.
pub(crate) struct Frame<'a> {
    /// The message's fields, which have their types.
    pub(crate) payload: Payload<'a>,
    /// Their names.
    pub(crate) names: &'a [Option<Arc<str>>],
    /// What earlier messages left.
    pub(crate) session: &'a Session,
    /// The external predicates.
    pub(crate) predicates: &'a [Arc<dyn Predicate>],
}

type Outcome<'a> = Result<Operand<'a>, Failure>;

/// The least int as a float, and the first float past the greatest: both exact.
const INT_RANGE: std::ops::Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;

impl<'a> Frame<'a> {
    /// Whether `code`, a boolean, is true.
    #[inline]
    pub(crate) fn truth(&self, code: &'a Code) -> Result<bool, Failure> {
        match code {
            Code::CompareInts(orderings, left, right) => {
                Ok(orderings.contains(self.int(*left).cmp(&self.int(*right))))
            }
            Code::EqualTexts { negated, left, right } => {
                Ok((self.text(left) == self.text(right)) != *negated)
            }
            other => self.truth_of(other),
        }
    }

    /// The value of `code`.
    pub(crate) fn value(&self, code: &'a Code) -> Result<Value, Failure> {
        self.run(code).map(|operand| operand.to_value())
    }

    fn truth_of(&self, code: &'a Code) -> Result<bool, Failure> {
        match code {
            Code::All(operands) => self.settle(operands, false),
            Code::Any(operands) => self.settle(operands, true),
            Code::Not(operand) => self.truth(operand).map(|value| !value),
            Code::CompareInts(..) | Code::EqualTexts { .. } => self.truth(code),
            other => match self.run(other)? {
                Operand::Bool(value) => Ok(value),
                _ => Err(Failure::IllTyped),
            },
        }
    }

    #[inline]
    fn int(&self, leaf: IntLeaf) -> i64 {
        match leaf {
            IntLeaf::Constant(value) => value,
            IntLeaf::Field(field) => match self.field(field) {
                FieldValue::Int(value) => *value,
                _ => 0,
            },
            IntLeaf::Slot(slot) => self.session.scalar(slot).cast_signed(),
        }
    }

    #[inline]
    fn text<'b>(&'b self, leaf: &'b TextLeaf) -> &'b str {
        match leaf {
            TextLeaf::Constant(text) => text,
            TextLeaf::Field(field) => match self.field(*field) {
                FieldValue::Str(text) => text,
                _ => "",
            },
            TextLeaf::Slot(slot) => self.session.text(*slot),
        }
    }

    #[inline]
    fn field(&self, field: u16) -> &'a FieldValue<'a> {
        let index = usize::from(field);
        let name = self.names.get(index).and_then(Option::as_ref);
        self.payload.field(index, name).unwrap_or(&FieldValue::Unit)
    }

    /// An operand equal to `settled` decides; else the first failure; else all operands say the opposite.
    fn settle(&self, operands: &'a [Code], settled: bool) -> Result<bool, Failure> {
        let mut failure = None;
        for operand in operands {
            match self.truth(operand) {
                Ok(value) if value == settled => return Ok(settled),
                Ok(_) => {}
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(!settled), Err)
    }

    fn run(&self, code: &'a Code) -> Outcome<'a> {
        Ok(match code {
            Code::Bool(value) => Operand::Bool(*value),
            Code::Int(value) => Operand::Int(*value),
            Code::Float(value) => Operand::Float(*value),
            Code::Text(text) => Operand::Text(Cow::Borrowed(text)),
            Code::Octets(bytes) => Operand::Octets(Cow::Borrowed(bytes)),
            Code::Load(Load::Field(field, ty)) => Operand::of_field(self.field(*field), ty),
            Code::Load(Load::Slot(slot, ty)) => match ty {
                Type::Bool => Operand::Bool(self.session.scalar(*slot) != 0),
                Type::Int => Operand::Int(self.session.scalar(*slot).cast_signed()),
                Type::Float => Operand::Float(f64::from_bits(self.session.scalar(*slot))),
                Type::String => Operand::Text(Cow::Borrowed(self.session.text(*slot))),
                Type::Opaque(_) => Operand::Opaque(Cow::Borrowed(self.session.text(*slot))),
                Type::Bytes => Operand::Octets(Cow::Borrowed(self.session.octets(*slot))),
                Type::Unit | Type::List(_) | Type::Tuple(_) | Type::Record(_) => {
                    Operand::Tree(self.session.tree(*slot))
                }
            },
            Code::List(elements) => {
                let values: Result<_, _> =
                    elements.iter().map(|element| Ok(self.run(element)?.to_value())).collect();
                Operand::Tree(Value::List(values?))
            }
            Code::All(_) | Code::Any(_) | Code::Not(_) | Code::CompareInts(..) | Code::EqualTexts { .. } => {
                Operand::Bool(self.truth(code)?)
            }
            Code::Negate(operand) => match self.run(operand)? {
                Operand::Int(value) => Operand::Int(value.checked_neg().ok_or(Failure::Overflow)?),
                Operand::Float(value) => Operand::Float(-value),
                _ => return Err(Failure::IllTyped),
            },
            Code::Binary(operator, operands) => {
                let [left, right] = &**operands;
                let left = self.run(left)?;
                binary(*operator, left, self.run(right)?)?
            }
            Code::OneOf(element, elements) => {
                let element = self.run(element)?;
                let mut found = false;
                // Every element is evaluated: a failure counts even beside one that is equal.
                for other in elements {
                    found |= element.equals(&self.run(other)?);
                }
                Operand::Bool(found)
            }
            Code::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.run(if self.truth(condition)? { then } else { otherwise })?
            }
            Code::Member(record, field) => self.run(record)?.member(field).ok_or(Failure::IllTyped)?,
            Code::Index(parts) => {
                let [container, index] = &**parts;
                let container = self.run(container)?;
                let Operand::Int(index) = self.run(index)? else { return Err(Failure::IllTyped) };
                let index = usize::try_from(index).map_err(|_| Failure::IndexOutOfRange)?;
                container.element(index).ok_or(Failure::IndexOutOfRange)?
            }
            Code::Matches(text, pattern) => match self.run(text)? {
                Operand::Text(text) => Operand::Bool(pattern.is_match(&text)),
                _ => return Err(Failure::IllTyped),
            },
            Code::Call(function, args) => self.call(*function, args)?,
            Code::External(index, args) => self.external(*index, args)?,
        })
    }

    fn call(&self, function: Function, args: &'a [Code]) -> Outcome<'a> {
        let (first, rest) = args.split_first().ok_or(Failure::IllTyped)?;
        let first = self.run(first)?;
        Ok(match (function, first) {
            (Function::Size, Operand::Text(text)) => count(text.chars().count())?,
            (Function::Size, Operand::Octets(bytes)) => count(bytes.len())?,
            (Function::Size, list) => count(list.length().ok_or(Failure::IllTyped)?)?,
            (
                Function::StartsWith | Function::EndsWith | Function::Contains | Function::Matches,
                Operand::Text(text),
            ) => {
                let [part] = rest else { return Err(Failure::IllTyped) };
                let Operand::Text(part) = self.run(part)? else { return Err(Failure::IllTyped) };
                Operand::Bool(match function {
                    Function::StartsWith => text.starts_with(&*part),
                    Function::EndsWith => text.ends_with(&*part),
                    Function::Contains => text.contains(&*part),
                    _ => return Err(Failure::IllTyped),
                })
            }
            (Function::Int, value @ Operand::Int(_)) | (Function::Float, value @ Operand::Float(_)) => value,
            (Function::Int, Operand::Float(value)) => {
                let whole = value.trunc();
                let fits = INT_RANGE.contains(&whole);
                Operand::Int(if fits { whole as i64 } else { return Err(Failure::Conversion) })
            }
            (Function::Int, Operand::Text(text)) => {
                Operand::Int(text.parse().map_err(|_| Failure::Conversion)?)
            }
            (Function::Float, Operand::Int(value)) => Operand::Float(value as f64),
            (Function::Float, Operand::Text(text)) => {
                Operand::Float(text.parse().map_err(|_| Failure::Conversion)?)
            }
            (Function::String, value) => Operand::Text(match value {
                Operand::Bool(value) => value.to_string().into(),
                Operand::Int(value) => value.to_string().into(),
                Operand::Float(value) => value.to_string().into(),
                Operand::Text(text) => text,
                Operand::Octets(Cow::Borrowed(bytes)) => {
                    std::str::from_utf8(bytes).map_err(|_| Failure::Conversion)?.into()
                }
                Operand::Octets(Cow::Owned(bytes)) => {
                    String::from_utf8(bytes).map_err(|_| Failure::Conversion)?.into()
                }
                _ => return Err(Failure::IllTyped),
            }),
            (Function::Abs, Operand::Int(value)) => {
                Operand::Int(value.checked_abs().ok_or(Failure::Overflow)?)
            }
            (Function::Abs, Operand::Float(value)) => Operand::Float(value.abs()),
            (Function::Min, first) => self.extreme(first, rest, Ordering::Less)?,
            (Function::Max, first) => self.extreme(first, rest, Ordering::Greater)?,
            _ => return Err(Failure::IllTyped),
        })
    }

    /// The first argument unless a later one is strictly better: so NaN stays if it is first, else is ignored.
    fn extreme(&self, mut best: Operand<'a>, rest: &'a [Code], better: Ordering) -> Outcome<'a> {
        for other in rest {
            let other = self.run(other)?;
            if other.compare(&best)? == Some(better) {
                best = other;
            }
        }
        Ok(best)
    }

    fn external(&self, index: u32, args: &'a [Code]) -> Outcome<'a> {
        let predicate = self.predicates.get(index as usize).ok_or(Failure::External)?;
        // Up to three arguments need no memory.
        let mut few = [const { Operand::Bool(false) }; 3];
        let mut many = Vec::new();
        let operands = match few.get_mut(..args.len()) {
            Some(few) => few,
            None => {
                many.resize(args.len(), Operand::Bool(false));
                &mut many[..]
            }
        };
        for (operand, arg) in operands.iter_mut().zip(args) {
            *operand = self.run(arg)?;
        }
        let made = |operand: &Operand<'a>| match operand {
            Operand::Field(..) => operand.to_value(),
            _ => Value::Unit,
        };
        let answer = match operands {
            [a] => predicate.call(&[a.as_argument(&made(a))]),
            [a, b] => predicate.call(&[a.as_argument(&made(a)), b.as_argument(&made(b))]),
            [a, b, c] => {
                predicate.call(&[a.as_argument(&made(a)), b.as_argument(&made(b)), c.as_argument(&made(c))])
            }
            all => {
                let made: Vec<Value> = all.iter().map(made).collect();
                let args: Vec<_> = all.iter().zip(&made).map(|(o, made)| o.as_argument(made)).collect();
                predicate.call(&args)
            }
        };
        let answer = answer.map_err(|_| Failure::External)?;
        if !answer.has_type(&predicate.signature().result) {
            return Err(Failure::External);
        }
        Ok(Operand::of_value(answer))
    }
}

fn count<'a>(count: usize) -> Outcome<'a> {
    i64::try_from(count).map(Operand::Int).map_err(|_| Failure::IllTyped)
}

fn binary<'a>(operator: Operator, left: Operand<'a>, right: Operand<'a>) -> Outcome<'a> {
    Ok(match operator {
        Operator::Equal => Operand::Bool(left.equals(&right)),
        Operator::NotEqual => Operand::Bool(!left.equals(&right)),
        Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual => {
            let orderings = Orderings::of(operator).ok_or(Failure::IllTyped)?;
            Operand::Bool(left.compare(&right)?.is_some_and(|ordering| orderings.contains(ordering)))
        }
        Operator::In => {
            let length = right.length().ok_or(Failure::IllTyped)?;
            let is_it = |index| right.clone().element(index).is_some_and(|element| element.equals(&left));
            Operand::Bool((0..length).any(is_it))
        }
        Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
            return arithmetic(operator, left, right);
        }
        // What only guards can say.
        _ => return Err(Failure::IllTyped),
    })
}

fn arithmetic<'a>(operator: Operator, left: Operand<'a>, right: Operand<'a>) -> Outcome<'a> {
    Ok(match (left, right) {
        (Operand::Int(left), Operand::Int(right)) => {
            let result = match operator {
                Operator::Divide | Operator::Remainder if right == 0 => return Err(Failure::DivisionByZero),
                Operator::Add => left.checked_add(right),
                Operator::Subtract => left.checked_sub(right),
                Operator::Multiply => left.checked_mul(right),
                Operator::Divide => left.checked_div(right),
                Operator::Remainder => left.checked_rem(right),
                _ => return Err(Failure::IllTyped),
            };
            Operand::Int(result.ok_or(Failure::Overflow)?)
        }
        (Operand::Float(left), Operand::Float(right)) => Operand::Float(match operator {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
            _ => return Err(Failure::IllTyped),
        }),
        (left, right) if operator == Operator::Add => add(left, right)?,
        _ => return Err(Failure::IllTyped),
    })
}

/// Text, bytes and lists end to end.
fn add<'a>(left: Operand<'a>, right: Operand<'a>) -> Outcome<'a> {
    Ok(match (left, right) {
        (Operand::Text(left), Operand::Text(right)) => Operand::Text(left + right),
        (Operand::Octets(left), Operand::Octets(right)) => Operand::Octets([left, right].concat().into()),
        (left, right) => match (left.to_value(), right.to_value()) {
            (Value::List(left), Value::List(right)) => {
                Operand::Tree(Value::List([&*left, &*right].concat().into()))
            }
            _ => return Err(Failure::IllTyped),
        },
    })
}
