//! What the guards of properties mean, construct by construct, as `docs/expressions.md` says; and matching, Definition 1 of
//! FMSD'15 with records, fields and guards.
//!
//! Values are trees of their own. Numbers are compared digit by digit in their exact decimal form, so that no
//! conversion between kinds of numbers can be wrong here. Nothing of the product's evaluator, equality or order is used.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use referee_theory::expr::{Dialect, Function, Node, Operator, UnaryOperator};
use referee_theory::property::guard::Condition;
use referee_theory::property::{EventPattern, EventView, Guard, Pattern, Slot, Term};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// JSON's `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer in decimal, without leading zeros.
    Int(String),
    /// A finite float.
    Float(f64),
    /// Text.
    Text(String),
    /// An atom.
    Atom(String),
    /// A process identifier.
    Pid(String),
    /// A reference.
    Reference(String),
    /// A tuple.
    Tuple(Vec<Datum>),
    /// A list.
    List(Vec<Datum>),
    /// Members in the order of the text.
    Record(Vec<(String, Datum)>),
    /// Nanoseconds since 1970.
    Time(i64),
    /// Nanoseconds.
    Duration(i64),
}

/// The values of the slots, by number.
pub type Slots = BTreeMap<u32, Datum>;

impl Datum {
    /// What `term` is; nothing if there is nothing.
    #[must_use]
    pub fn of(term: Term<'_>) -> Option<Self> {
        let all = |items: Vec<Term<'_>>| items.into_iter().map(Self::of).collect::<Option<Vec<_>>>();
        Some(match term {
            // Events carry neither bytes nor values of opaque types.
            Term::Absent | Term::Bytes(_) | Term::Opaque(_) => return None,
            Term::Null => Self::Null,
            Term::Bool(value) => Self::Bool(value),
            Term::Int(value) => Self::Int(value.to_string()),
            Term::Big(digits) => Self::Int(digits.to_owned()),
            Term::Float(value) => Self::Float(value),
            Term::Text(text) => Self::Text(text.to_owned()),
            Term::Atom(name) => Self::Atom(name.to_owned()),
            Term::Pid(name) => Self::Pid(name.to_owned()),
            Term::Reference(name) => Self::Reference(name.to_owned()),
            Term::Time(time) => Self::Time(time),
            Term::Duration(length) => Self::Duration(length),
            Term::Tuple(items) => Self::Tuple(all(items.iter().collect())?),
            Term::List(items) => Self::List(all(items.iter().collect())?),
            Term::Record(members) => {
                let member = |(name, term): (&str, Term<'_>)| Some((name.to_owned(), Self::of(term)?));
                Self::Record(members.iter().map(member).collect::<Option<_>>()?)
            }
        })
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Float(_))
    }

    fn member(&self, wanted: &str) -> Option<&Self> {
        match self {
            Self::Record(members) => members.iter().find(|(name, _)| name == wanted).map(|(_, value)| value),
            _ => None,
        }
    }
}

/// Exact equality: of one kind, and alike; zeros are equal, and members have no order.
fn identical(left: &Datum, right: &Datum) -> bool {
    equal(left, right, &|left, right| match (left, right) {
        (Datum::Float(left), Datum::Float(right)) => left == right,
        (left, right) => left == right,
    })
}

/// `==`: as exact equality, but numbers by value, and an atom equals the text that spells it.
fn alike(left: &Datum, right: &Datum) -> bool {
    equal(left, right, &|left, right| match (left, right) {
        (Datum::Atom(left), Datum::Text(right)) | (Datum::Text(left), Datum::Atom(right)) => left == right,
        (left, right) if left.is_number() && right.is_number() => by_value(left, right) == Ordering::Equal,
        (left, right) => left == right,
    })
}

/// Element by element and member by member, and `leaf` for everything else.
fn equal(left: &Datum, right: &Datum, leaf: &dyn Fn(&Datum, &Datum) -> bool) -> bool {
    match (left, right) {
        (Datum::Tuple(left), Datum::Tuple(right)) | (Datum::List(left), Datum::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| equal(l, r, leaf))
        }
        (Datum::Record(members), Datum::Record(others)) => {
            members.len() == others.len()
                && members
                    .iter()
                    .all(|(name, value)| right.member(name).is_some_and(|other| equal(value, other, leaf)))
        }
        _ => leaf(left, right),
    }
}

/// The sign, the digits before the point and those after it, of the exact value.
fn decimal(number: &Datum) -> (bool, String, String) {
    let text = match number {
        Datum::Int(digits) => digits.clone(),
        // Every float has a finite decimal expansion, of at most 1074 digits after the point.
        Datum::Float(value) => format!("{value:.1074}"),
        _ => String::new(),
    };
    let (negative, text) = text.strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    (negative && !(whole.is_empty() && fraction.is_empty()), whole.to_owned(), fraction.to_owned())
}

/// How two numbers compare.
fn by_value(left: &Datum, right: &Datum) -> Ordering {
    let ((left_negative, l, l_fraction), (right_negative, r, r_fraction)) = (decimal(left), decimal(right));
    let size = l.len().cmp(&r.len()).then(l.cmp(&r)).then(l_fraction.cmp(&r_fraction));
    match (left_negative, right_negative) {
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, false) => size,
        (true, true) => size.reverse(),
    }
}

/// Erlang's order of all terms.
fn erlang(left: &Datum, right: &Datum) -> Ordering {
    let kind = |datum: &Datum| match datum {
        Datum::Int(_) | Datum::Float(_) => 0,
        Datum::Atom(_) | Datum::Bool(_) => 1,
        Datum::Reference(_) => 2,
        Datum::Pid(_) => 3,
        Datum::Tuple(_) => 4,
        Datum::Record(_) => 5,
        Datum::List(_) => 6,
        Datum::Text(_) => 7,
        Datum::Null => 8,
        Datum::Time(_) => 11,
        Datum::Duration(_) => 12,
    };
    let atom = |datum: &Datum| match datum {
        Datum::Atom(name) => name.clone(),
        Datum::Bool(value) => value.to_string(),
        _ => String::new(),
    };
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
    };
    let lists = |left: &[Datum], right: &[Datum]| {
        let different = left.iter().zip(right).map(|(l, r)| erlang(l, r)).find(|order| order.is_ne());
        different.unwrap_or(left.len().cmp(&right.len()))
    };
    kind(left).cmp(&kind(right)).then_with(|| match (left, right) {
        (l, r) if l.is_number() && r.is_number() => by_value(l, r),
        (Datum::Text(l), Datum::Text(r)) => l.cmp(r),
        (Datum::Time(l), Datum::Time(r)) | (Datum::Duration(l), Datum::Duration(r)) => l.cmp(r),
        (Datum::Pid(l), Datum::Pid(r)) | (Datum::Reference(l), Datum::Reference(r)) => {
            numbers(l).cmp(&numbers(r)).then(l.cmp(r))
        }
        (Datum::Tuple(l), Datum::Tuple(r)) => l.len().cmp(&r.len()).then_with(|| lists(l, r)),
        (Datum::List(l), Datum::List(r)) => lists(l, r),
        (Datum::Record(l), Datum::Record(r)) => {
            let sorted = |members: &[(String, Datum)]| members.iter().cloned().collect::<BTreeMap<_, _>>();
            let (l, r) = (sorted(l), sorted(r));
            let names = || l.keys().cmp(r.keys());
            let values =
                || lists(&l.values().cloned().collect::<Vec<_>>(), &r.values().cloned().collect::<Vec<_>>());
            l.len().cmp(&r.len()).then_with(names).then_with(values)
        }
        _ => atom(left).cmp(&atom(right)),
    })
}

/// Whether `guard` is true.
#[must_use]
pub fn holds(guard: &Guard, slots: &Slots) -> bool {
    value(guard.dialect, &guard.condition, slots) == Some(Datum::Bool(true))
}

/// The value of `condition`, if it has one.
#[must_use]
pub fn value(dialect: Dialect, condition: &Condition, slots: &Slots) -> Option<Datum> {
    let of = |condition: &Condition| value(dialect, condition, slots);
    let all = |parts: &[Condition]| parts.iter().map(of).collect::<Option<Vec<Datum>>>();
    let truth = |condition: &Condition| match of(condition) {
        Some(Datum::Bool(value)) => Some(value),
        _ => None,
    };
    match condition.node() {
        Node::Literal(term) => Datum::of(term.view()),
        Node::Variable(slot) => slots.get(&slot.0).cloned(),
        Node::List(parts) => Some(Datum::List(all(parts)?)),
        Node::Tuple(parts) => Some(Datum::Tuple(all(parts)?)),
        Node::Unary(UnaryOperator::Not, operand) => Some(Datum::Bool(!truth(operand)?)),
        Node::Unary(UnaryOperator::Negate, operand) => match of(operand)? {
            Datum::Int(digits) => Some(Datum::Int(digits.parse::<i128>().ok()?.checked_neg()?.to_string())),
            Datum::Float(value) => Some(Datum::Float(-value)),
            Datum::Duration(length) => Some(Datum::Duration(length.checked_neg()?)),
            _ => None,
        },
        Node::Binary(operator, operands) => {
            binary(dialect, *operator, &of(&operands[0])?, &of(&operands[1])?)
        }
        Node::And(parts) => {
            let truths: Vec<_> = parts.iter().map(truth).collect();
            let unknown = truths.contains(&None);
            if truths.contains(&Some(false)) {
                Some(Datum::Bool(false))
            } else {
                (!unknown).then_some(Datum::Bool(true))
            }
        }
        Node::Or(parts) => {
            let truths: Vec<_> = parts.iter().map(truth).collect();
            let unknown = truths.contains(&None);
            if truths.contains(&Some(true)) {
                Some(Datum::Bool(true))
            } else {
                (!unknown).then_some(Datum::Bool(false))
            }
        }
        Node::AndAlso(parts) => match parts.iter().map(truth).find(|truth| *truth != Some(true)) {
            Some(decided) => decided.map(Datum::Bool),
            None => Some(Datum::Bool(true)),
        },
        Node::OrElse(parts) => match parts.iter().map(truth).find(|truth| *truth != Some(false)) {
            Some(decided) => decided.map(Datum::Bool),
            None => Some(Datum::Bool(false)),
        },
        Node::Conditional(parts) => of(if truth(&parts[0])? { &parts[1] } else { &parts[2] }),
        Node::Member(record, name) => of(record)?.member(name).cloned(),
        Node::Index(parts) => match (of(&parts[0])?, of(&parts[1])?) {
            (Datum::List(items) | Datum::Tuple(items), Datum::Int(index)) => {
                items.get(index.parse::<usize>().ok()?).cloned()
            }
            (record, Datum::Text(name)) => record.member(&name).cloned(),
            _ => None,
        },
        Node::Matches(text, pattern) => match of(text)? {
            Datum::Text(text) => Some(Datum::Bool(pattern.is_match(&text))),
            _ => None,
        },
        Node::Call(function, args) => call(dialect, *function, &all(args)?),
        // Guards know no predicates of a protocol.
        Node::External { .. } => None,
    }
}

fn order(dialect: Dialect, left: &Datum, right: &Datum) -> Option<Ordering> {
    match (left, right) {
        _ if dialect == Dialect::Erlang => Some(erlang(left, right)),
        (l, r) if l.is_number() && r.is_number() => Some(by_value(l, r)),
        (Datum::Text(l) | Datum::Atom(l), Datum::Text(r) | Datum::Atom(r)) => Some(l.cmp(r)),
        (Datum::Bool(l), Datum::Bool(r)) => Some(l.cmp(r)),
        (Datum::Time(l), Datum::Time(r)) | (Datum::Duration(l), Datum::Duration(r)) => Some(l.cmp(r)),
        _ => None,
    }
}

fn binary(dialect: Dialect, operator: Operator, left: &Datum, right: &Datum) -> Option<Datum> {
    use Operator as Op;
    let truth = match operator {
        Op::Equal => alike(left, right),
        Op::NotEqual => !alike(left, right),
        Op::Identical => identical(left, right),
        Op::NotIdentical => !identical(left, right),
        Op::Less => order(dialect, left, right)? == Ordering::Less,
        Op::LessEqual => order(dialect, left, right)? != Ordering::Greater,
        Op::Greater => order(dialect, left, right)? == Ordering::Greater,
        Op::GreaterEqual => order(dialect, left, right)? != Ordering::Less,
        Op::In => match (left, right) {
            (left, Datum::List(items)) => items.iter().any(|item| alike(item, left)),
            (Datum::Text(name), Datum::Record(_)) => right.member(name).is_some(),
            _ => return None,
        },
        Op::StrictAnd | Op::StrictOr | Op::StrictXor => match (operator, left, right) {
            (Op::StrictAnd, Datum::Bool(l), Datum::Bool(r)) => *l && *r,
            (Op::StrictOr, Datum::Bool(l), Datum::Bool(r)) => *l || *r,
            (_, Datum::Bool(l), Datum::Bool(r)) => l != r,
            _ => return None,
        },
        Op::Append => return joined(left, right),
        _ if matches!(left, Datum::Time(_) | Datum::Duration(_)) || matches!(right, Datum::Duration(_)) => {
            return times(operator, left, right);
        }
        Op::Add if dialect == Dialect::Native && !left.is_number() => return joined(left, right),
        Op::Add
        | Op::Subtract
        | Op::Multiply
        | Op::Divide
        | Op::FloatDivide
        | Op::IntDivide
        | Op::Remainder => {
            return arithmetic(operator, left, right);
        }
    };
    Some(Datum::Bool(truth))
}

/// Arithmetic of times, in nanoseconds.
fn times(operator: Operator, left: &Datum, right: &Datum) -> Option<Datum> {
    use Operator as Op;
    type Kind = fn(i64) -> Datum;
    let (time, duration): (Kind, Kind) = (Datum::Time, Datum::Duration);
    let (result, kind) = match (operator, left, right) {
        (Op::Subtract, Datum::Time(l), Datum::Time(r))
        | (Op::Subtract, Datum::Duration(l), Datum::Duration(r)) => {
            (i128::from(*l) - i128::from(*r), duration)
        }
        (Op::Subtract, Datum::Time(l), Datum::Duration(r)) => (i128::from(*l) - i128::from(*r), time),
        (Op::Add, Datum::Duration(l), Datum::Duration(r)) => (i128::from(*l) + i128::from(*r), duration),
        (Op::Add, Datum::Time(l), Datum::Duration(r)) | (Op::Add, Datum::Duration(l), Datum::Time(r)) => {
            (i128::from(*l) + i128::from(*r), time)
        }
        (Op::Multiply, Datum::Duration(l), Datum::Float(r))
        | (Op::Multiply, Datum::Float(r), Datum::Duration(l)) => (rounded(*l as f64 * r)?, duration),
        (Op::Divide, Datum::Duration(l), Datum::Float(r)) => (rounded(*l as f64 / r)?, duration),
        (Op::Multiply, Datum::Duration(l), Datum::Int(r))
        | (Op::Multiply, Datum::Int(r), Datum::Duration(l)) => {
            (i128::from(*l).checked_mul(r.parse().ok()?)?, duration)
        }
        (Op::Divide, Datum::Duration(l), Datum::Int(r)) => (nearest((*l).into(), r.parse().ok()?)?, duration),
        _ => return None,
    };
    i64::try_from(result).ok().map(kind)
}

/// A float to the nearest integer.
fn rounded(value: f64) -> Option<i128> {
    value.is_finite().then(|| value.round() as i128)
}

/// `dividend / divisor` to the nearest integer, found from its sign and its distance to the two next to it.
fn nearest(dividend: i128, divisor: i128) -> Option<i128> {
    if divisor == 0 {
        return None;
    }
    let (size, by) = (dividend.unsigned_abs(), divisor.unsigned_abs());
    let below = size / by;
    // `below + 1` is at least as near as `below`.
    let (to_below, to_above) = (size - below * by, by - (size - below * by));
    let result = i128::try_from(if to_above <= to_below { below + 1 } else { below }).ok()?;
    Some(if (dividend < 0) == (divisor < 0) { result } else { -result })
}

fn joined(left: &Datum, right: &Datum) -> Option<Datum> {
    match (left, right) {
        (Datum::Text(l), Datum::Text(r)) => Some(Datum::Text(format!("{l}{r}"))),
        (Datum::List(l), Datum::List(r)) => Some(Datum::List([l.clone(), r.clone()].concat())),
        _ => None,
    }
}

/// Integers of up to 128 bits, or as soon as one operand is a float, floats. Division by zero has no value.
fn arithmetic(operator: Operator, left: &Datum, right: &Datum) -> Option<Datum> {
    use Operator as Op;
    let integer = |datum: &Datum| match datum {
        Datum::Int(digits) => digits.parse::<i128>().ok(),
        _ => None,
    };
    let float = |datum: &Datum| match datum {
        Datum::Float(value) => Some(*value),
        datum => integer(datum).map(|value| value as f64),
    };
    let result = match (left, right) {
        (Datum::Int(_), Datum::Int(_)) if operator != Op::FloatDivide => {
            let (l, r) = (integer(left)?, integer(right)?);
            return match operator {
                Op::Add => l.checked_add(r),
                Op::Subtract => l.checked_sub(r),
                Op::Multiply => l.checked_mul(r),
                Op::Remainder => l.checked_rem(r),
                _ => l.checked_div(r),
            }
            .map(|value| Datum::Int(value.to_string()));
        }
        _ => match operator {
            Op::Add => float(left)? + float(right)?,
            Op::Subtract => float(left)? - float(right)?,
            Op::Multiply => float(left)? * float(right)?,
            Op::Divide | Op::FloatDivide => float(left)? / float(right)?,
            _ => return None,
        },
    };
    result.is_finite().then_some(Datum::Float(result))
}

fn call(dialect: Dialect, function: Function, args: &[Datum]) -> Option<Datum> {
    use Function as F;
    let count = |count: usize| Some(Datum::Int(count.to_string()));
    let bool = |value| Some(Datum::Bool(value));
    match (function, args) {
        (F::IsAtom, [x]) => bool(matches!(x, Datum::Atom(_) | Datum::Bool(_))),
        (F::IsBoolean, [x]) => bool(matches!(x, Datum::Bool(_))),
        (F::IsText, [x]) => bool(matches!(x, Datum::Text(_))),
        (F::IsRecord, [x]) => bool(matches!(x, Datum::Record(_))),
        (F::IsInteger, [x]) => bool(matches!(x, Datum::Int(_))),
        (F::IsFloat, [x]) => bool(matches!(x, Datum::Float(_))),
        (F::IsNumber, [x]) => bool(x.is_number()),
        (F::IsList, [x]) => bool(matches!(x, Datum::List(_))),
        (F::IsTuple, [x]) => bool(matches!(x, Datum::Tuple(_))),
        (F::IsPid, [x]) => bool(matches!(x, Datum::Pid(_))),
        (F::IsReference, [x]) => bool(matches!(x, Datum::Reference(_))),
        (F::StartsWith, [Datum::Text(text), Datum::Text(part)]) => bool(text.starts_with(part)),
        (F::EndsWith, [Datum::Text(text), Datum::Text(part)]) => bool(text.ends_with(part)),
        (F::Contains, [Datum::Text(text), Datum::Text(part)]) => bool(text.contains(part)),
        (F::Size, [Datum::Text(text)]) => count(text.chars().count()),
        (F::Size, [Datum::Record(members)]) => count(members.len()),
        (F::Size | F::Length, [Datum::List(items)]) => count(items.len()),
        (F::Size | F::TupleSize, [Datum::Tuple(items)]) => count(items.len()),
        (F::Head, [Datum::List(items)]) => items.first().cloned(),
        (F::Tail, [Datum::List(items)]) => items.get(1..).map(|rest| Datum::List(rest.to_vec())),
        (F::Element, [Datum::Int(index), Datum::Tuple(items)]) => {
            items.get(index.parse::<usize>().ok()?.checked_sub(1)?).cloned()
        }
        (F::Min | F::Max, [first, rest @ ..]) => {
            let better = if function == F::Min { Ordering::Less } else { Ordering::Greater };
            let mut best = first;
            for other in rest {
                if order(dialect, other, best)? == better {
                    best = other;
                }
            }
            Some(best.clone())
        }
        (F::String, [Datum::Text(text) | Datum::Int(text)]) => Some(Datum::Text(text.clone())),
        (F::String, [Datum::Bool(value)]) => Some(Datum::Text(value.to_string())),
        (F::String, [Datum::Float(value)]) => Some(Datum::Text(format!("{value:?}"))),
        (F::Int, [Datum::Text(text)]) => Some(Datum::Int(text.parse::<i128>().ok()?.to_string())),
        (F::Int | F::Round, [Datum::Int(digits)]) => {
            Some(Datum::Int(digits.parse::<i128>().ok()?.to_string()))
        }
        (F::Int, [Datum::Float(value)]) => whole(value.trunc()),
        (F::Round, [Datum::Float(value)]) => whole(value.round()),
        (F::Float, [Datum::Text(text)]) => {
            text.parse().ok().filter(|value: &f64| value.is_finite()).map(Datum::Float)
        }
        (F::Float, [Datum::Int(digits)]) => Some(Datum::Float(digits.parse::<i128>().ok()? as f64)),
        (F::Float, [Datum::Float(value)]) => Some(Datum::Float(*value)),
        (F::Abs, [Datum::Int(digits)]) => {
            Some(Datum::Int(digits.parse::<i128>().ok()?.checked_abs()?.to_string()))
        }
        (F::Abs, [Datum::Float(value)]) => Some(Datum::Float(value.abs())),
        _ => None,
    }
}

/// Floats beyond these bounds are taken for no integer.
fn whole(value: f64) -> Option<Datum> {
    // A float of this size without a fraction prints as the digits of an integer.
    let digits = format!("{value:.0}");
    (value.abs() < 1e38).then(|| Datum::Int(if digits == "-0" { "0".to_owned() } else { digits }))
}

/// What `event` binds if it matches `pattern` under `slots`.
#[must_use]
pub fn matches(pattern: &EventPattern, event: &EventView<'_>, slots: &Slots) -> Option<Slots> {
    let mut known = slots.clone();
    (pattern.kind.is_none() || pattern.kind == Some(event.kind)).then_some(())?;
    let parts = [
        (&pattern.subject, event.subject),
        (&pattern.object, event.object),
        (&pattern.label, event.label),
        (&pattern.payload, event.payload),
    ];
    for (pattern, term) in parts {
        vmtch(pattern, Datum::of(term).as_ref(), &mut known)?;
    }
    for (key, pattern) in &pattern.keys {
        vmtch(pattern, Datum::of(event.key(key)?).as_ref(), &mut known)?;
    }
    pattern.guard.as_ref().is_none_or(|guard| holds(guard, &known)).then_some(())?;
    let excepted = pattern.except.iter().any(|other| matches(other, event, &known).is_some());
    (!excepted).then_some(known)
}

/// vmtch(p, v), Definition 1; there may be no value to match.
fn vmtch(pattern: &Pattern, value: Option<&Datum>, slots: &mut Slots) -> Option<()> {
    let fields: Vec<Datum> = match value {
        None | Some(Datum::Null) => Vec::new(),
        Some(Datum::List(items) | Datum::Tuple(items)) => items.clone(),
        Some(Datum::Record(members)) => members.iter().map(|(_, value)| value.clone()).collect(),
        Some(scalar) => vec![scalar.clone()],
    };
    match (pattern, value) {
        (Pattern::Any, _) => Some(()),
        (Pattern::Fields { positions, names, open }, value) => {
            (fields.len() >= positions.len()).then_some(())?;
            (*open || !names.is_empty() || fields.len() == positions.len()).then_some(())?;
            positions.iter().zip(&fields).try_for_each(|(part, field)| vmtch(part, Some(field), slots))?;
            names.iter().try_for_each(|(name, part)| vmtch(part, Some(value?.member(name)?), slots))
        }
        (_, None) => None,
        (Pattern::Literal(literal), Some(value)) => {
            identical(&Datum::of(literal.view())?, value).then_some(())
        }
        (Pattern::Bind(Slot(slot)), Some(value)) => {
            slots.insert(*slot, value.clone());
            Some(())
        }
        (Pattern::Test(Slot(slot)), Some(value)) => {
            slots.get(slot).is_some_and(|known| identical(known, value)).then_some(())
        }
        (Pattern::Tuple(parts), Some(Datum::Tuple(items))) => {
            (parts.len() == items.len()).then_some(())?;
            parts.iter().zip(items).try_for_each(|(part, item)| vmtch(part, Some(item), slots))
        }
        (Pattern::List { front, tail }, Some(Datum::List(items))) => {
            (items.len() >= front.len() && (tail.is_some() || items.len() == front.len())).then_some(())?;
            front.iter().zip(items).try_for_each(|(part, item)| vmtch(part, Some(item), slots))?;
            let rest = Datum::List(items[front.len()..].to_vec());
            tail.as_ref().map_or(Some(()), |tail| vmtch(tail, Some(&rest), slots))
        }
        (Pattern::Record(parts), Some(record @ Datum::Record(_))) => {
            parts.iter().try_for_each(|(name, part)| vmtch(part, Some(record.member(name)?), slots))
        }
        _ => None,
    }
}
