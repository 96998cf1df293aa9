//! What the built-in functions compute.

use super::super::{Dialect, Function, Pattern, Value};
use super::{Computed, EvalErrorKind, Evaluator, Failure, Number, Outcome, Variables};
use super::{bool, ill_typed, is_number, number, overflow};
use crate::time;
use crate::value::Term;

impl<'e, V, S: Variables<V>, F: Failure> Evaluator<'e, V, S, F> {
    pub(super) fn call(&self, function: Function, args: &[Term<'_>]) -> Outcome<'e, F> {
        use Function as B;
        let mismatch = || ill_typed(function.name(), args);
        let found =
            |term: Option<Term<'_>>| term.map(|term| Computed::Owned(term.to_owned())).ok_or_else(mismatch);
        match (function, args) {
            (B::IsAtom, [x]) => bool(matches!(x, Term::Atom(_) | Term::Bool(_))),
            (B::IsBoolean, [x]) => bool(matches!(x, Term::Bool(_))),
            (B::IsText, [x]) => bool(matches!(x, Term::Text(_))),
            (B::IsRecord, [x]) => bool(matches!(x, Term::Record(_))),
            (B::IsInteger, [x]) => bool(matches!(x, Term::Int(_) | Term::Big(_))),
            (B::IsFloat, [x]) => bool(matches!(x, Term::Float(_))),
            (B::IsNumber, [x]) => bool(is_number(*x)),
            (B::IsList, [x]) => bool(matches!(x, Term::List(_))),
            (B::IsTuple, [x]) => bool(matches!(x, Term::Tuple(_))),
            (B::IsPid, [x]) => bool(matches!(x, Term::Pid(_))),
            (B::IsReference, [x]) => bool(matches!(x, Term::Reference(_))),
            (B::Time, [x]) => {
                let time = match *x {
                    Term::Time(time) => Some(time),
                    Term::Int(whole) => time::of_integer(whole),
                    Term::Float(number) => time::of_float(number),
                    Term::Text(text) => time::read(text),
                    _ => return Err(mismatch()),
                };
                let failure = || EvalErrorKind::Conversion { function: "time", value: Term::to_owned(*x) };
                time.map(|time| Computed::Term(Term::Time(time))).ok_or_else(|| F::of(failure))
            }
            (B::Time, [x, Term::Text(format)]) => {
                let time = match *x {
                    Term::Text(text) => time::read_as(format, text),
                    Term::Int(_) | Term::Float(_) => time::read_as(format, &x.to_string()),
                    _ => return Err(mismatch()),
                };
                let failure = || EvalErrorKind::Conversion { function: "time", value: Term::to_owned(*x) };
                time.map(|time| Computed::Term(Term::Time(time))).ok_or_else(|| F::of(failure))
            }
            (B::StartsWith, [Term::Text(text), Term::Text(part)]) => bool(text.starts_with(part)),
            (B::EndsWith, [Term::Text(text), Term::Text(part)]) => bool(text.ends_with(part)),
            (B::Contains, [Term::Text(text), Term::Text(part)]) => bool(text.contains(part)),
            // The checker has compiled it before: a bad pattern is an ill-typed expression.
            (B::Matches, [Term::Text(text), Term::Text(pattern)]) => match Pattern::new(pattern) {
                Ok(pattern) => bool(pattern.is_match(text)),
                Err(_) => Err(mismatch()),
            },
            (B::Size | B::Length | B::TupleSize, [x]) => {
                let size = size(function, *x, self.is_typed()).ok_or_else(mismatch)?;
                self.integer(i128::try_from(size).ok(), || overflow(function.name()))
            }
            (B::Head, [Term::List(items)]) => found(items.get(0)),
            (B::Tail, [Term::List(items)]) if !items.is_empty() => found(Some(Term::List(items.skip(1)))),
            (B::Element, [Term::Int(index), Term::Tuple(items)]) => {
                let index = usize::try_from(*index).ok().and_then(|index| index.checked_sub(1));
                found(index.and_then(|index| items.get(index)))
            }
            (B::Min | B::Max, [first, rest @ ..])
                if !rest.is_empty() && (!self.is_typed() || args.iter().all(|arg| is_number(*arg))) =>
            {
                // The first unless a later one is strictly better: so NaN stays if it is first, else is ignored.
                let mut best = *first;
                for arg in rest {
                    let order = self.order(function.name(), *arg, best)?;
                    let better = |order: std::cmp::Ordering| match function {
                        B::Min => order.is_lt(),
                        _ => order.is_gt(),
                    };
                    if order.is_some_and(better) {
                        best = *arg;
                    }
                }
                found(Some(best))
            }
            (B::Abs, [x]) => match number(*x) {
                Some(Number::Int(value)) => self.integer(value.checked_abs(), || overflow(function.name())),
                Some(Number::Float(value)) => self.float(value.abs(), || overflow(function.name())),
                None => Err(mismatch()),
            },
            (B::Int | B::Round | B::Float | B::String, [x]) => self.convert(function, *x),
            _ => Err(mismatch()),
        }
    }

    fn convert(&self, function: Function, term: Term<'_>) -> Outcome<'e, F> {
        use Function as B;
        let name = function.name();
        let failure = || EvalErrorKind::Conversion { function: name, value: term.to_owned() };
        let text = |text: String| Ok(Computed::Owned(Value::String(text.into())));
        match (function, term) {
            (B::String, Term::Text(content) | Term::Big(content)) => {
                Ok(Computed::Owned(Value::string(content)))
            }
            // In assertions the shortest decimal that reads back the same: `1`, `0.1`, `inf`, `NaN`.
            (B::String, Term::Float(value)) if self.dialect == Dialect::Assertion => text(value.to_string()),
            (B::String, Term::Bool(_) | Term::Int(_) | Term::Float(_)) => text(term.to_string()),
            (B::String, Term::Bytes(bytes)) => match std::str::from_utf8(bytes) {
                Ok(content) => Ok(Computed::Owned(Value::string(content))),
                Err(_) => Err(F::of(failure)),
            },
            (B::Int, Term::Text(content)) => self.integer(content.parse().ok(), failure),
            (B::Float, Term::Text(content)) => match content.parse() {
                Ok(value) => self.float(value, failure),
                Err(_) => Err(F::of(failure)),
            },
            (B::Int | B::Round, _) => match number(term) {
                Some(Number::Int(value)) => self.integer(Some(value), failure),
                Some(Number::Float(value)) => {
                    let whole = if function == B::Int { value.trunc() } else { value.round() };
                    // Within these bounds the conversion is exact.
                    self.integer((whole.abs() < 1e38).then_some(whole as i128), failure)
                }
                None => Err(ill_typed(name, &[term])),
            },
            (B::Float, _) => match number(term) {
                // To the nearest float, as CEL says.
                Some(value) => self.float(value.float(), failure),
                None => Err(ill_typed(name, &[term])),
            },
            _ => Err(ill_typed(name, &[term])),
        }
    }
}

/// Characters, bytes, elements or, in guards, members.
fn size(function: Function, term: Term<'_>, typed: bool) -> Option<usize> {
    use Function as B;
    Some(match (function, term) {
        (B::Size, Term::Text(text)) => text.chars().count(),
        (B::Size, Term::Bytes(bytes)) => bytes.len(),
        (B::Size, Term::Record(members)) if !typed => members.len(),
        (B::Size | B::Length, Term::List(items)) => items.len(),
        (B::Size | B::TupleSize, Term::Tuple(items)) if !typed => items.len(),
        _ => return None,
    })
}
